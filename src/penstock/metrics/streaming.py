"""Metrics under their names in TensorFlow 1.0 and before (TF: tf.contrib.metrics); those of rankings are in
`streaming_ranking.py`."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.metrics import counts, means, thresholds
from penstock.metrics.base import Collections, Metric, finish
from penstock.metrics.thresholds import (
    EPSILON,
    Counts,
    counts_at,
    precision_at_thresholds,
    recall_at_thresholds,
    spread,
)
from penstock.ops.cast import cast
from penstock.ops.filling import ones_like
from penstock.ops.reduce import reduce_max, reduce_mean, reduce_sum
from penstock.tensor.dtypes import bool as bool_type, float32, string

# --- one batch ------------------------------------------------------------------------------------------


@export("contrib.metrics.accuracy")
def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """The fraction of one batch's predictions that equal the labels, a scalar (TF: tf.contrib.metrics.accuracy).

    predictions, labels: ints, bools or strings of the same shape and type; raises ValueError otherwise. weights: None,
    or broadcastable.
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not (labels.dtype.is_integer or labels.dtype in (bool_type, string)):
        raise ValueError(f"Labels should have bool, string, or integer dtype, not {labels.dtype!r}.")
    labels.shape.assert_is_compatible_with(predictions.shape)
    if labels.dtype != predictions.dtype:
        raise ValueError(f"Dtypes of predictions and labels should match. Given: {predictions.dtype}, {labels.dtype}")
    with name_scope(name, "accuracy", [predictions, labels]):
        correct = cast(get_op("Equal")(predictions, labels), float32)
        if weights is None:
            return reduce_mean(correct)
        weights = cast(weights, float32)
        total = reduce_sum(get_op("Mul")(weights, ones_like(correct)))
        return get_op("RealDiv")(reduce_sum(get_op("Mul")(correct, weights)), total)


# --- all batches so far ---------------------------------------------------------------------------------


@export("contrib.metrics.streaming_accuracy")
def streaming_accuracy(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.accuracy."""
    return means.accuracy(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_precision")
def streaming_precision(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision."""
    return counts.precision(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_recall")
def streaming_recall(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall."""
    return counts.recall(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_true_positives")
def streaming_true_positives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.true_positives."""
    return counts.true_positives(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_true_negatives")
def streaming_true_negatives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.true_negatives."""
    return counts.true_negatives(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_false_positives")
def streaming_false_positives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.false_positives."""
    return counts.false_positives(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_false_negatives")
def streaming_false_negatives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.false_negatives."""
    return counts.false_negatives(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_mean_absolute_error")
def streaming_mean_absolute_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_absolute_error."""
    return means.mean_absolute_error(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_mean_squared_error")
def streaming_mean_squared_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_squared_error."""
    return means.mean_squared_error(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_root_mean_squared_error")
def streaming_root_mean_squared_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.root_mean_squared_error."""
    return means.root_mean_squared_error(labels, predictions, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_mean_relative_error")
def streaming_mean_relative_error(
    predictions: Any, labels: Any, normalizer: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_relative_error."""
    return means.mean_relative_error(
        labels, predictions, normalizer, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_mean_cosine_distance")
def streaming_mean_cosine_distance(
    predictions: Any, labels: Any, dim: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_cosine_distance."""
    return means.mean_cosine_distance(labels, predictions, dim, weights, metrics_collections, updates_collections, name)


@export("contrib.metrics.streaming_mean_iou")
def streaming_mean_iou(
    predictions: Any, labels: Any, num_classes: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_iou."""
    return means.mean_iou(labels, predictions, num_classes, weights, metrics_collections, updates_collections, name)


# --- at thresholds --------------------------------------------------------------------------------------


@export("contrib.metrics.streaming_auc")
def streaming_auc(
    predictions: Any, labels: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, curve: str = "ROC",
    name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.auc."""
    return thresholds.auc(
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, curve, name
    )


@export("contrib.metrics.streaming_precision_at_thresholds")
def streaming_precision_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_thresholds."""
    return precision_at_thresholds(
        labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_recall_at_thresholds")
def streaming_recall_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_thresholds."""
    return recall_at_thresholds(
        labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_sensitivity_at_specificity")
def streaming_sensitivity_at_specificity(
    predictions: Any, labels: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.sensitivity_at_specificity."""
    return thresholds.sensitivity_at_specificity(
        labels, predictions, specificity, weights, num_thresholds, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_specificity_at_sensitivity")
def streaming_specificity_at_sensitivity(
    predictions: Any, labels: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.specificity_at_sensitivity."""
    return thresholds.specificity_at_sensitivity(
        labels, predictions, sensitivity, weights, num_thresholds, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.f1_score")
def f1_score(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The best harmonic mean of precision and recall at any threshold (TF: tf.contrib.metrics.f1_score).

    labels (cast to bool) and predictions in [0, 1], of the same shape.
    """

    def best(found: Counts, name: str) -> Tensor:
        right = found["tp"]
        precision = get_op("RealDiv")(right, right + found["fp"] + EPSILON)
        recall = get_op("RealDiv")(right, right + found["fn"] + EPSILON)
        return reduce_max(2.0 * precision * recall / (precision + recall + EPSILON), name=name)

    with variable_scope(name, "f1", (labels, predictions, weights)):
        now, then = counts_at(labels, predictions, spread(num_thresholds), weights, ("tp", "fn", "fp"))
        return finish(best(now, "value"), best(then, "update_op"), metrics_collections, updates_collections)


# --- several metrics ------------------------------------------------------------------------------------


@export("contrib.metrics.aggregate_metrics")
def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Any], list[Any]]:
    """The values and the updates of metrics as two lists; raises ValueError without metrics.

    TF: tf.contrib.metrics.aggregate_metrics.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


@export("contrib.metrics.aggregate_metric_map")
def aggregate_metric_map(names_to_tuples: dict[str, Metric]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values and the updates of metrics, each by name (TF: tf.contrib.metrics.aggregate_metric_map)."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
