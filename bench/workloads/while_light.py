"""A tf.while_loop of 1,000 iterations, each a tanh of 10 numbers: what an iteration costs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

ITERATIONS, SIZE = 1000, 10


def data() -> np.ndarray:
    """The vector before the first iteration, [SIZE] float32."""
    return np.random.RandomState(0).uniform(0.1, 1, SIZE).astype(np.float32)


def build(tf: ModuleType) -> Callable[[], float]:
    x = tf.placeholder(tf.float32, [SIZE])
    _, y = tf.while_loop(lambda i, h: i < ITERATIONS, lambda i, h: (i + 1, tf.tanh(h)), (tf.constant(0), x))
    session = tf.Session()
    x_value = data()

    def step() -> float:
        return float(session.run(y, {x: x_value}).sum())

    return step


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    """With a Python loop, torch's own."""
    x_value = data()

    def step() -> float:
        h = torch.from_numpy(x_value)
        for _ in range(ITERATIONS):
            h = torch.tanh(h)
        return float(h.sum())

    return step


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    @jax.jit
    def loop(x: Any) -> Any:
        def body(state: Any) -> Any:
            i, h = state
            return i + 1, jax.numpy.tanh(h)

        return jax.lax.while_loop(lambda state: state[0] < ITERATIONS, body, (0, x))[1]

    x_value = data()

    def step() -> float:
        return float(np.asarray(loop(x_value)).sum())

    return step
