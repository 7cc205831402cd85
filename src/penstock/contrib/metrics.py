"""Metrics under their names in TensorFlow 1.0 and before (TF: tf.contrib.metrics).

The streaming ones take `(predictions, labels)`, in this order, and return `(value, update_op)` like those of
tf.metrics.
"""

from __future__ import annotations

from typing import Any

from penstock import absent as _absent, metrics
from penstock.client.variable_scope import variable_scope
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.metrics import (
    mean as streaming_mean,
    mean_tensor as streaming_mean_tensor,
    percentage_below as streaming_percentage_less,
)
from penstock.metrics.base import Collections, Metric, finish
from penstock.metrics.ranking import at_k, average_precision_at_top_k
from penstock.metrics.thresholds import EPSILON, Counts, counts_at, spread
from penstock.ops.cast import cast
from penstock.ops.confusion_matrix import confusion_matrix as confusion_matrix
from penstock.ops.filling import ones_like
from penstock.ops.nn.top_k import in_top_k
from penstock.ops.reduce import reduce_max, reduce_mean, reduce_sum
from penstock.tensor.dtypes import bool as bool_type, float32, string

# --- one batch ------------------------------------------------------------------------------------------


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


def streaming_accuracy(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.accuracy."""
    return metrics.accuracy(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_precision(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision."""
    return metrics.precision(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_recall(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall."""
    return metrics.recall(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_true_positives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.true_positives."""
    return metrics.true_positives(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_true_negatives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.true_negatives."""
    return metrics.true_negatives(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_false_positives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.false_positives."""
    return metrics.false_positives(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_false_negatives(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.false_negatives."""
    return metrics.false_negatives(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_mean_absolute_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_absolute_error."""
    return metrics.mean_absolute_error(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_mean_squared_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_squared_error."""
    return metrics.mean_squared_error(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_root_mean_squared_error(
    predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.root_mean_squared_error."""
    return metrics.root_mean_squared_error(labels, predictions, weights, metrics_collections, updates_collections, name)


def streaming_mean_relative_error(
    predictions: Any, labels: Any, normalizer: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_relative_error."""
    return metrics.mean_relative_error(
        labels, predictions, normalizer, weights, metrics_collections, updates_collections, name
    )


def streaming_mean_cosine_distance(
    predictions: Any, labels: Any, dim: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_cosine_distance."""
    return metrics.mean_cosine_distance(
        labels, predictions, dim, weights, metrics_collections, updates_collections, name
    )


def streaming_mean_iou(
    predictions: Any, labels: Any, num_classes: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.mean_iou."""
    return metrics.mean_iou(labels, predictions, num_classes, weights, metrics_collections, updates_collections, name)


# --- at thresholds --------------------------------------------------------------------------------------


def streaming_auc(
    predictions: Any, labels: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, curve: str = "ROC",
    name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.auc."""
    return metrics.auc(
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections, curve, name
    )


def streaming_precision_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_thresholds."""
    return metrics.precision_at_thresholds(
        labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def streaming_recall_at_thresholds(
    predictions: Any, labels: Any, thresholds: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_thresholds."""
    return metrics.recall_at_thresholds(
        labels, predictions, thresholds, weights, metrics_collections, updates_collections, name
    )


def streaming_sensitivity_at_specificity(
    predictions: Any, labels: Any, specificity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.sensitivity_at_specificity."""
    return metrics.sensitivity_at_specificity(
        labels, predictions, specificity, weights, num_thresholds, metrics_collections, updates_collections, name
    )


def streaming_specificity_at_sensitivity(
    predictions: Any, labels: Any, sensitivity: float, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.specificity_at_sensitivity."""
    return metrics.specificity_at_sensitivity(
        labels, predictions, sensitivity, weights, num_thresholds, metrics_collections, updates_collections, name
    )


def f1_score(
    labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The best harmonic mean of precision and recall at any threshold (TF: tf.contrib.metrics.f1_score).

    labels (cast to bool) and predictions in [0, 1], of the same shape.
    """

    def best(counts: Counts, name: str) -> Tensor:
        right = counts["tp"]
        precision = get_op("RealDiv")(right, right + counts["fp"] + EPSILON)
        recall = get_op("RealDiv")(right, right + counts["fn"] + EPSILON)
        return reduce_max(2.0 * precision * recall / (precision + recall + EPSILON), name=name)

    with variable_scope(name, "f1", (labels, predictions, weights)):
        now, then = counts_at(labels, predictions, spread(num_thresholds), weights, ("tp", "fn", "fp"))
        return finish(best(now, "value"), best(then, "update_op"), metrics_collections, updates_collections)


# --- at k --------------------------------------------------------------------------------------


def streaming_recall_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often the label of a row, [n], is among its k best predictions, [n, classes] float32."""
    found = cast(in_top_k(predictions, labels, k), float32)
    return metrics.mean(found, weights, metrics_collections, updates_collections, name or at_k("recall", k))


def streaming_sparse_recall_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_k."""
    return metrics.recall_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


def sparse_recall_at_top_k(
    labels: Any, top_k_predictions: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None,
    name: str | None = "sparse_recall_at_top_k",
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_top_k."""
    return metrics.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_precision_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_k."""
    return metrics.precision_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any, labels: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_top_k."""
    return metrics.precision_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_average_precision_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.average_precision_at_k."""
    return metrics.average_precision_at_k(
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )


def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.average_precision_at_k, given the predicted classes, [d1, …, dn, k]."""
    return average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )


# --- several metrics ------------------------------------------------------------------------------------


def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Any], list[Any]]:
    """The values and the updates of metrics as two lists; raises ValueError without metrics.

    TF: tf.contrib.metrics.aggregate_metrics.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Metric]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values and the updates of metrics, each by name (TF: tf.contrib.metrics.aggregate_metric_map)."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}


__all__ = [
    "accuracy", "aggregate_metric_map", "aggregate_metrics", "confusion_matrix", "f1_score",
    "sparse_recall_at_top_k", "streaming_accuracy", "streaming_auc", "streaming_false_negatives",
    "streaming_false_positives", "streaming_mean", "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance", "streaming_mean_iou", "streaming_mean_relative_error",
    "streaming_mean_squared_error", "streaming_mean_tensor", "streaming_percentage_less", "streaming_precision",
    "streaming_precision_at_thresholds", "streaming_recall", "streaming_recall_at_k",
    "streaming_recall_at_thresholds", "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity", "streaming_sparse_average_precision_at_k",
    "streaming_sparse_average_precision_at_top_k", "streaming_sparse_precision_at_k",
    "streaming_sparse_precision_at_top_k", "streaming_sparse_recall_at_k", "streaming_specificity_at_sensitivity",
    "streaming_true_negatives", "streaming_true_positives",
]  # fmt: skip

_absent.tell_in(__name__)
