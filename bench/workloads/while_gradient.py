"""The gradient through a tf.while_loop of 200 iterations, each a tanh of 10 numbers that is kept for the way back."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

ITERATIONS, SIZE = 200, 10


def build(tf: ModuleType) -> Callable[[], float]:
    x = tf.placeholder(tf.float32, [SIZE])
    _, y = tf.while_loop(lambda i, h: i < ITERATIONS, lambda i, h: (i + 1, tf.tanh(h)), (tf.constant(0), x))
    (gradient,) = tf.gradients(tf.reduce_sum(y), x)
    session = tf.Session()
    x_value = np.random.RandomState(0).uniform(0.1, 1, SIZE).astype(np.float32)

    def step() -> float:
        return float(session.run(gradient, {x: x_value}).sum())

    return step
