"""Feeding 16 MiB of floats and fetching their sum."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

SIZE = 2**22


def data() -> np.ndarray:
    """[SIZE] float32, between 0 and 1."""
    return np.random.RandomState(0).uniform(0, 1, SIZE).astype(np.float32)


def build(tf: ModuleType) -> Callable[[], float]:
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x)
    session = tf.Session()
    x_value = data()
    return lambda: float(session.run(total, {x: x_value}))


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    x_value = data()
    return lambda: float(torch.from_numpy(x_value).sum())


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    total = jax.jit(jax.numpy.sum)
    x_value = data()
    return lambda: float(total(x_value))
