"""Reductions of sparse tensors, and softmax along their last dimension (TF: SparseReduceSum, SparseSoftmax, …)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import one_of
from penstock.ops.elementwise import NATIVE, REAL, like
from penstock.ops.gather_nd import gather_nd
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, invalid
from penstock.ops.sparse_dense_cwise import SPARSE_DENSE_CWISE_ADD
from penstock.ops.sparse_tools import as_sparse, check_bounds, check_parts, row_keys, strides_of, tensor
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import TensorShape

Reduce = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]
"""(values [n], group of each [n], number of groups) -> [groups], 0 for groups without a value."""


_UNSIGNED = {torch.uint16, torch.uint32, torch.uint64}  # torch has no maximum for these


def _sums(values: torch.Tensor, group: torch.Tensor, count: int) -> torch.Tensor:
    # Two's complement adds unsigned numbers as it adds signed ones.
    signed = as_signed(values)
    return signed.new_zeros(count).index_add_(0, group, signed).view(values.dtype)


def _maxima(values: torch.Tensor, group: torch.Tensor, count: int) -> torch.Tensor:
    if values.dtype in _UNSIGNED:
        found = np.zeros(count, values.numpy().dtype)
        np.maximum.at(found, group.numpy(), values.numpy())
        return torch.from_numpy(found)
    return values.new_zeros(count).scatter_reduce_(0, group, values, "amax", include_self=False)


# --- reductions -----------------------------------------------------------------------------------------


def _axes(axes: Any, rank: int) -> set[int]:
    for axis in axes:
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    return {int(axis) % rank for axis in axes}


def _reduction(name: str, types: str, reduce: Reduce, native: str) -> OpDef:
    """Define the op that returns a dense result."""
    op = define_op(
        name,
        "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32",
        "output: T",
        attrs=["keep_dims: bool = false", f"T: {types}"],
        work=32.0,
    )

    @op.shape
    def shape(
        c: ShapeContext, indices: TensorShape, values: TensorShape, dims: TensorShape, axes: TensorShape
    ) -> TensorShape:
        sizes, reduced = c.constant_shape("input_shape").tuple, c.constant("reduction_axes")
        if sizes is None or reduced is None:
            return UNKNOWN
        rank = len(sizes)
        if not all(-rank <= axis < rank for axis in reduced.reshape(-1)):
            return UNKNOWN  # the step rejects it, as in TensorFlow
        gone = _axes(reduced.reshape(-1), rank)
        if c.attrs["keep_dims"]:
            return TensorShape([1 if i in gone else d for i, d in enumerate(sizes)])
        return TensorShape([d for i, d in enumerate(sizes) if i not in gone])

    @op.kernel("CPU", T=native)
    def kernel(ctx: KernelContext) -> Kernel:
        keep_dims = ctx["keep_dims"]

        def apply(indices: torch.Tensor, values: torch.Tensor, dims: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
            check_parts(indices, values, dims)
            sizes = dims.tolist()
            check_bounds(indices, sizes)
            gone = _axes(axes.reshape(-1).tolist(), len(sizes))
            kept = [i for i in range(len(sizes)) if i not in gone]
            left = [sizes[i] for i in kept]
            group = torch.from_numpy(indices.numpy()[:, kept] @ strides_of(left))
            found = reduce(values, group, math.prod(left))
            return found.reshape([1 if i in gone else d for i, d in enumerate(sizes)] if keep_dims else left)

        return apply

    return op


def _sparse_reduction(name: str, types: str, reduce: Reduce, native: str) -> OpDef:
    """Define the op that returns a sparse result: an element for each group that has one."""
    op = define_op(
        name,
        "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32",
        "output_indices: int64, output_values: T, output_shape: int64",
        attrs=["keep_dims: bool = false", f"T: {types}"],
        shape=lambda c, *inputs: [UNKNOWN] * 3,
        work=32.0,
    )
    op.not_differentiable()

    @op.kernel("CPU", T=native)
    def kernel(ctx: KernelContext) -> Kernel:
        keep_dims = ctx["keep_dims"]

        def apply(
            indices: torch.Tensor, values: torch.Tensor, dims: torch.Tensor, axes: torch.Tensor
        ) -> tuple[torch.Tensor, ...]:
            check_parts(indices, values, dims)
            sizes = dims.tolist()
            check_bounds(indices, sizes)
            gone = _axes(axes.reshape(-1).tolist(), len(sizes))
            kept = [i for i in range(len(sizes)) if i not in gone]
            rows = indices.numpy()
            groups, first, back = np.unique(row_keys(rows[:, kept])[0], return_index=True, return_inverse=True)
            found = reduce(values, tensor(back), len(groups))
            if keep_dims:
                left = np.zeros((len(groups), len(sizes)), np.int64)
                left[:, kept] = rows[first][:, kept]
                shape = [1 if i in gone else d for i, d in enumerate(sizes)]
            else:
                left, shape = rows[first][:, kept], [sizes[i] for i in kept]
            return tensor(left), found, torch.tensor(shape, dtype=torch.int64)

        return apply

    return op


SPARSE_REDUCE_SUM = _reduction("SparseReduceSum", "numbertype", _sums, f"{NATIVE} {TORCH_LACKS}")
SPARSE_REDUCE_MAX = _reduction("SparseReduceMax", "realnumbertype", _maxima, f"{REAL} {TORCH_LACKS}")
SPARSE_REDUCE_SUM_SPARSE = _sparse_reduction("SparseReduceSumSparse", "numbertype", _sums, f"{NATIVE} {TORCH_LACKS}")
SPARSE_REDUCE_MAX_SPARSE = _sparse_reduction(
    "SparseReduceMaxSparse", "realnumbertype", _maxima, f"{REAL} {TORCH_LACKS}"
)
SPARSE_REDUCE_MAX.not_differentiable()


@SPARSE_REDUCE_SUM.gradient
def sparse_reduce_sum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """Each element has the gradient of the sum that it is part of."""
    indices, _, shape, axes = op._inputs
    rank = get_op("Size")(shape)
    positions = get_op("Range")(np.int32(0), rank, np.int32(1))
    reduced = get_op("FloorMod")(get_op("Reshape")(axes, np.array([-1], np.int32)), rank)
    hits = get_op("Equal")(get_op("ExpandDims")(positions, np.int32(1)), get_op("ExpandDims")(reduced, np.int32(0)))
    gone = get_op("Any")(hits, np.int32(1))
    dims = get_op("SelectV2")(gone, like(1, shape), shape)
    places = get_op("SelectV2")(gone, like(0, indices), indices)
    return [None, gather_nd(get_op("Reshape")(grad, dims), places), None, None]


def _reduced(op: OpDef, sp: Any, axis: Any, keep: Any, old_axis: Any, old_keep: Any) -> Any:
    axis = one_of("axis", axis, "reduction_axes", old_axis, needed=False)
    keep = one_of("keepdims", keep, "keep_dims", old_keep, needed=False)
    sp = as_sparse(sp)
    if axis is None:
        rank = sp.shape.ndims
        axis = (
            get_op("Range")(np.int32(0), get_op("Size")(sp.dense_shape), np.int32(1))
            if rank is None
            else np.arange(rank, dtype=np.int32)
        )
    axes = convert_to_tensor(axis, None if isinstance(axis, Tensor) else int32)
    return op(sp.indices, sp.values, sp.dense_shape, axes, keep_dims=bool(keep))


@export("sparse_reduce_sum", "sparse.reduce_sum")
def sparse_reduce_sum(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The sums along `axis` (None: of all elements), dense (TF: tf.sparse_reduce_sum).

    A step raises InvalidArgumentError for an axis or an index that is out of range, here and below.
    """
    return _reduced(SPARSE_REDUCE_SUM, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse_reduce_sum_sparse", "sparse.reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """The sums along `axis`, sparse (TF: tf.sparse_reduce_sum_sparse)."""
    return SparseTensor(*_reduced(SPARSE_REDUCE_SUM_SPARSE, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("sparse_reduce_max", "sparse.reduce_max")
def sparse_reduce_max(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> Tensor:
    """The maxima of the existing elements along `axis`, 0 where there are none (TF: tf.sparse_reduce_max)."""
    return _reduced(SPARSE_REDUCE_MAX, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse_reduce_max_sparse", "sparse.reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None
) -> SparseTensor:
    """The maxima along `axis`, sparse (TF: tf.sparse_reduce_max_sparse)."""
    return SparseTensor(*_reduced(SPARSE_REDUCE_MAX_SPARSE, sp_input, axis, keepdims, reduction_axes, keep_dims))


# --- SparseSoftmax --------------------------------------------------------------------------------------

SPARSE_SOFTMAX = define_op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64",
    "output: T",
    attrs=["T: {half, float, double}"],
    work=64.0,
)


@SPARSE_SOFTMAX.shape
def sparse_softmax_shape(c: ShapeContext, indices: TensorShape, values: TensorShape, shape: TensorShape) -> TensorShape:
    indices.assert_has_rank(2)
    shape.assert_has_rank(1)
    return values.with_rank(1)


@SPARSE_SOFTMAX.kernel("CPU")
def sparse_softmax_kernel(ctx: KernelContext) -> Kernel:
    def softmax(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        check_parts(indices, values, shape)
        if len(shape) < 2:
            raise invalid(f"Input should have rank >= 2, but got: {shape.tolist()}")
        check_bounds(indices, shape.tolist())
        groups, back = np.unique(row_keys(indices.numpy()[:, :-1])[0], return_inverse=True)
        group, count = tensor(back), len(groups)
        weights = torch.exp(values - _maxima(values, group, count)[group])
        return weights / _sums(weights, group, count)[group]

    return softmax


@SPARSE_SOFTMAX.gradient
def sparse_softmax_gradient(op: Operation, grad: Tensor) -> list[Any]:
    indices, _, shape = op._inputs
    output = op._outputs[0]
    total = SPARSE_REDUCE_SUM(indices, output * grad, shape, np.array([-1], np.int32), keep_dims=True)
    return [None, SPARSE_DENSE_CWISE_ADD(indices, grad, shape, -total) * output, None]


@export("sparse_softmax", "sparse.softmax")
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax over the existing elements in each row of the last dimension (TF: tf.sparse_softmax).

    [..., rows, n] float16, float32 or float64 of rank 2 or more.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = SPARSE_SOFTMAX(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)
