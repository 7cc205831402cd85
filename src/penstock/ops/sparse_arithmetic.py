"""Element-wise ops on two sparse tensors (TF: SparseAdd, SparseSparseMaximum, …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import operator_function
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.elementwise import NATIVE, REAL, like
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, invalid, via_numpy
from penstock.ops.sparse_to_dense import SPARSE_TENSOR_DENSE_ADD
from penstock.ops.sparse_tools import (
    as_sparse,
    check_parts,
    known_parts,
    positions_in,
    row_keys,
    sparse_shapes,
    tensor,
)
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape


def _union(*indices: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The sorted union of the indices in two matrices, and the positions in it of each matrix's indices."""
    parts = [i.numpy() for i in indices]
    _, first, back = np.unique(np.concatenate(row_keys(*parts)), return_index=True, return_inverse=True)
    return tensor(np.concatenate(parts)[first]), [tensor(p) for p in np.split(back, [len(parts[0])])]


def _spread(values: torch.Tensor, places: torch.Tensor, count: int) -> torch.Tensor:
    """`count` sums of the values at their positions, 0 where there are none."""
    # Two's complement adds unsigned numbers as it adds signed ones.
    elements = as_signed(values)
    return elements.new_zeros(count).index_add_(0, places, elements).view(values.dtype)


def _check_shapes(a: torch.Tensor, b: torch.Tensor) -> None:
    if len(a) != len(b):
        raise invalid(f"Operands do not have the same ranks; got shapes: {a.tolist()} and {b.tolist()}")
    if not torch.equal(a, b):
        raise invalid(f"Operands' shapes do not match: got {a.tolist()} and {b.tolist()}")


# --- SparseAdd ------------------------------------------------------------------------------------------

SPARSE_ADD = define_op(
    "SparseAdd",
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, thresh: Treal",
    "sum_indices: int64, sum_values: T, sum_shape: int64",
    attrs=["T: numbertype", "Treal: realnumbertype"],
    aliases=True,
)
SPARSE_ADD_GRAD = define_op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64",
    "a_val_grad: T, b_val_grad: T",
    attrs=["T: numbertype"],
    work=SERIAL,
)


@SPARSE_ADD.shape
def sparse_add_shape(c: ShapeContext, *inputs: TensorShape) -> list[TensorShape]:
    shape = inputs[2].with_rank(1)
    return [*sparse_shapes(None, shape.tuple[0])[:2], shape]


@SPARSE_ADD.kernel("CPU", T=NATIVE)
def sparse_add_kernel(ctx: KernelContext) -> Kernel:
    def add(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh = inputs
        check_parts(a_indices, a_values, a_shape, "a")
        check_parts(b_indices, b_values, b_shape, "b")
        _check_shapes(a_shape, b_shape)
        if thresh.dim():
            raise invalid(f"The magnitude threshold must be a scalar: got shape {list(thresh.shape)}")
        indices, (a, b) = _union(a_indices, b_indices)
        total = _spread(a_values, a, len(indices)) + _spread(b_values, b, len(indices))
        if thresh.item() > 0:
            alone = torch.bincount(torch.cat([a, b]), minlength=len(indices)) == 1
            kept = alone | (total.abs() >= thresh.item())
            indices, total = indices[kept], total[kept]
        return indices, total, a_shape

    return add


@SPARSE_ADD.gradient
def sparse_add_gradient(op: Operation, _indices: Any, grad: Tensor, _shape: Any) -> list[Any]:
    a_indices, b_indices = op._inputs[0], op._inputs[3]
    a, b = SPARSE_ADD_GRAD(grad, a_indices, b_indices, op._outputs[0])
    return [None, a, None, None, b, None, None]


@SPARSE_ADD_GRAD.shape
def sparse_add_grad_shape(
    c: ShapeContext, grad: TensorShape, a: TensorShape, b: TensorShape, total: TensorShape
) -> list[TensorShape]:
    return [TensorShape(a.with_rank(2).tuple[:1]), TensorShape(b.with_rank(2).tuple[:1])]


@SPARSE_ADD_GRAD.kernel("CPU", T=NATIVE)
def sparse_add_grad_kernel(ctx: KernelContext) -> Kernel:
    """The gradient of each element of a and of b is that of the sum's element at its index, 0 if there is none."""

    def spread(grad: torch.Tensor, *indices: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if any(i.dim() != 2 or i.shape[1] != indices[0].shape[1] for i in indices):
            raise invalid(f"Inputs must be matrices of the same width: got {[list(i.shape) for i in indices]}")
        if grad.dim() != 1 or len(grad) != len(indices[2]):
            raise invalid(f"{list(grad.shape)} gradients for {len(indices[2])} elements of the sum")
        *parts, total = row_keys(*(i.numpy() for i in indices))
        return tuple(_at(grad, *positions_in(part, total)) for part in parts)

    return spread


def _at(values: torch.Tensor, places: np.ndarray, there: np.ndarray) -> torch.Tensor:
    if not len(values):
        return values.new_zeros(len(places))
    return values[torch.from_numpy(places)].masked_fill_(torch.from_numpy(~there), 0)


SPARSE_ADD_GRAD.not_differentiable()


@export("sparse_add", "sparse.add")
@operator_function
def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """a + b of the same shape, at least one of which is sparse (TF: tf.sparse_add).

    The sum of two sparse tensors with sorted indices is sparse, without sums of two elements that are closer to 0 than
    `threshold` (`thresh` before TF 1.14); the sum of a sparse and a dense one is dense. Raises TypeError if both are
    dense.
    """
    threshold = threshold if threshold is not None else thresh
    if not any(hasattr(x, "dense_shape") for x in (a, b)):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if hasattr(a, "dense_shape") and hasattr(b, "dense_shape"):
        a, b = as_sparse(a, "a"), as_sparse(b, "b")
        real = {"complex64": "float32", "complex128": "float64"}.get(a.dtype.base_dtype.name, a.dtype.base_dtype)
        least = convert_to_tensor(0 if threshold is None else threshold, real, name="threshold")
        parts = SPARSE_ADD(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, least)
        static = a.shape.merge_with(b.shape)
        shape = static.as_list() if static.is_fully_defined() else parts[2]
        return SparseTensor(parts[0], parts[1], shape)
    if not hasattr(a, "dense_shape"):
        a, b = b, a
    a = as_sparse(a, "a")
    return SPARSE_TENSOR_DENSE_ADD(a.indices, a.values, a.dense_shape, b)


# --- maximum and minimum --------------------------------------------------------------------------------


def _extremum(
    name: str, types: str, fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], numpy_fn: Callable[..., Any]
) -> OpDef:
    op = define_op(
        name,
        "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64",
        "output_indices: int64, output_values: T",
        attrs=[f"T: {types}"],
        work=SERIAL,
    )

    @op.shape
    def shape(c: ShapeContext, *inputs: TensorShape) -> list[TensorShape]:
        _, rank = known_parts(*inputs[:3])
        _, other = known_parts(*inputs[3:])
        # The step rejects ranks that differ, as in TensorFlow.
        return sparse_shapes(None, other if rank is None else rank)[:2]

    @op.kernel("CPU", T=f"{REAL} {TORCH_LACKS}")
    def kernel(ctx: KernelContext) -> Kernel:
        choose = via_numpy(numpy_fn, ctx["T"]) if ctx["T"].name in TORCH_LACKS.split() else fn

        def apply(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            a_indices, a_values, a_shape, b_indices, b_values, b_shape = inputs
            check_parts(a_indices, a_values, a_shape, "a")
            check_parts(b_indices, b_values, b_shape, "b")
            _check_shapes(a_shape, b_shape)
            indices, (a, b) = _union(a_indices, b_indices)
            count = len(indices)
            return indices, choose(_spread(a_values, a, count), _spread(b_values, b, count))

        return apply

    return op


SPARSE_SPARSE_MAXIMUM = _extremum("SparseSparseMaximum", "realnumbertype", torch.maximum, np.maximum)
SPARSE_SPARSE_MINIMUM = _extremum("SparseSparseMinimum", "numbertype", torch.minimum, np.minimum)


@SPARSE_SPARSE_MAXIMUM.gradient
@SPARSE_SPARSE_MINIMUM.gradient
def sparse_extremum_gradient(op: Operation, _indices: Any, grad: Tensor) -> list[Any]:
    """The gradient goes to the element that is the output, half of it to each if both are.

    TensorFlow declares that it has no gradient here.
    """
    a_indices, a_values, shape, b_indices, b_values, _ = op._inputs
    indices, output = op._outputs
    found = SPARSE_ADD_GRAD(output, a_indices, b_indices, indices)
    hits = [
        get_op("Cast")(get_op("Equal")(v, f), DstT=grad.dtype) for v, f in zip((a_values, b_values), found, strict=True)
    ]
    zero = constant(0, "float32" if grad.dtype.name not in ("float64",) else "float64")
    count = SPARSE_ADD(a_indices, hits[0], shape, b_indices, hits[1], shape, zero)[1]
    shared = grad / get_op("Maximum")(count, like(1, count))
    a, b = SPARSE_ADD_GRAD(shared, a_indices, b_indices, indices)
    return [None, a * hits[0], None, None, b * hits[1], None]


@export("sparse_maximum", "sparse.maximum")
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The greater of two sparse tensors' elements, with missing ones counted as 0 (TF: tf.sparse_maximum).

    Raises InvalidArgumentError if shapes differ.
    """
    return _of_two(SPARSE_SPARSE_MAXIMUM, "SparseSparseMaximum", sp_a, sp_b, name)


@export("sparse_minimum", "sparse.minimum")
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of two sparse tensors' elements, with missing ones counted as 0 (TF: tf.sparse_minimum)."""
    return _of_two(SPARSE_SPARSE_MINIMUM, "SparseSparseMinimum", sp_a, sp_b, name)


def _of_two(op: OpDef, default_name: str, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    with name_scope(name, default_name, [sp_a.indices, sp_b.indices]) as scope:
        sp_a, sp_b = as_sparse(sp_a, "sp_a"), as_sparse(sp_b, "sp_b")
        indices, values = op(
            sp_a.indices, sp_a.values, sp_a.dense_shape, sp_b.indices, sp_b.values, sp_b.dense_shape, name=scope
        )
        return SparseTensor(indices, values, sp_a.dense_shape)
