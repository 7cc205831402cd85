"""The gradient through a tf.while_loop of 200 iterations, each a tanh of 10 numbers that is kept for the way back."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

ITERATIONS, SIZE = 200, 10


def data() -> np.ndarray:
    """The vector before the first iteration, [SIZE] float32."""
    return np.random.RandomState(0).uniform(0.1, 1, SIZE).astype(np.float32)


def build(tf: ModuleType) -> Callable[[], float]:
    x = tf.placeholder(tf.float32, [SIZE])
    _, y = tf.while_loop(lambda i, h: i < ITERATIONS, lambda i, h: (i + 1, tf.tanh(h)), (tf.constant(0), x))
    (gradient,) = tf.gradients(tf.reduce_sum(y), x)
    session = tf.Session()
    x_value = data()

    def step() -> float:
        return float(session.run(gradient, {x: x_value}).sum())

    return step


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    """With a Python loop, torch's own."""
    x_value = data()

    def step() -> float:
        x = h = torch.from_numpy(x_value).requires_grad_()
        for _ in range(ITERATIONS):
            h = torch.tanh(h)
        (gradient,) = torch.autograd.grad(h.sum(), x)
        return float(gradient.sum())

    return step


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    def last(x: Any) -> Any:
        return jax.lax.fori_loop(0, ITERATIONS, lambda i, h: jax.numpy.tanh(h), x).sum()

    gradient = jax.jit(jax.grad(last))
    x_value = data()
    return lambda: float(np.asarray(gradient(x_value)).sum())
