"""Metrics that count right and wrong binary predictions (TF: tf.metrics.precision and related functions)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.metrics.base import Collections, Metric, finish, fitted, metric_variable
from penstock.ops.array import rank
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.compare import logical_and, logical_not
from penstock.ops.reduce import reduce_sum
from penstock.ops.shape_checks import assert_rank_in
from penstock.ops.state import assign_add
from penstock.tensor.dtypes import bool as bool_type, float32


def _count(
    name: str | None,
    default_name: str,
    counted: Callable[[Tensor, Tensor], Tensor],
    labels: Any,
    predictions: Any,
    weights: Any,
    metrics_collections: Collections,
    updates_collections: Collections,
) -> Metric:
    """The sum of the weights where `counted(labels, predictions)` holds, with both as bools."""
    with variable_scope(name, default_name, (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights, (bool_type, bool_type))
        count = metric_variable([], float32, name="count")
        values = cast(counted(labels, predictions), float32)
        if weights is not None:
            with control_dependencies([assert_rank_in(weights, (0, rank(values)))]):
                values = get_op("Mul")(values, cast(weights, float32))
        value, update = identity(count), assign_add(count, reduce_sum(values))
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.true_positives")
def true_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true labels that were predicted (TF: tf.metrics.true_positives).

    labels, predictions: of the same shape, cast to bool; weights: of their rank, each dim 1 or equal, or a scalar.
    """
    return _count(
        name, "true_positives", logical_and, labels, predictions, weights, metrics_collections, updates_collections
    )


@export("metrics.true_negatives")
def true_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false labels that were not predicted (TF: tf.metrics.true_negatives)."""
    return _count(
        name, "true_negatives", lambda real, said: logical_and(logical_not(real), logical_not(said)),
        labels, predictions, weights, metrics_collections, updates_collections,
    )  # fmt: skip


@export("metrics.false_positives")
def false_positives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of false labels that were predicted (TF: tf.metrics.false_positives)."""
    return _count(
        name, "false_positives", lambda real, said: logical_and(logical_not(real), said),
        labels, predictions, weights, metrics_collections, updates_collections,
    )  # fmt: skip


@export("metrics.false_negatives")
def false_negatives(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The number of true labels that were not predicted (TF: tf.metrics.false_negatives)."""
    return _count(
        name, "false_negatives", lambda real, said: logical_and(real, logical_not(said)),
        labels, predictions, weights, metrics_collections, updates_collections,
    )  # fmt: skip


def _share(right: Tensor, wrong: Tensor, name: str) -> Tensor:
    """right / (right + wrong), or 0 if both are 0."""
    there = get_op("Greater")(right + wrong, 0.0)
    return get_op("Select")(there, get_op("RealDiv")(right, right + wrong), 0.0, name=name)


@export("metrics.precision")
def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of predicted positives that are true (TF: tf.metrics.precision)."""
    with variable_scope(name, "precision", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights, (bool_type, bool_type))
        right, more_right = true_positives(labels, predictions, weights)
        wrong, more_wrong = false_positives(labels, predictions, weights)
        value, update = _share(right, wrong, "value"), _share(more_right, more_wrong, "update_op")
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.recall")
def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of true labels that were predicted (TF: tf.metrics.recall)."""
    with variable_scope(name, "recall", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights, (bool_type, bool_type))
        right, more_right = true_positives(labels, predictions, weights)
        missed, more_missed = false_negatives(labels, predictions, weights)
        value, update = _share(right, missed, "value"), _share(more_right, more_missed, "update_op")
        return finish(value, update, metrics_collections, updates_collections)
