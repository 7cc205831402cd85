"""Metrics of right and wrong predictions above thresholds (TF: tf.keras.metrics.AUC, Precision, TruePositives, ...)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import control_dependencies
from penstock.keras import backend as K
from penstock.keras.metrics.classes import Metric
from penstock.metrics.base import broadcast_weights, fitted
from penstock.metrics.thresholds import KINDS, NAMES
from penstock.nn import top_k as greatest
from penstock.ops.arg_reductions import argmin
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.array import reshape
from penstock.ops.cast import cast
from penstock.ops.checks import assert_greater_equal, assert_less_equal
from penstock.ops.compare import greater, logical_and
from penstock.ops.division import div_no_nan
from penstock.ops.filling import one_hot, ones_like
from penstock.ops.gather import gather
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import log

LOWEST = -1e10
"""Below all predictions: the threshold where the k greatest count, and what the others are then."""


class _Counts(Metric):
    """Weights [thresholds] that count, of all predictions so far, those of some of `KINDS`.

    y_true: 0 or 1; y_pred: in [0, 1], of the same shape, else a step raises InvalidArgumentError.
    """

    kinds: tuple[str, ...] = tuple(KINDS)
    top_k: int | None = None
    class_id: int | None = None

    def _count_at(self, thresholds: list[float]) -> None:
        self._at = thresholds
        self.counts = {kind: self.add_weight(self._named(kind), (len(thresholds),)) for kind in self.kinds}
        vars(self).update({self._named(kind): count for kind, count in self.counts.items()})

    def _named(self, kind: str) -> str:
        return NAMES[kind]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        predictions = cast(convert_to_tensor(y_pred), "float32")
        checks = [
            assert_greater_equal(predictions, 0.0, message="predictions must be >= 0"),
            assert_less_equal(predictions, 1.0, message="predictions must be <= 1"),
        ]
        with control_dependencies(checks):
            predictions, labels, weights = fitted(predictions, cast(y_true, "bool"), sample_weight)
        if self.top_k is not None:
            predictions = _with_greatest(predictions, self.top_k)
        if weights is not None:
            weights = broadcast_weights(weights, predictions)
        if self.class_id is not None:
            labels, predictions = labels[..., self.class_id], predictions[..., self.class_id]
            weights = None if weights is None else weights[..., self.class_id]
        said = greater(reshape(predictions, [1, -1]), [[threshold] for threshold in self._at])
        real = reshape(labels, [1, -1])
        updates = []
        for kind, count in self.counts.items():
            found = cast(KINDS[kind](real, said), "float32")
            if weights is not None:
                found = found * reshape(weights, [1, -1])
            updates.append(count.assign_add(reduce_sum(found, 1)).op)
        return updates

    def _count(self, kind: str) -> Any:
        return self.counts[kind].read_value()

    def _one_or_all(self, values: Any) -> Any:
        return values[0] if len(self._at) == 1 else values


def _with_greatest(predictions: Any, k: int) -> Any:
    """The k greatest of the last axis; the others are `LOWEST`."""
    chosen = reduce_sum(one_hot(greatest(predictions, k, sorted=False).indices, predictions.shape[-1].value), -2)
    return predictions * chosen + LOWEST * (1.0 - chosen)


def _thresholds(given: Any, default: float = 0.5) -> list[float]:
    """Raises ValueError for what is not in [0, 1]."""
    wanted = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    wrong = [value for value in wanted if value is None or not 0 <= value <= 1]
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {wrong}")
    return [float(value) for value in wanted] or [default]


# --- counts ---------------------------------------------------------------------------------------------


class _OneCount(_Counts):
    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.init_thresholds, self.thresholds = thresholds, _thresholds(thresholds)
        self._count_at(self.thresholds)

    def _named(self, kind: str) -> str:
        return "accumulator"

    def result(self) -> Any:
        return self._one_or_all(self._count(self.kinds[0]))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.init_thresholds}


@export("keras.metrics.TruePositives")
class TruePositives(_OneCount):
    """How many targets that are 1 have predictions above the threshold, or above each."""

    kinds = ("tp",)


@export("keras.metrics.TrueNegatives")
class TrueNegatives(_OneCount):
    """How many targets that are 0 have predictions that are not above the threshold."""

    kinds = ("tn",)


@export("keras.metrics.FalsePositives")
class FalsePositives(_OneCount):
    """How many targets that are 0 have predictions above the threshold."""

    kinds = ("fp",)


@export("keras.metrics.FalseNegatives")
class FalseNegatives(_OneCount):
    """How many targets that are 1 have predictions that are not above the threshold."""

    kinds = ("fn",)


class _Share(_Counts):
    """Of two counts, how many are of the first. top_k: only the k greatest count; class_id: only one class does."""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name, dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self.thresholds = _thresholds(thresholds, 0.5 if top_k is None else LOWEST)
        self._count_at(self.thresholds)

    def result(self) -> Any:
        first, second = (self._count(kind) for kind in self.kinds)
        return self._one_or_all(div_no_nan(first, first + second))

    def get_config(self) -> dict[str, Any]:
        own = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **own}


@export("keras.metrics.Precision")
class Precision(_Share):
    """Of the predictions above the threshold, how many are right."""

    kinds = ("tp", "fp")


@export("keras.metrics.Recall")
class Recall(_Share):
    """Of the targets that are 1, how many are predicted above the threshold."""

    kinds = ("tp", "fn")


# --- over many thresholds -------------------------------------------------------------------------------


def _inner(num_thresholds: int) -> list[float]:
    """Evenly spaced between 0 and 1."""
    return [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]


class _AtOther(_Counts):
    """One share at the threshold where the other is nearest to a value."""

    what = ""

    def __init__(
        self, value: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None, **named: float
    ) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"`{self.what}` must be in the range [0, 1].")
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        super().__init__(name, dtype)
        self.value, self.num_thresholds = value, num_thresholds
        setattr(self, self.what, value)
        self.thresholds = [0.5] if num_thresholds == 1 else [0.0, *_inner(num_thresholds), 1.0]
        self._count_at(self.thresholds)

    def _at_nearest(self, kinds: tuple[str, str], others: tuple[str, str]) -> Any:
        other, rest = (self._count(kind) for kind in others)
        nearest = argmin(abs(div_no_nan(other, other + rest) - self.value), 0)
        one, more = (gather(self._count(kind), nearest) for kind in kinds)
        return div_no_nan(one, one + more)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_thresholds": self.num_thresholds, self.what: self.value}


@export("keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(_AtOther):
    """The share of targets of 1 that are found where about `specificity` of those of 0 are not."""

    what = "specificity"

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)

    def result(self) -> Any:
        return self._at_nearest(("tp", "fn"), ("tn", "fp"))


@export("keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(_AtOther):
    """The share of targets of 0 that are not found where about `sensitivity` of those of 1 are."""

    what = "sensitivity"

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)

    def result(self) -> Any:
        return self._at_nearest(("tn", "fp"), ("tp", "fn"))


@export("keras.metrics.AUC")
class AUC(_Counts):
    """The area under the curve of recall over false positives ("ROC"), or of precision over recall ("PR").

    thresholds: where the curve is known, `num_thresholds` evenly spaced ones by default. summation_method: what is
    between them: "interpolation", "minoring" or "majoring".
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        if num_thresholds <= 1 and thresholds is None:
            raise ValueError("`num_thresholds` must be > 1.")
        for value, valid in ((curve, ("ROC", "PR")), (summation_method, ("interpolation", "minoring", "majoring"))):
            if value not in valid:
                raise ValueError(f"Invalid value: {value!r}. Valid options are: {valid}")
        super().__init__(name, dtype)
        inner = _inner(num_thresholds) if thresholds is None else sorted(thresholds)
        self.thresholds = [-K.epsilon(), *inner, 1.0 + K.epsilon()]
        self.num_thresholds = len(self.thresholds)
        self.curve, self.summation_method = curve, summation_method
        self._count_at(self.thresholds)

    def result(self) -> Any:
        if (self.curve, self.summation_method) == ("PR", "interpolation"):
            return self.interpolate_pr_auc()
        tp, fp, fn, tn = (self._count(kind) for kind in ("tp", "fp", "fn", "tn"))
        recall = div_no_nan(tp, tp + fn)
        x, y = (div_no_nan(fp, fp + tn), recall) if self.curve == "ROC" else (recall, div_no_nan(tp, tp + fp))
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        else:
            heights = (minimum if self.summation_method == "minoring" else maximum)(y[:-1], y[1:])
        return reduce_sum((x[:-1] - x[1:]) * heights)

    def interpolate_pr_auc(self) -> Any:
        """The area where right and all positives are linear between thresholds (Davis and Goadrich 2006, section 4).

        Between two thresholds right positives are `slope * positives + start`, whose ratio to positives has the
        integral `slope * (right + start * log(ratio of positives))`, as a share of all targets that are 1.
        """
        tp, fp, fn = (self._count(kind) for kind in ("tp", "fp", "fn"))
        positives = tp + fp
        right = tp[:-1] - tp[1:]
        slope = div_no_nan(right, maximum(positives[:-1] - positives[1:], 0.0))
        start = tp[1:] - slope * positives[1:]
        known = logical_and(positives[:-1] > 0, positives[1:] > 0)
        ratio = where(known, div_no_nan(positives[:-1], positives[1:]), ones_like(positives[1:]))
        return reduce_sum(div_no_nan(slope * (right + start * log(ratio)), tp[1:] + fn[1:]))

    def get_config(self) -> dict[str, Any]:
        own = {"num_thresholds": self.num_thresholds, "curve": self.curve, "summation_method": self.summation_method}
        return {**super().get_config(), **own, "thresholds": self.thresholds[1:-1]}
