"""Metrics that compare the k classes with the highest scores with sets of labels (TF: tf.metrics.precision_at_k, …).

Labels are classes, [d1, …, dn, labels] int64 (or [d1, …, dn] for one each; or a SparseTensor if their number varies);
invalid classes count as missed. Everything is computed in float64, as TensorFlow does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.metrics.base import Collections, Metric, broadcast_weights, finish, metric_variable, ratio
from penstock.ops.array import expand_dims, rank, size
from penstock.ops.cast import cast
from penstock.ops.compare import logical_and, logical_not
from penstock.ops.control_flow.cond import cond
from penstock.ops.reduce import reduce_any, reduce_sum
from penstock.ops.sorting import top_k
from penstock.ops.state import assign_add
from penstock.tensor.dtypes import float64, int32, int64


def at_k(name: str, k: int | None = None, class_id: int | None = None) -> str:
    """ "recall_at_5", "recall_at_5_class2"; "recall_at_k" of an unknown k."""
    name = f"{name}_at_{k}" if k is not None else f"{name}_at_k"
    return f"{name}_class{class_id}" if class_id is not None else name


# --- sets of classes ------------------------------------------------------------------------------------

NOTHING = int64.min
"""Pads the rows of sparse labels: not a class, and not counted as missed."""


def _is_sparse(labels: Any) -> bool:
    return isinstance(labels, SparseTensor | SparseTensorValue)


def _as_sets(labels: Any, predictions: Tensor) -> Tensor:
    """Labels as [d1, …, dn, labels] int64: sparse rows are padded, and single labels become a row of one."""
    if _is_sparse(labels):
        labels = SparseTensor.from_value(labels)
        values = cast(labels.values, int64)
        dense = get_op("SparseToDense")(labels.indices, labels.dense_shape, values, constant(NOTHING, int64))
        have = labels.dense_shape.shape.as_list()[0]
        if have is not None:
            dense.set_shape([None] * have)
    else:
        dense = cast(labels, int64)
    have, want = dense.shape.ndims, predictions.shape.ndims
    if have is None or want is None:
        single = get_op("Equal")(rank(predictions), rank(dense) + 1)
        return cond(single, lambda: expand_dims(dense, -1), lambda: dense)
    if want == have + 1:
        return expand_dims(dense, -1)
    if want != have:
        raise ValueError(f"Unexpected labels rank {have} for predictions rank {want}.")
    return dense


def _pairs(a: Tensor, b: Tensor) -> Tensor:
    """Whether element i of a row of `a` equals element j of that row of `b`, [d1, …, dn, i, j]."""
    return get_op("Equal")(expand_dims(a, -1), expand_dims(b, -2))


def _members(row: Tensor, class_id: int | None) -> Tensor:
    """Which elements make up the set: the first of equal ones, and only those of the given class, if any."""
    number = get_op("Range")(0, get_op("Shape")(row)[-1], 1)
    before = get_op("Less")(expand_dims(number, 0), expand_dims(number, 1))
    again = reduce_any(logical_and(_pairs(row, row), before), -1)
    one = get_op("NotEqual")(row, constant(NOTHING, int64))
    if class_id is not None:
        one = get_op("Equal")(row, constant(class_id, int64))
    return logical_and(one, logical_not(again))


def _counted(kind: str, labels: Tensor, predictions: Tensor, class_id: int | None, weights: Any) -> Tensor:
    """For each row, the number of classes of that kind, times its weight."""
    same = _pairs(predictions, labels)
    if kind == "true_positive":
        found = logical_and(_members(predictions, class_id), reduce_any(same, -1))
    elif kind == "false_positive":
        found = logical_and(_members(predictions, class_id), logical_not(reduce_any(same, -1)))
    else:
        found = logical_and(_members(labels, class_id), logical_not(reduce_any(same, -2)))
    return _weighted(reduce_sum(cast(found, float64), -1), weights)


def _weighted(values: Tensor, weights: Any) -> Tensor:
    return values if weights is None else get_op("Mul")(values, broadcast_weights(weights, values, float64))


# --- precision and recall -------------------------------------------------------------------------------


def _total(kind: str, labels: Any, predictions: Tensor, k: int | None, class_id: int | None, weights: Any) -> Metric:
    with name_scope(None, at_k(kind, k, class_id), [predictions, labels, weights]) as scope:
        found = reduce_sum(_counted(kind, labels, predictions, class_id, weights))
        total = metric_variable([], float64, name=scope)
        return total, assign_add(total, found, name="update")


def _share(
    what: str, wrong: str, labels: Any, predictions: Any, k: int | None, class_id: int | None, weights: Any,
    metrics_collections: Collections, updates_collections: Collections, name: str | None,
) -> Metric:  # fmt: skip
    with name_scope(name, at_k(what, k, class_id), [predictions, labels, weights]) as scope:
        predictions = cast(predictions, int64)
        labels = _as_sets(labels, predictions)
        right, more_right = _total("true_positive", labels, predictions, k, class_id, weights)
        others, more_others = _total(wrong, labels, predictions, k, class_id, weights)
        value = get_op("RealDiv")(right, get_op("AddV2")(right, others), name=scope)
        update = get_op("RealDiv")(more_right, get_op("AddV2")(more_right, more_others), name="update")
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.recall_at_top_k")
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Like `recall_at_k`, given the predicted classes, [d1, …, dn, k] (TF: tf.metrics.recall_at_top_k)."""
    return _share(
        "recall", "false_negative", labels, predictions_idx, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@export("metrics.precision_at_top_k")
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Like `precision_at_k`, given the predicted classes, [d1, …, dn, k] (TF: tf.metrics.precision_at_top_k)."""
    return _share(
        "precision", "false_positive", labels, predictions_idx, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def _of_best(
    metric: Callable[..., Metric], what: str, labels: Any, predictions: Any, k: int, class_id: int | None,
    weights: Any, metrics_collections: Collections, updates_collections: Collections, name: str | None,
) -> Metric:  # fmt: skip
    with name_scope(name, at_k(what, k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(predictions, k).indices
        return metric(labels, best, k, class_id, weights, metrics_collections, updates_collections, scope)


@export("metrics.recall_at_k")
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of labels among the k best predictions, NaN without labels (TF: tf.metrics.recall_at_k).

    predictions: [d1, …, dn, classes], a score for each class; `class_id`: only this class counts; weights:
    [d1, …, dn], a dim may be 1, or a scalar.
    """
    return _of_best(
        recall_at_top_k, "recall", labels, predictions, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@export("metrics.precision_at_k")
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of the k best predictions among the labels (TF: tf.metrics.precision_at_k).

    Arguments as of `recall_at_k`.
    """
    return _of_best(
        precision_at_top_k, "precision", labels, predictions, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@export("metrics.sparse_precision_at_k")
def sparse_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """`precision_at_k` by its older name (TF: tf.metrics.sparse_precision_at_k)."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


# --- average precision ----------------------------------------------------------------------------------


def _average_precision(labels: Tensor, predictions: Tensor, sparse: bool) -> Tensor:
    """For each row, the mean of the precision up to each label's position, over the labels that can be found.

    Negative labels do not count if labels are dense, but count like others if they are sparse, as in TF.
    """
    with name_scope(None, "average_precision", [predictions, labels]) as scope:
        found = cast(reduce_any(_pairs(predictions, labels), -1), float64)
        hits = get_op("Cumsum")(found, -1)
        places = get_op("Cumsum")(get_op("OnesLike")(found), -1)
        precisions = reduce_sum(get_op("Mul")(get_op("RealDiv")(hits, places), found), axis=[-1])
        counting = _members(labels, None) if sparse else get_op("GreaterEqual")(labels, constant(0, int64))
        there = reduce_sum(cast(counting, int32), axis=[-1])
        possible = get_op("Minimum")(there, get_op("Shape")(predictions)[-1])
        return get_op("RealDiv")(precisions, cast(possible, float64), name=scope)


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """Like `average_precision_at_k`, given the predicted classes, [d1, …, dn, k]."""
    predictions = cast(predictions_idx, int64)
    return _mean_average_precision(
        _as_sets(labels, predictions), predictions, _is_sparse(labels), weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def _mean_average_precision(
    labels: Tensor, predictions: Tensor, sparse: bool, weights: Any,
    metrics_collections: Collections, updates_collections: Collections, name: str | None,
) -> Metric:  # fmt: skip
    with name_scope(name, at_k("average_precision"), [predictions, labels, weights]) as scope:
        precisions = _average_precision(labels, predictions, sparse)
        if weights is not None:
            weights = broadcast_weights(weights, precisions, float64)
            precisions = get_op("Mul")(precisions, weights)
        with name_scope(None, "max", [precisions]) as inner:
            most = metric_variable([], float64, name=inner)
            batch = cast(size(precisions), float64) if weights is None else reduce_sum(weights)
            more_most = assign_add(most, batch, name="update")
        with name_scope(None, "total", [precisions]) as inner:
            total = metric_variable([], float64, name=inner)
            more_total = assign_add(total, reduce_sum(precisions, name="batch_total"), name="update")
        value, update = ratio(total, most, name="mean"), ratio(more_total, more_most, name=scope)
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.average_precision_at_k")
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over rows of the average precision up to position k (TF: tf.metrics.average_precision_at_k).

    Arguments as for `recall_at_k`. Variables `max`, the sum of the weights, and `total`.
    """
    with name_scope(name, at_k("average_precision", k), [predictions, labels, weights]) as scope:
        predictions = convert_to_tensor(predictions)
        best = cast(top_k(predictions, k).indices, int64)
        sets = _as_sets(labels, best)
        classes = cast(get_op("Shape")(predictions)[-1], int64)
        no_class = get_op("Neg")(get_op("OnesLike")(sets))
        sets = get_op("Select")(get_op("GreaterEqual")(sets, classes), no_class, sets)
        return _mean_average_precision(
            sets, best, _is_sparse(labels), weights, metrics_collections, updates_collections, scope
        )


@export("metrics.sparse_average_precision_at_k")
def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """`average_precision_at_k` by its older name (TF: tf.metrics.sparse_average_precision_at_k)."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)
