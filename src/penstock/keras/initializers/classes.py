"""Initialisers by name: those of tf.initializers, with Keras' defaults (TF: tf.keras.initializers)."""

from __future__ import annotations

from typing import Any

from penstock.client import initializers
from penstock.export import export
from penstock.keras.named import described, made

Initializer = export("keras.initializers.Initializer")(initializers.Initializer)
Zeros = export(
    "keras.initializers.Zeros", "keras.initializers.zeros", "keras.initializers.zero"
)(initializers.Zeros)  # fmt: skip
Ones = export("keras.initializers.Ones", "keras.initializers.ones", "keras.initializers.one")(initializers.Ones)
Constant = export("keras.initializers.Constant", "keras.initializers.constant")(initializers.Constant)
Identity = export("keras.initializers.Identity", "keras.initializers.identity")(initializers.Identity)
Orthogonal = export("keras.initializers.Orthogonal", "keras.initializers.orthogonal")(initializers.Orthogonal)
VarianceScaling = export("keras.initializers.VarianceScaling")(initializers.VarianceScaling)
GlorotUniform = export("keras.initializers.GlorotUniform", "keras.initializers.glorot_uniform")(
    initializers.GlorotUniform
)
GlorotNormal = export("keras.initializers.GlorotNormal", "keras.initializers.glorot_normal")(initializers.GlorotNormal)
lecun_normal = export("keras.initializers.lecun_normal")(initializers.lecun_normal)
lecun_uniform = export("keras.initializers.lecun_uniform")(initializers.lecun_uniform)
he_normal = export("keras.initializers.he_normal")(initializers.he_normal)
he_uniform = export("keras.initializers.he_uniform")(initializers.he_uniform)


@export("keras.initializers.RandomNormal", "keras.initializers.random_normal", "keras.initializers.normal")
class RandomNormal(initializers.RandomNormal):
    """Normally distributed numbers."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = "float32") -> None:
        super().__init__(mean, stddev, seed, dtype)


@export("keras.initializers.RandomUniform", "keras.initializers.random_uniform", "keras.initializers.uniform")
class RandomUniform(initializers.RandomUniform):
    """Uniformly distributed numbers."""

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = "float32"
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


@export("keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal")
class TruncatedNormal(initializers.TruncatedNormal):
    """Normally distributed numbers within two standard deviations."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = "float32") -> None:
        super().__init__(mean, stddev, seed, dtype)


@export("keras.initializers.get")
def get(identifier: Any) -> Any:
    """The initialiser with this name or description; None and functions are themselves."""
    return None if identifier is None else made("initializers", identifier)


@export("keras.initializers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The initialiser that plain data describes."""
    return made("initializers", config, custom_objects)


@export("keras.initializers.serialize")
def serialize(initializer: Any) -> Any:
    """Plain data from which the initialiser can be made again."""
    return described(initializer)
