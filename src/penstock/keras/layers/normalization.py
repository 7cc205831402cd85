"""Normalisation of batches and of examples (TF: tf.keras.layers.BatchNormalization, LayerNormalization)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import more_nodes
from penstock.keras import backend as K, constraints, initializers, regularizers
from penstock.keras.engine.layer import Layer
from penstock.keras.nested import flat
from penstock.layers import normalization
from penstock.tensor.shapes import TensorShape


@export("keras.layers.BatchNormalization")
class BatchNormalization(normalization.BatchNormalization, Layer):
    """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta for each entry of `axis`.

    In training, mean and variance are the batch's, and moving ones follow them with the model's training step;
    otherwise the moving ones are used.
    """

    supports_masking = True

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        moving_mean_initializer: Any = "zeros",
        moving_variance_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            axis, momentum, epsilon, center, scale, initializers.get(beta_initializer),
            initializers.get(gamma_initializer), initializers.get(moving_mean_initializer),
            initializers.get(moving_variance_initializer), regularizers.get(beta_regularizer),
            regularizers.get(gamma_regularizer), constraints.get(beta_constraint), constraints.get(gamma_constraint),
            **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(TensorShape(input_shape))

    def call(self, inputs: Any, training: Any = None) -> Any:
        more_nodes(8 + self.center + self.scale)  # statistics and weights are read
        return super().call(inputs, K.learning_phase() if training is None else training)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


@export("keras.layers.LayerNormalization")
class LayerNormalization(Layer):
    """(inputs - mean) / sqrt(variance + epsilon) * gamma + beta, of the elements of each example along `axis`, one or
    several."""

    supports_masking = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape).as_list()
        self._axes = sorted(axis % len(shape) for axis in flat(self.axis))
        self._broadcast = [size if i in self._axes else 1 for i, size in enumerate(shape)]
        sizes = [shape[i] for i in self._axes]
        if self.scale:
            self.gamma = self.add_weight(
                "gamma", sizes, None, self.gamma_initializer, self.gamma_regularizer, constraint=self.gamma_constraint
            )
        if self.center:
            self.beta = self.add_weight(
                "beta", sizes, None, self.beta_initializer, self.beta_regularizer, constraint=self.beta_constraint
            )
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        mean, variance = nn.moments(inputs, self._axes, keep_dims=True)
        gamma = K.reshape(self.gamma, self._broadcast) if self.scale else None
        beta = K.reshape(self.beta, self._broadcast) if self.center else None
        return nn.batch_normalization(inputs, mean, variance, beta, gamma, self.epsilon)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
