"""A chain of pairs of ops, a tanh and a multiplication by a constant: the text of `elementwise` and `tiny_ops`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Chain:
    size: int  # of the vector
    pairs: int

    def data(self) -> np.ndarray:
        """The vector at the start, [size] float32: positive, so that its mean loses no digits."""
        return np.random.RandomState(0).uniform(0.1, 1, self.size).astype(np.float32)

    def factors(self) -> list[float]:
        """One for each pair, all different so no two ops are equal; above 1, so the values do not vanish."""
        return [float(factor) for factor in np.linspace(1.1, 1.3, self.pairs, dtype=np.float32)]

    def build(self, tf: ModuleType) -> Callable[[], float]:
        x = tf.placeholder(tf.float32, [self.size])
        h = x
        for factor in self.factors():
            h = tf.tanh(h) * factor
        mean = tf.reduce_mean(h)
        session = tf.Session()
        x_value = self.data()
        return lambda: float(session.run(mean, {x: x_value}))

    def torch_eager(self, torch: ModuleType) -> Callable[[], float]:
        x_value, factors = self.data(), self.factors()

        def step() -> float:
            h = torch.from_numpy(x_value)
            for factor in factors:
                h = torch.tanh(h) * factor
            return float(h.mean())

        return step

    def jax_jit(self, jax: ModuleType) -> Callable[[], float]:
        factors = self.factors()

        @jax.jit
        def mean(x: Any) -> Any:
            for factor in factors:
                x = jax.numpy.tanh(x) * factor
            return x.mean()

        x_value = self.data()
        return lambda: float(mean(x_value))
