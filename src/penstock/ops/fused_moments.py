"""`_ChannelMoments`: mean and variance over all axes except the last (`passes/fuse_moments.py` adds it to steps)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from penstock.graph.opdef import Kernel, make_op
from penstock.ops.fused import FUSED_TYPES
from penstock.runtime.kernels import KernelContext

CHANNEL_MOMENTS = make_op("_ChannelMoments", "x: T", "mean: T, variance: T", attrs=["T: type"], launches=True)
"""x [..., channels] of known shape -> mean and variance of the population [1, ..., 1, channels]."""
CHANNEL_MOMENTS.flops_fn = lambda node, inputs, outputs: 4 * math.prod(inputs[0])

MOST_ROWS = 2048
"""The most rows that torch's kernel sums one by one; with more, rounding errors would be noticeable."""


@CHANNEL_MOMENTS.kernel("CPU", T=FUSED_TYPES)
def channel_moments_kernel(ctx: KernelContext) -> Kernel:
    """Uses the kernel of batch normalization, which reads rows in memory order.

    Many rows are treated as fewer wide ones of `folds` rows each; the total variance is the mean of the parts'
    variances plus the variance of their means.
    """
    *outer, channels = ctx.input_shape("x").as_list()
    rows, shape = math.prod(outer), [*(1 for _ in outer), channels]
    folds = _folds(rows)
    wide, parts = [rows // folds, folds * channels], [folds, channels]

    def moments(x: Tensor) -> tuple[Tensor, Tensor]:
        mean, variance = torch.batch_norm_update_stats(x.reshape(wide), None, None, 0.0)
        if folds > 1:
            means, variances = mean.view(parts), variance.view(parts)
            mean = means.mean(0)
            variance = variances.add_((means - mean).square_()).mean(0)
        return mean.view(shape), variance.view(shape)

    return moments


@CHANNEL_MOMENTS.kernel("GPU", T=FUSED_TYPES)
def channel_moments_kernel_of_a_gpu(ctx: KernelContext) -> Kernel:
    axes = list(range(ctx.input_shape("x").ndims - 1))

    def moments(x: Tensor) -> tuple[Tensor, Tensor]:
        variance, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return mean, variance

    return moments


def _folds(rows: int) -> int:
    """The least divisor of `rows` that leaves at most MOST_ROWS; 1 if none does that leaves at least a quarter of
    it."""
    least = -(-rows // MOST_ROWS)
    return next((folds for folds in range(least, 4 * least) if rows % folds == 0), 1)
