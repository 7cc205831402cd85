"""The optimizers' formulas in NumPy: what the dense and the sparse ops must do to their variables.

Each takes the variables, then the values in the order of the dense op's signature; gives new variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

State = tuple[np.ndarray, ...]


def gradient_descent(w: Any, alpha: Any, delta: Any) -> State:
    return (w - alpha * delta,)


def momentum(w: Any, a: Any, lr: Any, g: Any, mu: Any) -> State:
    a = a * mu + g
    return w - lr * a, a


def nesterov_momentum(w: Any, a: Any, lr: Any, g: Any, mu: Any) -> State:
    a = a * mu + g
    return w - g * lr - a * mu * lr, a


def keras_momentum(w: Any, a: Any, lr: Any, g: Any, mu: Any) -> State:
    a = a * mu - g * lr
    return w + a, a


def keras_nesterov(w: Any, a: Any, lr: Any, g: Any, mu: Any) -> State:
    a = a * mu - g * lr
    return w + a * mu - g * lr, a


def amsgrad(
    w: Any, m: Any, v: Any, most: Any, power1: Any, power2: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, g: Any
) -> State:
    m, v = m + (g - m) * (1 - beta1), v + (g * g - v) * (1 - beta2)
    most = np.maximum(most, v)
    return w - lr * np.sqrt(1 - power2) / (1 - power1) * m / (np.sqrt(most) + eps), m, v, most


def adagrad(w: Any, a: Any, lr: Any, g: Any) -> State:
    a = a + g * g
    return w - lr * g / np.sqrt(a), a


def adagrad_fixed(w: Any, a: Any, lr: Any, g: Any) -> State:
    return w - lr * g / np.sqrt(a), a


def adagrad_v2(w: Any, a: Any, lr: Any, eps: Any, g: Any) -> State:
    a = a + g * g
    return w - lr * g / (np.sqrt(a) + eps), a


def adadelta(w: Any, a: Any, u: Any, lr: Any, rho: Any, eps: Any, g: Any) -> State:
    a = a * rho + g * g * (1 - rho)
    step = np.sqrt(u + eps) / np.sqrt(a + eps) * g
    return w - lr * step, a, u * rho + step * step * (1 - rho)


def adagrad_da(w: Any, ga: Any, gs: Any, g: Any, lr: Any, l1: Any, l2: Any, step: Any) -> State:
    ga, gs = ga + g, gs + g * g
    shrunk = np.sign(ga) * np.maximum(np.abs(ga) - l1 * step, 0)
    return -lr * shrunk / (l2 * step * lr + np.sqrt(gs)), ga, gs


def adam(w: Any, m: Any, v: Any, b1p: Any, b2p: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any) -> State:
    alpha = lr * np.sqrt(1 - b2p) / (1 - b1p)
    m, v = m + (g - m) * (1 - b1), v + (g * g - v) * (1 - b2)
    return w - m * alpha / (np.sqrt(v) + eps), m, v


def nesterov_adam(w: Any, m: Any, v: Any, b1p: Any, b2p: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any) -> State:
    alpha = lr * np.sqrt(1 - b2p) / (1 - b1p)
    m, v = m + (g - m) * (1 - b1), v + (g * g - v) * (1 - b2)
    return w - (g * (1 - b1) + b1 * m) * alpha / (np.sqrt(v) + eps), m, v


def ada_max(w: Any, m: Any, v: Any, b1p: Any, lr: Any, b1: Any, b2: Any, eps: Any, g: Any) -> State:
    m, v = m + (g - m) * (1 - b1), np.maximum(b2 * v, np.abs(g))
    return w - lr / (1 - b1p) * m / (v + eps), m, v


def add_sign(w: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, g: Any) -> State:
    m = beta * m + (1 - beta) * g
    return w - lr * (alpha + sign_decay * np.sign(g) * np.sign(m)) * g, m


def power_sign(w: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, g: Any) -> State:
    m = beta * m + (1 - beta) * g
    return w - lr * np.exp(logbase * sign_decay * np.sign(g) * np.sign(m)) * g, m


def rms_prop(w: Any, ms: Any, mom: Any, lr: Any, rho: Any, mu: Any, eps: Any, g: Any) -> State:
    ms = ms + (g * g - ms) * (1 - rho)
    mom = mu * mom + lr * g / np.sqrt(ms + eps)
    return w - mom, ms, mom


def centered_rms_prop(w: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, mu: Any, eps: Any, g: Any) -> State:
    ms, mg = ms + (g * g - ms) * (1 - rho), mg + (g - mg) * (1 - rho)
    mom = mu * mom + lr * g / np.sqrt(ms - mg * mg + eps)
    return w - mom, mg, ms, mom


def ftrl(w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, power: Any) -> State:
    return ftrl_v2(w, a, z, g, lr, l1, l2, 0.0, power)


def ftrl_v2(w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, l2_shrinkage: Any, power: Any) -> State:
    new = a + g * g
    z = z + g + 2 * l2_shrinkage * w - (new**-power - a**-power) / lr * w
    quadratic = new**-power / lr + 2 * l2
    return np.where(np.abs(z) > l1, (l1 * np.sign(z) - z) / quadratic, 0.0), new, z


def ftrl_by_rate(w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, power: Any) -> State:
    """`linear` multiplied by lr, which leaves var as it is in `ftrl`."""
    w, a, z = ftrl(w, a, z / lr, g, lr, l1, l2, power)
    return w, a, z * lr


def proximal_gradient_descent(w: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> State:
    w = w - alpha * delta
    return (np.sign(w) * np.maximum(np.abs(w) - alpha * l1, 0) / (1 + alpha * l2),)


def proximal_adagrad(w: Any, a: Any, lr: Any, l1: Any, l2: Any, g: Any) -> State:
    a = a + g * g
    rate = lr / np.sqrt(a)
    w = w - g * rate
    return np.sign(w) * np.maximum(np.abs(w) - rate * l1, 0) / (1 + rate * l2), a
