"""Penalties on weights and activations (TF: tf.keras.regularizers)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import constant
from penstock.keras.named import described, made
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import square


@export("keras.regularizers.Regularizer")
class Regularizer:
    """A function of a tensor that returns a loss. Subclasses define `__call__` and `get_config`."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x²)."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x: Any) -> Any:
        loss: Any = 0.0
        if self.l1:
            loss += reduce_sum(self.l1 * abs(x))
        if self.l2:
            loss += reduce_sum(self.l2 * square(x))
        return loss if self.l1 or self.l2 else constant(0.0)

    def get_config(self) -> dict[str, Any]:
        return {"l1": self.l1, "l2": self.l2}


@export("keras.regularizers.l1")
def l1(l: float = 0.01) -> L1L2:
    """l * sum(|x|)."""
    return L1L2(l1=l)


@export("keras.regularizers.l2")
def l2(l: float = 0.01) -> L1L2:
    """l * sum(x²)."""
    return L1L2(l2=l)


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """l1 * sum(|x|) + l2 * sum(x²)."""
    return L1L2(l1, l2)


@export("keras.regularizers.get")
def get(identifier: Any) -> Any:
    """The regulariser with this name or description; None and functions are themselves."""
    return None if identifier is None else made("regularizers", identifier)


@export("keras.regularizers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The regulariser that plain data describes."""
    return made("regularizers", config, custom_objects)


@export("keras.regularizers.serialize")
def serialize(regularizer: Any) -> Any:
    """Plain data from which the regulariser can be made again."""
    return described(regularizer)
