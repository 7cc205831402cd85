"""Optimizer updates that use the signs of gradient and momentum (Bello et al. 2017): AddSign, PowerSign."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from penstock.ops.training import FLOATS, define_update
from penstock.ops.training_updates import Update, rest
from penstock.runtime.kernels import KernelContext


def _agreement(m: Tensor, grad: Tensor, decay: Any) -> Tensor:
    """1 where gradient and momentum have the same sign, -1 where they differ, times the decay."""
    return grad.sign().mul_(m.sign()).mul_(decay)


def add_sign(ctx: KernelContext) -> Update:
    """m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad."""
    rest_of = rest(ctx, "beta")

    def update(w: Tensor, m: Tensor, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Tensor) -> None:
        m.lerp_(grad, rest_of(beta))
        w.sub_(_agreement(m, grad, sign_decay).add_(alpha).mul_(lr).mul_(grad))

    return update


def power_sign(ctx: KernelContext) -> Update:
    """m as in `add_sign`; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad."""
    rest_of = rest(ctx, "beta")

    def update(w: Tensor, m: Tensor, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Tensor) -> None:
        m.lerp_(grad, rest_of(beta))
        w.sub_(_agreement(m, grad, sign_decay).mul_(logbase).exp_().mul_(lr).mul_(grad))

    return update


APPLY_ADD_SIGN, RESOURCE_APPLY_ADD_SIGN = define_update(
    "ApplyAddSign",
    "ResourceApplyAddSign",
    "var m",
    "lr: T, alpha: T, sign_decay: T, beta: T, grad: T",
    add_sign,
    types=FLOATS,
)
APPLY_POWER_SIGN, RESOURCE_APPLY_POWER_SIGN = define_update(
    "ApplyPowerSign",
    "ResourceApplyPowerSign",
    "var m",
    "lr: T, logbase: T, sign_decay: T, beta: T, grad: T",
    power_sign,
    types=FLOATS,
)
