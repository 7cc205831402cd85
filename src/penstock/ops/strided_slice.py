"""The StridedSlice op, which `tensor[...]` becomes, and its gradient."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph.constants import partial_value
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import shape as shape_of_tensor
from penstock.ops.kernel_tools import TORCH_TYPES, as_signed
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32, int64
from penstock.tensor.shapes import TensorShape, shape_of

MASKS = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
MASK_ATTRS = [f"{mask}: int = 0" for mask in MASKS]

STRIDED_SLICE = define_op(
    "StridedSlice",
    "input: T, begin: Index, end: Index, strides: Index",
    "output: T",
    attrs=["T: type", "Index: {int16, int32, int64}", *MASK_ATTRS],
    aliases=True,
    bits16="clear",
    launches=True,
    part=True,
)
STRIDED_SLICE_GRAD = define_op(
    "StridedSliceGrad",
    "shape: Index, begin: Index, end: Index, strides: Index, dy: T",
    "output: T",
    attrs=["T: type", "Index: indextype", *MASK_ATTRS],
    work=1.0,
    bits16="clear",
    launches=True,
)


def python_index(attrs: Any, begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
    """The Python index equivalent to the masks and vectors: slices, ints, None, Ellipsis.

    TensorFlow's rules are NumPy's. Elements of `begin` and `end` may be None if they are unknown, provided that they
    are masked or belong to a slice, which then is open.
    """
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask = (attrs[mask] for mask in MASKS)
    if ellipsis_mask & (ellipsis_mask - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    index: list[Any] = []
    for i, (b, e, s) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if s == 0:
            raise ValueError(f"strides[{i}] must be non-zero")
        if ellipsis_mask & bit:
            index.append(...)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_mask & bit:
            if s is not None and s < 0:
                raise ValueError("only stride 1 allowed on non-range indexing.")
            index.append(b)
        else:
            index.append(slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
    return tuple(index) if ellipsis_mask else (*index, ...)


def _expanded(index: tuple[Any, ...], rank: int) -> list[Any]:
    """`index` with the ellipsis expanded. Raises ValueError if it has too many axes."""
    at = index.index(...)
    missing = rank - sum(item is not None and item is not ... for item in index)
    if missing < 0:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    return [*index[:at], *[slice(None, None, 1)] * missing, *index[at + 1 :]]


def forward_index(index: tuple[Any, ...], shape: Any) -> tuple[tuple[Any, ...], list[int]]:
    """`index` with positive steps only, and the result's axes to reverse: torch does not support negative steps."""
    flips, axis, found = [], 0, []
    dims = iter(shape)
    for item in _expanded(index, len(shape)):
        if isinstance(item, slice):
            dim = next(dims)
            if item.step < 0:
                steps = range(*item.indices(dim))
                item = slice(steps[-1], steps[0] + 1, -item.step) if steps else slice(0, 0)
                flips.append(axis)
        elif item is not None:
            next(dims)
            found.append(item)
            continue
        found.append(item)
        axis += 1
    return tuple(found), flips


def _goes_back(strides: Any) -> bool:
    return any(s < 0 for s in strides)


_OPEN: Any = object()
"""Represents an index, or the step of a slice, that is unknown while the graph is built."""


@STRIDED_SLICE.shape
def strided_slice_shape(c: ShapeContext, x: TensorShape, *vectors: TensorShape) -> TensorShape:
    (length,) = reduce(TensorShape.merge_with, vectors, TensorShape([None])).tuple
    if x.ndims is None or length is None:
        return UNKNOWN
    values = [partial_value(t) for t in c.op._inputs[1:]]
    begin, end, strides = ([None] * length if v is None else v for v in values)
    index: list[Any] = []
    for i, item in enumerate(python_index(c.attrs, begin, end, strides)):
        if i < length and c.attrs["shrink_axis_mask"] >> i & 1 and begin[i] is None:
            item = _OPEN
        elif isinstance(item, slice) and None in _bounds(c.attrs, i, begin, end, strides):
            item = slice(None, None, _OPEN)
        index.append(item)
    dims = iter(x.tuple)
    found: list[int | None] = []
    for item in _expanded(tuple(index), x.ndims):
        if item is None:
            found.append(1)
            continue
        dim = next(dims)
        if isinstance(item, slice):
            known = item.step is not _OPEN and dim is not None
            found.append(len(range(*item.indices(dim))) if known else None)
        elif item is not _OPEN and dim is not None and not -dim <= item < dim:
            raise ValueError(f"slice index {item} of a dimension of size {dim} out of bounds")
    return shape_of(tuple(found))


def _bounds(attrs: Any, i: int, begin: Any, end: Any, strides: Any) -> list[Any]:
    """The bounds that determine the size of slice `i`."""
    bit = 1 << i
    return [
        strides[i],
        0 if attrs["begin_mask"] & bit else begin[i],
        0 if attrs["end_mask"] & bit else end[i],
    ]


@STRIDED_SLICE.value
def strided_slice_value(op: Operation, x: Any, begin: Any, end: Any, strides: Any) -> np.ndarray | None:
    if x is None or begin is None or end is None or strides is None:
        return None
    index = python_index(op.attrs, begin, end, strides)
    for i, item in enumerate(index[: len(begin)]):
        if isinstance(item, slice) and None in _bounds(op.attrs, i, begin, end, strides):
            return None
        if item is None and not op.attrs["new_axis_mask"] >> i & 1:
            return None
    return x[index]


@STRIDED_SLICE.kernel("CPU", T="string")
def slice_strings(ctx: KernelContext) -> Any:
    attrs = ctx.node.attrs
    return lambda x, begin, end, strides: x[python_index(attrs, begin.tolist(), end.tolist(), strides.tolist())]


@STRIDED_SLICE.kernel(host=("begin", "end", "strides"), T=TORCH_TYPES)
def strided_slice_kernel(ctx: KernelContext) -> Any:
    attrs = ctx.node.attrs
    begin, end, strides = ctx.const("begin"), ctx.const("end"), ctx.const("strides")

    def take_backwards(x: torch.Tensor, index: tuple[Any, ...]) -> torch.Tensor:
        index, flips = forward_index(index, x.shape)
        return as_signed(x)[index].flip(flips).view(x.dtype)

    if begin is not None and end is not None and strides is not None:
        known = python_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        if _goes_back(strides):
            return lambda x, *_: take_backwards(x, known)
        known = _shortest(known)
        return lambda x, *_: x[known]

    forward = strides is not None and not _goes_back(strides)

    def take(x: torch.Tensor, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor) -> torch.Tensor:
        index = python_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        return x[index] if forward or not _goes_back(strides.tolist()) else take_backwards(x, index)

    return take


def _shortest(index: tuple[Any, ...]) -> Any:
    """An equivalent index that torch processes fastest."""
    index = index[:-1] if index[-1] is ... and len(index) > 1 else index
    return index[0] if len(index) == 1 else index


@STRIDED_SLICE.gradient
def strided_slice_gradient(op: Operation, grad: Any) -> list[Any]:
    x, *vectors = op._inputs
    if vectors[0].dtype.base_dtype not in (int32, int64):
        vectors = [get_op("Cast")(v, DstT=int32) for v in vectors]
    masks = {mask: op.attrs[mask] for mask in MASKS}
    shape = shape_of_tensor(x, out_type=vectors[0].dtype.base_dtype)
    return [STRIDED_SLICE_GRAD(shape, *vectors, grad, **masks), None, None, None]


@STRIDED_SLICE_GRAD.shape
def strided_slice_grad_shape(
    c: ShapeContext, shape: TensorShape, begin: TensorShape, end: TensorShape, strides: TensorShape, dy: TensorShape
) -> TensorShape:
    begin.with_rank(1).merge_with(end).merge_with(strides)
    return c.constant_shape("shape")


@STRIDED_SLICE_GRAD.kernel(host=("shape", "begin", "end", "strides"), T=TORCH_TYPES)
def strided_slice_grad_kernel(ctx: KernelContext) -> Any:
    attrs = ctx.node.attrs
    known = [value for name in ("begin", "end", "strides") if (value := ctx.const(name)) is not None]
    index = python_index(attrs, *[value.tolist() for value in known]) if len(known) == 3 else None

    def put(
        shape: torch.Tensor, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor, dy: torch.Tensor
    ) -> torch.Tensor:
        dims = shape.tolist()
        there = index or python_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        forward, flips = forward_index(there, dims)
        whole = dy.new_zeros(dims)
        part = whole[forward]
        if part.shape != dy.shape:
            raise errors.InvalidArgumentError(
                None, None, f"shape of dy was {list(dy.shape)} instead of {list(part.shape)}"
            )
        part.copy_(as_signed(dy).flip(flips).view(dy.dtype) if flips else dy)
        return whole

    return put


@STRIDED_SLICE_GRAD.gradient
def strided_slice_grad_gradient(op: Operation, grad: Any) -> list[Any]:
    masks = {mask: op.attrs[mask] for mask in MASKS}
    return [None, None, None, None, STRIDED_SLICE(grad, *op._inputs[1:4], **masks)]
