"""RMSProp: steps scaled by a decayed mean of squared gradients."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import ones_initializer
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.train.optimizer import Optimizer
from penstock.train.update_op import UpdateOp


@export("train.RMSPropOptimizer")
class RMSPropOptimizer(Optimizer, UpdateOp):
    """var -= mom, where mom = momentum * mom + learning_rate * gradient / sqrt(mean_square + epsilon).

    `centered` uses the variance instead of the mean square, at the cost of one more slot. TF:
    tf.train.RMSPropOptimizer.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._op = "CenteredRMSProp" if centered else "RMSProp"
        self._slot_inputs = {"ms": "rms", "mom": "momentum"} | ({"mg": "mg"} if centered else {})

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            if var.get_shape().is_fully_defined():
                self._get_or_make_slot_with_initializer(
                    var, ones_initializer(), var.get_shape(), var.dtype.base_dtype, "rms", self._name
                )
            else:
                self._get_or_make_slot(var, get_op("OnesLike")(var), "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")
        self._decay_tensor = self._hyper_tensor(self._decay, "decay")
        self._momentum_tensor = self._hyper_tensor(self._momentum, "momentum")
        self._epsilon_tensor = self._hyper_tensor(self._epsilon, "epsilon")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {
            "lr": self._learning_rate_tensor,
            "rho": self._decay_tensor,
            "momentum": self._momentum_tensor,
            "epsilon": self._epsilon_tensor,
        }
