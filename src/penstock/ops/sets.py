"""Sets: the distinct elements along the last dimension of a tensor (TF: tf.sets; SetSize, DenseToDenseSetOperation,
…)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_tools import as_sparse, check_bounds, check_order, check_parts, row_keys, strides_of, tensor
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_TYPES = "T: {int8, int16, int32, int64, uint8, uint16, string}"


class _Sets(NamedTuple):
    """Elements, each with the number of its set; sets are numbered row by row in `dims`."""

    owners: np.ndarray
    values: np.ndarray
    dims: list[int]


def _of_sparse(indices: torch.Tensor, values: Any, shape: torch.Tensor, validate: bool) -> _Sets:
    check_parts(indices, values, shape)
    sizes = shape.tolist()
    if len(sizes) < 2:
        raise invalid(f"A tensor of sets has rank 2 or more, got shape {sizes}")
    if validate:
        check_bounds(indices, sizes)
        check_order(indices, row_keys(indices.numpy())[0])
    owners = indices.numpy()[:, :-1] @ strides_of(sizes[:-1])
    return _Sets(owners, np.asarray(values), sizes[:-1])


def _of_dense(values: Any) -> _Sets:
    if values.ndim < 2:
        raise invalid(f"A tensor of sets has rank 2 or more, got shape {list(values.shape)}")
    dims = list(values.shape[:-1])
    owners = np.repeat(np.arange(math.prod(dims)), values.shape[-1])
    return _Sets(owners, np.asarray(values).reshape(-1), dims)


# --- SetSize --------------------------------------------------------------------------------------------

SET_SIZE = define_op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64",
    "size: int32",
    attrs=["validate_indices: bool = true", _TYPES],
    shape=lambda c, *parts: UNKNOWN,
    work=SERIAL,
)
SET_SIZE.not_differentiable()


@SET_SIZE.kernel("CPU")
def set_size_kernel(ctx: KernelContext) -> Kernel:
    validate = ctx["validate_indices"]

    def sizes(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> torch.Tensor:
        sets = _of_sparse(indices, values, shape, validate)
        codes = np.unique(sets.values, return_inverse=True)[1]
        owners = np.unique(np.stack([sets.owners, codes], 1), axis=0)[:, 0]
        counts = np.bincount(owners, minlength=math.prod(sets.dims))
        return torch.from_numpy(counts.astype(np.int32)).reshape(sets.dims)

    return sizes


# --- operations on two sets ----------------------------------------------------------------------------------

_OPERATIONS = ("a-b", "b-a", "intersection", "union")


def _combined(a: _Sets, b: _Sets, operation: str) -> tuple[Any, ...]:
    """The result as a sparse tensor, with the elements of each set in order."""
    if a.dims != b.dims:
        raise invalid(f"Mismatched group shapes: {a.dims} and {b.dims}")
    elements, codes = np.unique(np.concatenate([a.values, b.values]), return_inverse=True)
    width = max(len(elements), 1)
    keys = np.concatenate([a.owners, b.owners]) * width + codes
    first, second = keys[: len(a.values)], keys[len(a.values) :]
    if operation == "a-b":
        found = np.setdiff1d(first, second)
    elif operation == "b-a":
        found = np.setdiff1d(second, first)
    elif operation == "intersection":
        found = np.intersect1d(first, second)
    else:
        found = np.union1d(first, second)
    owners, chosen = found // width, found % width
    column = np.arange(len(found)) - np.searchsorted(owners, owners)
    rows = np.stack([*np.unravel_index(owners, a.dims), column], 1) if len(found) else np.zeros((0, len(a.dims) + 1))
    values = elements[chosen]
    longest = int(column.max()) + 1 if len(found) else 0
    shape = torch.tensor([*a.dims, longest], dtype=torch.int64)
    return tensor(rows), values if values.dtype == object else torch.from_numpy(values), shape


def _operation(name: str, inputs: str) -> OpDef:
    op = define_op(
        name,
        inputs,
        "result_indices: int64, result_values: T, result_shape: int64",
        attrs=["set_operation: string", "validate_indices: bool = true", _TYPES],
        work=SERIAL,
    )
    op.not_differentiable()
    return op


DENSE_TO_DENSE = _operation("DenseToDenseSetOperation", "set1: T, set2: T")
DENSE_TO_SPARSE = _operation(
    "DenseToSparseSetOperation", "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64"
)
SPARSE_TO_SPARSE = _operation(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64",
)


def _result(rank: int | None) -> list[TensorShape]:
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


@DENSE_TO_DENSE.shape
def dense_to_dense_shape(c: ShapeContext, a: TensorShape, b: TensorShape) -> list[TensorShape]:
    for shape in (a, b):
        shape.with_rank_at_least(2)
    a.assert_same_rank(b)
    if a.tuple is not None and b.tuple is not None:
        TensorShape(a.tuple[:-1]).assert_is_compatible_with(b.tuple[:-1])
    return _result(b.ndims if a.ndims is None else a.ndims)


@DENSE_TO_SPARSE.shape
def dense_to_sparse_shape(c: ShapeContext, a: TensorShape, *b: TensorShape) -> list[TensorShape]:
    a.with_rank_at_least(2)
    return _result(_static_rank(*b) if a.ndims is None else a.ndims)


@SPARSE_TO_SPARSE.shape
def sparse_to_sparse_shape(c: ShapeContext, *parts: TensorShape) -> list[TensorShape]:
    rank = _static_rank(*parts[:3])
    other = _static_rank(*parts[3:])
    return _result(other if rank is None else rank)


def _static_rank(indices: TensorShape, values: TensorShape, shape: TensorShape) -> int | None:
    columns, rank = indices.with_rank(2).tuple[1], shape.with_rank(1).tuple[0]
    found = columns if rank is None else rank
    if found is not None and found < 2:
        raise ValueError(f"A tensor of sets has rank 2 or more, got {found}")
    return None if found is None else int(found)


def _kind(ctx: KernelContext) -> str:
    operation: str = ctx.text("set_operation").lower()
    if operation not in _OPERATIONS:
        raise invalid(f"Invalid set_operation {operation}; it must be one of {', '.join(_OPERATIONS)}.")
    return operation


@DENSE_TO_DENSE.kernel("CPU")
def dense_to_dense_kernel(ctx: KernelContext) -> Kernel:
    operation = _kind(ctx)
    return lambda a, b: _combined(_of_dense(a), _of_dense(b), operation)


@DENSE_TO_SPARSE.kernel("CPU")
def dense_to_sparse_kernel(ctx: KernelContext) -> Kernel:
    operation, validate = _kind(ctx), ctx["validate_indices"]

    def combine(a: Any, indices: torch.Tensor, values: Any, shape: torch.Tensor) -> tuple[Any, ...]:
        return _combined(_of_dense(a), _of_sparse(indices, values, shape, validate), operation)

    return combine


@SPARSE_TO_SPARSE.kernel("CPU")
def sparse_to_sparse_kernel(ctx: KernelContext) -> Kernel:
    operation, validate = _kind(ctx), ctx["validate_indices"]

    def combine(*parts: Any) -> tuple[Any, ...]:
        a, b = (_of_sparse(i, v, shape, validate) for i, v, shape in (parts[:3], parts[3:]))
        return _combined(a, b, operation)

    return combine


# --- functions ------------------------------------------------------------------------------------------


@export("sets.set_size", "sets.size")
def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of distinct elements in each set: [..., n] sparse -> [...] int32 (TF: tf.sets.set_size).

    Raises TypeError for dense sets. A step raises InvalidArgumentError for indices that are unsorted or out of bounds.
    """
    if not isinstance(a, SparseTensor | SparseTensorValue):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    a = as_sparse(a, "a")
    if a.values.dtype.is_integer is False and a.values.dtype.name != "string":
        raise TypeError(f"Invalid dtype `{a.values.dtype.name}` of sets.")
    return SET_SIZE(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def _set_operation(a: Any, b: Any, operation: str, validate: bool) -> SparseTensor:
    a, b = (as_sparse(x) if isinstance(x, SparseTensor | SparseTensorValue) else convert_to_tensor(x) for x in (a, b))
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Sets have the dtypes {a.dtype.name} and {b.dtype.name}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        # The op takes the dense one first.
        a, b, operation = b, a, {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    given = []
    for x in (a, b):
        given += [x.indices, x.values, x.dense_shape] if isinstance(x, SparseTensor) else [x]
    op = {2: DENSE_TO_DENSE, 4: DENSE_TO_SPARSE, 6: SPARSE_TO_SPARSE}[len(given)]
    return SparseTensor(*op(*given, set_operation=operation, validate_indices=validate))


@export("sets.intersection", "sets.set_intersection")
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of each set of `a` that the corresponding set of `b` also has (TF: tf.sets.set_intersection).

    a, b: dense or sparse [..., any] of integers or strings; all dimensions except the last must be equal. The result is
    sparse, with the elements of each set in order.
    """
    return _set_operation(a, b, "intersection", validate_indices)


@export("sets.difference", "sets.set_difference")
def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements of each set of `a` that `b` lacks, or vice versa (TF: tf.sets.set_difference)."""
    return _set_operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


@export("sets.set_union", "sets.union")
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements of each set of `a` and of `b`, each once (TF: tf.sets.set_union)."""
    return _set_operation(a, b, "union", validate_indices)
