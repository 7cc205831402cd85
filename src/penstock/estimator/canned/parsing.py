"""What canned estimators read from examples (TF: tf.estimator.classifier_parse_example_spec, …)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.feature_column.numeric import NumericColumn, numeric_column
from penstock.feature_column.parsing import make_parse_example_spec
from penstock.ops.parsing import FixedLenFeature
from penstock.tensor.dtypes import as_dtype, float32, int64


@export("estimator.classifier_parse_example_spec")
def classifier_parse_example_spec(
    feature_columns: Any,
    label_key: str,
    label_dtype: Any = int64,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """`features` of tf.parse_example with the columns, a label, and the weights (TF: the same name)."""
    label = FixedLenFeature((1,), as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


@export("estimator.regressor_parse_example_spec")
def regressor_parse_example_spec(
    feature_columns: Any,
    label_key: str,
    label_dtype: Any = float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """`features` of tf.parse_example with the columns, numbers as label, and the weights (TF: the same name)."""
    label = FixedLenFeature((label_dimension,), as_dtype(label_dtype), label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def _with_label(feature_columns: Any, label_key: str, label: FixedLenFeature, weight_column: Any) -> dict[str, Any]:
    spec = make_parse_example_spec(feature_columns)
    if label_key in spec:
        raise ValueError(f"label should not be used as feature. label_key: {label_key}, features: {spec.keys()}")
    spec[label_key] = label
    if weight_column is None:
        return spec
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise ValueError(f"weight_column should be an instance of tf.feature_column.numeric_column, given {column}")
    if column.key in spec:
        raise ValueError(
            f"weight_column should not be used as feature. weight_column: {column.key}, features: {spec.keys()}"
        )
    return {**spec, **column.parse_example_spec}
