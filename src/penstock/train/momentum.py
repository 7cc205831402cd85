"""Gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.train.optimizer import Optimizer
from penstock.train.update_op import UpdateOp


@export("train.MomentumOptimizer")
class MomentumOptimizer(Optimizer, UpdateOp):
    """accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation.

    `use_nesterov`: the gradient is taken at the point that the momentum leads to (Sutskever et al. 2013). TF:
    tf.train.MomentumOptimizer.
    """

    _op = "Momentum"
    _slot_inputs: Mapping[str, str] = {"accum": "momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._hyper_tensor(self._momentum, "momentum")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"lr": self._learning_rate_tensor, "momentum": self._momentum_tensor}

    def _attrs(self) -> dict[str, Any]:
        return {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov}
