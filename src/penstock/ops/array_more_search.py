"""Distinct slices along an axis, and positions in sorted rows (TF: UniqueV2, LowerBound, UpperBound)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import check_axis
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, via_numpy
from penstock.ops.sorting import COMPARABLE, distinct_elements, distinct_strings
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype, int32, string
from penstock.tensor.shapes import TensorShape, shape_of

# --- UniqueV2, UniqueWithCountsV2 -----------------------------------------------------------------------

_ATTRS = ["T: type", "Taxis: indextype = int64", "out_idx: indextype = int32"]
UNIQUE_V2 = define_op("UniqueV2", "x: T, axis: Taxis", "y: T, idx: out_idx", attrs=_ATTRS, work=128.0)
UNIQUE_WITH_COUNTS_V2 = define_op(
    "UniqueWithCountsV2", "x: T, axis: Taxis", "y: T, idx: out_idx, count: out_idx", attrs=_ATTRS, work=128.0
)
UNIQUE_V2.not_differentiable()
UNIQUE_WITH_COUNTS_V2.not_differentiable()


@UNIQUE_V2.shape
def unique_v2_shape(c: ShapeContext, x: TensorShape, axis_shape: TensorShape) -> list[TensorShape]:
    axis = c.constant("axis")
    y = UNKNOWN if x.ndims is None else TensorShape([None] * x.ndims)
    if axis is None:
        return [y, TensorShape([None])]
    if axis.ndim != 1:
        raise ValueError("axis expects a 1D vector.")
    if axis.size > 1:
        raise ValueError("axis does not support input tensors larger than 1 elements.")
    if not axis.size:
        return [TensorShape([None]), x.with_rank(1)]
    if x.ndims is None:
        return [UNKNOWN, TensorShape([None])]
    along = check_axis(int(axis[0]), x.ndims)
    dims = tuple(None if i == along else d for i, d in enumerate(x.tuple))
    return [shape_of(dims) if x.ndims == 1 else y, TensorShape([x.tuple[along]])]


@UNIQUE_WITH_COUNTS_V2.shape
def unique_with_counts_v2_shape(c: ShapeContext, x: TensorShape, axis: TensorShape) -> list[TensorShape]:
    return [*unique_v2_shape(c, x, axis), TensorShape([None])]


def _axis_of(x: Any, axis: torch.Tensor) -> int:
    if axis.ndim != 1 or axis.numel() > 1:
        raise errors.InvalidArgumentError(
            None, None, f"axis must be a vector of at most one element, got shape {list(axis.shape)}"
        )
    if not axis.numel():
        if x.ndim != 1:
            raise errors.InvalidArgumentError(None, None, "unique expects a 1D vector.")
        return 0
    along = int(axis[0])
    if not -x.ndim <= along < x.ndim:
        raise errors.InvalidArgumentError(None, None, f"axis has to be between [0, {x.ndim}), got {along}")
    return along % x.ndim


def _distinct_slices(x: Any, axis: torch.Tensor, strings: bool) -> tuple[Any, torch.Tensor]:
    """The distinct slices in the order of first appearance, and the index of each slice among them."""
    along = _axis_of(x, axis)
    unique = distinct_strings if strings else distinct_elements
    if x.ndim == 1:
        return unique(x)
    # Slices are compared by the ids of their elements, which works for every type.
    numbers = unique(x.reshape(-1))[1].reshape(x.shape).movedim(along, 0).flatten(1)
    if not numbers.numel():
        which = torch.zeros(x.shape[along], dtype=torch.int64, device=numbers.device)
    elif numbers.shape[1] == 1:
        which = distinct_elements(numbers[:, 0])[1]
    else:
        which = distinct_elements(torch.unique(numbers, dim=0, return_inverse=True)[1])[1]
    count = int(which.max()) + 1 if which.numel() else 0
    first = torch.full((count,), len(which), device=which.device)
    first.scatter_reduce_(0, which, torch.arange(len(which), device=which.device), "amin")
    if strings:
        return np.take(x, first.numpy(), along), which
    return as_signed(x).index_select(along, first).view(x.dtype), which


@UNIQUE_V2.kernel("CPU", T="string")
@UNIQUE_V2.kernel(host=("axis",), T=COMPARABLE)
def unique_v2_kernel(ctx: KernelContext) -> Kernel:
    dtype, strings = ctx.torch_dtype("out_idx"), ctx["T"] == string

    def unique(x: Any, axis: torch.Tensor) -> tuple[Any, torch.Tensor]:
        y, which = _distinct_slices(x, axis, strings)
        return y, which.to(dtype)

    return unique


@UNIQUE_WITH_COUNTS_V2.kernel("CPU", T="string")
@UNIQUE_WITH_COUNTS_V2.kernel(host=("axis",), T=COMPARABLE)
def unique_with_counts_v2_kernel(ctx: KernelContext) -> Kernel:
    dtype, strings = ctx.torch_dtype("out_idx"), ctx["T"] == string

    def unique(x: Any, axis: torch.Tensor) -> tuple[Any, torch.Tensor, torch.Tensor]:
        y, which = _distinct_slices(x, axis, strings)
        count = int(which.max()) + 1 if which.numel() else 0
        return y, which.to(dtype), torch.bincount(which, minlength=count).to(dtype)

    return unique


# --- LowerBound, UpperBound -----------------------------------------------------------------------------

_BOUND = ("sorted_inputs: T, values: T", "output: out_type", ["T: type", "out_type: indextype = int32"])
LOWER_BOUND = define_op("LowerBound", *_BOUND, work=1024.0)
UPPER_BOUND = define_op("UpperBound", *_BOUND, work=1024.0)


def bound_shape(c: ShapeContext, rows: TensorShape, values: TensorShape) -> TensorShape:
    rows.with_rank(2)
    return values.with_rank(2)


def _checked(rows: Any, values: Any) -> None:
    if rows.ndim != 2 or values.ndim != 2 or rows.shape[0] != values.shape[0]:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Leading dim_size of both tensors must match. Got sorted_inputs {list(rows.shape)} and values "
            f"{list(values.shape)}",
        )


def _bound_kernel(ctx: KernelContext, right: bool) -> Kernel:
    dtype = ctx.torch_dtype("out_type")

    def search(rows: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        _checked(rows, values)
        return torch.searchsorted(rows.contiguous(), values.contiguous(), right=right).to(dtype)

    return search


def _numpy_bound_kernel(ctx: KernelContext, side: Any) -> Kernel:
    def search(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        _checked(rows, values)
        found = np.empty(values.shape, np.int64)
        for i, (row, wanted) in enumerate(zip(rows, values, strict=True)):
            found[i] = np.searchsorted(row, wanted, side)
        return found

    return via_numpy(search, ctx["out_type"])


_NATIVE = "float double int32 uint8 int16 int8 int64 bfloat16 half"

for _op in (LOWER_BOUND, UPPER_BOUND):
    _op.shape(bound_shape)
    _op.not_differentiable()

LOWER_BOUND.kernel(T=_NATIVE)(lambda n: _bound_kernel(n, right=False))
LOWER_BOUND.kernel("CPU", T=TORCH_LACKS)(lambda n: _numpy_bound_kernel(n, "left"))
UPPER_BOUND.kernel(T=_NATIVE)(lambda n: _bound_kernel(n, right=True))
UPPER_BOUND.kernel("CPU", T=TORCH_LACKS)(lambda n: _numpy_bound_kernel(n, "right"))


@export("searchsorted")
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = int32, name: str | None = None
) -> Tensor:
    """The position of each of `values` in its row of `sorted_sequence`, before equal elements or (side="right") after
    them.

    sorted_sequence [..., n], values [..., m] with the same leading dims -> [..., m] of `out_type`. TF:
    tf.searchsorted.
    """
    bounds = {"left": LOWER_BOUND, "right": UPPER_BOUND}
    if side not in bounds:
        raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
    sequence = convert_to_tensor(sorted_sequence, name="sorted_sequence")
    wanted = convert_to_tensor(values, sequence.dtype.base_dtype, name="values")
    found = bounds[side](_as_rows(sequence), _as_rows(wanted), out_type=as_dtype(out_type), name=name)
    return get_op("Reshape")(found, get_op("Shape")(wanted))


def _as_rows(x: Tensor) -> Tensor:
    """A matrix with the last axis of `x`; the others are merged. (Reshape cannot infer the number of empty rows.)"""
    dims = x.shape.with_rank_at_least(1).tuple
    if dims is not None and None not in dims:
        return get_op("Reshape")(x, [math.prod(dims[:-1]), dims[-1]])
    shape = get_op("Shape")(x)
    return get_op("Reshape")(x, [get_op("Prod")(shape[:-1], 0), shape[-1]])
