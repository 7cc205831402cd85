"""Optimizer updates that only optimizers of tf.keras have, for variables that are resources: graphs of TensorFlow that
train with them are imported."""

from __future__ import annotations

from typing import Any

import torch

from penstock.ops import training_updates as updates
from penstock.ops.training import FLOATS, NESTEROV, define_update
from penstock.ops.training_sparse import define_sparse_update
from penstock.runtime.kernels import KernelContext

Tensor = torch.Tensor


def keras_momentum(ctx: KernelContext) -> updates.Update:
    """accum = momentum * accum - lr * grad; var += accum (Nesterov: momentum * accum - lr * grad)."""
    nesterov = ctx["use_nesterov"]

    def update(w: Tensor, a: Tensor, lr: Any, grad: Tensor, momentum: Any) -> None:
        step = grad * lr
        a.mul_(momentum).sub_(step)
        w.add_(a * momentum - step if nesterov else a)

    return update


def adam_with_amsgrad(ctx: KernelContext) -> updates.Update:
    """Adam whose steps are divided by the largest mean square so far (Reddi et al., 2018)."""
    power1, power2, rate = (updates.hyper(ctx, name) for name in ("beta1_power", "beta2_power", "lr"))
    rest1, decay2 = updates.rest(ctx, "beta1"), updates.hyper(ctx, "beta2")

    def update(
        w: Tensor, m: Tensor, v: Tensor, most: Tensor, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any,
        beta2: Any, epsilon: Any, grad: Tensor,
    ) -> None:  # fmt: skip
        alpha = updates.adam_rate(rate(lr), power1(beta1_power), power2(beta2_power))
        m.lerp_(grad, rest1(beta1))
        updates.decay_squares(v, grad, beta2, 1 - decay2(beta2))
        torch.maximum(most, v, out=most)
        updates.add_quotient(w, m, most.sqrt().add_(epsilon), -alpha)

    return update


define_update(
    "", "ResourceApplyKerasMomentum", "var accum", "lr: T, grad: T, momentum: T", keras_momentum, attrs=NESTEROV
)
define_sparse_update(
    "",
    "ResourceSparseApplyKerasMomentum",
    "var accum",
    "lr: T, grad: T, indices: Tindices, momentum: T",
    keras_momentum,
    attrs=NESTEROV,
)
define_update(
    "",
    "ResourceApplyAdamWithAmsgrad",
    "var m v vhat",
    "beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T",
    adam_with_amsgrad,
    types=FLOATS,
)
