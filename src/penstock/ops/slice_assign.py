"""Assignment to a slice of a variable: `v[1:3].assign(x)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import as_signed
from penstock.ops.state import locked
from penstock.ops.strided_slice import MASK_ATTRS, forward_index, python_index
from penstock.runtime.kernels import KernelContext
from penstock.runtime.resources import VariableState
from penstock.tensor.shapes import TensorShape

STRIDED_SLICE_ASSIGN = define_op(
    "StridedSliceAssign",
    "ref: Ref(T), begin: Index, end: Index, strides: Index, value: T",
    "output_ref: Ref(T)",
    attrs=["T: type", "Index: indextype", *MASK_ATTRS],
    aliases=True,
    work=1.0,
)
RESOURCE_STRIDED_SLICE_ASSIGN = define_op(
    "ResourceStridedSliceAssign",
    "ref: resource, begin: Index, end: Index, strides: Index, value: T",
    "",
    attrs=["T: type", "Index: indextype", *MASK_ATTRS],
    stateful=True,
    work=1.0,
)
STRIDED_SLICE_ASSIGN.not_differentiable()
RESOURCE_STRIDED_SLICE_ASSIGN.not_differentiable()


@STRIDED_SLICE_ASSIGN.shape
def strided_slice_assign_shape(c: ShapeContext, ref: TensorShape, *_: TensorShape) -> TensorShape:
    return ref


@RESOURCE_STRIDED_SLICE_ASSIGN.shape
def resource_strided_slice_assign_shape(c: ShapeContext, *_: TensorShape) -> list[TensorShape]:
    return []


@STRIDED_SLICE_ASSIGN.kernel(host=("begin", "end", "strides"))
@RESOURCE_STRIDED_SLICE_ASSIGN.kernel(host=("begin", "end", "strides"))
def strided_slice_assign_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.node.attrs

    def assign(ref: VariableState, begin: Any, end: Any, strides: Any, value: Any) -> VariableState:
        buffer = ref.read()
        index = python_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        if isinstance(buffer, np.ndarray):
            _check(buffer[index].shape, value)
            buffer[index] = value
            return ref
        forward, flips = forward_index(index, buffer.shape)
        part = as_signed(buffer)[forward]
        _check(part.shape, value)
        value = as_signed(value)
        part.copy_(value.flip(flips) if value.ndim and flips else value)
        return ref

    return locked(assign)


def _check(shape: Any, value: Any) -> None:
    if value.ndim and 0 not in shape and tuple(value.shape) != tuple(shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"sliced l-value shape {list(shape)} does not match r-value shape {list(value.shape)}. "
            "Automatic broadcasting not yet implemented.",
        )
