"""Batch normalisation (TF: tf.keras.layers.BatchNormalization)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import backend as K, constraints, initializers, regularizers
from penstock.keras.engine.layer import Layer
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
        return super().call(inputs, K.learning_phase() if training is None else training)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
