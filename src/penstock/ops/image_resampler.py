"""Images at points between their pixels (TF: Resampler, of tf.contrib.resampler)."""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_T = "T: {half, bfloat16, float, double} = float"
RESAMPLER = define_op("Resampler", "data: T, warp: T", "output: T", attrs=[_T], work=20.0)
RESAMPLER_GRAD = define_op(
    "ResamplerGrad", "data: T, warp: T, grad_output: T", "grad_data: T, grad_warp: T", attrs=[_T], work=40.0
)
RESAMPLER_GRAD.not_differentiable()


@RESAMPLER.shape
def resampler_shape(c: ShapeContext, data: TensorShape, warp: TensorShape) -> TensorShape:
    data = data.with_rank(4)
    if warp.ndims is None:
        return TensorShape(None)
    return TensorShape([*data[:1].merge_with(warp[:1]).as_list(), *warp.as_list()[1:-1], data.as_list()[3]])


@RESAMPLER_GRAD.shape
def resampler_grad_shape(
    c: ShapeContext, data: TensorShape, warp: TensorShape, grad_output: TensorShape
) -> list[TensorShape]:
    return [data, warp]


class _Corners:
    """The four pixels around each point: where they are, which of them are in the image, and their weights.

    Outside of the image are zeros, and a point further than one pixel from it has no corners at all.
    """

    def __init__(self, data: torch.Tensor, warp: torch.Tensor) -> None:
        if data.ndim != 4 or warp.ndim < 2 or warp.shape[-1] != 2 or len(data) != len(warp):
            raise invalid(
                f"Only bilinear interpolation of images [batch, height, width, channels] at points [batch, ..., 2] is "
                f"supported, not of {list(data.shape)} at {list(warp.shape)}"
            )
        self.height, self.width = data.shape[1:3]
        points = warp.reshape(len(warp), -1, 2)
        x, y = points[..., 0], points[..., 1]
        self.near = (x > -1) & (y > -1) & (x < self.width) & (y < self.height)
        self.one = self.near.to(data.dtype)
        left, top = torch.floor(torch.where(self.near, x, 0)), torch.floor(torch.where(self.near, y, 0))
        # 1 at the left or upper pixel, 0 at the next
        self.dx, self.dy = (left + 1 - x) * self.near, (top + 1 - y) * self.near
        self._left, self._top = left.long(), top.long()

    def each(self) -> Any:
        """(right, below, indices of pixels, 1 where they exist) for the four corners."""
        for below in (0, 1):
            for right in (0, 1):
                x, y = self._left + right, self._top + below
                inside = self.near & (x >= 0) & (y >= 0) & (x < self.width) & (y < self.height)
                yield right, below, torch.where(inside, y * self.width + x, 0), inside

    def weight_x(self, right: int) -> torch.Tensor:
        return self.one - self.dx if right else self.dx

    def weight_y(self, below: int) -> torch.Tensor:
        return self.one - self.dy if below else self.dy


def _pixels(flat: torch.Tensor, at: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    found = torch.gather(flat, 1, at[..., None].expand(-1, -1, flat.shape[2]))
    return found * inside[..., None]


@RESAMPLER.kernel()
def resampler_kernel(ctx: KernelContext) -> Kernel:
    def resample(data: torch.Tensor, warp: torch.Tensor) -> torch.Tensor:
        corners = _Corners(data, warp)
        flat = data.reshape(len(data), -1, data.shape[3])
        found = torch.zeros((*corners.near.shape, data.shape[3]), dtype=data.dtype, device=data.device)
        for right, below, at, inside in corners.each():
            weight = corners.weight_x(right) * corners.weight_y(below)
            found += weight[..., None] * _pixels(flat, at, inside)
        return found.reshape(*warp.shape[:-1], data.shape[3])

    return resample


@RESAMPLER_GRAD.kernel()
def resampler_grad_kernel(ctx: KernelContext) -> Kernel:
    def gradient(data: torch.Tensor, warp: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        corners = _Corners(data, warp)
        flat = data.reshape(len(data), -1, data.shape[3])
        grad = grad.reshape(*corners.near.shape, data.shape[3])
        by_data = torch.zeros_like(flat)
        by_x, by_y = torch.zeros_like(corners.dx), torch.zeros_like(corners.dy)
        for right, below, at, inside in corners.each():
            x, y = corners.weight_x(right), corners.weight_y(below)
            parts = grad * (x * y * inside)[..., None]
            by_data.scatter_add_(1, at[..., None].expand_as(parts), parts)
            along = (grad * _pixels(flat, at, inside)).sum(-1)
            by_x += along * y * (1 if right else -1)
            by_y += along * x * (1 if below else -1)
        return by_data.reshape(data.shape), torch.stack([by_x, by_y], -1).reshape(warp.shape)

    return gradient


@RESAMPLER.gradient
def resampler_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    return list(RESAMPLER_GRAD(*op.inputs, grad))


@export("contrib.resampler.resampler")
def resampler(data: Any, warp: Any, name: str = "resampler") -> Tensor:
    """Images [batch, height, width, channels] at points `warp` [batch, ..., 2] of (x, y), bilinearly interpolated:
    [batch, ..., channels]. Around the images are zeros. TF: tf.contrib.resampler.resampler."""
    data = convert_to_tensor(data, name="data")
    return RESAMPLER(data, convert_to_tensor(warp, data.dtype, name="warp"), name=name)
