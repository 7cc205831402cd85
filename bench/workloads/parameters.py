"""Parameters and data of the classifiers: NumPy constants, the same for every framework."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def he_normal(rng: np.random.RandomState, *shape: int) -> np.ndarray:
    """Weights [..., in, out] float32 that keep the size of a signal through a relu."""
    fan_in = np.prod(shape[:-1])
    return (rng.randn(*shape) * np.sqrt(2 / fan_in)).astype(np.float32)


def zeros(size: int) -> np.ndarray:
    return np.zeros(size, np.float32)


def examples(shape: Sequence[int], classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs `shape` float32 and labels [shape[0]] int32."""
    rng = np.random.RandomState(0)
    return rng.randn(*shape).astype(np.float32), rng.randint(0, classes, shape[0]).astype(np.int32)
