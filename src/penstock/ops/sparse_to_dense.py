"""Converting sparse tensors to dense ones, and adding them to dense ones (TF: SparseToDense, SparseTensorDenseAdd)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.elementwise import NATIVE
from penstock.ops.gather_nd import gather_nd
from penstock.ops.kernel_tools import TORCH_LACKS, TORCH_TYPES, as_signed, invalid
from penstock.ops.sparse_tools import as_sparse, check_bounds, check_order, check_parts, known_parts, strides_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import string
from penstock.tensor.shapes import TensorShape, merge_dim, unknown_shape

# --- SparseToDense --------------------------------------------------------------------------------------

SPARSE_TO_DENSE = define_op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T",
    "dense: T",
    attrs=["validate_indices: bool = true", "T: type", "Tindices: indextype"],
    work=32.0,
)


@SPARSE_TO_DENSE.shape
def sparse_to_dense_shape(
    c: ShapeContext, indices: TensorShape, shape: TensorShape, values: TensorShape, default: TensorShape
) -> TensorShape:
    shape.assert_has_rank(1)
    return c.constant_shape("output_shape")


def _places(indices: torch.Tensor, dims: list[int], values: Any, default: Any, validate: bool) -> torch.Tensor:
    """The position of each value in the flattened output; raises InvalidArgumentError for invalid arguments."""
    if indices.dim() > 2:
        raise invalid(f"sparse_indices should be a scalar, vector, or matrix, got shape {list(indices.shape)}")
    count = indices.shape[0] if indices.dim() else 1
    rank = indices.shape[1] if indices.dim() == 2 else 1
    if rank != len(dims):
        raise invalid(f"output_shape has incorrect number of elements: {len(dims)} should be: {rank}")
    if values.ndim and tuple(values.shape) != (count,):
        have = ",".join(map(str, values.shape))
        raise invalid(f"sparse_values has incorrect shape [{have}], should be [] or [{count}]")
    if default.ndim:
        raise invalid(f"default_value should be a scalar, got shape {list(default.shape)}")
    if any(d < 0 for d in dims):
        raise invalid(f"output_shape must not be negative, got {dims}")
    rows = indices.reshape(count, rank)
    check_bounds(rows, dims)
    strides = torch.from_numpy(strides_of(dims)).to(indices.device)
    places = (rows * strides).sum(1)
    if validate:
        check_order(rows, places)
    return places


def _dims(shape: Any) -> list[int]:
    if shape.ndim != 1:
        raise invalid(f"output_shape must be rank 1, got shape {list(shape.shape)}")
    dims: list[int] = shape.tolist()
    return dims


@SPARSE_TO_DENSE.kernel(T=TORCH_TYPES, host=("output_shape",))
def sparse_to_dense_kernel(ctx: KernelContext) -> Kernel:
    validate, dtype = ctx["validate_indices"], ctx.torch_dtype()

    def dense(indices: torch.Tensor, shape: torch.Tensor, values: torch.Tensor, default: torch.Tensor) -> torch.Tensor:
        dims = _dims(shape)
        places = _places(indices, dims, values, default, validate)
        found = as_signed(default).expand(math.prod(dims)).clone()
        found[places] = as_signed(values)
        return found.view(dtype).reshape(dims)

    return dense


@SPARSE_TO_DENSE.kernel("CPU", T="string")
def sparse_to_dense_strings_kernel(ctx: KernelContext) -> Kernel:
    validate = ctx["validate_indices"]

    def dense(indices: torch.Tensor, shape: torch.Tensor, values: np.ndarray, default: np.ndarray) -> np.ndarray:
        dims = _dims(shape)
        places = _places(indices, dims, values, default, validate).numpy()
        found = np.full(math.prod(dims), default.item(), object)
        found[places] = values if values.ndim else values.item()
        return found.reshape(dims)

    return dense


@SPARSE_TO_DENSE.gradient
def sparse_to_dense_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """The values get the gradient at the indices, the default gets the rest."""
    indices, shape, values, _ = op._inputs
    rank = shape.shape.tuple[0] if shape.shape.tuple else None
    columns = get_op("Size")(shape) if rank is None else np.int32(rank)
    if indices.shape.ndims != 2:
        indices = get_op("Reshape")(indices, get_op("Pack")([np.int32(-1), columns]))
    at_indices = gather_nd(grad, indices)
    to_values = at_indices if values.shape.ndims == 1 else _like_scalar_or_vector(at_indices, values)
    return [None, None, to_values, get_op("Sub")(_total(grad), _total(at_indices))]


def _total(x: Tensor) -> Tensor:
    return get_op("Sum")(get_op("Reshape")(x, np.array([-1], np.int32)), np.int32(0))


def _like_scalar_or_vector(grads: Tensor, values: Tensor) -> Tensor:
    """The gradients [n] of values, summed if one scalar was used for all."""
    if values.shape.ndims == 0:
        return _total(grads)
    axes = get_op("BroadcastGradientArgs")(get_op("Shape")(values), get_op("Shape")(grads))[0]
    return get_op("Reshape")(get_op("Sum")(grads, axes), get_op("Shape")(values))


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with `sparse_values` at `sparse_indices` and `default_value` elsewhere (TF: tf.sparse_to_dense).

    sparse_indices: [n, rank], or [n] or a scalar for a vector; sparse_values: [n], or one scalar for all. A step
    raises InvalidArgumentError for indices out of bounds and, with `validate_indices`, unsorted or repeated ones.
    """
    return SPARSE_TO_DENSE(
        sparse_indices, output_shape, sparse_values, default_value, validate_indices=validate_indices, name=name
    )


@export("sparse_tensor_to_dense", "sparse.to_dense")
def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """A SparseTensor as a dense one, with `default_value` (0, or "") for missing elements (TF:
    tf.sparse_tensor_to_dense).

    A step raises the same InvalidArgumentError as `sparse_to_dense`.
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = b"" if sp_input.dtype == string else np.zeros((), sp_input.dtype.base_dtype.np)
    dense = sparse_to_dense(
        sp_input.indices, sp_input.dense_shape, sp_input.values, default_value, validate_indices, name
    )
    dense.set_shape(sp_input.shape)
    return dense


# --- SparseTensorDenseAdd -------------------------------------------------------------------------------

SPARSE_TENSOR_DENSE_ADD = define_op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T",
    "output: T",
    attrs=["T: numbertype", "Tindices: indextype"],
    work=32.0,
)


@SPARSE_TENSOR_DENSE_ADD.shape
def sparse_tensor_dense_add_shape(
    c: ShapeContext, indices: TensorShape, values: TensorShape, shape: TensorShape, b: TensorShape
) -> TensorShape:
    known_parts(indices, values, shape)
    if b.tuple is not None:
        merge_dim(shape.tuple and shape.tuple[0], len(b.tuple), "ranks of a and b")
    return b if b.tuple is not None else unknown_shape()


@SPARSE_TENSOR_DENSE_ADD.kernel(T=f"{NATIVE} {TORCH_LACKS}", host=("a_shape",))
def sparse_tensor_dense_add_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype()

    def add(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        check_parts(indices, values, shape, "a")
        dims = shape.tolist()
        if dims != list(b.shape):
            raise invalid(f"No broadcasting is supported: the sparse side is {dims}, the dense side {list(b.shape)}")
        check_bounds(indices, dims)
        strides = torch.from_numpy(strides_of(dims)).to(indices.device)
        # Two's complement adds unsigned numbers as it adds signed ones.
        found = as_signed(b).reshape(-1).clone()
        found.index_add_(0, (indices * strides).sum(1), as_signed(values))
        return found.view(dtype).reshape(dims)

    return add


@SPARSE_TENSOR_DENSE_ADD.gradient
def sparse_tensor_dense_add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [None, gather_nd(grad, op._inputs[0]), None, grad]
