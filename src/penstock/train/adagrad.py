"""Adagrad and related optimizers: each element's rate falls with its past gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.client.initializers import constant_initializer
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.ops.basic import identity
from penstock.train.optimizer import Optimizer
from penstock.train.update_op import UpdateOp


class _Accumulating(UpdateOp):
    """Second base of optimizers whose accumulator starts above zero."""

    _slot_inputs: Mapping[str, str] = {"accum": "accumulator"}
    _learning_rate: Any
    _initial_accumulator_value: float
    _name: str
    _zeros_slot: Callable[[Any, str, str], Any]
    _get_or_make_slot: Callable[[Any, Any, str, str], Any]
    _get_or_make_slot_with_initializer: Callable[..., Any]
    _hyper_tensor: Callable[[Any, str], Tensor]

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._constant_slot(var, self._initial_accumulator_value, "accumulator", self._name)

    def _constant_slot(self, var: Any, value: float, slot_name: str, op_name: str) -> None:
        dtype = var.dtype.base_dtype
        if var.get_shape().is_fully_defined():
            initializer = constant_initializer(value, dtype=dtype)
            self._get_or_make_slot_with_initializer(var, initializer, var.get_shape(), dtype, slot_name, op_name)
        else:
            fill = get_op("Fill")(get_op("Shape")(var), get_op("Cast")(value, DstT=dtype))
            self._get_or_make_slot(var, fill, slot_name, op_name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")


def _positive(initial_accumulator_value: float) -> float:
    if initial_accumulator_value <= 0.0:
        raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
    return initial_accumulator_value


@export("train.AdagradOptimizer")
class AdagradOptimizer(Optimizer, _Accumulating):
    """accumulator += gradient²; var -= learning_rate * gradient / sqrt(accumulator) (Duchi et al. 2011).

    TF: tf.train.AdagradOptimizer.
    """

    _op = "Adagrad"

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = _positive(initial_accumulator_value)

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"lr": self._learning_rate_tensor}


@export("train.ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(Optimizer, _Accumulating):
    """Adagrad followed by the proximal step for l1 and l2 at each element's own rate."""

    _op = "ProximalAdagrad"

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = _positive(initial_accumulator_value)
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self) -> None:
        super()._prepare()
        self._l1_tensor = self._hyper_tensor(self._l1_regularization_strength, "l1_regularization_strength")
        self._l2_tensor = self._hyper_tensor(self._l2_regularization_strength, "l2_regularization_strength")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"lr": self._learning_rate_tensor, "l1": self._l1_tensor, "l2": self._l2_tensor}


@export("train.AdagradDAOptimizer")
class AdagradDAOptimizer(Optimizer, _Accumulating):
    """Dual averaging: each step recomputes var from the sums of all gradients and of their squares.

    `global_step` is the int64 variable that counts the steps. TF: tf.train.AdagradDAOptimizer.
    """

    _op = "AdagradDA"
    _slot_inputs: Mapping[str, str] = {
        "gradient_accumulator": "gradient_accumulator",
        "gradient_squared_accumulator": "gradient_squared_accumulator",
    }

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            value = initial_gradient_squared_accumulator_value
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._global_step = global_step
        self._initial_value = initial_gradient_squared_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_accumulator", self._name)
            name = "gradient_squared_accumulator"
            self._constant_slot(var, self._initial_value, name, self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._l1_tensor = self._hyper_tensor(self._l1_regularization_strength, "l1_regularization_strength")
        self._l2_tensor = self._hyper_tensor(self._l2_regularization_strength, "l2_regularization_strength")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"lr": self._learning_rate_tensor, "l1": self._l1_tensor, "l2": self._l2_tensor}

    def _own_variables(self, var: Any) -> dict[str, Any]:
        return {"global_step": identity(self._global_step) + 1}
