"""Gradients of the segment ops, and functions composed of several of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import name_scope
from penstock.ops.arithmetic import MUL
from penstock.ops.cast import cast
from penstock.ops.compare import EQUAL, GREATER, GREATER_EQUAL, SELECT_V2
from penstock.ops.division import REAL_DIV
from penstock.ops.elementwise import like
from penstock.ops.segment import (
    SEGMENT_MAX,
    SEGMENT_MEAN,
    SEGMENT_MIN,
    SEGMENT_PROD,
    SEGMENT_SUM,
    UNSORTED_SEGMENT_MAX,
    UNSORTED_SEGMENT_MIN,
    UNSORTED_SEGMENT_PROD,
    UNSORTED_SEGMENT_SUM,
    unsorted_segment_sum,
)


def _gather(rows: Tensor, ids: Tensor) -> Tensor:
    return get_op("GatherV2")(rows, ids, np.int32(0))


def _lengthened(short: Tensor, tensor: Tensor) -> Tensor:
    """`short`, whose shape is a prefix of that of `tensor`, with dimensions of size 1 appended up to its rank."""
    reshape, rank, short_rank = get_op("Reshape"), tensor.shape.ndims, short.shape.ndims
    if rank is not None and short_rank is not None:
        for _ in range(rank - short_rank):
            short = get_op("ExpandDims")(short, np.int32(-1))
        return short
    more = get_op("Sub")(get_op("Rank")(tensor), get_op("Rank")(short))
    ones = get_op("Fill")(get_op("Reshape")(more, np.array([1], np.int32)), np.int32(1))
    return reshape(short, get_op("ConcatV2")([get_op("Shape")(short), ones], np.int32(0)))


def _zeros(tensor: Tensor) -> Tensor:
    return get_op("ZerosLike")(tensor)


# --- sorted ---------------------------------------------------------------------------------------------


@SEGMENT_SUM.gradient
def segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_gather(grad, op._inputs[1]), None]


@SEGMENT_MEAN.gradient
def segment_mean_gradient(op: Operation, grad: Tensor) -> list[Any]:
    data, ids = op._inputs
    sizes = SEGMENT_SUM(get_op("OnesLike")(ids), ids)
    each = cast(_gather(sizes, ids), grad.dtype.base_dtype)
    return [REAL_DIV(_gather(grad, ids), _lengthened(each, data)), None]


@SEGMENT_MAX.gradient
@SEGMENT_MIN.gradient
def segment_extremum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Equal extrema of a segment share its gradient."""
    data, ids = op._inputs
    hits = EQUAL(data, _gather(op._outputs[0], ids))
    count = SEGMENT_SUM(cast(hits, grad.dtype.base_dtype), ids)
    return [SELECT_V2(hits, _gather(REAL_DIV(grad, count), ids), like(0, grad)), None]


@SEGMENT_PROD.gradient
def segment_prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    ids = op._inputs[1]

    def gather(rows: Tensor) -> Tensor:
        return _gather(rows, ids)

    return [
        _product_gradient(op, grad, lambda op_def, rows: op_def(rows, ids), gather, SEGMENT_SUM, SEGMENT_PROD),
        None,
    ]


def _product_gradient(op: Operation, grad: Tensor, segments: Any, gather: Any, add: OpDef, multiply: OpDef) -> Tensor:
    """grad times the product of the segment's other rows, which is also correct where rows are 0."""
    data = op._inputs[0]
    zero = EQUAL(data, like(0, data))
    zeros = segments(add, cast(zero, np.int32))
    # With two zeros or more, every product of the others is 0.
    grad = SELECT_V2(GREATER(zeros, np.int32(1)), like(0, grad), grad)
    filled = SELECT_V2(zero, like(1, data), data)
    without_zeros = gather(segments(multiply, filled))
    others = SELECT_V2(zero, without_zeros, REAL_DIV(gather(op._outputs[0]), filled))
    return MUL(gather(grad), others)


# --- unsorted -------------------------------------------------------------------------------------------


def _gather_kept(rows: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The row of each id, zeros for negative ids, and whether ids are non-negative, as lengthened bools."""
    found = _gather(rows, get_op("Maximum")(ids, like(0, ids)))
    kept = _lengthened(GREATER_EQUAL(ids, like(0, ids)), found)
    return SELECT_V2(kept, found, like(0, found)), kept


@UNSORTED_SEGMENT_SUM.gradient
def unsorted_segment_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_gather_kept(grad, op._inputs[1])[0], None, None]


@UNSORTED_SEGMENT_MAX.gradient
@UNSORTED_SEGMENT_MIN.gradient
def unsorted_segment_extremum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Equal extrema of a segment share its gradient."""
    data, ids, num_segments = op._inputs
    found, kept = _gather_kept(op._outputs[0], ids)
    hits = get_op("LogicalAnd")(EQUAL(data, found), kept)
    count = UNSORTED_SEGMENT_SUM(cast(hits, grad.dtype.base_dtype), ids, num_segments)
    shared, _ = _gather_kept(REAL_DIV(grad, count), ids)
    return [SELECT_V2(hits, shared, like(0, grad)), None, None]


@UNSORTED_SEGMENT_PROD.gradient
def unsorted_segment_prod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    _, ids, num_segments = op._inputs

    def segments(op_def: OpDef, rows: Tensor) -> Tensor:
        return op_def(rows, ids, num_segments)

    def gather(rows: Tensor) -> Tensor:
        return _gather_kept(rows, ids)[0]

    found = _product_gradient(op, grad, segments, gather, UNSORTED_SEGMENT_SUM, UNSORTED_SEGMENT_PROD)
    return [found, None, None]


# --- functions of several ops ---------------------------------------------------------------------------


def _sizes(data: Tensor, ids: Tensor, num_segments: Any, dtype: Any) -> Tensor:
    """The number of rows in each segment, at least 1, lengthened to divide the segments of `data`."""
    counts = UNSORTED_SEGMENT_SUM(get_op("OnesLike")(cast(ids, dtype)), ids, num_segments)
    rest = UNSORTED_SEGMENT_SUM(data, ids, num_segments)
    return _lengthened(get_op("Maximum")(counts, like(1, counts)), rest)


@export("unsorted_segment_mean", "math.unsorted_segment_mean")
@of_ragged("rows")
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of each segment, 0 if it is empty (TF: tf.unsorted_segment_mean)."""
    with name_scope(name, "UnsortedSegmentMean"):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes(data, ids, num_segments, data.dtype.base_dtype)
        return unsorted_segment_sum(data, ids, num_segments) / sizes  # of ints, float64


@export("unsorted_segment_sqrt_n", "math.unsorted_segment_sqrt_n")
@of_ragged("rows")
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of each segment over the square root of its size (TF: tf.unsorted_segment_sqrt_n)."""
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _sizes(data, ids, num_segments, data.dtype.base_dtype)
        return unsorted_segment_sum(data, ids, num_segments) / get_op("Sqrt")(sizes)
