"""Reordering the elements of sparse tensors, and changing their indices (TF: SparseReorder, SparseReshape, …)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.constants import constant_value, constant_value_as_shape
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.elementwise import NATIVE
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, invalid
from penstock.ops.sparse_tools import (
    ANY,
    as_sparse,
    check_parts,
    positions_in,
    row_keys,
    sorted_order,
    sparse_shapes,
    strides_of,
    take,
    tensor,
)
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32, int64
from penstock.tensor.shapes import TensorShape

# --- SparseReorder --------------------------------------------------------------------------------------

SPARSE_REORDER = define_op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64",
    "output_indices: int64, output_values: T",
    attrs=["T: type"],
    aliases=True,
)


@SPARSE_REORDER.shape
def sparse_reorder_shape(
    c: ShapeContext, indices: TensorShape, values: TensorShape, shape: TensorShape
) -> list[TensorShape]:
    return [indices.with_rank(2), values.with_rank(1)]


@SPARSE_REORDER.kernel("CPU", T=ANY)
def sparse_reorder_kernel(ctx: KernelContext) -> Kernel:
    def reorder(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> tuple[Any, Any]:
        check_parts(indices, values, shape)
        rows = indices.numpy()
        order = sorted_order(row_keys(rows)[0])
        return (indices, values) if order is None else (torch.from_numpy(rows[order]), take(values, order))

    return reorder


@SPARSE_REORDER.gradient
def sparse_reorder_gradient(op: Operation, _indices: Any, grad: Tensor) -> list[Any]:
    indices, _, shape = op._inputs
    count = get_op("Size")(op._inputs[1])
    _, order = SPARSE_REORDER(indices, get_op("Range")(np.int32(0), count, np.int32(1)), shape)
    return [None, get_op("GatherV2")(grad, get_op("InvertPermutation")(order), np.int32(0)), None]


@export("sparse_reorder", "sparse.reorder")
def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The elements in row-major order of their indices, as most sparse ops require (TF: tf.sparse_reorder)."""
    sp_input = as_sparse(sp_input)
    indices, values = SPARSE_REORDER(sp_input.indices, sp_input.values, sp_input.dense_shape, name=name)
    static = sp_input.shape
    shape = constant(static.as_list(), int64) if static.is_fully_defined() else sp_input.dense_shape
    return SparseTensor(indices, values, shape)


# --- SparseReshape --------------------------------------------------------------------------------------

SPARSE_RESHAPE = define_op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64",
    "output_indices: int64, output_shape: int64",
    aliases=True,
)
SPARSE_RESHAPE.not_differentiable()


@SPARSE_RESHAPE.shape
def sparse_reshape_shape(
    c: ShapeContext, indices: TensorShape, shape: TensorShape, new_shape: TensorShape
) -> list[TensorShape]:
    new_shape = new_shape.with_rank(1)
    shape.with_rank(1)
    return [TensorShape([indices.with_rank(2).tuple[0], new_shape.tuple[0]]), new_shape]


def _wanted(dims: list[int], new: list[int]) -> list[int]:
    """`new` with -1 replaced; raises InvalidArgumentError if it does not have as many elements as `dims`."""
    if new.count(-1) > 1:
        both = [i for i, d in enumerate(new) if d == -1]
        raise invalid(f"only one output dimension may be -1, not both {both[0]} and {both[1]}")
    if any(d < -1 for d in new):
        at = next(i for i, d in enumerate(new) if d < -1)
        raise invalid(f"size {at} must be non-negative, not {new[at]}")
    total = math.prod(dims)
    if -1 in new:
        rest = math.prod(d for d in new if d != -1)
        if not rest:
            raise invalid("reshape cannot infer the missing input size for an empty tensor")
        if total % rest:
            raise invalid(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a "
                f"multiple of {rest}"
            )
        new = [total // rest if d == -1 else d for d in new]
    if math.prod(new) != total:
        raise invalid(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape {new} has "
            f"{math.prod(new)}: from shape {dims}"
        )
    return new


@SPARSE_RESHAPE.kernel("CPU")
def sparse_reshape_kernel(ctx: KernelContext) -> Kernel:
    def reshape(indices: torch.Tensor, shape: torch.Tensor, new_shape: torch.Tensor) -> tuple[Any, Any]:
        if indices.dim() != 2 or shape.dim() != 1 or new_shape.dim() != 1:
            raise invalid(
                f"Input indices must be a matrix and the shapes vectors, got shapes {list(indices.shape)}, "
                f"{list(shape.shape)} and {list(new_shape.shape)}"
            )
        dims = shape.tolist()
        if len(dims) != indices.shape[1]:
            raise invalid(f"Input tensor rank must match input shape length: {indices.shape[1]} and {len(dims)}")
        new = _wanted(dims, new_shape.tolist())
        if new == dims:
            return indices, shape
        rest = indices.numpy() @ strides_of(dims)
        columns = []
        for stride in strides_of(new):
            column, rest = np.divmod(rest, max(stride, 1))
            columns.append(column)
        rows = np.stack(columns, 1) if columns else np.zeros((len(rest), 0), np.int64)
        return tensor(rows), torch.tensor(new, dtype=torch.int64)

    return reshape


@export("sparse_reshape", "sparse.reshape")
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements, in row-major order, in a new shape, which may have a -1 (TF: tf.sparse_reshape).

    Raises ValueError or (in a step) InvalidArgumentError if the numbers of dense elements differ.
    """
    sp_input = as_sparse(sp_input)
    wanted = cast(shape, int64)
    with name_scope(name, "SparseReshape", [sp_input.values]) as scope:
        indices, new_shape = SPARSE_RESHAPE(sp_input.indices, sp_input.dense_shape, wanted, name=scope)
        given = constant_value(wanted)
        static = constant_value_as_shape(wanted)
        old = sp_input.shape
        if given is not None and old.is_fully_defined():
            try:
                static = TensorShape(_wanted(old.as_list(), given.tolist()))
            except Exception as error:
                raise ValueError(f"Cannot reshape a tensor of shape {old} to {given.tolist()}: {error}") from None
        if static.is_fully_defined():
            new_shape = constant(static.as_list(), int64)
        return SparseTensor(indices, identity(sp_input.values), new_shape)


# --- SparseSlice ----------------------------------------------------------------------------------------

SPARSE_SLICE = define_op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64",
    "output_indices: int64, output_values: T, output_shape: int64",
    attrs=["T: type"],
    work=SERIAL,
)
SPARSE_SLICE_GRAD = define_op(
    "SparseSliceGrad",
    "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64",
    "val_grad: T",
    attrs=["T: numbertype"],
    work=SERIAL,
)


@SPARSE_SLICE.shape
def sparse_slice_shape(c: ShapeContext, *inputs: TensorShape) -> list[TensorShape]:
    shape = inputs[2].with_rank(1)
    return [*sparse_shapes(None, shape.tuple[0])[:2], shape]


@SPARSE_SLICE.kernel("CPU", T=ANY)
def sparse_slice_kernel(ctx: KernelContext) -> Kernel:
    def cut(
        indices: torch.Tensor, values: Any, shape: torch.Tensor, start: torch.Tensor, size: torch.Tensor
    ) -> tuple[Any, ...]:
        check_parts(indices, values, shape)
        for name, vector in (("start", start), ("size", size)):
            if vector.shape != shape.shape:
                raise invalid(f"Expected {name} to be a vector of length {len(shape)}, got shape {list(vector.shape)}")
        rows, low = indices.numpy(), start.numpy()
        if (low < 0).any() or (size < 0).any():
            raise invalid(f"start and size must not be negative, got {start.tolist()} and {size.tolist()}")
        dims = np.clip(shape.numpy() - low, 0, size.numpy())
        kept = ((rows >= low) & (rows - low < dims)).all(1).nonzero()[0]
        return tensor(rows[kept] - low), take(values, kept), torch.from_numpy(dims)

    return cut


@SPARSE_SLICE.gradient
def sparse_slice_gradient(op: Operation, _indices: Any, grad: Tensor, _shape: Any) -> list[Any]:
    return [None, SPARSE_SLICE_GRAD(grad, op._inputs[0], op._inputs[3], op._outputs[0]), None, None, None]


@SPARSE_SLICE_GRAD.shape
def sparse_slice_grad_shape(
    c: ShapeContext, grad: TensorShape, indices: TensorShape, start: TensorShape, output: TensorShape
) -> TensorShape:
    return TensorShape(indices.with_rank(2).tuple[:1])


@SPARSE_SLICE_GRAD.kernel("CPU", T=f"{NATIVE} {TORCH_LACKS}")
def sparse_slice_grad_kernel(ctx: KernelContext) -> Kernel:
    """The gradient of each element of the input: that of its element in the output, or 0."""
    dtype = ctx.torch_dtype()

    def spread(grad: torch.Tensor, indices: torch.Tensor, start: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        if indices.dim() != 2 or output.dim() != 2 or indices.shape[1] != output.shape[1]:
            raise invalid(
                f"Input and output indices must be matrices of one width, "
                f"got {list(indices.shape)} and {list(output.shape)}"
            )
        if grad.dim() != 1 or len(grad) != len(output):
            raise invalid(f"{list(grad.shape)} gradients for {len(output)} elements of the slice")
        given, kept = row_keys(indices.numpy() - start.numpy(), output.numpy())
        places, there = positions_in(given, kept)
        elements = as_signed(grad)
        found = elements.new_zeros(len(given))
        found[torch.from_numpy(there.nonzero()[0])] = elements[torch.from_numpy(places[there])]
        return found.view(dtype)

    return spread


SPARSE_SLICE_GRAD.not_differentiable()


@export("sparse_slice", "sparse.slice")
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part of `size` that begins at `start`, clipped to the tensor (TF: tf.sparse_slice)."""
    sp_input = as_sparse(sp_input)
    start, size = convert_to_tensor(start, int64), convert_to_tensor(size, int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        return SparseTensor(
            *SPARSE_SLICE(sp_input.indices, sp_input.values, sp_input.dense_shape, start, size, name=scope)
        )


# --- transposition --------------------------------------------------------------------------------------


@export("sparse_transpose", "sparse.transpose")
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Dimension i of the result is `sp_input`'s perm[i]; without `perm`, dimensions are reversed (TF:
    tf.sparse_transpose)."""
    with name_scope(name, "SparseTranspose", [sp_input.values]):
        sp_input = as_sparse(sp_input)
        if perm is None:
            rank = sp_input.shape.ndims
            if rank is None:
                perm = get_op("Sub")(
                    get_op("Sub")(get_op("Size")(sp_input.dense_shape), 1),
                    get_op("Range")(0, get_op("Size")(sp_input.dense_shape), 1),
                )
            else:
                perm = np.arange(rank - 1, -1, -1, dtype=np.int32)
        gather = get_op("GatherV2")
        perm = convert_to_tensor(perm, int32 if not isinstance(perm, Tensor) else None)
        indices = gather(sp_input.indices, perm, np.int32(1))
        order, static = constant_value(perm), sp_input.shape
        if order is not None and static.is_fully_defined():
            shape: Any = constant([static.as_list()[i] for i in order.tolist()], int64)
        else:
            shape = gather(sp_input.dense_shape, perm, np.int32(0))
        return sparse_reorder(SparseTensor(indices, sp_input.values, shape))
