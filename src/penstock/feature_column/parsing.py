"""What columns read from examples (TF: tf.feature_column.make_parse_example_spec)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.feature_column.base import FeatureColumn


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """The `features` of `tf.parse_example` from which these columns can be made.

    Raises ValueError if two columns read the same feature in different ways.
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, value in column.parse_example_spec.items():
            if spec.setdefault(key, value) != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {value} and {spec[key]}"
                )
    return spec
