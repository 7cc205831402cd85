"""Products of sparse matrices, and of dense ones with many zeros (TF: SparseTensorDenseMatMul, SparseMatMul)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.elementwise import NATIVE, conjugate
from penstock.ops.kernel_tools import invalid
from penstock.ops.layout import transpose
from penstock.ops.matrix import matmul_flops
from penstock.ops.sparse_tools import as_sparse, check_parts
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, merge_dim

# --- SparseTensorDenseMatMul ----------------------------------------------------------------------------

SPARSE_TENSOR_DENSE_MATMUL = define_op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T",
    "product: T",
    attrs=["T: type", "Tindices: indextype = int64", "adjoint_a: bool = false", "adjoint_b: bool = false"],
    work=SERIAL,
)


@SPARSE_TENSOR_DENSE_MATMUL.shape
def sparse_tensor_dense_matmul_shape(
    c: ShapeContext, indices: TensorShape, values: TensorShape, shape: TensorShape, b: TensorShape
) -> TensorShape:
    indices.assert_has_rank(2)
    values.assert_has_rank(1)
    rows, inner = c.constant_shape("a_shape").with_rank(2).tuple
    inner_b, columns = b.with_rank(2).tuple
    if c.attrs["adjoint_a"]:
        rows, inner = inner, rows
    if c.attrs["adjoint_b"]:
        inner_b, columns = columns, inner_b
    merge_dim(inner, inner_b, "inner dimensions of a and b")
    return TensorShape([rows, columns])


@SPARSE_TENSOR_DENSE_MATMUL.kernel(T=NATIVE, host=("a_shape",))
def sparse_tensor_dense_matmul_kernel(ctx: KernelContext) -> Kernel:
    adjoint_a, adjoint_b = ctx["adjoint_a"], ctx["adjoint_b"]
    multiply = _multiply_sparse if ctx.device.type == "cpu" else _multiply_rows

    def matmul(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        check_parts(indices, values, shape, "a")
        dims = shape.tolist()
        if len(dims) != 2 or b.dim() != 2:
            raise invalid(f"Tensors a and b must be matrices, got shapes {dims} and {list(b.shape)}")
        at = indices.t().long()
        if adjoint_a:
            at, dims, values = at.flip(0), dims[::-1], values.conj().resolve_conj()
        _check_inside(at, dims, adjoint_a)
        if adjoint_b:
            b = b.mH.resolve_conj()
        if dims[1] != len(b):
            raise invalid(
                f"Cannot multiply A and B because inner dimension does not match: {dims[1]} vs. {len(b)}. "
                "Did you forget a transpose?"
            )
        return multiply(at, values, dims, b)

    return matmul


def _check_inside(at: torch.Tensor, dims: list[int], turned: bool) -> None:
    """Raises InvalidArgumentError for the first index outside `dims`: at[0] are rows of the product (m), at[1] is k."""
    for axis, (name, size) in enumerate(zip("mk", dims, strict=True)):
        outside = (at[axis] < 0) | (at[axis] >= size)
        if outside.any():
            row = int(outside.nonzero()[0])
            column = 1 - axis if turned else axis
            raise invalid(f"{name} ({int(at[axis, row])}) from index[{row},{column}] out of bounds (>={size})")


def _multiply_sparse(at: torch.Tensor, values: torch.Tensor, dims: list[int], b: torch.Tensor) -> torch.Tensor:
    if not values.numel() or not b.numel():
        return b.new_zeros(dims[0], b.shape[1])
    return torch.sparse.mm(torch.sparse_coo_tensor(at, values, dims, check_invariants=False), b)


def _multiply_rows(at: torch.Tensor, values: torch.Tensor, dims: list[int], b: torch.Tensor) -> torch.Tensor:
    """torch's sparse product on a GPU would first sort the indices and sum duplicates."""
    return b.new_zeros(dims[0], b.shape[1]).index_add_(0, at[0], values[:, None] * b[at[1]])


@SPARSE_TENSOR_DENSE_MATMUL.gradient
def sparse_tensor_dense_matmul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    indices, values, shape, b = op._inputs
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    to_b = SPARSE_TENSOR_DENSE_MATMUL(indices, values, shape, grad, adjoint_a=not adjoint_a)
    if adjoint_b:
        to_b = conjugate(get_op("Transpose")(to_b, np.array([1, 0], np.int32)))
    split = get_op("Unpack")(indices, num=2, axis=1)
    rows, columns = split[::-1] if adjoint_a else split
    from_b = get_op("GatherV2")(b, columns, np.int32(1 if adjoint_b else 0))
    if adjoint_b:
        from_b = conjugate(get_op("Transpose")(from_b, np.array([1, 0], np.int32)))
    to_values = get_op("Sum")(get_op("GatherV2")(grad, rows, np.int32(0)) * conjugate(from_b), np.int32(1))
    return [None, conjugate(to_values) if adjoint_a else to_values, None, to_b]


@export("sparse_tensor_dense_matmul", "sparse.matmul", "sparse.sparse_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """The product of a sparse matrix [m, k] and a dense one [k, n], dense [m, n] (TF: tf.sparse_tensor_dense_matmul).

    With `adjoint_a` and `adjoint_b`, the conjugate transposes of [k, m] and [n, k]. `sp_a` may be the dense one
    and `b` the sparse one. A step raises InvalidArgumentError for indices out of bounds and inner dimensions that
    differ.
    """
    if hasattr(b, "dense_shape") and not hasattr(sp_a, "dense_shape"):
        # a b = (b' a')'
        return transpose(sparse_tensor_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a), conjugate=True)
    sp_a = as_sparse(sp_a, "sp_a")
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = convert_to_tensor(b, name="b")
        return SPARSE_TENSOR_DENSE_MATMUL(
            sp_a.indices, sp_a.values, sp_a.dense_shape, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


# --- SparseMatMul ---------------------------------------------------------------------------------------

SPARSE_MATMUL = define_op(
    "SparseMatMul",
    "a: Ta, b: Tb",
    "product: float",
    attrs=[
        "transpose_a: bool = false",
        "transpose_b: bool = false",
        "a_is_sparse: bool = false",
        "b_is_sparse: bool = false",
        "Ta: {float, bfloat16} = float",
        "Tb: {float, bfloat16} = float",
    ],
)
SPARSE_MATMUL.flops(matmul_flops)


@SPARSE_MATMUL.shape
def sparse_matmul_shape(c: ShapeContext, a: TensorShape, b: TensorShape) -> TensorShape:
    rows, inner = a.with_rank(2).tuple
    inner_b, columns = b.with_rank(2).tuple
    if c.attrs["transpose_a"]:
        rows, inner = inner, rows
    if c.attrs["transpose_b"]:
        inner_b, columns = columns, inner_b
    merge_dim(inner, inner_b, "inner dimensions of a and b")
    return TensorShape([rows, columns])


@SPARSE_MATMUL.kernel()
def sparse_matmul_kernel(ctx: KernelContext) -> Kernel:
    """The sparsity hints do not affect the product of two dense matrices."""
    turn_a, turn_b = ctx["transpose_a"], ctx["transpose_b"]

    def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dim() != 2 or b.dim() != 2:
            raise invalid(f"a and b must be matrices, got shapes {list(a.shape)} and {list(b.shape)}")
        a, b = (a.t() if turn_a else a), (b.t() if turn_b else b)
        if a.shape[1] != b.shape[0]:
            raise invalid(f"Matrix size incompatible: a: {list(a.shape)}, b: {list(b.shape)}")
        return torch.mm(a.float(), b.float())

    return matmul


@SPARSE_MATMUL.gradient
def sparse_matmul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    a, b = op._inputs
    turn_a, turn_b = op.attrs["transpose_a"], op.attrs["transpose_b"]

    def product(x: Tensor, y: Tensor, turn_x: bool, turn_y: bool, like: Tensor) -> Tensor:
        found = SPARSE_MATMUL(x, y, transpose_a=turn_x, transpose_b=turn_y)
        return found if like.dtype == found.dtype else get_op("Cast")(found, DstT=like.dtype.base_dtype)

    to_a = product(b, grad, turn_b, True, a) if turn_a else product(grad, b, False, not turn_b, a)
    to_b = product(grad, a, True, turn_a, b) if turn_b else product(a, grad, not turn_a, False, b)
    return [to_a, to_b]


@export("sparse_matmul")
def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The float32 product of two dense float32 or bfloat16 matrices (TF: tf.sparse_matmul).

    The `is_sparse` flags, hints that many elements are 0, have no effect.
    """
    return SPARSE_MATMUL(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        name=name,
    )
