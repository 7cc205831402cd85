"""Mirrored padding, and resizing before it, in one op with a convolution (TF: FusedPadConv2D,
FusedResizeAndPadConv2D). TensorFlow's optimize_for_inference writes them into frozen graphs; they have no gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_CONV = ["mode: {'REFLECT', 'SYMMETRIC'}", "strides: list(int)", "padding: {'SAME', 'VALID'}"]
_T = "T: {half, bfloat16, float, double}"
FUSED_PAD_CONV = define_op("FusedPadConv2D", "input: T, paddings: int32, filter: T", "output: T", attrs=[_T, *_CONV])
FUSED_RESIZE_AND_PAD_CONV = define_op(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T",
    "output: T",
    attrs=["T: {half, float, double}", "resize_align_corners: bool = false", *_CONV],
)


def _shape(c: ShapeContext, x: TensorShape, *rest: TensorShape) -> TensorShape:
    return TensorShape([x.with_rank(4).as_list()[0], None, None, rest[-1].with_rank(4).as_list()[3]])


def _flops(node: Any, inputs: Any, outputs: Any) -> float:
    height, width, deep, channels = inputs[-1]
    n, rows, columns, _ = outputs[0]
    return 2.0 * n * rows * columns * channels * height * width * deep


for _op in (FUSED_PAD_CONV, FUSED_RESIZE_AND_PAD_CONV):
    _op.shape(_shape)
    _op.flops(_flops)
    _op.not_differentiable()


def _mirrored(size: int, before: int, after: int, symmetric: bool) -> np.ndarray:
    """The indices of an axis with its padding."""
    if max(before, after) > size - (not symmetric):
        raise invalid(f"paddings {before} and {after} are too large to mirror {size} rows")
    return np.pad(np.arange(size), (before, after), "symmetric" if symmetric else "reflect")


def _convolution(ctx: KernelContext) -> Any:
    symmetric, same = ctx.text("mode") == "SYMMETRIC", ctx.text("padding") == "SAME"
    strides = ctx["strides"]
    if len(strides) != 4 or strides[0] != 1 or strides[3] != 1:
        raise invalid(f"strides must be of rows and columns only, not {list(strides)}")

    def run(x: torch.Tensor, paddings: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
        pads = paddings.tolist()
        if x.ndim != 4 or len(pads) != 4 or any(pads[0]) or any(pads[3]):
            raise invalid(f"paddings must be of rows and columns of images, not {pads} of shape {list(x.shape)}")
        for axis in (1, 2):
            before, after = pads[axis]
            at = _mirrored(x.shape[axis], before, after, symmetric)
            x = x.index_select(axis, torch.from_numpy(at).to(x.device))
        edges: list[int] = []
        for axis in (2, 1):  # torch names the last axis first
            window, stride, size = kernel.shape[axis - 1], strides[axis], x.shape[axis]
            missing = max((-(-size // stride) - 1) * stride + window - size, 0) if same else 0
            edges += [missing // 2, missing - missing // 2]
        first = torch.nn.functional.pad(x.permute(0, 3, 1, 2), edges)
        found = torch.nn.functional.conv2d(first, kernel.permute(3, 2, 0, 1), stride=tuple(strides[1:3]))
        return found.permute(0, 2, 3, 1).contiguous()

    return run


@FUSED_PAD_CONV.kernel(host=["paddings"])
def fused_pad_conv_kernel(ctx: KernelContext) -> Kernel:
    run = _convolution(ctx)
    return lambda x, paddings, kernel: run(x, paddings, kernel)


def _resized(x: torch.Tensor, axis: int, size: int, corners: bool) -> torch.Tensor:
    """Linear interpolation along an axis, from the upper corners of pixels as TensorFlow 1's."""
    have = x.shape[axis]
    scale = (have - 1) / (size - 1) if corners and size > 1 else have / size
    places = torch.arange(size, dtype=torch.float32, device=x.device) * scale
    low = places.floor().long().clamp(max=have - 1)
    part = (places - low).to(x.dtype).reshape([-1 if d == axis else 1 for d in range(4)])
    below, above = x.index_select(axis, low), x.index_select(axis, (low + 1).clamp(max=have - 1))
    return below + (above - below) * part


@FUSED_RESIZE_AND_PAD_CONV.kernel(host=["size", "paddings"])
def fused_resize_and_pad_conv_kernel(ctx: KernelContext) -> Kernel:
    run, corners = _convolution(ctx), ctx["resize_align_corners"]

    def resize_and_run(x: Any, size: torch.Tensor, paddings: Any, kernel: Any) -> torch.Tensor:
        rows, columns = size.tolist()
        if x.ndim != 4 or rows < 1 or columns < 1:
            raise invalid(f"images of shape {list(x.shape)} cannot be resized to {rows} times {columns}")
        found: torch.Tensor = run(_resized(_resized(x, 1, rows, corners), 2, columns, corners), paddings, kernel)
        return found

    return resize_and_run
