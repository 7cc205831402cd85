"""Colours: HSV and back, contrast, hue, saturation (TF: tf.image.rgb_to_hsv, adjust_*)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape


@shape_rules.of_first
def _three_channels(c: ShapeContext, images: TensorShape, *_: TensorShape) -> TensorShape:
    images = images.with_rank_at_least(1)
    if images.ndims is not None:
        images[-1].assert_is_compatible_with(3)
    return images


@shape_rules.of_first
def _three_known(c: ShapeContext, images: TensorShape) -> TensorShape:
    images = _three_channels(c, images)
    return images if images.ndims is None else images[:-1].concatenate([3])


def _check(images: torch.Tensor, rank: int = 1) -> None:
    if images.ndim < rank:
        raise invalid(f"input must be at least {rank}-D, got shape {list(images.shape)}")
    if images.shape[-1] != 3:
        raise errors.FailedPreconditionError(
            None, None, f"input must have 3 channels but instead has {images.shape[-1]} channels."
        )


def to_hsv(rgb: torch.Tensor) -> torch.Tensor:
    """Hue, saturation and value, each in [0, 1] for colours in [0, 1]; grey has hue 0."""
    r, g, b = rgb.unbind(-1)
    value, low = rgb.amax(-1), rgb.amin(-1)
    span = value - low
    saturation = torch.where(value > 0, span / value, 0)
    norm = 1 / (6 * span)
    hue = torch.where(
        r == value, norm * (g - b), torch.where(g == value, norm * (b - r) + 2 / 6, norm * (r - g) + 4 / 6)
    )
    hue = torch.where(span > 0, torch.where(hue < 0, hue + 1, hue), 0)
    return torch.stack([hue, saturation, value], -1)


def to_rgb(hsv: torch.Tensor) -> torch.Tensor:
    hue, saturation, value = hsv.unbind(-1)
    six = hue * 6
    full = torch.stack([(six - 3).abs() - 1, 2 - (six - 2).abs(), 2 - (six - 4).abs()], -1).clamp(0, 1)
    return ((1 - saturation) + full.movedim(-1, 0) * saturation).mul(value).movedim(0, -1)


def _color_op(name: str, convert: Callable[[torch.Tensor], torch.Tensor]) -> OpDef:
    op = define_op(name, "images: T", "output: T", attrs=["T: floattype = float"], work=64.0)
    op.shape(_three_known)

    @op.kernel()
    def color_kernel(ctx: KernelContext) -> Kernel:
        def checked(images: torch.Tensor) -> torch.Tensor:
            _check(images)
            return convert(images)

        return checked

    return op


RGB_TO_HSV = _color_op("RGBToHSV", to_hsv)
HSV_TO_RGB = _color_op("HSVToRGB", to_rgb)
HSV_TO_RGB.not_differentiable()


@RGB_TO_HSV.gradient
def rgb_to_hsv_gradient(op: Operation, grad: Tensor) -> Tensor:
    """Uses the formulas of the six sectors; zero where they would divide by zero."""
    cast, zeros_like = get_op("Cast"), get_op("ZerosLike")
    dtype = op.inputs[0].dtype
    r, g, b = get_op("Unpack")(op.inputs[0], num=3, axis=-1)
    _, _, v = get_op("Unpack")(op.outputs[0], num=3, axis=-1)
    by_h, by_s, by_v = get_op("Unpack")(grad, num=3, axis=-1)
    low = get_op("Minimum")(get_op("Minimum")(r, g), b)
    span = v - low

    def over(x: Tensor, y: Tensor) -> Tensor:
        return get_op("DivNoNan")(x, y) if dtype.name in ("float32", "float64", "half") else x / y

    equal, land, lnot = get_op("Equal"), get_op("LogicalAnd"), get_op("LogicalNot")
    greatest = [equal(r, v), land(equal(g, v), lnot(equal(r, v))), None]
    greatest[2] = land(lnot(greatest[0]), lnot(greatest[1]))
    least_b = equal(b, low)
    least = [None, land(equal(g, low), lnot(least_b)), least_b]
    least[0] = land(lnot(least[1]), lnot(least[2]))
    is_most = [cast(m, DstT=dtype) for m in greatest]
    is_least = [cast(m, DstT=dtype) for m in least]
    one = get_op("OnesLike")(v)
    sixth = over(one, get_op("Mul")(span, convert_to_tensor(6.0, dtype=dtype)))
    # hue = sector + (p - q) / (6 span): derivatives by p, by q, and, through span, by the maximum and the minimum.
    differences = [g - b, b - r, r - g]
    by_span = zeros_like(v)
    for most, difference in zip(is_most, differences, strict=True):
        by_span = by_span - most * over(difference, span) * sixth
    signs = [(2, 1), (0, 2), (1, 0)]  # for each channel: where it counts positively, and where negatively
    out = []
    for channel in range(3):
        plus, minus = signs[channel]
        direct = (is_most[plus] - is_most[minus]) * sixth
        hue = by_h * (direct + by_span * (is_most[channel] - is_least[channel]))
        saturation = by_s * (is_most[channel] * over(low, v * v) - is_least[channel] * over(one, v))
        out.append(hue + saturation + by_v * is_most[channel])
    return get_op("Pack")(out, axis=-1)


_ADJUST = ["T: {half, float} = float"]

ADJUST_CONTRAST = define_op(
    "AdjustContrastv2", "images: T, contrast_factor: float", "output: T", attrs=_ADJUST, work=16.0
)
ADJUST_CONTRAST.not_differentiable()


@ADJUST_CONTRAST.shape
@shape_rules.of_first
def adjust_contrast_shape(c: ShapeContext, images: TensorShape, factor: TensorShape) -> TensorShape:
    factor.with_rank(0)
    return images.with_rank_at_least(3)


@ADJUST_CONTRAST.kernel()
def adjust_contrast_kernel(ctx: KernelContext) -> Kernel:
    def adjust(images: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        if images.ndim < 3:
            raise invalid(f"input must be at least 3-D, got shape {list(images.shape)}")
        x = images.float()
        mean = x.mean((-3, -2), keepdim=True)
        return ((x - mean) * factor + mean).to(images.dtype)

    return adjust


ADJUST_HUE = define_op("AdjustHue", "images: T, delta: float", "output: T", attrs=_ADJUST, work=128.0)
ADJUST_HUE.shape(_three_channels)
ADJUST_HUE.not_differentiable()


@ADJUST_HUE.kernel()
def adjust_hue_kernel(ctx: KernelContext) -> Kernel:
    def adjust(images: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        _check(images, 3)
        hue, saturation, value = to_hsv(images.float()).unbind(-1)
        turned = torch.stack([torch.remainder(hue + delta, 1.0), saturation, value], -1)
        return to_rgb(turned).to(images.dtype)

    return adjust


ADJUST_SATURATION = define_op("AdjustSaturation", "images: T, scale: float", "output: T", attrs=_ADJUST, work=128.0)
ADJUST_SATURATION.shape(_three_channels)
ADJUST_SATURATION.not_differentiable()


@ADJUST_SATURATION.kernel()
def adjust_saturation_kernel(ctx: KernelContext) -> Kernel:
    def adjust(images: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        _check(images, 3)
        hue, saturation, value = to_hsv(images.float()).unbind(-1)
        return to_rgb(torch.stack([hue, (saturation * scale).clamp(0, 1), value], -1)).to(images.dtype)

    return adjust


@export("image.rgb_to_hsv")
def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Colours [..., (red, green, blue)] in [0, 1] as [..., (hue, saturation, value)] (TF: tf.image.rgb_to_hsv)."""
    return RGB_TO_HSV(convert_to_tensor(images), name=name)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv`."""
    return HSV_TO_RGB(convert_to_tensor(images), name=name)
