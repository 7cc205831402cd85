"""Local response normalization across channels (TF: LRN)."""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_ATTRS = [
    "depth_radius: int = 5",
    "bias: float = 1.0",
    "alpha: float = 1.0",
    "beta: float = 0.5",
    "T: {half, bfloat16, float} = float",
]


@shape_rules.of_first
def _image(c: ShapeContext, *shapes: TensorShape) -> TensorShape:
    merged = shapes[0].with_rank(4)
    for shape in shapes[1:]:
        merged = merged.merge_with(shape)
    return merged


LRN = define_op("LRN", "input: T", "output: T", attrs=_ATTRS, work=32.0, launches=True)
LRN.shape(_image)

LRN_GRAD = define_op(
    "LRNGrad", "input_grads: T, input_image: T, output_image: T", "output: T", attrs=_ATTRS, work=64.0, launches=True
)
LRN_GRAD.shape(_image)
LRN_GRAD.not_differentiable()


_SLICES = 32
"""The number of neighbours up to which adding shifted slices is faster than a pool."""


def _window_sum(radius: int, x: torch.Tensor) -> torch.Tensor:
    """The sum over 2 * radius + 1 neighbours along the last axis, fewer at its ends."""
    channels = x.shape[-1]
    radius = min(radius, channels)
    size = 2 * radius + 1
    if 1 < size <= _SLICES:
        padded = torch.constant_pad_nd(x, (radius, radius))
        total = padded[..., :channels] + padded[..., 1 : channels + 1]
        for first in range(2, size):
            total.add_(padded[..., first : first + channels])
        return total
    # torch pads pools by at most half of the window; counting padded zeros makes the mean a sum.
    rows = x.reshape(-1, 1, channels)
    return torch.avg_pool1d(rows, (size,), (1,), (radius,), False, True).mul_(size).view(x.shape)


def _to_minus(beta: float, x: torch.Tensor) -> torch.Tensor:
    """x ** -beta; roots take half the time of a power, and networks use 0.75."""
    return torch.sqrt(x).mul_(x).rsqrt_() if beta == 0.75 else x.pow(-beta)


def _norm(ctx: KernelContext, x: torch.Tensor) -> torch.Tensor:
    return _window_sum(ctx["depth_radius"], x * x).mul_(ctx["alpha"]).add_(ctx["bias"])


def _check(x: torch.Tensor) -> bool:
    """Whether the input is not empty; raises ValueError if `x` is not an image."""
    if x.ndim != 4:
        raise ValueError(f"in must be 4-dimensional, got shape {list(x.shape)}")
    return x.numel() > 0


@LRN.kernel()
def lrn_kernel(ctx: KernelContext) -> Kernel:
    beta, dtype = ctx["beta"], ctx.torch_dtype()

    def lrn(x: torch.Tensor) -> torch.Tensor:
        if not _check(x):
            return x.clone()
        wide = x.float()
        return (_to_minus(beta, _norm(ctx, wide)).mul_(wide)).to(dtype)

    return lrn


@LRN_GRAD.kernel()
def lrn_grad_kernel(ctx: KernelContext) -> Kernel:
    radius, alpha, beta, dtype = ctx["depth_radius"], ctx["alpha"], ctx["beta"], ctx.torch_dtype()

    def lrn_grad(grad: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if not _check(x):
            return x.clone()
        grad, x, y = grad.float(), x.float(), y.float()
        norm = _norm(ctx, x)
        spread = _window_sum(radius, grad * y / norm)
        return _to_minus(beta, norm).mul_(grad).sub_(spread.mul_(x).mul_(2 * alpha * beta)).to(dtype)

    return lrn_grad


@LRN.gradient
def lrn_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}
    return LRN_GRAD(grad, op.inputs[0], op.outputs[0], **attrs)


@export("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """input / (bias + alpha * sum of squares of the channels within `depth_radius`) ** beta.

    input [n, h, w, c] half, bfloat16 or float32 -> the same. TF: tf.nn.local_response_normalization,
    tf.nn.lrn.
    """
    return LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)
