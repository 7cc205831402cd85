"""Metrics of predictions in [0, 1] that count as positive above a threshold, for many thresholds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.metrics.base import Collections, Metric, broadcast_weights, finish, fitted, metric_variable, ratio
from penstock.ops.arg_reductions import argmax, argmin
from penstock.ops.array import reshape
from penstock.ops.cast import cast
from penstock.ops.checks import assert_greater_equal, assert_less_equal
from penstock.ops.compare import logical_and, logical_not
from penstock.ops.reduce import reduce_min, reduce_sum
from penstock.ops.state import assign_add
from penstock.tensor.dtypes import bool as bool_type, float32, int64

EPSILON = 1e-7
"""Added to denominators; also the amount by which the outermost thresholds exceed [0, 1]."""

KINDS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tp": lambda real, said: logical_and(real, said),
    "fn": lambda real, said: logical_and(real, logical_not(said)),
    "tn": lambda real, said: logical_and(logical_not(real), logical_not(said)),
    "fp": lambda real, said: logical_and(logical_not(real), said),
}
NAMES = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}

Counts = dict[str, Tensor]


def spread(num_thresholds: int) -> list[float]:
    """Evenly spaced thresholds that just include both ends of [0, 1]."""
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    return [-EPSILON, *inner, 1.0 + EPSILON]


def counts_at(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: Iterable[str] = KINDS
) -> tuple[Counts, Counts]:
    """The counts so far for each of `kinds`, [thresholds] float32, and their updates.

    labels (cast to bool) and predictions: of the same shape. Raises InvalidArgumentError for predictions outside [0,
    1].
    """
    in_range = "predictions must be in [0, 1]"
    predictions = convert_to_tensor(predictions)
    checks = [
        assert_greater_equal(predictions, cast(0.0, predictions.dtype), message=in_range),
        assert_less_equal(predictions, cast(1.0, predictions.dtype), message=in_range),
    ]
    with control_dependencies(checks):
        predictions, labels, weights = fitted(predictions, labels, weights, (float32, bool_type))
    cuts = convert_to_tensor(thresholds, float32)
    said = get_op("Greater")(reshape(predictions, [1, -1]), reshape(cuts, [-1, 1]))
    real = reshape(labels, [1, -1])
    if weights is not None:
        weights = reshape(broadcast_weights(weights, predictions), [1, -1])
    now, then = {}, {}
    for kind in kinds:
        variable = metric_variable(cuts.shape, float32, name=NAMES[kind])
        found = cast(KINDS[kind](real, said), float32)
        if weights is not None:
            found = get_op("Mul")(found, weights)
        now[kind] = get_op("Identity")(variable)
        then[kind] = assign_add(variable, reduce_sum(found, 1))
    return now, then


def confusion_matrix_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, includes: Iterable[str] | None = None
) -> tuple[Counts, Counts]:
    """`counts_at` of the kinds in `includes`, by default all of "tp", "fn", "tn" and "fp". Programs take it from
    `tensorflow.python.ops.metrics_impl` for metrics of their own.

    Raises ValueError for other kinds.
    """
    kinds = tuple(KINDS if includes is None else includes)
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"Invalid key: {kind}.")
    return counts_at(labels, predictions, thresholds, weights, kinds)


# --- counts ---------------------------------------------------------------------------------------------


def _counts_metric(
    kind: str, labels: Any, predictions: Any, thresholds: Any, weights: Any,
    metrics_collections: Collections, updates_collections: Collections, name: str | None,
) -> Metric:  # fmt: skip
    with variable_scope(name, NAMES[kind], (predictions, labels, weights)):
        now, then = counts_at(labels, predictions, thresholds, weights, [kind])
        return finish(now[kind], then[kind], metrics_collections, updates_collections)


@export("metrics.true_positives_at_thresholds")
def true_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true labels with a prediction above the threshold (TF: tf.metrics.true_positives_at_thresholds).

    labels (cast to bool), predictions in [0, 1]: of the same shape -> [thresholds] float32.
    """
    return _counts_metric(
        "tp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


@export("metrics.false_negatives_at_thresholds")
def false_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true labels with a prediction up to the threshold (TF:
    tf.metrics.false_negatives_at_thresholds)."""
    return _counts_metric(
        "fn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


@export("metrics.true_negatives_at_thresholds")
def true_negatives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false labels with a prediction up to the threshold (TF:
    tf.metrics.true_negatives_at_thresholds)."""
    return _counts_metric(
        "tn", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


@export("metrics.false_positives_at_thresholds")
def false_positives_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false labels with a prediction above the threshold (TF:
    tf.metrics.false_positives_at_thresholds)."""
    return _counts_metric(
        "fp", labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


# --- shares ---------------------------------------------------------------------------------------------


def _share(right: Tensor, wrong: Tensor, name: str | None = None) -> Tensor:
    return get_op("RealDiv")(right, right + wrong + EPSILON, name=name)


@export("metrics.precision_at_thresholds")
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The precision at each threshold, [thresholds] float32 (TF: tf.metrics.precision_at_thresholds)."""
    with variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        now, then = counts_at(labels, predictions, thresholds, weights, ("tp", "fp"))
        value = _share(now["tp"], now["fp"], "precision_value")
        update = _share(then["tp"], then["fp"], "precision_update_op")
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.recall_at_thresholds")
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The recall at each threshold, [thresholds] float32 (TF: tf.metrics.recall_at_thresholds)."""
    with variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        now, then = counts_at(labels, predictions, thresholds, weights, ("tp", "fn"))
        value = _share(now["tp"], now["fn"], "recall_value")
        update = _share(then["tp"], then["fn"], "recall_update_op")
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.sensitivity_at_specificity")
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The recall at the threshold where the specificity, tn / (tn + fp), is closest to the given one.

    Raises ValueError for a specificity outside [0, 1]. TF: tf.metrics.sensitivity_at_specificity.
    """
    _check_share("specificity", specificity)

    def found(counts: Counts, name: str) -> Tensor:
        specificities = _share(counts["tn"], counts["fp"])
        best = cast(argmin(get_op("Abs")(specificities - specificity), 0), int64)
        return _share(counts["tp"][best], counts["fn"][best], name)

    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        now, then = counts_at(labels, predictions, spread(num_thresholds), weights)
        return finish(found(now, "value"), found(then, "update_op"), metrics_collections, updates_collections)


@export("metrics.specificity_at_sensitivity")
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The specificity, tn / (tn + fp), at the last threshold where the recall is closest to the given one.

    Raises ValueError for a sensitivity outside [0, 1]. TF: tf.metrics.specificity_at_sensitivity.
    """
    _check_share("sensitivity", sensitivity)

    def found(counts: Counts, name: str) -> Tensor:
        away = get_op("Abs")(_share(counts["tp"], counts["fn"]) - sensitivity)
        nearest = cast(get_op("Equal")(away, reduce_min(away)), int64)
        # The running count of the nearest ones has its maximum first at the last of them.
        last = argmax(get_op("Cumsum")(nearest, 0), 0)
        return _share(counts["tn"][last], counts["fp"][last], name)

    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        now, then = counts_at(labels, predictions, spread(num_thresholds), weights)
        return finish(found(now, "value"), found(then, "update_op"), metrics_collections, updates_collections)


def _check_share(what: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"`{what}` must be in the range [0, 1]. Currently, `{what}` got {value}.")


# --- the area under a curve -----------------------------------------------------------------------------


@export("metrics.auc")
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Any = None,
) -> Metric:
    """The area under the curve of recall by false positive rate ("ROC"), or of precision by recall ("PR").

    labels (cast to bool), predictions in [0, 1]: of the same shape. The curve has `num_thresholds` points, or one for
    each of `thresholds` and two at the ends. summation_method: "trapezoidal"; "careful_interpolation", for PR curves;
    "minoring" and "majoring", steps below and above the curve. Raises ValueError for others. TF: tf.metrics.auc.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    with variable_scope(name, "auc", (labels, predictions, weights)):
        cuts = spread(num_thresholds)
        if thresholds is not None:
            cuts = [-EPSILON, *sorted(np.ravel(thresholds).tolist()), 1.0 + EPSILON]
        now, then = counts_at(labels, predictions, cuts, weights)
        value = _area(now, curve, summation_method, "value")
        update = _area(then, curve, summation_method, "update_op")
        return finish(value, update, metrics_collections, updates_collections)


def _area(counts: Counts, curve: str, method: str, name: str) -> Tensor:
    """The area along increasing thresholds, on which x decreases."""
    epsilon = 1e-6
    tp, fn, tn, fp = (counts[kind] for kind in ("tp", "fn", "tn", "fp"))
    if method == "careful_interpolation" and curve == "PR":
        return _careful_area(tp, fn, fp, name)
    recall = get_op("RealDiv")(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        x, y = get_op("RealDiv")(fp, fp + tn + epsilon), recall
    else:
        x, y = recall, get_op("RealDiv")(tp + epsilon, tp + fp + epsilon)
    width, left, right = x[:-1] - x[1:], y[:-1], y[1:]
    if method == "minoring":
        height = get_op("Minimum")(left, right)
    elif method == "majoring":
        height = get_op("Maximum")(left, right)
    else:
        height = (left + right) / 2.0
    return reduce_sum(get_op("Mul")(width, height), name=name)


def _careful_area(tp: Tensor, fn: Tensor, fp: Tensor, name: str) -> Tensor:
    """Davis and Goadrich 2006: between two points, true and false positives grow in proportion.

    With precision tp / p, p = tp + fp, and tp = a + b p on the way, the area over d(tp) is that of b (1 + a/(b p)).
    """
    step = tp[:-1] - tp[1:]
    p = tp + fp
    before, after = p[:-1], p[1:]
    slope = ratio(step, before - after)
    intercept = tp[1:] - slope * after
    both = logical_and(get_op("Greater")(before, 0.0), get_op("Greater")(after, 0.0))
    growth = get_op("Select")(both, ratio(before, after), get_op("OnesLike")(after))
    areas = ratio(slope * (step + intercept * get_op("Log")(growth)), tp[1:] + fn[1:])
    return reduce_sum(areas, name=name)
