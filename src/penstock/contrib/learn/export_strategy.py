"""Models exported after evaluations (TF: tf.contrib.learn.ExportStrategy)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock import gfile
from penstock.contrib.layers.feature_columns import create_feature_spec_for_parsing
from penstock.contrib.learn.serving import build_parsing_serving_input_fn
from penstock.estimator.calls import argument_names
from penstock.estimator.export.receivers import build_parsing_serving_input_receiver_fn
from penstock.export import export
from penstock.feature_column.parsing import make_parse_example_spec


class _Fields(NamedTuple):
    name: str
    export_fn: Callable[..., Any]


@export("contrib.learn.ExportStrategy")
class ExportStrategy(_Fields):
    """A folder's name, and `export_fn(estimator, export_path, checkpoint_path, eval_result)`, which may leave out the
    last two."""

    def export(self, estimator: Any, export_path: str, checkpoint_path: Any = None, eval_result: Any = None) -> Any:
        """Export a model; returns the path."""
        known = {"checkpoint_path": checkpoint_path, "eval_result": eval_result}
        names = argument_names(self.export_fn)
        return self.export_fn(estimator, export_path, **{name: known[name] for name in known if name in names})


@export("contrib.learn.make_export_strategy")
def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool = False,
) -> ExportStrategy:
    """Writes SavedModels, and keeps the newest `exports_to_keep` (None: all)."""

    def export_fn(estimator: Any, export_path: str, checkpoint_path: Any = None) -> Any:
        written = estimator.export_savedmodel(
            export_path, serving_input_fn, assets_extra=assets_extra, as_text=as_text, checkpoint_path=checkpoint_path
        )
        folders = [name for name in gfile.ListDirectory(export_path) if name.strip("/").isdigit()]
        older = sorted(folders, key=lambda name: int(name.strip("/")))[: -exports_to_keep if exports_to_keep else 0]
        for name in older:
            gfile.DeleteRecursively(os.path.join(export_path, name))
        return written

    return ExportStrategy("Servo", export_fn)


def make_parsing_export_strategy(
    feature_columns: Any,
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    target_core: bool = False,
    strip_default_attrs: bool = False,
) -> ExportStrategy:
    """Exports a model that is fed serialised examples, parsed as its columns ask.

    target_core: the columns are those of tf.feature_column, and the estimator tf.estimator's.
    """
    if target_core:
        serving_input_fn: Callable[[], Any] = build_parsing_serving_input_receiver_fn(
            make_parse_example_spec(feature_columns)
        )
    else:
        serving_input_fn = build_parsing_serving_input_fn(create_feature_spec_for_parsing(feature_columns))
    return make_export_strategy(
        serving_input_fn, default_output_alternative_key, assets_extra, as_text, exports_to_keep, strip_default_attrs
    )
