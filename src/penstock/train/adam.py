"""Adam: steps scaled by decayed means of gradients and of their squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph
from penstock.ops.basic import group
from penstock.train.optimizer import Optimizer, like
from penstock.train.update_op import UpdateOp


@export("train.AdamOptimizer")
class AdamOptimizer(Optimizer, UpdateOp):
    """var -= rate * m / (sqrt(v) + epsilon), with m and v the decayed means of gradient and gradient².

    rate = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t): epsilon is the one that Kingma and Ba (2014)
    call "epsilon hat". A sparse gradient decays all of m and v, and moves all of the variable, as a dense one
    would. TF: tf.train.AdamOptimizer.
    """

    _op = "Adam"
    _slot_inputs: Mapping[str, str] = {"m": "m", "v": "v"}
    _powers: tuple[str, ...] = ("beta1", "beta2")
    """Of which hyperparameters there are powers, for the correction of the first steps."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _get_beta_accumulators(self) -> tuple[Any, ...]:
        graph = get_default_graph()
        return tuple(self._get_non_slot_variable(f"{beta}_power", graph) for beta in self._powers)

    def _create_slots(self, var_list: list[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        for beta in self._powers:
            self._create_non_slot_variable(self._call_if_callable(getattr(self, f"_{beta}")), f"{beta}_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t = self._hyper_tensor(self._lr, "learning_rate")
        self._beta1_t = self._hyper_tensor(self._beta1, "beta1")
        self._beta2_t = self._hyper_tensor(self._beta2, "beta2")
        self._epsilon_t = self._hyper_tensor(self._epsilon, "epsilon")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        powers = zip(self._powers, self._get_beta_accumulators(), strict=True)
        return {
            **{f"{beta}_power": power.value() for beta, power in powers},
            "lr": self._lr_t,
            "beta1": self._beta1_t,
            "beta2": self._beta2_t,
            "epsilon": self._epsilon_t,
        }

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._apply_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._apply_rows(grad, handle, indices)

    def _apply_rows(self, grad: Tensor, var: Any, indices: Tensor) -> Operation:
        hyper = {key: like(value, var) for key, value in self._hypers(var).items()}
        rate, m, v = self._moments(hyper, grad, var, indices)
        step = rate * m / (get_op("Sqrt")(v) + hyper["epsilon"])
        update = var.assign_sub(step, use_locking=self._use_locking, read_value=False)
        return group(update, m, v)

    def _moments(self, hyper: dict[str, Any], grad: Tensor, var: Any, indices: Tensor) -> tuple[Tensor, Any, Any]:
        """The corrected rate, and both moments after `grad` in rows `indices`: all rows decay."""
        beta1, beta2 = hyper["beta1"], hyper["beta2"]
        rate = hyper["lr"] * get_op("Sqrt")(1 - hyper["beta2_power"]) / (1 - hyper["beta1_power"])
        m = self._decay_and_add(self.get_slot(var, "m"), beta1, grad * (1 - beta1), indices)
        v = self._decay_and_add(self.get_slot(var, "v"), beta2, grad * grad * (1 - beta2), indices)
        return rate, m, v

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        """The powers of beta advance once all variables have been updated."""
        with control_dependencies(update_ops):
            powers = self._get_beta_accumulators()
            with get_default_graph().colocate_with(powers[0].op):
                advanced = [
                    power.assign(power * beta, use_locking=self._use_locking, read_value=False)
                    for power, beta in zip(powers, (self._beta1_t, self._beta2_t), strict=False)
                ]
        return group(*update_ops, *advanced, name=name_scope)
