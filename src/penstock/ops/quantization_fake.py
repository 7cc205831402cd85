"""Simulated quantization for training: values are rounded, gradients pass straight through (TF: tf.fake_quant_…).

The range [min, max] is shifted slightly, so that zero is one of its 2 ** num_bits steps.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_BITS = ["num_bits: int = 8", "narrow_range: bool = false"]
_RANGE = ["min: float = -6.0", "max: float = 6.0", *_BITS]

# --- arithmetic -----------------------------------------------------------------------------------------


class Steps:
    """The representable values in a range: `low`, `low + scale`, … up to `high`, including zero.

    Made of float32 scalars, or of vectors for channels in the last dim.
    """

    __slots__ = ("high", "low", "nothing", "per_one", "scale")

    def __init__(self, low: torch.Tensor, high: torch.Tensor, bits: int, narrow: bool) -> None:
        first, last = int(narrow), 2**bits - 1
        self.scale = (high - low) / (last - first)
        self.per_one = 1.0 / self.scale
        exact = (first - low / self.scale).clamp(first, last)
        whole = exact.floor()
        zero = whole + (exact - whole >= 0.5)
        self.low, self.high = (first - zero) * self.scale, (last - zero) * self.scale
        self.nothing = (low == 0) & (high == 0)

    def quantized(self, x: torch.Tensor) -> torch.Tensor:
        inside = torch.minimum(x, self.high).maximum(self.low)
        found = ((inside - self.low) / self.scale + 0.5).floor() * self.scale + self.low
        return torch.where(self.nothing, 0, found)

    def quantized_by_constant(self, x: torch.Tensor) -> torch.Tensor:
        """As TensorFlow 1.15 does for attributes: multiplies by a factor, which breaks ties unlike a division."""
        inside = x.clamp(self.low, self.high)
        return (inside - self.low).mul_(self.per_one).add_(0.5).floor_().mul_(self.scale).add_(self.low)

    def within(self, x: torch.Tensor) -> torch.Tensor:
        return ((x >= self.low) & (x <= self.high)) | self.nothing

    def below(self, x: torch.Tensor) -> torch.Tensor:
        return (x < self.low) & ~self.nothing

    def above(self, x: torch.Tensor) -> torch.Tensor:
        return (x > self.high) & ~self.nothing


def _bits(ctx: KernelContext) -> tuple[int, bool]:
    if not 2 <= ctx["num_bits"] <= 16:
        raise invalid(f"num_bits must be between 2 and 16, inclusive, got {ctx['num_bits']}")
    return ctx["num_bits"], ctx["narrow_range"]


def _constant_steps(ctx: KernelContext) -> Steps:
    if ctx["min"] >= ctx["max"]:
        raise invalid(f"min has to be smaller than max, was: {ctx['min']} >= {ctx['max']}")
    low, high = (torch.tensor(ctx[end], dtype=torch.float32, device=ctx.device) for end in ("min", "max"))
    return Steps(low, high, *_bits(ctx))


def _check_scalars(low: torch.Tensor, high: torch.Tensor) -> None:
    if low.ndim or high.ndim:
        raise invalid(f"min and max must be scalars, got shapes {list(low.shape)} and {list(high.shape)}")


def _check_channels(x: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> None:
    if not x.ndim or low.shape != x.shape[-1:] or high.shape != x.shape[-1:]:
        raise invalid(
            f"min and max must be vectors of the size of the last dim of {list(x.shape)}, got shapes "
            f"{list(low.shape)} and {list(high.shape)}"
        )


def _check_same(grad: torch.Tensor, x: torch.Tensor) -> None:
    if grad.shape != x.shape:
        raise invalid(f"gradient and input must be the same size: {list(grad.shape)} and {list(x.shape)}")


# --- with a constant range --------------------------------------------------------------------------------

FAKE_QUANT_ARGS = define_op("FakeQuantWithMinMaxArgs", "inputs: float", "outputs: float", attrs=_RANGE, work=8.0)
FAKE_QUANT_ARGS_GRADIENT = define_op(
    "FakeQuantWithMinMaxArgsGradient", "gradients: float, inputs: float", "backprops: float", attrs=_RANGE, work=16.0
)
FAKE_QUANT_ARGS_GRADIENT.not_differentiable()


@FAKE_QUANT_ARGS.shape
@shape_rules.of_first
def args_shape(c: ShapeContext, inputs: TensorShape) -> TensorShape:
    return inputs


@FAKE_QUANT_ARGS_GRADIENT.shape
@shape_rules.of_first
def args_gradient_shape(c: ShapeContext, gradients: TensorShape, inputs: TensorShape) -> TensorShape:
    return gradients.merge_with(inputs)


@FAKE_QUANT_ARGS.kernel()
def args_kernel(ctx: KernelContext) -> Kernel:
    return _constant_steps(ctx).quantized_by_constant


@FAKE_QUANT_ARGS_GRADIENT.kernel()
def args_gradient_kernel(ctx: KernelContext) -> Kernel:
    steps = _constant_steps(ctx)

    def backprops(gradients: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        _check_same(gradients, inputs)
        return torch.where(steps.within(inputs), gradients, 0)

    return backprops


@FAKE_QUANT_ARGS.gradient
def args_gradient(op: Operation, grad: Tensor) -> Tensor:
    return FAKE_QUANT_ARGS_GRADIENT(grad, op.inputs[0], **_attrs(op, "min", "max"))


def _attrs(op: Operation, *more: str) -> dict[str, Any]:
    return {name: op.attrs[name] for name in ("num_bits", "narrow_range", *more)}


# --- with a computed range ------------------------------------------------------------------------

_VARS = "inputs: float, min: float, max: float"
_GRADIENTS = "backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float"

FAKE_QUANT_VARS = define_op("FakeQuantWithMinMaxVars", _VARS, "outputs: float", attrs=_BITS, work=16.0)
FAKE_QUANT_VARS_GRADIENT = define_op(
    "FakeQuantWithMinMaxVarsGradient", f"gradients: float, {_VARS}", _GRADIENTS, attrs=_BITS, work=32.0
)
FAKE_QUANT_VARS_GRADIENT.not_differentiable()


@FAKE_QUANT_VARS.shape
@shape_rules.of_first
def vars_shape(c: ShapeContext, inputs: TensorShape, low: TensorShape, high: TensorShape) -> TensorShape:
    low.assert_has_rank(0)
    high.assert_has_rank(0)
    return inputs


@FAKE_QUANT_VARS_GRADIENT.shape
@shape_rules.of_first
def vars_gradient_shape(
    c: ShapeContext, gradients: TensorShape, inputs: TensorShape, low: TensorShape, high: TensorShape
) -> list[TensorShape]:
    low.assert_has_rank(0)
    high.assert_has_rank(0)
    return [gradients.merge_with(inputs), SCALAR, SCALAR]


@FAKE_QUANT_VARS.kernel()
def vars_kernel(ctx: KernelContext) -> Kernel:
    bits, narrow = _bits(ctx)

    def quantized(inputs: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        _check_scalars(low, high)
        return Steps(low, high, bits, narrow).quantized(inputs)

    return quantized


@FAKE_QUANT_VARS_GRADIENT.kernel()
def vars_gradient_kernel(ctx: KernelContext) -> Kernel:
    """Inputs within the range get their gradients; for those outside, the nearer end of the range does."""
    bits, narrow = _bits(ctx)

    def backprops(
        gradients: torch.Tensor, inputs: torch.Tensor, low: torch.Tensor, high: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        _check_same(gradients, inputs)
        _check_scalars(low, high)
        steps = Steps(low, high, bits, narrow)
        return (
            torch.where(steps.within(inputs), gradients, 0),
            torch.where(steps.below(inputs), gradients, 0).sum(),
            torch.where(steps.above(inputs), gradients, 0).sum(),
        )

    return backprops


@FAKE_QUANT_VARS.gradient
def vars_gradient(op: Operation, grad: Tensor) -> Any:
    return FAKE_QUANT_VARS_GRADIENT(grad, *op.inputs, **_attrs(op))


# --- with a range for each channel ------------------------------------------------------------------------

FAKE_QUANT_CHANNELS = define_op("FakeQuantWithMinMaxVarsPerChannel", _VARS, "outputs: float", attrs=_BITS, work=16.0)
FAKE_QUANT_CHANNELS_GRADIENT = define_op(
    "FakeQuantWithMinMaxVarsPerChannelGradient", f"gradients: float, {_VARS}", _GRADIENTS, attrs=_BITS, work=32.0
)
FAKE_QUANT_CHANNELS_GRADIENT.not_differentiable()


def _channels(inputs: TensorShape, low: TensorShape, high: TensorShape) -> tuple[TensorShape, TensorShape]:
    """The shapes of the inputs and of one number for each channel."""
    vector = low.with_rank(1).merge_with(high.with_rank(1))
    inputs = inputs.with_rank_at_least(1)
    if inputs.ndims is None:
        return inputs, vector
    vector = vector.merge_with(inputs[-1:])
    return inputs[:-1].concatenate(vector), vector


@FAKE_QUANT_CHANNELS.shape
@shape_rules.of_first
def channels_shape(c: ShapeContext, inputs: TensorShape, low: TensorShape, high: TensorShape) -> TensorShape:
    return _channels(inputs, low, high)[0]


@FAKE_QUANT_CHANNELS_GRADIENT.shape
@shape_rules.of_first
def channels_gradient_shape(
    c: ShapeContext, gradients: TensorShape, inputs: TensorShape, low: TensorShape, high: TensorShape
) -> list[TensorShape]:
    inputs, vector = _channels(gradients.merge_with(inputs), low, high)
    return [inputs, vector, vector]


@FAKE_QUANT_CHANNELS.kernel()
def channels_kernel(ctx: KernelContext) -> Kernel:
    bits, narrow = _bits(ctx)

    def quantized(inputs: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
        _check_channels(inputs, low, high)
        return Steps(low, high, bits, narrow).quantized(inputs)

    return quantized


@FAKE_QUANT_CHANNELS_GRADIENT.kernel()
def channels_gradient_kernel(ctx: KernelContext) -> Kernel:
    bits, narrow = _bits(ctx)

    def backprops(
        gradients: torch.Tensor, inputs: torch.Tensor, low: torch.Tensor, high: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        _check_same(gradients, inputs)
        _check_channels(inputs, low, high)
        steps = Steps(low, high, bits, narrow)
        rows = (-1, inputs.shape[-1])
        return (
            torch.where(steps.within(inputs), gradients, 0),
            torch.where(steps.below(inputs), gradients, 0).reshape(rows).sum(0),
            torch.where(steps.above(inputs), gradients, 0).reshape(rows).sum(0),
        )

    return backprops


@FAKE_QUANT_CHANNELS.gradient
def channels_gradient(op: Operation, grad: Tensor) -> Any:
    return FAKE_QUANT_CHANNELS_GRADIENT(grad, *op.inputs, **_attrs(op))


# --- functions ------------------------------------------------------------------------------------------


@export("fake_quant_with_min_max_args", "quantization.fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`inputs`, float32, clipped to [min, max] and rounded to 2 ** num_bits values (one fewer if narrow).

    A step raises InvalidArgumentError unless 2 <= num_bits <= 16 and min < max. The gradient is that of the
    clipping. TF: tf.fake_quant_with_min_max_args.
    """
    return FAKE_QUANT_ARGS(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export("fake_quant_with_min_max_args_gradient", "quantization.fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(
    gradients: Any, inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of `fake_quant_with_min_max_args` (TF: tf.fake_quant_with_min_max_args_gradient)."""
    return FAKE_QUANT_ARGS_GRADIENT(
        gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export("fake_quant_with_min_max_vars", "quantization.fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Like `fake_quant_with_min_max_args`, with scalars `min` and `max`, which also have gradients.

    TF: tf.fake_quant_with_min_max_vars.
    """
    return FAKE_QUANT_VARS(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export("fake_quant_with_min_max_vars_gradient", "quantization.fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of `fake_quant_with_min_max_vars` (TF: tf.fake_quant_with_min_max_vars_gradient)."""
    return FAKE_QUANT_VARS_GRADIENT(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


@export("fake_quant_with_min_max_vars_per_channel", "quantization.fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False, name: str | None = None
) -> Tensor:
    """Like `fake_quant_with_min_max_vars`, with vectors that have a range for each index of the last dim of `inputs`.

    TF: tf.fake_quant_with_min_max_vars_per_channel.
    """
    return FAKE_QUANT_CHANNELS(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


@export(
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of `fake_quant_with_min_max_vars_per_channel`.

    TF: tf.fake_quant_with_min_max_vars_per_channel_gradient.
    """
    return FAKE_QUANT_CHANNELS_GRADIENT(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )
