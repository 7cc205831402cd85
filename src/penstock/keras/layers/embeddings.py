"""Vectors for numbers (TF: tf.keras.layers.Embedding)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import backend as K, constraints, initializers, regularizers
from penstock.keras.engine.layer import Layer
from penstock.keras.nested import flat
from penstock.ops.cast import cast
from penstock.ops.compare import not_equal
from penstock.ops.filling import zeros_like
from penstock.ops.nn.embedding import embedding_lookup


@export("keras.layers.Embedding")
class Embedding(Layer):
    """Integers [n, ...] below `input_dim` as vectors [n, ..., output_dim]; with `mask_zero`, 0 does not count."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        activity_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        input_length: Any = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (None,) if input_length is None else tuple(flat(input_length))
        kwargs.pop("dtype", None)  # that of the numbers
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), dtype=K.floatx(), **kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = self.supports_masking = mask_zero
        self.input_length = input_length

    def build(self, input_shape: Any) -> None:
        self.embeddings = self.add_weight(
            "embeddings", [self.input_dim, self.output_dim], None, self.embeddings_initializer,
            self.embeddings_regularizer, constraint=self.embeddings_constraint,
        )  # fmt: skip

    def call(self, inputs: Any) -> Any:
        return embedding_lookup(self.embeddings, inputs if inputs.dtype.is_integer else cast(inputs, "int32"))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return not_equal(inputs, zeros_like(inputs)) if self.mask_zero else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "input_dim": self.input_dim}
