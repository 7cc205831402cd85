"""Older and rarer ops that move elements: Reverse, SpaceToBatch, BatchToSpace, Roll, ParallelConcat, …"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.emit.registry import emits
from penstock.emit.site import Site, Value
from penstock.emit.tools import copy, normal_axis, row_major
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import PASS_THROUGH, Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import TORCH_TYPES, signed_inside
from penstock.ops.partition import dynamic_stitch_gradient, dynamic_stitch_kernel, dynamic_stitch_shape
from penstock.ops.space import batch_to_space_nd_kernel, space_to_batch_nd_kernel, square_blocks_shape
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

# --- Reverse --------------------------------------------------------------------------------------------

REVERSE = define_op(
    "Reverse",
    "tensor: T, dims: bool",
    "output: T",
    attrs=[
        "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, "
        "complex64, complex128, string}"
    ],
    work=1.0,
    bits16="clear",
)


@REVERSE.shape
@shape_rules.of_first
def reverse_shape(c: ShapeContext, x: TensorShape, dims: TensorShape) -> TensorShape:
    rank = dims.with_rank(1).tuple[0]
    if rank is not None and rank > 8:
        raise ValueError("reverse does not work on tensors with more than 8 dimensions")
    return x if rank is None else x.with_rank(rank)


def _marked(dims: torch.Tensor, rank: int) -> list[int]:
    """The axes whose entry is true."""
    if dims.shape != (rank,):
        raise errors.InvalidArgumentError(
            None, None, f"'dims' of shape {list(dims.shape)} must say for each of {rank} axes whether it is reversed"
        )
    return [axis for axis, marked in enumerate(dims.tolist()) if marked]


@REVERSE.kernel("CPU", T="string")
def reverse_strings(ctx: KernelContext) -> Kernel:
    return lambda x, dims: np.flip(x, tuple(_marked(dims, x.ndim))).copy()


@REVERSE.kernel(host=("dims",), T=TORCH_TYPES)
def reverse_kernel(ctx: KernelContext) -> Kernel:
    return signed_inside(ctx, lambda x, dims: x.flip(_marked(dims, x.ndim)))


@REVERSE.gradient
def reverse_gradient(op: Operation, grad: Any) -> list[Any]:
    return [REVERSE(grad, op.inputs[1]), None]


# --- SpaceToBatch, BatchToSpace -------------------------------------------------------------------------

SPACE_TO_BATCH = define_op(
    "SpaceToBatch",
    "input: T, paddings: Tpaddings",
    "output: T",
    attrs=["T: type", "Tpaddings: indextype = int32", "block_size: int >= 2"],
    work=8.0,
)
BATCH_TO_SPACE = define_op(
    "BatchToSpace",
    "input: T, crops: Tidx",
    "output: T",
    attrs=["T: type", "block_size: int >= 2", "Tidx: indextype = int32"],
    work=16.0,
)


@SPACE_TO_BATCH.shape
def space_to_batch_shape(c: ShapeContext, x: TensorShape, paddings: TensorShape) -> TensorShape:
    return square_blocks_shape(c, x, "paddings", to_batch=True)


@BATCH_TO_SPACE.shape
def batch_to_space_shape(c: ShapeContext, x: TensorShape, crops: TensorShape) -> TensorShape:
    return square_blocks_shape(c, x, "crops", to_batch=False)


def _square(ctx: KernelContext, kernel: Any) -> Kernel:
    block = torch.full((2,), ctx["block_size"])
    return lambda x, edges: kernel(x, block, edges)


@SPACE_TO_BATCH.kernel(host=("paddings",), T=TORCH_TYPES)
def space_to_batch_kernel(ctx: KernelContext) -> Kernel:
    return _square(ctx, space_to_batch_nd_kernel(ctx))


@BATCH_TO_SPACE.kernel(host=("crops",), T=TORCH_TYPES)
def batch_to_space_kernel(ctx: KernelContext) -> Kernel:
    return _square(ctx, batch_to_space_nd_kernel(ctx))


@SPACE_TO_BATCH.gradient
def space_to_batch_gradient(op: Operation, grad: Any) -> list[Any]:
    return [BATCH_TO_SPACE(grad, op.inputs[1], block_size=op.attrs["block_size"]), None]


@BATCH_TO_SPACE.gradient
def batch_to_space_gradient(op: Operation, grad: Any) -> list[Any]:
    return [SPACE_TO_BATCH(grad, op.inputs[1], block_size=op.attrs["block_size"]), None]


# --- Roll -----------------------------------------------------------------------------------------------

ROLL = define_op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis",
    "output: T",
    attrs=["T: type", "Tshift: indextype", "Taxis: indextype"],
    work=1.0,
)


@ROLL.shape
@shape_rules.of_first
def roll_shape(c: ShapeContext, x: TensorShape, shift: TensorShape, axis: TensorShape) -> TensorShape:
    shift.with_rank_at_most(1)
    axis.with_rank_at_most(1)
    shift.merge_with(axis)
    return x.with_rank_at_least(1)


def _moves(x: Any, shift: torch.Tensor, axis: torch.Tensor) -> tuple[list[int], list[int]]:
    if shift.shape != axis.shape or shift.ndim > 1 or not x.ndim:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"shift and axis must have the same size, and input an axis: shapes {list(shift.shape)}, "
            f"{list(axis.shape)} and {list(x.shape)}",
        )
    axes = axis.reshape(-1).tolist()
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise errors.InvalidArgumentError(None, None, f"axis {one} is out of range")
    return shift.reshape(-1).tolist(), axes


@ROLL.kernel("CPU", T="string")
def roll_strings(ctx: KernelContext) -> Kernel:
    def roll(x: np.ndarray, shift: torch.Tensor, axis: torch.Tensor) -> np.ndarray:
        shifts, axes = _moves(x, shift, axis)
        return np.roll(x, tuple(shifts), tuple(axes))

    return roll


@ROLL.kernel(host=("shift", "axis"), T=TORCH_TYPES)
def roll_kernel(ctx: KernelContext) -> Kernel:
    def roll(x: torch.Tensor, shift: torch.Tensor, axis: torch.Tensor) -> torch.Tensor:
        shifts, axes = _moves(x, shift, axis)
        return torch.roll(x, shifts, axes) if axes else x.clone()

    return signed_inside(ctx, roll)


@ROLL.gradient
def roll_gradient(op: Operation, grad: Any) -> list[Any]:
    return [ROLL(grad, get_op("Neg")(op.inputs[1]), op.inputs[2]), None, None]


@export("roll", "manip.roll")
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """`input` with its elements rotated by `shift` along `axis`.

    `shift` and `axis` are ints, or vectors of the same length. TF: tf.roll.
    """
    return ROLL(input, shift, axis, name=name)


# --- ParallelConcat, ParallelDynamicStitch, GuaranteeConst ----------------------------------------------

PARALLEL_CONCAT = define_op(
    "ParallelConcat", "values: N * T", "output: T", attrs=["N: int >= 1", "T: type", "shape: shape"], work=1.0
)
PARALLEL_CONCAT.not_differentiable()


@PARALLEL_CONCAT.shape
def parallel_concat_shape(c: ShapeContext, values: list[TensorShape]) -> TensorShape:
    shape = c.attrs["shape"]
    if not shape.is_fully_defined():
        raise ValueError("shape attr must be fully defined.")
    for value in values:
        if not value.is_fully_defined():
            raise ValueError("All input shapes must be fully defined.")
        if value.tuple[:1] != (1,):
            raise ValueError("Size of first dimension must be 1.")
        if value.tuple[1:] != shape.tuple[1:]:
            raise ValueError(f"values of shape {value} do not make one of shape {shape}")
    return shape


@PARALLEL_CONCAT.kernel("CPU", T="string")
def parallel_concat_strings(ctx: KernelContext) -> Kernel:
    return np.concatenate


@PARALLEL_CONCAT.kernel(T=TORCH_TYPES)
def parallel_concat_kernel(ctx: KernelContext) -> Kernel:
    return torch.cat


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """`tf.stack` along a new first axis, for tensors whose shapes are known (TF: tf.parallel_stack)."""
    with name_scope(name):
        tensors = [convert_to_tensor(value) for value in values]
        shape = TensorShape([len(tensors)]).concatenate(tensors[0].shape)
        return PARALLEL_CONCAT([get_op("ExpandDims")(tensor, 0) for tensor in tensors], shape=shape)


PARALLEL_DYNAMIC_STITCH = define_op(
    "ParallelDynamicStitch", "indices: N * int32, data: N * T", "merged: T", attrs=["N: int >= 1", "T: type"], work=32.0
)
PARALLEL_DYNAMIC_STITCH.shape(dynamic_stitch_shape)
PARALLEL_DYNAMIC_STITCH.kernel("CPU", T="string")(dynamic_stitch_kernel)
PARALLEL_DYNAMIC_STITCH.kernel(T=TORCH_TYPES)(dynamic_stitch_kernel)
PARALLEL_DYNAMIC_STITCH.gradient(dynamic_stitch_gradient)

GUARANTEE_CONST = define_op(
    "GuaranteeConst",
    "input: T",
    "output: T",
    attrs=["T: type"],
    stateful=True,
    aliases=True,
    view="same",
    repeatable=True,
)
GUARANTEE_CONST.shape(shape_rules.unchanged)
GUARANTEE_CONST.kernel()(lambda n: PASS_THROUGH)
GUARANTEE_CONST.not_differentiable()


@export("guarantee_const")
def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """`input`, which the program promises not to change from step to step (TF: tf.guarantee_const)."""
    return GUARANTEE_CONST(input, name=name)


# --- gather_nd in batches -------------------------------------------------------------------------------


def batch_gather_nd(params: Any, indices: Any, batch_dims: int, name: str | None = None) -> Tensor:
    """`gather_nd` for each entry of the first `batch_dims` axes, which `params` and `indices` share.

    params [b1…bk, p1…pn], indices [b1…bk, ..., m] -> [b1…bk, ..., p(m+1)…pn].
    """
    with name_scope(name, "BatchGatherND", [params, indices]) as scope:
        params, indices = convert_to_tensor(params, name="params"), convert_to_tensor(indices, name="indices")
        rank = indices.shape.ndims
        if rank is None:
            raise NotImplementedError("gather_nd with batch_dims of indices of unknown rank")
        if not 0 <= batch_dims < rank:
            raise ValueError(f"batch_dims = {batch_dims} must be in [0, {rank}), the rank of indices")
        dims = get_op("Shape")(indices)
        leads = get_op("ConcatV2")([dims[:-1], [1]], 0)
        columns = []
        for axis in range(batch_dims):
            count = get_op("Cast")(dims[axis], DstT=indices.dtype)
            zero, one = (convert_to_tensor(i, indices.dtype) for i in (0, 1))
            row = get_op("Range")(zero, count, one)
            shaped = get_op("Reshape")(row, [-1 if i == axis else 1 for i in range(rank)])
            columns.append(get_op("BroadcastTo")(shaped, leads))
        return get_op("GatherNd")(params, get_op("ConcatV2")([*columns, indices], rank - 1), name=scope)


# --- in C -----------------------------------------------------------------------------------------------


@emits("Roll")
def roll_in_c(s: Site) -> str | None:
    """Each rotated axis has two parts: one that moves back, and one that wraps around."""
    x, (y,), shifts, axes = s.inputs[0], s.outputs, s.numbers(1), s.numbers(2)
    if shifts is None or axes is None or not x.size:
        return None
    found = [normal_axis(axis, len(x.shape)) for axis in axes]
    if None in found:
        return None
    moves = [0] * len(x.shape)
    for axis, shift in zip(found, shifts, strict=True):
        moves[axis] = (moves[axis] + shift) % x.shape[axis]  # type: ignore[index]
    return _rolled(y, x, moves)


def _rolled(y: Value, x: Value, moves: list[int]) -> str:
    steps = row_major(x.shape)
    parts: list[tuple[list[int], int, int]] = [([], 0, 0)]  # sizes, and the target and source of each part
    for dim, move, step in zip(x.shape, moves, steps, strict=True):
        halves = [(dim - move, move, 0), (move, 0, dim - move)]
        parts = [
            ([*dims, size], to + there * step, start + here * step)
            for dims, to, start in parts
            for size, there, here in halves
            if size
        ]
    return "\n".join(copy(y, steps, x, steps, dims, to, start) for dims, to, start in parts)
