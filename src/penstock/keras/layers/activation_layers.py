"""Activations with parameters (TF: tf.keras.layers.LeakyReLU, PReLU, ...)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import more_nodes
from penstock.keras import backend as K, constraints, initializers, regularizers
from penstock.keras.engine.layer import Layer
from penstock.keras.nested import flat
from penstock.ops.cast import cast
from penstock.tensor.shapes import TensorShape


class _Elementwise(Layer):
    supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@export("keras.layers.LeakyReLU")
class LeakyReLU(_Elementwise):
    """x, or alpha * x below zero."""

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return nn.leaky_relu(inputs, self.alpha)


@export("keras.layers.PReLU")
class PReLU(_Elementwise):
    """x, or alpha * x below zero, with a trained alpha for each element, shared along `shared_axes`."""

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = None if shared_axes is None else flat(shared_axes)

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()[1:]
        for axis in self.shared_axes or []:
            sizes[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha", sizes, None, self.alpha_initializer, self.alpha_regularizer, constraint=self.alpha_constraint
        )

    def call(self, inputs: Any) -> Any:
        more_nodes(2)  # the weights are read, and turned around
        return nn.relu(inputs) - self.alpha * nn.relu(-inputs)


@export("keras.layers.ELU")
class ELU(_Elementwise):
    """x, or alpha * (exp(x) - 1) below zero."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: Any) -> Any:
        return K.elu(inputs, self.alpha)


@export("keras.layers.ThresholdedReLU")
class ThresholdedReLU(_Elementwise):
    """x above theta, otherwise 0."""

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Any:
        return inputs * cast(inputs > self.theta, inputs.dtype)


@export("keras.layers.Softmax")
class Softmax(_Elementwise):
    """Probabilities along `axis`."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return nn.softmax(inputs, self.axis)


@export("keras.layers.ReLU")
class ReLU(_Elementwise):
    """x from `threshold` on, at most `max_value`; below it negative_slope * (x - threshold)."""

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0.0, threshold: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        return K.relu(inputs, self.negative_slope, self.max_value, self.threshold)
