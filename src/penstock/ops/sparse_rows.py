"""Filling empty rows (TF: SparseFillEmptyRows)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.elementwise import NATIVE
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, invalid
from penstock.ops.sparse_tools import ANY, as_sparse, check_parts, known_parts, put, sparse_shapes, tensor
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

SPARSE_FILL_EMPTY_ROWS = define_op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T",
    "output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    attrs=["T: type"],
    work=SERIAL,
)
SPARSE_FILL_EMPTY_ROWS_GRAD = define_op(
    "SparseFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T",
    "d_values: T, d_default_value: T",
    attrs=["T: type"],
    work=SERIAL,
)


@SPARSE_FILL_EMPTY_ROWS.shape
def sparse_fill_empty_rows_shape(
    c: ShapeContext, indices: TensorShape, values: TensorShape, shape: TensorShape, default: TensorShape
) -> list[TensorShape]:
    default.assert_has_rank(0)
    count, rank = known_parts(indices, values, shape)
    dims = c.constant_shape("dense_shape").tuple
    return [*sparse_shapes(None, rank)[:2], TensorShape([dims[0] if dims else None]), TensorShape([count])]


@SPARSE_FILL_EMPTY_ROWS.kernel("CPU", T=ANY)
def sparse_fill_empty_rows_kernel(ctx: KernelContext) -> Kernel:
    def fill(indices: torch.Tensor, values: Any, shape: torch.Tensor, default: Any) -> tuple[Any, ...]:
        check_parts(indices, values, shape)
        if default.ndim:
            raise invalid(f"default_value must be a scalar, saw shape: {list(default.shape)}")
        if not len(shape):
            raise invalid("Dense shape cannot be empty.")
        rows, height = indices.numpy(), int(shape[0])
        row = rows[:, 0]
        if not height and len(row):
            raise invalid(f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {len(row)}")
        outside = ((row < 0) | (row >= height)).nonzero()[0]
        if len(outside):
            at = outside[0]
            raise invalid(f"indices({at}, 0) is invalid: {row[at]} >= {height}")
        counts = np.bincount(row, minlength=height)
        empty = counts == 0
        filled = counts + empty
        total = int(filled.sum())
        # Rows in order, each with its elements in their original order.
        order = np.argsort(row, kind="stable")
        places = np.empty(len(row), np.int64)
        shift = (np.cumsum(filled) - filled) - (np.cumsum(counts) - counts)
        places[order] = np.arange(len(row)) + shift[row[order]]
        found = np.zeros((total, rows.shape[1]), np.int64)
        found[(np.cumsum(filled) - filled)[empty], 0] = empty.nonzero()[0]
        found[places] = rows
        return torch.from_numpy(found), put(values, places, total, default), torch.from_numpy(empty), tensor(places)

    return fill


@SPARSE_FILL_EMPTY_ROWS.gradient
def sparse_fill_empty_rows_gradient(op: Operation, _indices: Any, grad: Tensor, _empty: Any, _map: Any) -> list[Any]:
    to_values, to_default = SPARSE_FILL_EMPTY_ROWS_GRAD(op._outputs[3], grad)
    return [None, to_values, None, to_default]


@SPARSE_FILL_EMPTY_ROWS_GRAD.shape
def sparse_fill_empty_rows_grad_shape(c: ShapeContext, places: TensorShape, grad: TensorShape) -> list[TensorShape]:
    grad.assert_has_rank(1)
    return [places.with_rank(1), SCALAR]


@SPARSE_FILL_EMPTY_ROWS_GRAD.kernel("CPU", T=f"{NATIVE} {TORCH_LACKS}")
def sparse_fill_empty_rows_grad_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype()

    def spread(places: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if places.dim() != 1 or grad.dim() != 1:
            raise invalid(f"Expected vectors, saw shapes {list(places.shape)} and {list(grad.shape)}")
        outside = (places < 0) | (places >= len(grad))
        if outside.any():
            raise invalid(f"Elements in reverse index must be in [0, {len(grad)}) but got {int(places[outside][0])}")
        left = as_signed(grad).clone()
        left[places] = 0
        return grad[places], left.sum(dtype=left.dtype).view(dtype)

    return spread


SPARSE_FILL_EMPTY_ROWS_GRAD.not_differentiable()


@export("sparse_fill_empty_rows", "sparse.fill_empty_rows")
def sparse_fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """Empty rows get `default_value` in column 0, and elements are ordered by row.

    Returns the filled tensor, and bools [rows] that say which were empty. A step raises InvalidArgumentError for a row
    out of bounds. TF: tf.sparse_fill_empty_rows.
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default = convert_to_tensor(default_value, sp_input.values.dtype)
        indices, values, empty, _ = SPARSE_FILL_EMPTY_ROWS(
            sp_input.indices, sp_input.values, sp_input.dense_shape, default
        )
        return SparseTensor(indices, values, sp_input.dense_shape), empty
