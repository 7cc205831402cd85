"""Adadelta: steps scaled by the ratio of past steps to past gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.train.optimizer import Optimizer
from penstock.train.update_op import UpdateOp


@export("train.AdadeltaOptimizer")
class AdadeltaOptimizer(Optimizer, UpdateOp):
    """Zeiler's (2012) method, which needs no learning rate: `learning_rate` scales its steps.

    TF: tf.train.AdadeltaOptimizer.
    """

    _op = "Adadelta"
    _slot_inputs: Mapping[str, str] = {"accum": "accum", "accum_update": "accum_update"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyper_tensor(self._lr, "lr")
        self._rho_t = self._hyper_tensor(self._rho, "rho")
        self._epsilon_t = self._hyper_tensor(self._epsilon, "epsilon")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"lr": self._lr_t, "rho": self._rho_t, "epsilon": self._epsilon_t}
