"""Noise in training (TF: tf.keras.layers.GaussianNoise, ...), whose seeds are those that Keras draws from NumPy."""

from __future__ import annotations

from typing import Any

from penstock import math
from penstock.export import export
from penstock.graph.scopes import more_nodes
from penstock.keras import backend as K
from penstock.keras.engine.layer import Layer
from penstock.ops.array import shape
from penstock.ops.basic import identity
from penstock.ops.cast import cast


class _Noise(Layer):
    supports_masking = True

    def noised(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: Any = None) -> Any:
        return K.in_train_phase(lambda: self.noised(inputs), inputs, training)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@export("keras.layers.GaussianNoise")
class GaussianNoise(_Noise):
    """Adds normally distributed noise."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def noised(self, inputs: Any) -> Any:
        more_nodes(-1)
        return inputs + K.random_normal(shape(inputs), 0.0, self.stddev)


@export("keras.layers.GaussianDropout")
class GaussianDropout(_Noise):
    """Multiplies by noise around 1 of the variance of dropout."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def noised(self, inputs: Any) -> Any:
        more_nodes(-2)
        return inputs * K.random_normal(shape(inputs), 1.0, math.sqrt(self.rate / (1.0 - self.rate)))


@export("keras.layers.AlphaDropout")
class AlphaDropout(_Noise):
    """Dropout that keeps the mean and variance of inputs, for selu."""

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def noised(self, inputs: Any) -> Any:
        if not 0.0 < self.rate < 1.0:
            return identity(inputs)
        dims = shape(inputs) if self.noise_shape is None else self.noise_shape
        dropped = -1.6732632423543772 * 1.0507009873554805  # what selu tends to for small numbers
        kept = cast(K.random_uniform(dims, seed=self.seed) >= self.rate, inputs.dtype)
        scale = ((1 - self.rate) * (1 + self.rate * dropped**2)) ** -0.5
        return scale * (inputs * kept + dropped * (1 - kept)) - scale * dropped * self.rate
