"""Seeds of Keras as a package of its own: it drew them from NumPy, so that `np.random.seed` fixes what is at random.

Facts from Keras 2.2.5 (`keras.initializers`, `keras.backend.tensorflow_backend`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.client import initializers
from penstock.graph.convert import convert_to_tensor
from penstock.keras.backend.calls import running
from penstock.keras.layers.core import Dropout

_DRAWING = (initializers.RandomNormal, initializers.RandomUniform, initializers.TruncatedNormal,
            initializers.VarianceScaling)  # fmt: skip


def take_seeds() -> None:
    """Weights and masks of Keras' layers that have no seed get one from NumPy."""
    for kind in _DRAWING:
        kind.__call__ = _seeded(kind.__call__, _in_layer)  # type: ignore[method-assign]
    initializers.Orthogonal.__call__ = _of_numpy(initializers.Orthogonal.__call__)  # type: ignore[method-assign]
    Dropout.call = _seeded(Dropout.call, lambda layer: 0.0 < layer.rate < 1.0)  # type: ignore[method-assign]


def _in_layer(_: Any) -> bool:
    return bool(running.calls)


def _seeded(function: Callable[..., Any], when: Callable[[Any], bool]) -> Callable[..., Any]:
    @functools.wraps(function)
    def seeded(owner: Any, *args: Any, **kwargs: Any) -> Any:
        if owner.seed is not None or not when(owner):
            return function(owner, *args, **kwargs)
        owner.seed = np.random.randint(10_000_000)
        try:
            return function(owner, *args, **kwargs)
        finally:
            owner.seed = None  # the next call draws another

    return seeded


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def orthogonal(owner: Any, shape: Any, dtype: Any = None, partition_info: Any = None, **kwargs: Any) -> Any:
        if not running.calls:
            return function(owner, shape, dtype, partition_info, **kwargs)
        sizes = [int(size) for size in shape]
        flat = int(np.prod(sizes[:-1])), sizes[-1]
        random: Any = np.random if owner.seed is None else np.random.RandomState(owner.seed)
        left, _, right = np.linalg.svd(random.normal(0.0, 1.0, flat), full_matrices=False)
        chosen = left if left.shape == flat else right
        return convert_to_tensor(owner.gain * chosen.reshape(sizes), dtype=dtype or "float32")

    return orthogonal
