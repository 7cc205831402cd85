"""Initializers that keep the variance of activations (TF: tf.contrib.layers.xavier_initializer, …)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.random import random_uniform, truncated_normal
from penstock.tensor.dtypes import DType, as_dtype, float32

Initializer = Callable[..., Tensor]


@export("contrib.layers.variance_scaling_initializer", "contrib.slim.variance_scaling_initializer")
def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: Any = float32
) -> Initializer:
    """An initializer of variance factor / n, where n counts inputs, outputs, or is their mean.

    mode: "FAN_IN", "FAN_OUT", "FAN_AVG". Drawn from a normal distribution truncated at two standard deviations (widened
    by 1.3 to compensate), or with `uniform` from an interval. The defaults are He's (2015). Raises TypeError for an
    invalid mode or a dtype that is not floating. TF: tf.contrib.layers.variance_scaling_initializer.
    """
    own = _floating(dtype)
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"mode must be 'FAN_IN', 'FAN_OUT' or 'FAN_AVG', got {mode!r}")

    def initializer(shape: Any, dtype: Any = own, partition_info: Any = None) -> Tensor:
        dims = [int(d) for d in shape]
        field = math.prod(dims[:-2])
        inputs, outputs = (field * dims[-2:][0], field * dims[-1]) if dims else (1, 1)
        n = {"FAN_IN": inputs, "FAN_OUT": outputs, "FAN_AVG": (inputs + outputs) / 2}[mode]
        if uniform:
            limit = math.sqrt(3 * factor / n)
            return random_uniform(shape, -limit, limit, _floating(dtype), seed=seed)
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), _floating(dtype), seed=seed)

    return initializer


def _floating(dtype: Any) -> DType:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise TypeError(f"Cannot create initializer for non-floating point type {dtype.name}")
    return dtype


@export(
    "contrib.layers.xavier_initializer",
    "contrib.layers.xavier_initializer_conv2d",
    "contrib.slim.xavier_initializer",
    "contrib.slim.xavier_initializer_conv2d",
)
def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: Any = float32) -> Initializer:
    """Glorot and Bengio's (2010): variance 2 / (inputs + outputs), uniform or normal.

    TF: tf.contrib.layers.xavier_initializer.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
