"""Counts of predicted classes by true class (TF: tf.confusion_matrix)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import rank, squeeze
from penstock.ops.basic import with_dependencies
from penstock.ops.cast import cast
from penstock.ops.checks import assert_less, assert_non_negative
from penstock.ops.control_flow.cond import cond
from penstock.ops.gather_nd import scatter_nd
from penstock.ops.reduce import reduce_max
from penstock.tensor.dtypes import as_dtype, int32, int64


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Both, with a last dim of 1 removed from the one whose rank is one too high.

    The rank of `predictions` should be `expected_rank_diff` more than that of `labels`.

    TF: tf.confusion_matrix's helper, `confusion_matrix.remove_squeezable_dimensions`.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        shorter = squeezed(predictions, labels, expected_rank_diff + 1)
        return squeezed(labels, predictions, 1 - expected_rank_diff), shorter


def squeezed(x: Tensor, other: Tensor, rank_diff: int = 1) -> Tensor:
    """`x` without its last dim if that may be 1 and the rank of `x` exceeds the other's by `rank_diff`."""
    if x.shape.ndims == 0 or (x.shape.ndims is not None and x.shape.as_list()[-1] not in (None, 1)):
        return x
    if x.shape.ndims is None or other.shape.ndims is None:
        higher = get_op("Equal")(rank(x) - rank(other), rank_diff)
        return cond(higher, lambda: squeeze(x, [-1]), lambda: x)
    return squeeze(x, [-1]) if x.shape.ndims - other.shape.ndims == rank_diff else x


@export("confusion_matrix", "math.confusion_matrix", "contrib.metrics.confusion_matrix")
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """[classes, classes] of `dtype`: how often (or with what total weight) class `row` was predicted as class `column`.

    labels, predictions: [n] non-negative ints (below `num_classes`, by default one more than the maximum); weights: of
    their shape. A step raises InvalidArgumentError for others. TF: tf.confusion_matrix.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]) as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions, labels = cast(predictions, int64), cast(labels, int64)
        labels = _non_negative(labels, "labels")
        predictions = _non_negative(predictions, "predictions")
        if num_classes is None:
            greatest = get_op("Maximum")(reduce_max(predictions), reduce_max(labels))
            classes = greatest + 1
        else:
            classes = cast(num_classes, int64)
            labels = _below(labels, classes, "labels")
            predictions = _below(predictions, classes, "predictions")
        if weights is None:
            values = get_op("OnesLike")(cast(predictions, dtype))
        else:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            values = cast(weights, as_dtype(dtype))
        places = get_op("Pack")([labels, predictions], axis=1)
        return scatter_nd(places, values, get_op("Pack")([classes, classes]), name=scope)


def _non_negative(classes: Tensor, what: str) -> Tensor:
    return with_dependencies([assert_non_negative(classes, message=f"`{what}` contains negative values")], classes)


def _below(classes: Tensor, limit: Tensor, what: str) -> Tensor:
    return with_dependencies([assert_less(classes, limit, message=f"`{what}` out of bound")], classes)
