"""Losses as objects with arguments (TF: tf.keras.losses.Loss)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.keras.losses import functions
from penstock.ops.array import expand_dims, squeeze
from penstock.ops.cast import cast
from penstock.ops.reduce import reduce_mean, reduce_sum


@export("keras.losses.Loss")
class Loss:
    """Subclasses define `call(y_true, y_pred)`, with one number for each sample as its result.

    Called as a loss itself, it returns their mean, each times its `sample_weight`; reduction "sum" or "none" leaves the
    sum, or all of them.
    """

    def __init__(self, reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        if reduction not in ("auto", "sum_over_batch_size", "sum", "none"):
            raise ValueError(f"Invalid Reduction Key {reduction}.")
        self.reduction, self.name = reduction, name

    def call(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError("Must be implemented in subclasses.")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_pred = convert_to_tensor(y_pred)
        return weighted_mean(self.call(cast(y_true, y_pred.dtype), y_pred), sample_weight, self.reduction)

    def get_config(self) -> dict[str, Any]:
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


def weighted_mean(losses: Any, weights: Any, reduction: str = "sum_over_batch_size") -> Any:
    """The sum of losses times weights, over the number of losses. Weights may lack the last axes of losses."""
    losses = convert_to_tensor(losses)
    if weights is not None:
        weights = cast(weights, losses.dtype)
        if losses.shape.ndims is not None and weights.shape.ndims is not None:
            for _ in range(weights.shape.ndims, losses.shape.ndims):
                weights = expand_dims(weights, -1)
            if weights.shape.ndims == losses.shape.ndims + 1:
                weights = squeeze(weights, [-1])
        losses *= weights
    if reduction == "none":
        return losses
    return reduce_sum(losses) if reduction == "sum" else reduce_mean(losses)


class _OfFunction(Loss):
    """A loss function with its further arguments."""

    function: Any

    def __init__(self, reduction: str = "sum_over_batch_size", name: str | None = None, **arguments: Any) -> None:
        super().__init__(reduction, name or type(self).function.__name__)
        self._arguments = arguments

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return type(self).function(y_true, y_pred, **self._arguments)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._arguments}


@export("keras.losses.MeanSquaredError")
class MeanSquaredError(_OfFunction):
    function = staticmethod(functions.mean_squared_error)


@export("keras.losses.MeanAbsoluteError")
class MeanAbsoluteError(_OfFunction):
    function = staticmethod(functions.mean_absolute_error)


@export("keras.losses.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(_OfFunction):
    function = staticmethod(functions.mean_absolute_percentage_error)


@export("keras.losses.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(_OfFunction):
    function = staticmethod(functions.mean_squared_logarithmic_error)


@export("keras.losses.BinaryCrossentropy")
class BinaryCrossentropy(_OfFunction):
    function = staticmethod(functions.binary_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = "sum_over_batch_size",
        name: str = "binary_crossentropy",
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


@export("keras.losses.CategoricalCrossentropy")
class CategoricalCrossentropy(_OfFunction):
    function = staticmethod(functions.categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = "sum_over_batch_size",
        name: str = "categorical_crossentropy",
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits, label_smoothing=label_smoothing)


@export("keras.losses.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(_OfFunction):
    function = staticmethod(functions.sparse_categorical_crossentropy)

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = "sum_over_batch_size",
        name: str = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(reduction, name, from_logits=from_logits)


@export("keras.losses.Huber")
class Huber(_OfFunction):
    function = staticmethod(functions.huber_loss)

    def __init__(self, delta: float = 1.0, reduction: str = "sum_over_batch_size", name: str = "huber_loss") -> None:
        super().__init__(reduction, name, delta=delta)


@export("keras.losses.Hinge")
class Hinge(_OfFunction):
    function = staticmethod(functions.hinge)


@export("keras.losses.LogCosh")
class LogCosh(_OfFunction):
    function = staticmethod(functions.logcosh)
