"""Selecting slices by index, and scattering them back: gather, gather_nd, scatter_nd, boolean_mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import colocate_with, name_scope
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import check_axis, reshape, shape as shape_of_tensor, size, squeeze
from penstock.ops.joining import concat
from penstock.ops.kernel_tools import TORCH_TYPES, invalid, signed_inside
from penstock.ops.stacking import stack
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import TensorShape, shape_of

# --- Gather, GatherV2 -----------------------------------------------------------------------------------

GATHER = define_op(
    "Gather",
    "params: Tparams, indices: Tindices",
    "output: Tparams",
    attrs=["validate_indices: bool = true", "Tparams: type", "Tindices: indextype"],
    work=1.0,
    part=True,
)
GATHER_V2 = define_op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis",
    "output: Tparams",
    attrs=["batch_dims: int = 0", "Tparams: type", "Tindices: {int16, int32, int64}", "Taxis: indextype"],
    work=1.0,
    part=True,
)


@GATHER.shape
def gather_shape(c: ShapeContext, params: TensorShape, indices: TensorShape) -> TensorShape:
    return indices.concatenate(params.with_rank_at_least(1)[1:])


@GATHER_V2.shape
def gather_v2_shape(c: ShapeContext, params: TensorShape, indices: TensorShape, _: TensorShape) -> TensorShape:
    axis, batch = c.constant("axis"), c.attrs["batch_dims"]
    params.with_rank_at_least(1)
    if params.ndims is None or indices.ndims is None:
        return UNKNOWN
    batch = _batch_rank(batch, indices.ndims)
    if axis is None:
        return TensorShape([None] * (params.ndims + indices.ndims - 1 - batch))
    at = check_axis(int(axis), params.ndims)
    if batch > at:
        raise ValueError(f"batch_dims ({batch}) must be less than or equal to axis ({at})")
    lead = shape_of(params.tuple[:batch]).merge_with(shape_of(indices.tuple[:batch]))
    return shape_of((*lead.tuple, *params.tuple[batch:at], *indices.tuple[batch:], *params.tuple[at + 1 :]))


def _batch_rank(batch_dims: int, rank: int) -> int:
    """The number of batch axes; a negative `batch_dims` counts from the rank of the indices."""
    if not -rank <= batch_dims <= rank:
        raise ValueError(f"batch_dims must be in [{-rank}, {rank}], not {batch_dims}")
    return batch_dims + rank * (batch_dims < 0)


@GATHER.value
def gather_value(op: Operation, params: Any, indices: Any, axis: Any = 0) -> np.ndarray | None:
    if params is None or indices is None or axis is None or params.ndim != 1 or None in indices.reshape(-1):
        return None
    if op.attrs.get("batch_dims") or (indices < 0).any():
        return None
    return params[indices.astype(int)]


GATHER_V2.value(gather_value)


def out_of_range(indices: Any, limit: int) -> errors.InvalidArgumentError:
    """The error for the first of `indices` that is not in [0, limit)."""
    flat = np.asarray(indices.cpu() if isinstance(indices, torch.Tensor) else indices).reshape(-1)
    where = int(np.flatnonzero((flat < 0) | (flat >= limit))[0])
    at = ",".join(map(str, np.unravel_index(where, indices.shape))) if indices.ndim else ""
    return errors.InvalidArgumentError(
        None, None, f"indices{f'[{at}]' if at else ''} = {flat[where]} is not in [0, {limit})"
    )


def take(params: torch.Tensor, indices: torch.Tensor, axis: int) -> torch.Tensor:
    """`params` at int32 or int64 `indices` of any rank along `axis`. On a GPU, as in TF, zeros out of range."""
    rank = indices.ndim
    flat = indices if rank < 2 else indices.reshape(-1)  # torch treats a scalar as a vector of one
    if params.is_cuda:
        found = _take_or_zero(params, flat, axis)
    else:
        try:
            found = params.index_select(axis, flat)
        except (IndexError, RuntimeError):
            if ((indices < 0) | (indices >= params.shape[axis])).any():
                raise out_of_range(indices, params.shape[axis]) from None
            raise
    if rank == 1:
        return found
    if not rank and params.ndim:
        return found.squeeze(axis)
    at = axis % params.ndim
    return found.reshape(params.shape[:at] + indices.shape + params.shape[at + 1 :])


def _take_or_zero(params: torch.Tensor, flat: torch.Tensor, axis: int) -> torch.Tensor:
    """An index out of range would break the whole CUDA context, so it is not passed to torch."""
    limit = params.shape[axis]
    if not limit:
        return params.new_zeros([flat.numel() if i == axis % params.ndim else d for i, d in enumerate(params.shape)])
    found = params.index_select(axis, flat.clamp(0, limit - 1))
    valid = ((flat >= 0) & (flat < limit)).reshape([-1 if i == axis % params.ndim else 1 for i in range(params.ndim)])
    return torch.where(valid, found, torch.zeros((), dtype=params.dtype, device=params.device))


def _take_strings(params: np.ndarray, indices: torch.Tensor, axis: int) -> np.ndarray:
    index = indices.numpy()
    if index.size and not 0 <= index.min() <= index.max() < params.shape[axis]:
        raise out_of_range(indices, params.shape[axis])
    return np.asarray(np.take(params, index, axis), object)


def _take_batched(params: Any, indices: torch.Tensor, axis: int, batch: int) -> Any:
    """For each of the leading `batch` positions, its params at its indices."""
    axis, batch = axis % params.ndim, _batch_rank(batch, indices.ndim)
    limit = params.shape[axis]
    if ((indices < 0) | (indices >= limit)).any():
        raise out_of_range(indices, limit)
    lead, middle, rest = params.shape[:batch], params.shape[batch:axis], params.shape[axis + 1 :]
    count, each = math.prod(lead), math.prod(indices.shape[batch:])
    rows = params.reshape(count, math.prod(middle), limit, math.prod(rest))
    which = torch.arange(count, device=indices.device)[:, None]
    index: Any = indices.reshape(count, each).long()
    if isinstance(params, np.ndarray):
        found = rows[which.numpy(), :, index.numpy()].transpose(0, 2, 1, 3)
    else:
        found = rows[which, :, index].permute(0, 2, 1, 3)
    return found.reshape((*lead, *middle, *indices.shape[batch:], *rest))


@GATHER.kernel("CPU", Tparams="string")
@GATHER.kernel(Tparams=TORCH_TYPES)
def gather_kernel(ctx: KernelContext) -> Any:
    pick = _picker(ctx)
    return lambda params, indices: pick(params, indices, 0)


def _picker(ctx: KernelContext) -> Kernel:
    return _take_strings if ctx["Tparams"].torch is None else signed_inside(ctx, take, "Tparams")


@GATHER_V2.kernel("CPU", Tparams="resource")
def choose_handle(ctx: KernelContext) -> Any:
    def choose(handles: np.ndarray, index: Any, axis: Any) -> Any:
        if not 0 <= int(index) < len(handles):
            raise invalid(f"indices = {int(index)} is not in [0, {len(handles)})")
        return handles[int(index)]

    return choose


@GATHER_V2.kernel("CPU", Tparams="string")
@GATHER_V2.kernel(host=("axis",), Tparams=TORCH_TYPES)
def gather_v2_kernel(ctx: KernelContext) -> Any:
    axis, batch = ctx.const("axis"), ctx["batch_dims"]
    if batch:
        return lambda params, indices, axis: _take_batched(params, indices, axis.item(), batch)
    pick = _picker(ctx)
    if ctx["Tindices"].name == "int16":
        return lambda params, indices, axis: pick(params, indices.int(), axis.item())
    if axis is None:
        return lambda params, indices, axis: pick(params, indices, axis.item())
    at = axis.item()
    rank = ctx.input_shape("indices").ndims
    if pick is not take or ctx.device.type != "cpu" or rank not in (0, 1) or not ctx.input_shape("params").ndims:
        return lambda params, indices, _: pick(params, indices, at)

    def take_few(params: torch.Tensor, indices: torch.Tensor, _: Any) -> torch.Tensor:
        try:
            found = params.index_select(at, indices)
        except (IndexError, RuntimeError):
            return take(params, indices, at)  # which raises the error
        return found if rank else found.squeeze(at)

    return take_few


@GATHER.gradient
def gather_gradient(op: Operation, grad: Any) -> list[Any]:
    return [_slices(op._inputs[0], op._inputs[1], grad), None]


@GATHER_V2.gradient
def gather_v2_gradient(op: Operation, grad: Any) -> list[Any]:
    params, indices, axis = op._inputs
    at, batch = constant_value(axis), op.attrs["batch_dims"]
    if at is not None and int(at) == 0 and not batch:
        return [_slices(params, indices, grad), None, None]
    grad = convert_to_tensor(grad)
    if at is not None and params.shape.ndims is not None and indices.shape.ndims is not None:
        return [_along_axis(params, indices, int(at), batch, grad), None, None]
    if batch:
        raise NotImplementedError(
            f"The gradient of {op.name} with batch_dims={batch} needs a constant axis and known ranks"
        )
    return [_along_any_axis(params, indices, axis, grad), None, None]


def _slices(params: Tensor, indices: Tensor, grad: Any) -> IndexedSlices:
    """The rows of `grad`, one for each index; the rest of the gradient of `params` is zero."""
    with colocate_with(params):
        dims = shape_of_tensor(params)
    if indices.shape.ndims == 1:
        return IndexedSlices(convert_to_tensor(grad), indices, dims)
    tail = params.shape[1:]
    if tail.is_fully_defined() and tail.num_elements():
        rows: Any = [-1, *tail.as_list()]
    else:
        rows = concat([reshape(size(indices), [1]), dims[1:]], 0)
    return IndexedSlices(reshape(grad, rows), reshape(indices, [-1]), dims)


def _along_axis(params: Tensor, indices: Tensor, axis: int, batch: int, grad: Tensor) -> Tensor:
    """Sums the slices of `grad` that were taken from the same position in `params`, along any axis.

    The axis (and the batch axes) are moved to the front, where a segment sum adds rows.
    """
    rank, dims = params.shape.rank, shape_of_tensor(params)
    axis, batch = axis % rank, _batch_rank(batch, indices.shape.ndims)
    picked = list(range(axis, axis + indices.shape.ndims - batch))
    others = [i for i in range(batch, rank - 1 + indices.shape.ndims - batch) if i not in picked]
    transpose, cast = get_op("Transpose"), get_op("Cast")
    flat_grad = transpose(grad, [*range(batch), *picked, *others])
    rows, limit = cast(indices, DstT=int32), dims[axis]
    count = limit
    if batch:
        batch_shape = dims[:batch]
        total = get_op("Prod")(batch_shape, [0])
        offsets = get_op("Range")(0, total * limit, limit)
        ones = [1] * (indices.shape.ndims - batch)
        rows = rows + reshape(offsets, concat([batch_shape, ones], 0) if ones else batch_shape)
        count = total * limit
    kept = concat([dims[batch:axis], dims[axis + 1 :]], 0)
    flat = reshape(flat_grad, concat([reshape(size(indices), [1]), kept], 0))
    sums = get_op("UnsortedSegmentSum")(flat, reshape(rows, [-1]), count)
    front = reshape(sums, concat([dims[:batch], reshape(limit, [1]), kept], 0))
    back = [*range(batch), *range(batch + 1, axis + 1), batch, *range(axis + 1, rank)]
    return transpose(front, back)


def _along_any_axis(params: Tensor, indices: Tensor, axis: Tensor, grad: Tensor) -> Tensor:
    """`_along_axis` if the axis or a rank is only known at run time: one flat axis before it, one after it."""
    dims, flat = shape_of_tensor(params), reshape(indices, [-1])
    at = get_op("FloorMod")(get_op("Cast")(axis, DstT=int32), size(dims))
    product = get_op("Prod")
    before, behind = product(dims[:at], [0]), product(dims[at + 1 :], [0])
    rows = get_op("Transpose")(reshape(grad, stack([before, size(flat), behind])), [1, 0, 2])
    sums = get_op("UnsortedSegmentSum")(rows, flat, dims[at])
    return reshape(get_op("Transpose")(sums, [1, 0, 2]), dims)


@export("gather")
@of_ragged("rows")
def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """Slices of `params` along `axis` at `indices`, whose shape replaces that axis (TF: tf.gather).

    An index out of range raises InvalidArgumentError on a CPU, and yields zeros on a GPU. The gradient is an
    `IndexedSlices`.
    """
    read = getattr(params, "sparse_read", None)
    if axis is None:
        axis = batch_dims
    if read is not None and axis == 0 and not batch_dims:
        return read(indices, name=name)
    return GATHER_V2(params, indices, axis, batch_dims=batch_dims, name=name)


@export("batch_gather")
@of_ragged("rows")
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """`gather` along the last axis of `indices` in each batch (TF: tf.batch_gather)."""
    index = convert_to_tensor(indices, name="indices")
    if index.shape.ndims is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    batch = index.shape.ndims - 1
    return GATHER_V2(params, index, batch, batch_dims=batch, name=name or "BatchGather")


@export("boolean_mask")
@of_ragged("rows")
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """The elements of `tensor` where `mask` is true, like NumPy's `tensor[mask]` (TF: tf.boolean_mask).

    tensor [..., m1…mk, ...], mask [m1…mk] bool (or numbers, of which 0 is false), from `axis` on -> [..., count, ...].
    Raises ValueError if the rank of the mask is 0 or unknown, or if shapes disagree.
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        x = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        given: Any = constant_value(axis) if isinstance(axis, Tensor) else axis
        at = 0 if axis is None else int(given)
        rank = mask.shape.ndims
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if rank is None:
            raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.")
        at = at if x.shape.ndims is None else check_axis(at, x.shape.ndims)
        x.shape[at : at + rank].assert_is_compatible_with(mask.shape)
        if rank > 1:
            dims = shape_of_tensor(x)
            known = x.shape.tuple
            x = reshape(x, concat([dims[:at], [-1], dims[at + rank :]], 0))
            if known is not None:
                count = shape_of(known[at : at + rank]).num_elements()
                x.set_shape([*known[:at], count, *known[at + rank :]])
            mask = reshape(mask, [-1])
        return GATHER_V2(x, squeeze(get_op("Where")(mask), [1]), at)
