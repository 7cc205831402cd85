"""Gradient descent, plain and proximal."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.operation import Tensor
from penstock.train.optimizer import Optimizer, like
from penstock.train.update_op import UpdateOp


@export("train.GradientDescentOptimizer")
class GradientDescentOptimizer(Optimizer, UpdateOp):
    """var -= learning_rate * gradient (TF: tf.train.GradientDescentOptimizer)."""

    _op = "GradientDescent"
    _gradient_input = "delta"

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"alpha": self._learning_rate_tensor}

    # Duplicate rows need not be summed first: subtraction does that.
    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        return self._subtract_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse_duplicate_indices(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._subtract_rows(grad, handle, indices)

    def _subtract_rows(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        delta = IndexedSlices(grad * like(self._learning_rate_tensor, var), indices)
        return var.scatter_sub(delta, use_locking=self._use_locking)


@export("train.ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(Optimizer, UpdateOp):
    """Gradient descent followed by the proximal step for l1 and l2 (Duchi and Singer 2009)."""

    _op = "ProximalGradientDescent"
    _gradient_input = "delta"

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _prepare(self) -> None:
        self._learning_rate_tensor = self._hyper_tensor(self._learning_rate, "learning_rate")
        self._l1_tensor = self._hyper_tensor(self._l1_regularization_strength, "l1_regularization_strength")
        self._l2_tensor = self._hyper_tensor(self._l2_regularization_strength, "l2_regularization_strength")

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        return {"alpha": self._learning_rate_tensor, "l1": self._l1_tensor, "l2": self._l2_tensor}
