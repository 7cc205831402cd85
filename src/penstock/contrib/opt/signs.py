"""Steps scaled by whether gradient and momentum agree in sign (Bello et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.ops import training_sign as training_sign  # registers the ops
from penstock.ops.basic import group
from penstock.ops.gather import gather
from penstock.train.optimizer import Optimizer, like
from penstock.train.update_op import UpdateOp

SignDecay = Callable[[Any], Any]


class _SignOptimizer(Optimizer, UpdateOp):
    """m = beta * m + (1 - beta) * gradient; var -= learning_rate * factor * gradient. A subclass has the factor.

    A sparse gradient decays all of m, and moves its own rows.
    """

    _slot_inputs: Mapping[str, str] = {"m": "m"}

    def __init__(
        self, learning_rate: Any, beta: Any, sign_decay_fn: SignDecay | None, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta, self._sign_decay_fn = learning_rate, beta, sign_decay_fn
        self._sign_decay: Any = 1.0

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> Operation:
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._tensors = {
            "lr": self._hyper_tensor(self._lr, "learning_rate"),
            "beta": self._hyper_tensor(self._beta, "beta"),
            "sign_decay": convert_to_tensor(self._sign_decay, name="sign_decay"),
        }

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return self._tensors

    def _factor(self, hyper: dict[str, Tensor], agreement: Tensor) -> Tensor:
        """agreement: 1, 0 or -1, times the decay of signs."""
        raise NotImplementedError

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._apply_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._apply_rows(grad, handle, indices)

    def _apply_rows(self, grad: Tensor, var: Any, indices: Tensor) -> Operation:
        hyper = {key: like(value, var) for key, value in self._hypers(var).items()}
        slot, sign = self.get_slot(var, "m"), get_op("Sign")
        m = self._decay_and_add(slot, hyper["beta"], grad * (1 - hyper["beta"]), indices)
        factor = self._factor(hyper, sign(grad) * sign(gather(m, indices)) * hyper["sign_decay"])
        moved = var.scatter_sub(IndexedSlices(hyper["lr"] * factor * grad, indices), use_locking=self._use_locking)
        return group(moved, m)


@export("contrib.opt.AddSignOptimizer")
class AddSignOptimizer(_SignOptimizer):
    """m = beta * m + (1 - beta) * gradient; var -= learning_rate * (alpha + decay * sign(gradient) * sign(m)) *
    gradient (TF: tf.contrib.opt.AddSignOptimizer).

    sign_decay_fn: takes the global step and returns the decay of signs, by default 1.
    """

    _op = "AddSign"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _prepare(self) -> None:
        super()._prepare()
        self._tensors["alpha"] = self._hyper_tensor(self._alpha, "alpha")

    def _factor(self, hyper: dict[str, Tensor], agreement: Tensor) -> Tensor:
        return hyper["alpha"] + agreement


@export("contrib.opt.PowerSignOptimizer")
class PowerSignOptimizer(_SignOptimizer):
    """m = beta * m + (1 - beta) * gradient; var -= learning_rate * base ** (decay * sign(gradient) * sign(m)) *
    gradient (TF: tf.contrib.opt.PowerSignOptimizer).

    sign_decay_fn: takes the global step and returns the decay of signs, by default 1.
    """

    _op = "PowerSign"

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: SignDecay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = math.log(base)

    def _prepare(self) -> None:
        super()._prepare()
        self._tensors["logbase"] = convert_to_tensor(self._logbase, name="logbase")

    def _factor(self, hyper: dict[str, Tensor], agreement: Tensor) -> Tensor:
        factor: Tensor = get_op("Exp")(hyper["logbase"] * agreement)
        return factor
