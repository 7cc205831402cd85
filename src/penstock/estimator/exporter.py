"""Exporters: which of the models that `train_and_evaluate` has evaluated are exported."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping
from typing import Any

from penstock import gfile, logging
from penstock.estimator.export.directories import exports_in
from penstock.estimator.results import read_results
from penstock.estimator.spec import LOSS_METRIC_KEY
from penstock.export import export


@export("estimator.Exporter")
class Exporter(abc.ABC):
    """The base of exporters."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name of its folder, which differs from those of other exporters."""

    @abc.abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Called after each evaluation; returns the path of what it exported, or None."""


class _ModelExporter(Exporter):
    """What to export, and where to."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None,
        as_text: bool,
        exports_to_keep: int | None,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError("`exports_to_keep`, if provided, must be a positive number. ")
        self._name, self._receiver_fn = name, serving_input_receiver_fn
        self._assets_extra, self._as_text, self._exports_to_keep = assets_extra, as_text, exports_to_keep

    @property
    def name(self) -> str:
        return self._name

    def _write(self, estimator: Any, export_path: str, checkpoint_path: str) -> Any:
        """Exports the checkpoint, and deletes the oldest exports if there are too many."""
        exported = estimator.export_savedmodel(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        if self._exports_to_keep is not None:
            for old in exports_in(export_path)[: -self._exports_to_keep]:
                try:
                    gfile.DeleteRecursively(old)
                except Exception as error:
                    logging.warning("Can not delete %s recursively: %s", old, error)
        return exported


@export("estimator.FinalExporter")
class FinalExporter(_ModelExporter):
    """Exports once, at the end of training (TF: tf.estimator.FinalExporter)."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if not is_the_final_export:
            return None
        logging.info("Performing the final export in the end of training.")
        return self._write(estimator, export_path, checkpoint_path)


@export("estimator.LatestExporter")
class LatestExporter(_ModelExporter):
    """Exports after every evaluation, and keeps the newest few (TF: tf.estimator.LatestExporter)."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        return self._write(estimator, export_path, checkpoint_path)


def _loss_smaller(best_eval_result: dict[str, Any], current_eval_result: dict[str, Any]) -> bool:
    """Raises ValueError if one of the results has no loss."""
    for which, result in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not result or LOSS_METRIC_KEY not in result:
            raise ValueError(f"{which} cannot be empty or no loss is found in it.")
    return bool(best_eval_result[LOSS_METRIC_KEY] > current_eval_result[LOSS_METRIC_KEY])


@export("estimator.BestExporter")
class BestExporter(_ModelExporter):
    """Exports a model that was evaluated as better than all before it (TF: tf.estimator.BestExporter).

    compare_fn: `(best_eval_result, current_eval_result)`, whether the second is better; by default it has the smaller
    loss. event_file_pattern: below the model's folder, the event files with earlier results, so that a restarted
    program knows the best.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = None,
        compare_fn: Callable[..., bool] = _loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        if serving_input_receiver_fn is None:
            raise ValueError("`serving_input_receiver_fn` must not be None.")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare_fn, self._event_file_pattern = compare_fn, event_file_pattern
        self._best: dict[str, Any] | None = None
        self._looked_for_best = False

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> Any:
        if self._event_file_pattern and not self._looked_for_best:
            self._looked_for_best = True
            self._best = self._best_written(os.path.join(estimator.model_dir, self._event_file_pattern), eval_result)
        if self._best is not None and not self._compare_fn(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        logging.info("Performing best model export.")
        self._best = eval_result
        return self._write(estimator, export_path, checkpoint_path)

    def _best_written(self, pattern: str, current: Mapping[str, Any]) -> dict[str, Any] | None:
        """The best of the earlier results in event files; the current one is there as well."""
        best = None
        for step, found in read_results(pattern):
            if step != current.get("global_step") and (
                best is None or self._compare_fn(best_eval_result=best, current_eval_result=found)
            ):
                best = found
        return best
