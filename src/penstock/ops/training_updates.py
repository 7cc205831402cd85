"""The arithmetic of optimizers: each formula once, for dense and sparse updates of both kinds of variables.

`NAME(n)` runs once per node and returns `update(*buffers, *values)`, which changes the buffers in place. Values are in
the order of the op's signature. Hyperparameters that are constants of the graph are converted when the plan is made.
torch multiplies by a 0-d tensor three times faster than by a Python number, so numbers are used only where a torch call
requires one (`alpha=`, `value=`); on a GPU, where reading one waits for the device, tensors are used there as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import to_runtime

Update = Callable[..., Any]
UpdateFactory = Callable[[Any], Update]


def hyper(ctx: KernelContext, name: str) -> Callable[[Any], Any]:
    """A function that converts the scalar input `name` to a number (on a GPU to a tensor, if it is not constant)."""
    constant = ctx.const(name)
    if constant is not None:
        number = constant.item()
        return lambda value: number
    return Tensor.item if ctx.device.type == "cpu" else _itself


def rest(ctx: KernelContext, name: str) -> Callable[[Tensor], Tensor]:
    """A function that returns 1 - `name` as a 0-d tensor."""
    one = torch.ones((), dtype=ctx.torch_dtype(), device=ctx.device)
    constant = ctx.const(name)
    if constant is None:
        return lambda value: one - value
    settled = one - to_runtime(constant, ctx["T"], ctx.device)
    return lambda value: settled


def _itself(value: Any) -> Any:
    return value


def add_scaled(w: Tensor, x: Tensor, scale: Any) -> None:
    """w += scale * x, for a number or a 0-d tensor."""
    if isinstance(scale, Tensor):
        w.addcmul_(x, scale)
    else:
        w.add_(x, alpha=scale)


def add_quotient(w: Tensor, x: Tensor, y: Tensor, scale: Any) -> None:
    """w += scale * x / y."""
    if isinstance(scale, Tensor):
        w.add_((x / y).mul_(scale))
    else:
        w.addcdiv_(x, y, value=scale)


def decay_squares(square: Tensor, grad: Tensor, rho: Tensor, remainder: Any) -> None:
    """square = rho * square + remainder * grad², where `remainder` is 1 - rho."""
    if isinstance(remainder, Tensor):
        square.lerp_(grad * grad, remainder)
    else:
        square.mul_(rho).addcmul_(grad, grad, value=remainder)


_ONE_PASS_FROM = 4096


def one_pass(ctx: KernelContext) -> Callable[..., bool]:
    """A function that says whether to use torch's one-pass optimizer kernel for these buffers: it takes half the time
    of separate kernels if they are large, because each buffer is read once, but its overhead is too large if they are
    small."""
    if ctx.device.type != "cpu" or ctx.torch_dtype() not in (torch.float32, torch.float64):
        return lambda *buffers: False
    return lambda *buffers: (
        buffers[0].numel() >= _ONE_PASS_FROM and all(b.is_contiguous() and b.shape == buffers[0].shape for b in buffers)
    )


# --- gradient descent and momentum ----------------------------------------------------------------------


def gradient_descent(ctx: KernelContext) -> Update:
    rate = hyper(ctx, "alpha")

    def update(w: Tensor, alpha: Any, delta: Tensor) -> None:
        add_scaled(w, delta, -rate(alpha))

    return update


def momentum(ctx: KernelContext) -> Update:
    """accum = momentum * accum + grad; var -= lr * accum (Nesterov: lr * grad + lr * momentum * accum)."""
    rate, decay = hyper(ctx, "lr"), hyper(ctx, "momentum")
    fits = one_pass(ctx)

    def plain(w: Tensor, a: Tensor, lr: Any, grad: Tensor, momentum: Any) -> None:
        if fits(w, a, grad):
            torch._fused_sgd_(
                [w], [grad], [a], weight_decay=0.0, momentum=decay(momentum), lr=rate(lr), dampening=0.0,
                nesterov=False, maximize=False, is_first_step=False,
            )  # fmt: skip
            return
        a.mul_(momentum).add_(grad)
        add_scaled(w, a, -rate(lr))

    def nesterov(w: Tensor, a: Tensor, lr: Any, grad: Tensor, momentum: Any) -> None:
        a.mul_(momentum).add_(grad)
        lr = rate(lr)
        add_scaled(w, grad, -lr)
        add_scaled(w, a, -(lr * decay(momentum)))

    return nesterov if ctx["use_nesterov"] else plain


# --- Adagrad and related updates -------------------------------------------------------------------------


def adagrad(ctx: KernelContext) -> Update:
    """accum += grad²; var -= lr * grad / sqrt(accum)."""
    rate, accumulates = hyper(ctx, "lr"), ctx["update_slots"]

    def update(w: Tensor, a: Tensor, lr: Any, grad: Tensor) -> None:
        if accumulates:
            a.addcmul_(grad, grad)
        add_quotient(w, grad, a.sqrt(), -rate(lr))

    return update


def adagrad_v2(ctx: KernelContext) -> Update:
    """accum += grad²; var -= lr * grad / (sqrt(accum) + epsilon)."""
    rate, accumulates = hyper(ctx, "lr"), ctx["update_slots"]

    def update(w: Tensor, a: Tensor, lr: Any, epsilon: Any, grad: Tensor) -> None:
        if accumulates:
            a.addcmul_(grad, grad)
        add_quotient(w, grad, a.sqrt().add_(epsilon), -rate(lr))

    return update


def adadelta(ctx: KernelContext) -> Update:
    """Steps are scaled by the ratio of decayed mean squares, of past steps to gradients (Zeiler 2012)."""
    rate, decay = hyper(ctx, "lr"), hyper(ctx, "rho")

    def update(w: Tensor, a: Tensor, u: Tensor, lr: Any, rho: Any, epsilon: Any, grad: Tensor) -> None:
        remainder = 1 - decay(rho)
        decay_squares(a, grad, rho, remainder)
        step = (u + epsilon).sqrt_().mul_((a + epsilon).rsqrt_()).mul_(grad)
        add_scaled(w, step, -rate(lr))
        decay_squares(u, step, rho, remainder)

    return update


def adagrad_da(ctx: KernelContext) -> Update:
    """Dual averaging: var is recomputed from the sums of gradients and of their squares."""

    def update(w: Tensor, g: Tensor, s: Tensor, grad: Tensor, lr: Any, l1: Any, l2: Any, step: Any) -> None:
        step = step.to(w.dtype)
        g.add_(grad)
        s.addcmul_(grad, grad)
        shrunk = g.sign() * (g.abs() - l1 * step).clamp_(min=0)
        w.copy_(shrunk.mul_(lr).neg_().div_(s.sqrt().add_(l2 * step * lr)))

    return update


# --- Adam and RMSProp -----------------------------------------------------------------------------------


def adam(ctx: KernelContext) -> Update:
    """var -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon), as in Kingma and Ba."""
    power1, power2, rate = hyper(ctx, "beta1_power"), hyper(ctx, "beta2_power"), hyper(ctx, "lr")
    rest1, decay1, decay2, nesterov = rest(ctx, "beta1"), hyper(ctx, "beta1"), hyper(ctx, "beta2"), ctx["use_nesterov"]
    small, fits = hyper(ctx, "epsilon"), one_pass(ctx)

    def update(
        w: Tensor, m: Tensor, v: Tensor, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any,
        beta2: Any, epsilon: Any, grad: Tensor,
    ) -> None:  # fmt: skip
        alpha = adam_rate(rate(lr), power1(beta1_power), power2(beta2_power))
        if not nesterov and fits(w, m, v, grad):
            torch._fused_adam_(
                [w], [grad], [m], [v], [], [CORRECTED], lr=alpha, beta1=decay1(beta1), beta2=decay2(beta2),
                weight_decay=0.0, eps=small(epsilon), amsgrad=False, maximize=False,
            )  # fmt: skip
            return
        m.lerp_(grad, rest1(beta1))
        decay_squares(v, grad, beta2, 1 - decay2(beta2))
        direction = torch.lerp(m, grad, rest1(beta1)) if nesterov else m
        add_quotient(w, direction, v.sqrt().add_(epsilon), -alpha)

    return update


CORRECTED = torch.tensor(1e30)
"""A step number at which torch has no bias left to correct: `alpha` is already corrected."""


def adam_rate(lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    """The step size with both biases corrected."""
    if isinstance(beta1_power, float) and isinstance(beta2_power, float):
        try:
            return lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
        except (ValueError, ZeroDivisionError):  # where Python raises errors, floats return NaN or infinity
            with np.errstate(all="ignore"):
                return float(lr * np.sqrt(np.float64(1 - beta2_power)) / np.float64(1 - beta1_power))
    return lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)


def ada_max(ctx: KernelContext) -> Update:
    """Adam with the decayed maximum of |grad| instead of its mean square."""
    power1, rate, rest1 = hyper(ctx, "beta1_power"), hyper(ctx, "lr"), rest(ctx, "beta1")

    def update(
        w: Tensor, m: Tensor, v: Tensor, beta1_power: Any, lr: Any, beta1: Any, beta2: Any,
        epsilon: Any, grad: Tensor,
    ) -> None:  # fmt: skip
        m.lerp_(grad, rest1(beta1))
        torch.maximum(v.mul_(beta2), grad.abs(), out=v)
        add_quotient(w, m, v + epsilon, adam_rate(-rate(lr), power1(beta1_power), 0.0))

    return update


def rms_prop(ctx: KernelContext) -> Update:
    """ms = rho * ms + (1 - rho) * grad²; mom = momentum * mom + lr * grad / sqrt(ms + epsilon)."""
    rate, decay = hyper(ctx, "lr"), hyper(ctx, "rho")

    def update(
        w: Tensor, ms: Tensor, mom: Tensor, lr: Any, rho: Any, momentum: Any, epsilon: Any,
        grad: Tensor,
    ) -> None:  # fmt: skip
        decay_squares(ms, grad, rho, 1 - decay(rho))
        add_quotient(mom.mul_(momentum), grad, (ms + epsilon).sqrt_(), rate(lr))
        w.sub_(mom)

    return update


def centered_rms_prop(ctx: KernelContext) -> Update:
    """Like RMSProp, with the variance of the gradient, ms - mg², instead of its mean square."""
    rate, decay, rest_of = hyper(ctx, "lr"), hyper(ctx, "rho"), rest(ctx, "rho")

    def update(
        w: Tensor, mg: Tensor, ms: Tensor, mom: Tensor, lr: Any, rho: Any, momentum: Any,
        epsilon: Any, grad: Tensor,
    ) -> None:  # fmt: skip
        decay_squares(ms, grad, rho, 1 - decay(rho))
        mg.lerp_(grad, rest_of(rho))
        variance = torch.addcmul(ms, mg, mg, value=-1)
        add_quotient(mom.mul_(momentum), grad, variance.add_(epsilon).sqrt_(), rate(lr))
        w.sub_(mom)

    return update


# --- FTRL and proximal updates --------------------------------------------------------------------------


def ftrl(ctx: KernelContext) -> Update:
    """Follow the regularized leader (McMahan et al. 2013): l1 makes exact zeros."""
    update = _ftrl(ctx)
    return lambda w, a, z, grad, lr, l1, l2, power: update(w, a, z, grad, grad, lr, l1, l2, power)


def ftrl_v2(ctx: KernelContext) -> Update:
    """Like `ftrl`, with a penalty on the size of var that is part of the gradient."""
    update = _ftrl(ctx)

    def shrinking(
        w: Tensor, a: Tensor, z: Tensor, grad: Tensor, lr: Any, l1: Any, l2: Any, l2s: Any,
        power: Any,
    ) -> None:  # fmt: skip
        update(w, a, z, grad, torch.addcmul(grad, w, l2s, value=2), lr, l1, l2, power)

    return shrinking


def _ftrl(ctx: KernelContext) -> Update:
    exponent, by_rate = hyper(ctx, "lr_power"), ctx["multiply_linear_by_lr"]

    def update(
        w: Tensor, a: Tensor, z: Tensor, grad: Tensor, shrunk: Tensor, lr: Any, l1: Any,
        l2: Any, lr_power: Any,
    ) -> None:  # fmt: skip
        lr_power = exponent(lr_power)
        old = _power(a, lr_power)
        a.addcmul_(grad, grad)
        new = _power(a, lr_power)
        if by_rate:  # `linear` is kept multiplied by lr
            z.add_(shrunk * lr).sub_(old.neg_().add_(new).mul_(w))
            l1, quadratic = l1 * lr, new.addcmul_(l2, lr, value=2)
        else:
            z.add_(shrunk).sub_(old.neg_().add_(new).mul_(w).div_(lr))
            quadratic = new.div_(lr).add_(l2, alpha=2)
        kept = z.abs() > l1
        w.copy_(torch.where(kept, (z.sign() * l1).sub_(z).div_(quadratic), 0.0))

    return update


def _power(a: Tensor, lr_power: Any) -> Tensor:
    return a.sqrt() if isinstance(lr_power, float) and lr_power == -0.5 else a.pow(-lr_power)


def proximal_gradient_descent(ctx: KernelContext) -> Update:
    """A step of gradient descent, then the proximal step for l1 and l2."""
    rate = hyper(ctx, "alpha")

    def update(w: Tensor, alpha: Any, l1: Any, l2: Any, delta: Tensor) -> None:
        add_scaled(w, delta, -rate(alpha))
        w.copy_(w.sign() * (w.abs() - alpha * l1).clamp_(min=0)).div_(1 + alpha * l2)

    return update


def proximal_adagrad(ctx: KernelContext) -> Update:
    """A step of Adagrad, then the proximal step for l1 and l2 at each element's own rate."""

    def update(w: Tensor, a: Tensor, lr: Any, l1: Any, l2: Any, grad: Tensor) -> None:
        a.addcmul_(grad, grad)
        rates = a.rsqrt().mul_(lr)
        w.addcmul_(grad, rates, value=-1)
        w.copy_(w.sign() * (w.abs() - rates * l1).clamp_(min=0)).div_(rates.mul_(l2).add_(1))

    return update
