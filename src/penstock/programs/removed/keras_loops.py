"""Epochs of Keras as a package of its own: their order of samples, their means over batches, and what they print.

Facts from Keras 2.2.5 (`keras.engine.training_arrays`, `keras.engine.training_generator`, `keras.callbacks`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.keras import backend as K
from penstock.keras.engine import objective
from penstock.keras.engine.array_source import Arrays, shuffled
from penstock.keras.engine.layer import Layer
from penstock.keras.engine.tally import Tally
from penstock.keras.metrics import functions as metrics_functions
from penstock.keras.utils import manner
from penstock.keras.utils.progress_bar import Progbar
from penstock.ops.cast import cast


def take_loops() -> None:
    """Each epoch shuffles the order of the last one, and metrics are means over batches by their sizes."""
    arrays: Any = Arrays
    arrays._order = _order
    settings: Any = objective
    settings._TALLIED = False
    kind: Any = Tally
    kind.loss_by_steps = kind.is_kept = False
    layer: Any = Layer
    layer._activity_is_of_a_sample = False
    bar: Any = Progbar
    bar._count = lambda bar: ""
    manner.of_now = KerasManner()
    functions: Any = metrics_functions
    functions._of_two_classes = _rounded


def _order(source: Any, n: int, size: int) -> np.ndarray | None:
    """The rows of an epoch; None if they are as given, as for validation."""
    if not source._shuffle or source._shuffle == "validation":
        return None
    last = vars(source).setdefault("_last_order", np.arange(n))
    source._last_order = shuffled(last, size, source._shuffle)
    found: np.ndarray = source._last_order.copy()
    return found


def _rounded(y_pred: Any, threshold: float, dtype: Any) -> Any:
    """Predictions that are no probabilities are rounded to whole numbers."""
    return cast(K.round(y_pred) if threshold == 0.5 else y_pred > threshold, dtype)


class KerasManner(manner.Manner):
    """That of Keras 2.2.5."""

    metrics_first = False

    def alone(self, names: list[str], stateful: list[str]) -> list[str]:
        return stateful

    def params(self, source: Any, names: list[str], validated: bool, epochs: int, verbose: int) -> dict[str, Any]:
        found = super().params(source, names, validated or source.generated, epochs, verbose)
        found |= {"do_validation": validated, "samples": source.samples}
        return {k: v for k, v in found.items() if not source.generated or k not in ("batch_size", "samples")}

    def announce(self, source: Any, validation: Any) -> None:
        if validation is not None and not source.generated and validation.samples is not None:
            super().announce(source, validation)

    def has_header(self, epochs: int) -> bool:
        return True

    def unit(self, by_steps: bool) -> str:
        return "step"

    def bar(self, source: Any, verbose: int, names: list[str]) -> manner.Bar:
        return super().bar(source, verbose if verbose == 1 else 0, [])
