"""Max and average pools and their gradients (TF: MaxPool, …). Public functions: pooling_functions.py."""

from __future__ import annotations

from typing import Any

from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.nn.conv import dims_of
from penstock.ops.nn.conv_kernels import FLOATS
from penstock.ops.nn.pool_kernels import (
    argmax_grad_grad_kernel,
    argmax_grad_kernel,
    avg_grad_kernel,
    avg_grad_shape,
    avg_kernel,
    max_grad_grad_kernel,
    max_grad_grad_shape,
    max_grad_kernel,
    max_grad_shape,
    max_kernel,
    max_with_argmax_kernel,
    pool_shape,
    wide_max_kernel,
)
from penstock.tensor.shapes import TensorShape

_WINDOW = ["ksize: list(int) >= 4", "strides: list(int) >= 4"]
_PADDING = "padding: {'SAME', 'VALID'}"
_ANY_PADDING = ["padding: {'SAME', 'VALID', 'EXPLICIT'}", "explicit_paddings: list(int) = []"]
_FORMAT = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
_WINDOW_3D = ["ksize: list(int) >= 5", "strides: list(int) >= 5", _PADDING]
_FORMAT_3D = "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'"


def _attrs(op: Operation, names: str = "ksize strides padding explicit_paddings data_format") -> dict[str, Any]:
    return {name: op.attrs[name] for name in names.split() if name in op.attrs}


def _zeros(tensor: Tensor) -> Tensor:
    return get_op("ZerosLike")(tensor)


# --- max ------------------------------------------------------------------------------------------------

MAX_POOL = define_op(
    "MaxPool",
    "input: T",
    "output: T",
    attrs=[
        "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float",
        *_WINDOW,
        *_ANY_PADDING,
        "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
    ],
    work=8.0,
    bits16="clear",
    launches=True,
)
MAX_POOL.shape(pool_shape)
MAX_POOL.kernel(T=FLOATS)(max_kernel)
MAX_POOL.kernel("CPU", T="int32 int64 uint8 int16 int8")(max_kernel)
MAX_POOL.kernel("CPU", T="uint16")(wide_max_kernel)

MAX_POOL_GRAD = define_op(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    attrs=[*_WINDOW, *_ANY_PADDING, _FORMAT, "T: realnumbertype = float"],
    work=8.0,
    bits16="clear",
    launches=True,
)
MAX_POOL_GRAD.shape(max_grad_shape)
MAX_POOL_GRAD.kernel(T=FLOATS)(max_grad_kernel)

MAX_POOL_GRAD_GRAD = define_op(
    "MaxPoolGradGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    attrs=[*_WINDOW, _PADDING, _FORMAT, "T: realnumbertype"],
    work=8.0,
)
MAX_POOL_GRAD_GRAD.shape(max_grad_grad_shape)
MAX_POOL_GRAD_GRAD.kernel(T=FLOATS)(max_grad_grad_kernel)


@MAX_POOL.gradient
def max_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    return MAX_POOL_GRAD(op.inputs[0], op.outputs[0], grad, **_attrs(op))


@MAX_POOL_GRAD.gradient
def max_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y, _ = op.inputs
    attrs = _attrs(op, "ksize strides padding data_format")
    return [_zeros(x), _zeros(y), MAX_POOL_GRAD_GRAD(x, y, grad, **attrs)]


@MAX_POOL_GRAD_GRAD.gradient
def max_pool_grad_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y, _ = op.inputs
    return [_zeros(x), _zeros(y), MAX_POOL_GRAD(x, y, grad, **_attrs(op))]


_ARGMAX_ATTRS = [*_WINDOW, _PADDING, "include_batch_in_index: bool = false"]

MAX_POOL_WITH_ARGMAX = define_op(
    "MaxPoolWithArgmax",
    "input: T",
    "output: T, argmax: Targmax",
    attrs=[*_WINDOW, "Targmax: indextype = int64", *_ARGMAX_ATTRS[2:], "T: realnumbertype"],
    work=8.0,
)
MAX_POOL_WITH_ARGMAX.kernel(T=FLOATS)(max_with_argmax_kernel)


@MAX_POOL_WITH_ARGMAX.shape
def max_pool_with_argmax_shape(c: ShapeContext, x: TensorShape) -> list[TensorShape]:
    return [pool_shape(c, x)] * 2


MAX_POOL_GRAD_WITH_ARGMAX = define_op(
    "MaxPoolGradWithArgmax",
    "input: T, grad: T, argmax: Targmax",
    "output: T",
    attrs=[*_ARGMAX_ATTRS, "Targmax: indextype", "T: realnumbertype"],
    work=8.0,
)
MAX_POOL_GRAD_WITH_ARGMAX.shape(max_grad_shape)
MAX_POOL_GRAD_WITH_ARGMAX.kernel(T=FLOATS)(argmax_grad_kernel)
MAX_POOL_GRAD_WITH_ARGMAX.not_differentiable()

MAX_POOL_GRAD_GRAD_WITH_ARGMAX = define_op(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax",
    "output: T",
    attrs=[*_ARGMAX_ATTRS, "Targmax: indextype", "T: realnumbertype"],
    work=8.0,
)
MAX_POOL_GRAD_GRAD_WITH_ARGMAX.shape(lambda c, x, grad, argmax: argmax)
MAX_POOL_GRAD_GRAD_WITH_ARGMAX.kernel(T=FLOATS)(argmax_grad_grad_kernel)
MAX_POOL_GRAD_GRAD_WITH_ARGMAX.not_differentiable()


@MAX_POOL_WITH_ARGMAX.gradient
def max_pool_with_argmax_gradient(op: Operation, grad: Tensor, _: Any) -> Tensor:
    attrs = _attrs(op, "ksize strides padding include_batch_in_index")
    return MAX_POOL_GRAD_WITH_ARGMAX(op.inputs[0], grad, op.outputs[1], **attrs)


# --- average --------------------------------------------------------------------------------------------

AVG_POOL = define_op(
    "AvgPool",
    "value: T",
    "output: T",
    attrs=[*_WINDOW, _PADDING, _FORMAT, "T: floattype"],
    work=8.0,
    bits16="infer",
    launches=True,
)
AVG_POOL.shape(pool_shape)
AVG_POOL.kernel()(avg_kernel)

AVG_POOL_GRAD = define_op(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T",
    "output: T",
    attrs=[*_WINDOW, _PADDING, _FORMAT, "T: floattype"],
    work=8.0,
    bits16="infer",
    launches=True,
)
AVG_POOL_GRAD.shape(avg_grad_shape)
AVG_POOL_GRAD.kernel(host=("orig_input_shape",))(avg_grad_kernel)


@AVG_POOL.gradient
def avg_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    return AVG_POOL_GRAD(dims_of(op.inputs[0]), grad, **_attrs(op))


@AVG_POOL_GRAD.gradient
def avg_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, AVG_POOL(grad, **_attrs(op))]


# --- 3-D ------------------------------------------------------------------------------------------------

MAX_POOL_3D = define_op(
    "MaxPool3D", "input: T", "output: T", attrs=[*_WINDOW_3D, _FORMAT_3D, "T: {half, bfloat16, float}"], work=32.0
)
MAX_POOL_3D.shape(pool_shape)
MAX_POOL_3D.kernel()(max_kernel)

MAX_POOL_3D_GRAD = define_op(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T",
    "output: T",
    attrs=[
        *_WINDOW_3D,
        _FORMAT_3D,
        "T: {half, bfloat16, float} = float",
        "TInput: {half, bfloat16, float} = float",
    ],
    work=32.0,
)
MAX_POOL_3D_GRAD.shape(max_grad_shape)
MAX_POOL_3D_GRAD.kernel()(max_grad_kernel)

MAX_POOL_3D_GRAD_GRAD = define_op(
    "MaxPool3DGradGrad",
    "orig_input: T, orig_output: T, grad: T",
    "output: T",
    attrs=[*_WINDOW_3D, _FORMAT_3D, "T: realnumbertype"],
    work=32.0,
)
MAX_POOL_3D_GRAD_GRAD.shape(max_grad_grad_shape)
MAX_POOL_3D_GRAD_GRAD.kernel(T=FLOATS)(max_grad_grad_kernel)

AVG_POOL_3D = define_op(
    "AvgPool3D", "input: T", "output: T", attrs=[*_WINDOW_3D, _FORMAT_3D, "T: floattype"], work=8.0, bits16="infer"
)
AVG_POOL_3D.shape(pool_shape)
AVG_POOL_3D.kernel()(lambda n: avg_kernel(n, "input"))

AVG_POOL_3D_GRAD = define_op(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T",
    "output: T",
    attrs=[*_WINDOW_3D, _FORMAT_3D, "T: floattype"],
    work=8.0,
    bits16="infer",
)
AVG_POOL_3D_GRAD.shape(avg_grad_shape)
AVG_POOL_3D_GRAD.kernel(host=("orig_input_shape",))(avg_grad_kernel)


@MAX_POOL_3D.gradient
def max_pool3d_gradient(op: Operation, grad: Tensor) -> Tensor:
    return MAX_POOL_3D_GRAD(op.inputs[0], op.outputs[0], grad, **_attrs(op))


@MAX_POOL_3D_GRAD.gradient
def max_pool3d_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y, _ = op.inputs
    return [_zeros(x), _zeros(y), MAX_POOL_3D_GRAD_GRAD(x, y, grad, **_attrs(op))]


@MAX_POOL_3D_GRAD_GRAD.gradient
def max_pool3d_grad_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    x, y, _ = op.inputs
    return [_zeros(x), _zeros(y), MAX_POOL_3D_GRAD(x, y, grad, **_attrs(op))]


@AVG_POOL_3D.gradient
def avg_pool3d_gradient(op: Operation, grad: Tensor) -> Tensor:
    return AVG_POOL_3D_GRAD(dims_of(op.inputs[0]), grad, **_attrs(op))


@AVG_POOL_3D_GRAD.gradient
def avg_pool3d_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, AVG_POOL_3D(grad, **_attrs(op))]
