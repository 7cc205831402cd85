"""Activations by name (TF: tf.keras.activations)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import more_nodes
from penstock.keras import backend as K
from penstock.keras.named import described, find


@export("keras.activations.linear")
def linear(x: Any) -> Any:
    """`x` itself."""
    return x


@export("keras.activations.softmax")
def softmax(x: Any, axis: int = -1) -> Any:
    """Probabilities along `axis`."""
    return K.softmax(x, axis)


@export("keras.activations.relu")
def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """x from `threshold` on, at most `max_value`; below it alpha * (x - threshold)."""
    return K.relu(x, alpha, max_value, threshold)


@export("keras.activations.elu")
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) below zero."""
    return K.elu(x, alpha)


@export("keras.activations.selu")
def selu(x: Any) -> Any:
    """A scaled elu under which activations stay normalised."""
    more_nodes(7)  # TensorFlow's is made of elu
    return nn.selu(x)


@export("keras.activations.softplus")
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return nn.softplus(x)


@export("keras.activations.softsign")
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return nn.softsign(x)


@export("keras.activations.tanh")
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return nn.tanh(x)


@export("keras.activations.sigmoid")
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return nn.sigmoid(x)


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: Any) -> Any:
    """0.2 * x + 0.5, within 0 and 1."""
    return K.hard_sigmoid(x)


@export("keras.activations.exponential")
def exponential(x: Any) -> Any:
    """exp(x)."""
    return K.exp(x)


@export("keras.activations.get")
def get(identifier: Any) -> Any:
    """The function with this name; None is `linear`, and a function is itself."""
    return linear if identifier is None else find("activations", identifier)


@export("keras.activations.deserialize")
def deserialize(name: str, custom_objects: Any = None) -> Any:
    """The function with this name."""
    return find("activations", name, custom_objects)


@export("keras.activations.serialize")
def serialize(activation: Any) -> Any:
    """The name of a function."""
    return described(activation)
