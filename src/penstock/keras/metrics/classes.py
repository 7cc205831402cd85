"""Metrics that are kept in variables over steps (TF: tf.keras.metrics.Metric)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.client.default_names import snake_case
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, more_nodes, name_scope
from penstock.keras import backend as K
from penstock.keras.backend.calls import running
from penstock.keras.backend.state import unique_name
from penstock.keras.losses import functions as losses
from penstock.keras.metrics import functions
from penstock.keras.named import made
from penstock.keras.nested import flat
from penstock.ops.array import expand_dims, squeeze
from penstock.ops.cast import cast
from penstock.ops.compare import equal
from penstock.ops.confusion_matrix import remove_squeezable_dimensions
from penstock.ops.division import div_no_nan
from penstock.ops.filling import ones_like
from penstock.ops.reduce import reduce_sum
from penstock.tensor.dtypes import as_dtype


@export("keras.metrics.Metric")
class Metric:
    """Subclasses create variables with `add_weight`, and define `update_state(y_true, y_pred)` and `result()`."""

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.dtype = as_dtype(dtype or K.floatx())
        self.weights: list[Any] = []

    def add_weight(self, name: str, shape: Any = (), initializer: Any = "zeros", dtype: Any = None) -> Any:
        """A variable that `reset_states` sets back."""
        kind = as_dtype(dtype or self.dtype)
        make = made("initializers", initializer)
        with control_dependencies(None), name_scope(self.name):
            weight = Variable(lambda: make(shape, dtype=kind), trainable=False, dtype=kind, name=name)
        more_nodes(1)  # TensorFlow's variables of Keras are resources
        self.weights.append(weight)
        return weight

    variables = property(lambda self: self.weights)

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Nodes that take a step into account."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def result(self) -> Any:
        """The value over the steps so far."""
        raise NotImplementedError("Must be implemented in subclasses.")

    def reset_states(self) -> None:
        """Begin anew."""
        K.batch_set_value([(weight, np.zeros(weight.shape.as_list())) for weight in self.weights])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value, a step with these arguments included."""
        with control_dependencies(flat(self.update_state(*args, **kwargs))):
            result = self.result()
        if isinstance(result, Tensor):
            result._metric_obj = self  # type: ignore[attr-defined]
            for call in running.calls:
                call.called.append((self, result))
        return result

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


def weighted(values: Any, weights: Any, dtype: Any) -> tuple[Any, Any]:
    """Values times weights, and the weights in their shape, 1 by default; weights may lack the last axes."""
    values = cast(values, dtype)
    if weights is None:
        return values, ones_like(values)
    weights = cast(weights, dtype)
    if weights.shape.ndims == values.shape.ndims + 1:
        weights = squeeze(weights, [-1])
    while len(weights.shape) < len(values.shape):
        weights = expand_dims(weights, -1)
    weights = weights * ones_like(values)
    return values * weights, weights


@export("keras.metrics.Mean")
class Mean(Metric):
    """The mean of values, each times its weight."""

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values, weights = weighted(values, sample_weight, self.dtype)
        return [self.total.assign_add(reduce_sum(values)).op, self.count.assign_add(reduce_sum(weights)).op]

    def result(self) -> Any:
        return div_no_nan(self.total.read_value(), self.count.read_value())


class MeanOf(Mean):
    """The mean of a function of targets and predictions."""

    function: Any

    def __init__(self, name: str | None = None, dtype: Any = None, **arguments: Any) -> None:
        super().__init__(name or snake_case(type(self).__name__), dtype)
        self._arguments = arguments

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        y_true, y_pred = remove_squeezable_dimensions(cast(y_true, self.dtype), cast(y_pred, self.dtype))
        return super().update_state(type(self).function(y_true, y_pred, **self._arguments), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._arguments}


@export("keras.metrics.Accuracy")
class Accuracy(MeanOf):
    """How often predictions equal targets."""

    function = staticmethod(lambda y_true, y_pred: cast(equal(y_true, y_pred), "float32"))


@export("keras.metrics.BinaryAccuracy")
class BinaryAccuracy(MeanOf):
    """How often predictions above a threshold are ones."""

    function = staticmethod(functions.binary_accuracy)

    def __init__(self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(name, dtype, threshold=threshold)


@export("keras.metrics.CategoricalAccuracy")
class CategoricalAccuracy(MeanOf):
    """How often the most probable class is right."""

    function = staticmethod(functions.categorical_accuracy)


@export("keras.metrics.SparseCategoricalAccuracy")
class SparseCategoricalAccuracy(MeanOf):
    """How often the most probable class is right, for targets that are numbers."""

    function = staticmethod(functions.sparse_categorical_accuracy)


@export("keras.metrics.MeanSquaredError")
class MeanSquaredError(MeanOf):
    """The mean squared error."""

    function = staticmethod(losses.mean_squared_error)


@export("keras.metrics.MeanAbsoluteError")
class MeanAbsoluteError(MeanOf):
    """The mean absolute error."""

    function = staticmethod(losses.mean_absolute_error)
