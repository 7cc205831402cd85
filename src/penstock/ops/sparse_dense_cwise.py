"""Element-wise ops on sparse and dense tensors (TF: SparseDenseCwiseAdd, …), and their operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import operator_function
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.cast import cast
from penstock.ops.elementwise import NATIVE, conjugate, like
from penstock.ops.gather_nd import gather_nd, scatter_nd
from penstock.ops.kernel_tools import TORCH_LACKS, as_signed, invalid, via_numpy
from penstock.ops.sparse_tools import check_bounds, check_parts, strides_of, tensor
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape


def _quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y, rounding_mode=None if x.is_floating_point() or x.is_complex() else "trunc")


def _with_dense(
    name: str, fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], numpy_fn: Callable[..., Any]
) -> OpDef:
    """Define an op on sparse values and the elements of a broadcast dense tensor at their indices."""
    op = define_op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T",
        "output: T",
        attrs=["T: numbertype"],
        work=32.0,
    )

    @op.shape
    def shape(
        c: ShapeContext, indices: TensorShape, values: TensorShape, dims: TensorShape, dense: TensorShape
    ) -> TensorShape:
        return TensorShape(indices.with_rank(2).tuple[:1])

    @op.kernel(T=NATIVE, host=("sp_shape",))
    @op.kernel("CPU", T=TORCH_LACKS)
    def kernel(ctx: KernelContext) -> Kernel:
        divides = name == "SparseDenseCwiseDiv" and ctx["T"].is_integer
        combine = via_numpy(numpy_fn, ctx["T"]) if ctx["T"].name in TORCH_LACKS.split() else fn

        def apply(
            indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, dense: torch.Tensor
        ) -> torch.Tensor:
            check_parts(indices, values, shape)
            if divides and not as_signed(dense).all():
                raise invalid(f"{name} cannot divide by zero, but the dense tensor contains 0")
            return combine(values, _gathered(indices, shape.tolist(), dense))

        return apply

    return op


def _gathered(indices: torch.Tensor, dims: list[int], dense: torch.Tensor) -> torch.Tensor:
    """The elements at `indices` of `dense` broadcast to `dims`."""
    rank = dense.dim()
    sizes = list(dense.shape)
    if rank > len(dims) or any(s not in (1, d) for s, d in zip(sizes, dims[len(dims) - rank :], strict=True)):
        raise invalid(f"Dense is broadcast to sparse only; got incompatible shapes: {dims} vs. {sizes}")
    check_bounds(indices, dims)
    steps = np.where(np.array(sizes) == 1, 0, strides_of(sizes))
    at = (indices[:, len(dims) - rank :] * tensor(steps).to(indices.device)).sum(1)
    return dense.reshape(-1)[at]


SPARSE_DENSE_CWISE_ADD = _with_dense("SparseDenseCwiseAdd", torch.add, np.add)
SPARSE_DENSE_CWISE_MUL = _with_dense("SparseDenseCwiseMul", torch.mul, np.multiply)
SPARSE_DENSE_CWISE_DIV = _with_dense("SparseDenseCwiseDiv", _quotient, np.floor_divide)


@SPARSE_DENSE_CWISE_ADD.gradient
@SPARSE_DENSE_CWISE_MUL.gradient
@SPARSE_DENSE_CWISE_DIV.gradient
def sparse_dense_cwise_gradient(op: Operation, grad: Tensor) -> list[Any]:
    indices, values, shape, dense = op._inputs
    places = _dense_indices(indices, shape, dense)
    if op.type == "SparseDenseCwiseAdd":
        to_values = to_elements = grad
    else:
        elements = conjugate(gather_nd(dense, places))
        if op.type == "SparseDenseCwiseMul":
            to_values, to_elements = grad * elements, grad * conjugate(values)
        else:
            to_values = grad / elements
            to_elements = -to_values * conjugate(op._outputs[0])
    dense_shape = get_op("Shape")(dense, out_type="int64")
    return [None, to_values, None, scatter_nd(places, to_elements, dense_shape)]


def _dense_indices(indices: Tensor, shape: Tensor, dense: Tensor) -> Tensor:
    """Converts sparse indices to those of the matching elements of `dense`: 0 where it is broadcast."""
    dims = get_op("Shape")(dense, out_type="int64")
    rank = get_op("Rank")(dense)
    start = get_op("Pack")([np.int32(0), get_op("Sub")(get_op("Size")(shape), rank)])
    columns = get_op("Slice")(indices, start, np.array([-1, -1], np.int32))
    broadcast = get_op("Cast")(get_op("Greater")(dims, like(1, dims)), DstT="int64")
    return columns * broadcast


@operator_function
def sparse_times_dense(sp: SparseTensor, y: Any) -> SparseTensor:
    """`sp * y` with `y` dense and broadcast: sp's elements times those of y."""
    return _operator("SparseDenseCwiseMul", "mul", sp, convert_to_tensor(y, sp.dtype.base_dtype, name="y"))


@operator_function
def sparse_over_dense(sp: SparseTensor, y: Any) -> SparseTensor:
    """`sp / y`; TF 1.x's true division: integers become float32 (of up to 16 bits) or float64."""
    y = convert_to_tensor(y, sp.dtype.base_dtype, name="y")
    if sp.dtype.is_integer:
        wide = "float32" if sp.dtype.size <= 2 else "float64"
        sp, y = cast(sp, wide), cast(y, wide)
    return _operator("SparseDenseCwiseDiv", "truediv", sp, y)


def _operator(op: str, name: str, sp: SparseTensor, y: Tensor) -> SparseTensor:
    with name_scope(None, name, [sp.indices, sp.values, sp.dense_shape, y]) as scope:
        values = get_op(op)(sp.indices, sp.values, sp.dense_shape, y, name=scope)
        return SparseTensor(sp.indices, values, sp.dense_shape)
