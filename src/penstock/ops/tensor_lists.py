"""TensorLists: lists of tensors as values of dtype variant, which TensorFlow 2 has instead of stacks and TensorArrays.

A change returns a new list. Elements are kept and returned without copying.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.array import shape as shape_of
from penstock.ops.filling import zeros_like
from penstock.ops.segment import unsorted_segment_sum
from penstock.runtime.kernels import KernelContext
from penstock.runtime.tensor_lists import Dims, TensorList, dims_of, invalid, merged, wrapped
from penstock.tensor.dtypes import string
from penstock.tensor.shapes import TensorShape

_TYPE = "element_dtype: type"
_SHAPE_TYPE = "shape_type: indextype"


def _list_op(name: str, inputs: str, outputs: str, attrs: list[str], keeps: str = "") -> OpDef:
    return define_op(name, inputs, outputs, attrs=attrs, keeps=keeps, aliases=True, work=SERIAL)


def _list(value: np.ndarray) -> TensorList:
    found = value[()]
    if not isinstance(found, TensorList):
        raise invalid(f"Input handle is not a list. Saw: {type(found).__name__}")
    return found


def _given(c: ShapeContext, name: str = "element_shape") -> TensorShape:
    known = c.constant(name)
    return UNKNOWN if known is None else TensorShape(dims_of(known))


def _handle(c: ShapeContext, *_: Any) -> TensorShape:
    return SCALAR


# --- new lists ------------------------------------------------------------------------------------------

EMPTY_TENSOR_LIST = _list_op(
    "EmptyTensorList", "element_shape: shape_type, max_num_elements: int32", "handle: variant", [_TYPE, _SHAPE_TYPE]
)
TENSOR_LIST_RESERVE = _list_op(
    "TensorListReserve", "element_shape: shape_type, num_elements: int32", "handle: variant", [_TYPE, _SHAPE_TYPE]
)
TENSOR_LIST_FROM_TENSOR = _list_op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type",
    "output_handle: variant",
    [_TYPE, _SHAPE_TYPE],
    keeps="tensor",
)
TENSOR_LIST_SPLIT = _list_op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64",
    "output_handle: variant",
    [_TYPE, _SHAPE_TYPE],
    keeps="tensor",
)
_SCATTERED = "tensor: element_dtype, indices: int32, element_shape: shape_type"
TENSOR_LIST_SCATTER = _list_op(
    "TensorListScatter", _SCATTERED, "output_handle: variant", [_TYPE, _SHAPE_TYPE], keeps="tensor"
)
TENSOR_LIST_SCATTER_V2 = _list_op(
    "TensorListScatterV2",
    f"{_SCATTERED}, num_elements: int32",
    "output_handle: variant",
    [_TYPE, _SHAPE_TYPE],
    keeps="tensor",
)


@EMPTY_TENSOR_LIST.kernel("CPU")
def empty_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["element_dtype"]
    return lambda dims, most: wrapped(TensorList(dtype, dims_of(dims)))


@TENSOR_LIST_RESERVE.kernel("CPU")
def reserve_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["element_dtype"]
    return lambda dims, size: wrapped(TensorList(dtype, dims_of(dims)).resized(int(size)))


@TENSOR_LIST_FROM_TENSOR.kernel("CPU")
def from_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["element_dtype"]

    def from_tensor(tensor: Any, dims: Any) -> np.ndarray:
        shape = dims_of(dims)
        if tensor.ndim < 1:
            raise invalid("Tensor must be at least a vector, but saw shape: []")
        return wrapped(TensorList(dtype, merged(shape, tuple(tensor.shape[1:])), tuple(_rows(tensor))))

    return from_tensor


@TENSOR_LIST_SPLIT.kernel("CPU")
def split_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["element_dtype"]

    def split(tensor: Any, dims: Any, lengths: torch.Tensor) -> np.ndarray:
        sizes = lengths.tolist()
        if tensor.ndim < 1 or sum(sizes) != tensor.shape[0] or any(size < 0 for size in sizes):
            raise invalid(f"Invalid value in lengths: {sizes} for a tensor of shape {list(tensor.shape)}")
        ends = np.cumsum(sizes).tolist()
        parts = [tensor[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        shape = dims_of(dims)
        return wrapped(TensorList(dtype, None if shape is None else (None, *shape[1:]), tuple(parts)))

    return split


@TENSOR_LIST_SCATTER.kernel("CPU")
@TENSOR_LIST_SCATTER_V2.kernel("CPU")
def scatter_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["element_dtype"]

    def scatter(tensor: Any, indices: torch.Tensor, dims: Any, size: Any = -1) -> np.ndarray:
        least = max([0, *(index + 1 for index in indices.tolist())])
        shape = merged(dims_of(dims), tuple(tensor.shape[1:]))
        return wrapped(_put(TensorList(dtype, shape).resized(max(least, int(size))), tensor, indices))

    return scatter


def _rows(tensor: Any) -> list[Any]:
    if isinstance(tensor, np.ndarray):
        return [np.asarray(tensor[i]) if tensor.ndim > 1 else tensor[i : i + 1].reshape(()) for i in range(len(tensor))]
    return list(tensor.unbind(0))


def _put(to: TensorList, tensor: Any, indices: torch.Tensor) -> TensorList:
    places = indices.tolist()
    if len(places) != tensor.shape[0]:
        raise invalid(f"Expected as many indices as rows of tensor: {len(places)} and {tensor.shape[0]}")
    elements = list(to.elements)
    for place, row in zip(places, _rows(tensor), strict=True):
        if not 0 <= place < len(elements):
            raise invalid(f"Trying to scatter to index {place} in a list with {len(elements)} elements.")
        elements[place] = row
    return TensorList(to.dtype, to.shape, tuple(elements))


for _op in (
    EMPTY_TENSOR_LIST,
    TENSOR_LIST_RESERVE,
    TENSOR_LIST_FROM_TENSOR,
    TENSOR_LIST_SPLIT,
    TENSOR_LIST_SCATTER,
    TENSOR_LIST_SCATTER_V2,
):
    _op.shape(_handle)
EMPTY_TENSOR_LIST.not_differentiable()
TENSOR_LIST_RESERVE.not_differentiable()


@TENSOR_LIST_FROM_TENSOR.gradient
def from_tensor_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    tensor = op._inputs[0]
    rows = tensor.shape[0].value if tensor.shape.ndims else None
    number = -1 if rows is None else rows
    dtype = tensor.dtype.base_dtype
    return [TENSOR_LIST_STACK(grad, shape_of(tensor)[1:], element_dtype=dtype, num_elements=number), None]


@TENSOR_LIST_SPLIT.gradient
def split_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    tensor, element_shape, lengths = op._inputs
    dtype = tensor.dtype.base_dtype
    return [TENSOR_LIST_CONCAT_V2(grad, element_shape, lengths, element_dtype=dtype)[0], None, None]


@TENSOR_LIST_SCATTER.gradient
@TENSOR_LIST_SCATTER_V2.gradient
def scatter_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    tensor, indices, *rest = op._inputs
    rows = TENSOR_LIST_GATHER(grad, indices, shape_of(tensor)[1:], element_dtype=tensor.dtype.base_dtype)
    return [rows, None, *(None for _ in rest)]


# --- elements -------------------------------------------------------------------------------------------

TENSOR_LIST_GET_ITEM = _list_op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape",
    "item: element_dtype",
    [_TYPE, "Tshape: indextype = int32"],
)
TENSOR_LIST_SET_ITEM = _list_op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype",
    "output_handle: variant",
    [_TYPE, "resize_if_index_out_of_bounds: bool = false"],
    keeps="item",
)
TENSOR_LIST_PUSH_BACK = _list_op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype",
    "output_handle: variant",
    [_TYPE],
    keeps="tensor",
)
TENSOR_LIST_POP_BACK = _list_op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32",
    "output_handle: variant, tensor: element_dtype",
    [_TYPE],
)
TENSOR_LIST_SCATTER_INTO = _list_op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32",
    "output_handle: variant",
    [_TYPE],
    keeps="tensor",
)
TENSOR_LIST_RESIZE = _list_op("TensorListResize", "input_handle: variant, size: int32", "output_handle: variant", [])
TENSOR_LIST_LENGTH = _list_op("TensorListLength", "input_handle: variant", "length: int32", [])
TENSOR_LIST_ELEMENT_SHAPE = _list_op(
    "TensorListElementShape", "input_handle: variant", "element_shape: shape_type", [_SHAPE_TYPE]
)
TENSOR_LIST_CONCAT_LISTS = _list_op(
    "TensorListConcatLists", "input_a: variant, input_b: variant", "output: variant", [_TYPE]
)
TENSOR_LIST_PUSH_BACK_BATCH = _list_op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype",
    "output_handles: variant",
    [_TYPE],
    keeps="tensor",
)


@TENSOR_LIST_GET_ITEM.shape
def get_item_shape(c: ShapeContext, handle: TensorShape, index: TensorShape, dims: TensorShape) -> TensorShape:
    return _given(c)


@TENSOR_LIST_POP_BACK.shape
def pop_back_shape(c: ShapeContext, handle: TensorShape, dims: TensorShape) -> list[TensorShape]:
    return [SCALAR, _given(c)]


@TENSOR_LIST_PUSH_BACK_BATCH.shape
def push_back_batch_shape(c: ShapeContext, handles: TensorShape, tensor: TensorShape) -> TensorShape:
    return handles


@TENSOR_LIST_ELEMENT_SHAPE.shape
def element_shape_shape(c: ShapeContext, handle: TensorShape) -> TensorShape:
    return UNKNOWN


for _op in (
    TENSOR_LIST_SET_ITEM,
    TENSOR_LIST_PUSH_BACK,
    TENSOR_LIST_SCATTER_INTO,
    TENSOR_LIST_RESIZE,
    TENSOR_LIST_LENGTH,
    TENSOR_LIST_CONCAT_LISTS,
):
    _op.shape(_handle)
for _op in (
    TENSOR_LIST_LENGTH,
    TENSOR_LIST_ELEMENT_SHAPE,
    TENSOR_LIST_CONCAT_LISTS,
    TENSOR_LIST_PUSH_BACK_BATCH,
):
    _op.not_differentiable()


@TENSOR_LIST_GET_ITEM.kernel("CPU")
def get_item_kernel(ctx: KernelContext) -> Kernel:
    return lambda handle, index, dims: _list(handle).get(int(index), dims_of(dims))


@TENSOR_LIST_SET_ITEM.kernel("CPU")
def set_item_kernel(ctx: KernelContext) -> Kernel:
    resize = ctx["resize_if_index_out_of_bounds"]
    return lambda handle, index, item: wrapped(_list(handle).with_element(int(index), item, resize))


@TENSOR_LIST_PUSH_BACK.kernel("CPU")
def push_back_kernel(ctx: KernelContext) -> Kernel:
    return lambda handle, tensor: wrapped(_list(handle).pushed(tensor))


@TENSOR_LIST_POP_BACK.kernel("CPU")
def pop_back_kernel(ctx: KernelContext) -> Kernel:
    def pop(handle: np.ndarray, dims: Any) -> tuple[Any, Any]:
        found = _list(handle)
        size = len(found.elements)
        if not size:
            raise invalid("Trying to pop from an empty list.")
        return wrapped(found.resized(size - 1)), found.get(size - 1, dims_of(dims))

    return pop


@TENSOR_LIST_SCATTER_INTO.kernel("CPU")
def scatter_into_kernel(ctx: KernelContext) -> Kernel:
    def scatter(handle: np.ndarray, tensor: Any, indices: torch.Tensor) -> np.ndarray:
        found = _list(handle)
        least = max([len(found.elements), *(index + 1 for index in indices.tolist())])
        return wrapped(_put(found.resized(least), tensor, indices))

    return scatter


@TENSOR_LIST_RESIZE.kernel("CPU")
def resize_kernel(ctx: KernelContext) -> Kernel:
    return lambda handle, size: wrapped(_list(handle).resized(int(size)))


@TENSOR_LIST_LENGTH.kernel("CPU")
def length_kernel(ctx: KernelContext) -> Kernel:
    return lambda handle: torch.tensor(len(_list(handle).elements), dtype=torch.int32)


@TENSOR_LIST_ELEMENT_SHAPE.kernel("CPU")
def element_shape_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype("shape_type")

    def element_shape(handle: np.ndarray) -> torch.Tensor:
        shape = _list(handle).shape
        return torch.tensor(-1 if shape is None else [-1 if d is None else d for d in shape], dtype=dtype)

    return element_shape


@TENSOR_LIST_CONCAT_LISTS.kernel("CPU")
def concat_lists_kernel(ctx: KernelContext) -> Kernel:
    def joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        first, second = _list(a), _list(b)
        shape = merged(first.shape, second.shape)
        return wrapped(TensorList(first.dtype, shape, (*first.elements, *second.elements)))

    return joined


@TENSOR_LIST_PUSH_BACK_BATCH.kernel("CPU")
def push_back_batch_kernel(ctx: KernelContext) -> Kernel:
    def push(handles: np.ndarray, tensor: Any) -> np.ndarray:
        found = np.empty(handles.shape, object)
        flat = [_list(handles.reshape(-1)[i : i + 1].reshape(())) for i in range(handles.size)]
        if handles.ndim != 1 or len(flat) != tensor.shape[0]:
            raise invalid(f"Expected a list for each of the {tensor.shape[0]} rows of tensor, got {handles.shape}")
        found[:] = [one.pushed(row) for one, row in zip(flat, _rows(tensor), strict=True)]
        return found

    return push


@TENSOR_LIST_GET_ITEM.gradient
def get_item_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    handle, index, _ = op._inputs
    dtype = op.attrs["element_dtype"]
    empty = TENSOR_LIST_RESERVE(shape_of(grad), TENSOR_LIST_LENGTH(handle), element_dtype=dtype)
    return [TENSOR_LIST_SET_ITEM(empty, index, grad, element_dtype=dtype), None, None]


@TENSOR_LIST_SET_ITEM.gradient
def set_item_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    handle, index, item = op._inputs
    dtype = item.dtype.base_dtype
    others = TENSOR_LIST_SET_ITEM(grad, index, zeros_like(item), element_dtype=dtype)
    if op.attrs["resize_if_index_out_of_bounds"]:
        others = TENSOR_LIST_RESIZE(others, TENSOR_LIST_LENGTH(handle))
    return [others, None, TENSOR_LIST_GET_ITEM(grad, index, shape_of(item), element_dtype=dtype)]


@TENSOR_LIST_PUSH_BACK.gradient
def push_back_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    tensor = op._inputs[1]
    return list(TENSOR_LIST_POP_BACK(grad, shape_of(tensor), element_dtype=tensor.dtype.base_dtype))


@TENSOR_LIST_POP_BACK.gradient
def pop_back_gradient(op: Operation, rest: Tensor | None, grad: Tensor | None) -> list[Tensor | None]:
    """The rest, or the element that was popped, may have none: then it is zeros."""
    rest, grad = (zeros_like(t) if g is None else g for g, t in zip((rest, grad), op._outputs, strict=True))
    return [TENSOR_LIST_PUSH_BACK(rest, grad, element_dtype=op.attrs["element_dtype"]), None]


@TENSOR_LIST_SCATTER_INTO.gradient
def scatter_into_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    handle, tensor, indices = op._inputs
    dtype = tensor.dtype.base_dtype
    others = TENSOR_LIST_SCATTER_INTO(grad, zeros_like(tensor), indices, element_dtype=dtype)
    rows = TENSOR_LIST_GATHER(grad, indices, shape_of(tensor)[1:], element_dtype=dtype)
    return [TENSOR_LIST_RESIZE(others, TENSOR_LIST_LENGTH(handle)), rows, None]


@TENSOR_LIST_RESIZE.gradient
def resize_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [TENSOR_LIST_RESIZE(grad, TENSOR_LIST_LENGTH(op._inputs[0])), None]


# --- several elements as one tensor ---------------------------------------------------------------------

TENSOR_LIST_STACK = _list_op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32",
    "tensor: element_dtype",
    [_TYPE, "num_elements: int = -1"],
)
TENSOR_LIST_GATHER = _list_op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32",
    "values: element_dtype",
    [_TYPE],
)
_JOINED = "tensor: element_dtype, lengths: int64"
TENSOR_LIST_CONCAT = _list_op(
    "TensorListConcat", "input_handle: variant", _JOINED, [_TYPE, "element_shape: shape = unknown"]
)
TENSOR_LIST_CONCAT_V2 = _list_op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64",
    _JOINED,
    [_TYPE, _SHAPE_TYPE],
)


@TENSOR_LIST_STACK.shape
def stack_shape(c: ShapeContext, handle: TensorShape, dims: TensorShape) -> TensorShape:
    rows = c.attrs["num_elements"]
    return TensorShape([None if rows < 0 else rows]).concatenate(_given(c))


@TENSOR_LIST_GATHER.shape
def gather_shape(c: ShapeContext, handle: TensorShape, indices: TensorShape, dims: TensorShape) -> TensorShape:
    return indices.with_rank(1).concatenate(_given(c))


@TENSOR_LIST_CONCAT.shape
def concat_shape(c: ShapeContext, handle: TensorShape) -> list[TensorShape]:
    return [_joined(c.attrs["element_shape"]), TensorShape([None])]


@TENSOR_LIST_CONCAT_V2.shape
def concat_v2_shape(c: ShapeContext, handle: TensorShape, dims: TensorShape, first: TensorShape) -> list[TensorShape]:
    return [_joined(_given(c)), TensorShape([None])]


def _joined(element: TensorShape) -> TensorShape:
    return UNKNOWN if element.ndims is None else TensorShape([None]).concatenate(element[1:])


@TENSOR_LIST_STACK.kernel("CPU")
def stack_kernel(ctx: KernelContext) -> Kernel:
    wanted = ctx["num_elements"]

    def stack(handle: np.ndarray, dims: Any) -> Any:
        found, shape = _list(handle), dims_of(dims)
        if wanted >= 0 and wanted != len(found.elements):
            raise invalid(f"Operation expected a list with {wanted} elements but got a list with {len(found.elements)}")
        return found.gather(range(len(found.elements)), shape)

    return stack


@TENSOR_LIST_GATHER.kernel("CPU")
def gather_kernel(ctx: KernelContext) -> Kernel:
    return lambda handle, indices, dims: _list(handle).gather(indices.tolist(), dims_of(dims))


@TENSOR_LIST_CONCAT.kernel("CPU")
def concat_kernel(ctx: KernelContext) -> Kernel:
    join, shape = _joiner(), ctx["element_shape"].tuple
    return lambda handle: join(_list(handle), shape, [])


@TENSOR_LIST_CONCAT_V2.kernel("CPU")
def concat_v2_kernel(ctx: KernelContext) -> Kernel:
    join = _joiner()
    return lambda handle, dims, first: join(_list(handle), dims_of(dims), first.tolist())


def _joiner() -> Callable[[TensorList, Dims, list[int]], tuple[Any, torch.Tensor]]:
    def join(found: TensorList, shape: Dims, first: list[int]) -> tuple[Any, torch.Tensor]:
        rest = merged(None if shape is None else shape[1:], None if found.shape is None else found.shape[1:])
        if not found.elements:
            if rest is None or None in rest:
                raise invalid("All except the first dimension must be fully defined to concatenate an empty list")
            return found.zeros((0, *(size or 0 for size in rest))), torch.zeros(0, dtype=torch.int64)
        parts = [_part(found, i, rest, first) for i in range(len(found.elements))]
        if any(part.ndim < 1 for part in parts):
            raise invalid("Concat saw a scalar shape, but requires non-scalars.")
        lengths = torch.tensor([part.shape[0] for part in parts], dtype=torch.int64)
        return (np.concatenate(parts) if found.dtype == string else torch.cat(parts)), lengths

    return join


def _part(found: TensorList, i: int, rest: Dims, first: list[int]) -> Any:
    if found.elements[i] is None and first and rest is not None:
        return found.get(i, (first[i], *rest))
    return found.get(i)


@TENSOR_LIST_STACK.gradient
def stack_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [TENSOR_LIST_FROM_TENSOR(grad, op._inputs[1], element_dtype=op.attrs["element_dtype"]), None]


@TENSOR_LIST_GATHER.gradient
def gather_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Rows that were taken twice are added."""
    handle, indices, _ = op._inputs
    dtype = op.attrs["element_dtype"]
    rows = unsorted_segment_sum(grad, indices, TENSOR_LIST_LENGTH(handle))
    return [TENSOR_LIST_FROM_TENSOR(rows, shape_of(grad)[1:], element_dtype=dtype), None, None]


@TENSOR_LIST_CONCAT.gradient
@TENSOR_LIST_CONCAT_V2.gradient
def concat_gradient(op: Operation, grad: Tensor, lengths: Tensor | None) -> list[Tensor | None]:
    dtype = op.attrs["element_dtype"]
    shape = TENSOR_LIST_ELEMENT_SHAPE(op._inputs[0], shape_type="int32")
    return [TENSOR_LIST_SPLIT(grad, shape, op._outputs[1], element_dtype=dtype), *(None for _ in op._inputs[1:])]
