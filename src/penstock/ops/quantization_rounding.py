"""Quantizing floats and immediately dequantizing them (TF: tf.quantization.quantize_and_dequantize)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

QUANTIZE_AND_DEQUANTIZE = define_op(
    "QuantizeAndDequantize",
    "input: T",
    "output: T",
    attrs=[
        "signed_input: bool = true",
        "num_bits: int = 8",
        "range_given: bool = false",
        "input_min: float = 0.0",
        "input_max: float = 0.0",
        "T: floattype",
    ],
    work=4.0,
)
_RANGE = "input: T, input_min: T, input_max: T"
_ROUNDING = [
    "signed_input: bool = true",
    "num_bits: int = 8",
    "range_given: bool = false",
    "T: floattype",
    "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'",
    "narrow_range: bool = false",
    "axis: int = -1",
]
"""The attributes of versions 2 and 4, of which the latter has a gradient for the range, too."""
QUANTIZE_AND_DEQUANTIZE_V2 = define_op(
    "QuantizeAndDequantizeV2",
    _RANGE,
    "output: T",
    attrs=_ROUNDING,
    work=4.0,
)
QUANTIZE_AND_DEQUANTIZE_V3 = define_op(
    "QuantizeAndDequantizeV3",
    f"{_RANGE}, num_bits: int32",
    "output: T",
    attrs=[
        "signed_input: bool = true",
        "range_given: bool = true",
        "T: floattype",
        "narrow_range: bool = false",
        "axis: int = -1",
    ],
    work=4.0,
)

QUANTIZE_AND_DEQUANTIZE_V4 = define_op(
    "QuantizeAndDequantizeV4",
    _RANGE,
    "output: T",
    attrs=_ROUNDING,
    work=4.0,
)
QUANTIZE_AND_DEQUANTIZE_V4_GRAD = define_op(
    "QuantizeAndDequantizeV4Grad",
    f"gradients: T, {_RANGE}",
    "input_backprop: T, input_min_backprop: T, input_max_backprop: T",
    attrs=["T: floattype", "axis: int = -1"],
    work=4.0,
)

# --- shapes ---------------------------------------------------------------------------------------------


@QUANTIZE_AND_DEQUANTIZE.shape
@shape_rules.of_first
def v1_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return x


@QUANTIZE_AND_DEQUANTIZE_V4.shape
@QUANTIZE_AND_DEQUANTIZE_V2.shape
@shape_rules.of_first
def v2_shape(c: ShapeContext, x: TensorShape, low: TensorShape, high: TensorShape) -> TensorShape:
    axis = c.attrs["axis"]
    if axis < -1:
        raise ValueError(f"axis should be at least -1, got {axis}")
    range_shape = low.with_rank(0 if axis == -1 else 1).merge_with(high)
    if axis == -1:
        return x
    x = x.with_rank_at_least(axis + 1)
    if x.ndims is not None:
        x[axis : axis + 1].merge_with(range_shape)
    return x


@QUANTIZE_AND_DEQUANTIZE_V3.shape
@shape_rules.of_first
def v3_shape(c: ShapeContext, x: TensorShape, low: TensorShape, high: TensorShape, bits: TensorShape) -> TensorShape:
    bits.assert_has_rank(0)
    return v2_shape(c, x, low, high)


@QUANTIZE_AND_DEQUANTIZE_V4_GRAD.shape
@shape_rules.of_first
def v4_grad_shape(
    c: ShapeContext, grad: TensorShape, x: TensorShape, low: TensorShape, high: TensorShape
) -> list[TensorShape]:
    low = low.with_rank(0 if c.attrs["axis"] == -1 else 1).merge_with(high)
    return [grad.merge_with(x), low, low]


# --- kernels --------------------------------------------------------------------------------------------


def half_up(x: torch.Tensor) -> torch.Tensor:
    return (x + 0.5).floor()


def rounded(
    x: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    first: int,
    last: int,
    clip: bool,
    rounding: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """`x` rounded to a grid around zero from `first` to `last` that covers [low, high]."""
    most = torch.finfo(x.dtype).max
    by_low = torch.where(first * low > 0, first / low, most)
    by_high = torch.where(last * high > 0, last / high, most)
    from_low = by_low < by_high
    scale = torch.where(from_low, by_low, by_high)
    step = torch.where(from_low, low / first if first else 0 * low, high / last)
    if clip:
        x = torch.minimum(x, torch.where(from_low, last * step, high)).maximum(torch.where(from_low, low, first * step))
    return rounding(x * scale) * step


def _ends(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    if not (2 if signed else 1) <= bits <= (62 if signed else 63):
        raise invalid(f"num_bits is out of range: {bits} with signed_input {signed}")
    if not signed:
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)) + narrow, 2 ** (bits - 1) - 1


def _rounder(ctx: KernelContext, rounding: Callable[[torch.Tensor], torch.Tensor], narrow: bool, axis: int) -> Kernel:
    given = ctx["range_given"]

    def run(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor, ends: tuple[int, int]) -> torch.Tensor:
        if axis >= x.ndim:
            raise invalid(f"axis {axis} is not an axis of an input of shape {list(x.shape)}")
        if not given:
            if not x.numel():
                return x.clone()
            others = [d for d in range(x.ndim) if d != axis]
            low, high = (x.amin(others, keepdim=True), x.amax(others, keepdim=True)) if others else (x, x)
        else:
            if low.shape != high.shape or low.shape != (x.shape[axis : axis + 1] if axis >= 0 else ()):
                raise invalid(
                    f"input_min and input_max must be {'vectors along the axis' if axis >= 0 else 'scalars'}, got "
                    f"shapes {list(low.shape)} and {list(high.shape)} for an input of shape {list(x.shape)}"
                )
            if (low > high).any():
                raise invalid(f"Invalid range: input_min {low.tolist()} > input_max {high.tolist()}")
            if axis >= 0:
                fitting = [-1 if d == axis else 1 for d in range(x.ndim)]
                low, high = low.reshape(fitting), high.reshape(fitting)
        return rounded(x, low, high, *ends, given, rounding)

    return run


@QUANTIZE_AND_DEQUANTIZE.kernel()
def v1_kernel(ctx: KernelContext) -> Kernel:
    ends = _ends(ctx["num_bits"], ctx["signed_input"], False)
    run = _rounder(ctx, torch.round, False, -1)
    low, high = (
        torch.tensor(ctx[end], dtype=ctx.torch_dtype(), device=ctx.device) for end in ("input_min", "input_max")
    )
    return lambda x: run(x, low, high, ends)


@QUANTIZE_AND_DEQUANTIZE_V4.kernel()
@QUANTIZE_AND_DEQUANTIZE_V2.kernel()
def v2_kernel(ctx: KernelContext) -> Kernel:
    ends = _ends(ctx["num_bits"], ctx["signed_input"], ctx["narrow_range"])
    rounding = half_up if ctx.text("round_mode") == "HALF_UP" else torch.round
    run = _rounder(ctx, rounding, ctx["narrow_range"], ctx["axis"])
    return lambda x, low, high: run(x, low, high, ends)


@QUANTIZE_AND_DEQUANTIZE_V3.kernel(host=("num_bits",))
def v3_kernel(ctx: KernelContext) -> Kernel:
    signed, narrow = ctx["signed_input"], ctx["narrow_range"]
    run = _rounder(ctx, torch.round, narrow, ctx["axis"])
    return lambda x, low, high, bits: run(x, low, high, _ends(int(bits), signed, narrow))


@QUANTIZE_AND_DEQUANTIZE_V4_GRAD.kernel()
def v4_grad_kernel(ctx: KernelContext) -> Kernel:
    axis = ctx["axis"]

    def gradient(grad: Any, x: Any, low: Any, high: Any) -> tuple[torch.Tensor, ...]:
        if low.shape != high.shape or low.shape != (x.shape[axis : axis + 1] if axis >= 0 else ()):
            raise invalid(
                f"input_min and input_max of shapes {list(low.shape)} and {list(high.shape)} are no ranges of an input "
                f"of shape {list(x.shape)} with axis {axis}"
            )
        fitting = [-1 if d == axis else 1 for d in range(x.ndim)]
        inside = (x >= low.reshape(fitting)) & (x <= high.reshape(fitting))
        return grad * inside, torch.zeros_like(low), torch.zeros_like(high)

    return gradient


@QUANTIZE_AND_DEQUANTIZE_V4.gradient
@QUANTIZE_AND_DEQUANTIZE_V4_GRAD.gradient
def v4_gradient(op: Operation, grad: Tensor | None, *_: Any) -> list[Tensor | None]:
    """That of the identity within the range, and zero for the range's ends; of the gradient op, by its gradients."""
    of_grad = op.type == "QuantizeAndDequantizeV4Grad"
    if grad is None:
        return [None] * len(op.inputs)
    found = QUANTIZE_AND_DEQUANTIZE_V4_GRAD(grad, *op.inputs[-3:], axis=op.attrs["axis"])
    return [found[0], None, None, None] if of_grad else list(found)


@QUANTIZE_AND_DEQUANTIZE.gradient
def v1_gradient(op: Operation, grad: Tensor) -> Tensor:
    """The gradient ignores rounding."""
    return grad


@QUANTIZE_AND_DEQUANTIZE_V2.gradient
def v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, None]


@QUANTIZE_AND_DEQUANTIZE_V3.gradient
def v3_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, None, None]


# --- functions ------------------------------------------------------------------------------------------


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """`input`, floats, rounded to values that `num_bits` can represent in a range around zero.

    The range is that of the input, or with `range_given` [input_min, input_max], which the input is clipped to; with
    `axis`, one for each index of this axis. The gradient is that of the identity.
    TF: tf.quantization.quantize_and_dequantize.
    """
    with name_scope(name, "quantize_and_dequantize", [input, input_min, input_max]) as scope:
        input = convert_to_tensor(input, name="input")
        if axis is None:
            axis = -1
        elif axis < 0:
            if input.shape.ndims is None:
                raise ValueError("input should have known rank to use negative axis.")
            axis += input.shape.ndims
        return QUANTIZE_AND_DEQUANTIZE_V2(
            input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
            round_mode=round_mode, narrow_range=narrow_range, axis=axis, name=scope,
        )  # fmt: skip
