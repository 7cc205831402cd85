"""Metrics of the k best predictions under their names in TensorFlow 1.0 and before (TF: tf.contrib.metrics)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.metrics import means, ranking
from penstock.metrics.base import Collections, Metric
from penstock.metrics.ranking import at_k, average_precision_at_top_k
from penstock.ops.cast import cast
from penstock.ops.nn.top_k import in_top_k
from penstock.tensor.dtypes import float32


@export("contrib.metrics.streaming_recall_at_k")
def streaming_recall_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """How often the label of a row, [n], is among its k best predictions, [n, classes] float32."""
    found = cast(in_top_k(predictions, labels, k), float32)
    return means.mean(found, weights, metrics_collections, updates_collections, name or at_k("recall", k))


@export("contrib.metrics.streaming_sparse_recall_at_k")
def streaming_sparse_recall_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_k."""
    return ranking.recall_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.sparse_recall_at_top_k")
def sparse_recall_at_top_k(
    labels: Any, top_k_predictions: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None,
    name: str | None = "sparse_recall_at_top_k",
) -> Metric:  # fmt: skip
    """As tf.metrics.recall_at_top_k."""
    return ranking.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_sparse_precision_at_k")
def streaming_sparse_precision_at_k(
    predictions: Any, labels: Any, k: int, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_k."""
    return ranking.precision_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_sparse_precision_at_top_k")
def streaming_sparse_precision_at_top_k(
    top_k_predictions: Any, labels: Any, class_id: int | None = None, weights: Any = None,
    metrics_collections: Collections = None, updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.precision_at_top_k."""
    return ranking.precision_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_sparse_average_precision_at_k")
def streaming_sparse_average_precision_at_k(
    predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.average_precision_at_k."""
    return ranking.average_precision_at_k(
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )


@export("contrib.metrics.streaming_sparse_average_precision_at_top_k")
def streaming_sparse_average_precision_at_top_k(
    top_k_predictions: Any, labels: Any, weights: Any = None, metrics_collections: Collections = None,
    updates_collections: Collections = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """As tf.metrics.average_precision_at_k, given the predicted classes, [d1, …, dn, k]."""
    return average_precision_at_top_k(
        labels, top_k_predictions, weights, metrics_collections, updates_collections, name
    )
