"""What weights are made to fulfil after each update (TF: tf.keras.constraints)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.named import described, made
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import sqrt, square


@export("keras.constraints.Constraint")
class Constraint:
    """A function from a weight to one that fulfils the constraint. Subclasses define `__call__`."""

    _fields: tuple[str, ...] = ()

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self._fields}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


def _norm(w: Any, axis: Any) -> Any:
    return sqrt(reduce_sum(square(w), axis, True))


@export("keras.constraints.MaxNorm", "keras.constraints.max_norm", "keras.constraints.maxnorm")
class MaxNorm(Constraint):
    """Scales weights down whose norm along `axis` is greater than `max_value`."""

    _fields = ("max_value", "axis")

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norm(w, self.axis)
        return w * (K.clip(norms, 0, self.max_value) / (K.epsilon() + norms))


@export("keras.constraints.NonNeg", "keras.constraints.non_neg", "keras.constraints.nonneg")
class NonNeg(Constraint):
    """Sets negative weights to zero."""

    def __call__(self, w: Any) -> Any:
        return w * K.cast(K.greater_equal(w, 0.0), K.floatx())


@export("keras.constraints.UnitNorm", "keras.constraints.unit_norm", "keras.constraints.unitnorm")
class UnitNorm(Constraint):
    """Scales weights to norm 1 along `axis`."""

    _fields = ("axis",)

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (K.epsilon() + _norm(w, self.axis))


@export("keras.constraints.MinMaxNorm", "keras.constraints.min_max_norm")
class MinMaxNorm(Constraint):
    """Scales weights towards a norm between two values; `rate` 1 reaches it at once."""

    _fields = ("min_value", "max_value", "rate", "axis")

    def __init__(self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norm(w, self.axis)
        wanted = self.rate * K.clip(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (K.epsilon() + norms))


@export("keras.constraints.get")
def get(identifier: Any) -> Any:
    """The constraint with this name or description; None and functions are themselves."""
    return None if identifier is None else made("constraints", identifier)


@export("keras.constraints.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The constraint that plain data describes."""
    return made("constraints", config, custom_objects)


@export("keras.constraints.serialize")
def serialize(constraint: Any) -> Any:
    """Plain data from which the constraint can be made again."""
    return described(constraint)
