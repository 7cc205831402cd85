"""Follow the regularized leader: online learning of sparse models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.initializers import constant_initializer
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.train.optimizer import Optimizer
from penstock.train.update_op import UpdateOp


@export("train.FtrlOptimizer")
class FtrlOptimizer(Optimizer, UpdateOp):
    """FTRL-Proximal (McMahan et al. 2013): l1 makes weights exactly zero.

    `l2_shrinkage_regularization_strength` penalises large weights like a term of the loss; `l2_regularization_strength`
    stabilises. TF: tf.train.FtrlOptimizer.
    """

    _slot_inputs: Mapping[str, str] = {"accum": "accum", "linear": "linear"}

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        not_negative = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for key, value in not_negative.items():
            if value < 0.0:
                raise ValueError(f"{key} {value} needs to be be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._accum_name, self._linear_name = accum_name, linear_name
        self._op = "FtrlV2" if l2_shrinkage_regularization_strength > 0.0 else "Ftrl"

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            dtype = var.dtype.base_dtype
            start = constant_initializer(self._initial_accumulator_value, dtype=dtype)
            name = self._accum_name or self._name
            self._get_or_make_slot_with_initializer(var, start, var.get_shape(), dtype, "accum", name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")
        self._l1_tensor = self._hyper_tensor(self._l1_regularization_strength, "l1_regularization_strength")
        self._l2_tensor = self._hyper_tensor(self._l2_regularization_strength, "l2_regularization_strength")
        self._learning_rate_power_tensor = self._hyper_tensor(self._learning_rate_power, "learning_rate_power")
        if self._op == "FtrlV2":
            self._l2_shrinkage_tensor = self._hyper_tensor(
                self._l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength"
            )

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        hypers = {
            "lr": self._learning_rate_tensor,
            "l1": self._l1_tensor,
            "l2": self._l2_tensor,
            "lr_power": self._learning_rate_power_tensor,
        }
        return hypers | ({"l2_shrinkage": self._l2_shrinkage_tensor} if self._op == "FtrlV2" else {})
