"""Batch normalization as Keras' backend has it: with given statistics, and with those of the batch."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.array import reshape, shape
from penstock.ops.filling import ones_like, zeros_like


@export("keras.backend.batch_normalization")
def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """gamma * (x - mean) / sqrt(var + epsilon) + beta, all of which broadcast against x; beta and gamma may be None."""
    return nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


@export("keras.backend.normalize_batch_in_training")
def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Tensor, Tensor, Tensor]:
    """x normalized by its own statistics over the axes, their mean and their variance, [c] each.

    The variance of images [n, h, w, c] over [0, 1, 2] is Bessel-corrected, as that of tf.nn.fused_batch_norm.
    """
    x, axes = convert_to_tensor(x), list(reduction_axes)
    rank = x.shape.ndims
    if rank == 4 and sorted(axes) == [0, 1, 2]:
        channels = x[0, 0, 0]
        scale = ones_like(channels) if gamma is None else gamma
        return nn.fused_batch_norm(x, scale, zeros_like(channels) if beta is None else beta, epsilon=epsilon)
    mean, var = nn.moments(x, axes)
    if sorted(axes) == list(range((rank or 0) - 1)):
        return nn.batch_normalization(x, mean, var, beta, gamma, epsilon), mean, var
    kept = [1 if axis in axes else shape(x)[axis] for axis in range(rank or 0)]
    mean_, var_, beta_, gamma_ = (None if each is None else reshape(each, kept) for each in (mean, var, beta, gamma))
    return nn.batch_normalization(x, mean_, var_, beta_, gamma_, epsilon), mean, var
