"""`UpdateOp`: of an optimizer whose step is one op of `ops/training.py` for each variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.graph.composite import IndexedSlices
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops import training_sparse as training_sparse  # registers the ops, including dense ones
from penstock.train.optimizer import Updates, like


class UpdateOp(Updates):
    """A second base of optimizers, after `Optimizer`: names the op, of which each hook takes a form, and its inputs.

    `_op` is the name without "Apply", "SparseApply", "ResourceApply" or "ResourceSparseApply". Programs find the first
    base to be `Optimizer` itself, as that of every optimizer of TensorFlow's.
    """

    _use_locking: bool
    get_slot: Callable[[Any, str], Any]

    _op: str
    _gradient_input = "grad"
    _slot_inputs: Mapping[str, str] = {}
    """Maps the op's inputs to slots."""

    def _hypers(self, var: Any) -> dict[str, Tensor]:
        """The hyperparameters by the names of the op's inputs; those with a dtype other than that of `var` are cast."""
        raise NotImplementedError

    def _own_variables(self, var: Any) -> dict[str, Any]:
        """Inputs that are read from the optimizer's own variables."""
        return {}

    def _attrs(self) -> dict[str, Any]:
        return {"use_locking": self._use_locking}

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        return self._update_op("Apply", var, grad)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Operation:
        return self._update_op("ResourceApply", handle, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        return self._update_op("SparseApply", var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._update_op("ResourceSparseApply", handle, grad, indices)

    def _update_op(
        self, form: str, var: Any, grad: Tensor, indices: Tensor | None = None, **hypers: Tensor
    ) -> Operation:
        """The op of that form. hypers: those that are not as `_hypers` says."""
        states = {"var": var}
        states |= {key: self.get_slot(var, slot) for key, slot in self._slot_inputs.items()}
        inputs: dict[str, Any] = {key: getattr(v, "handle", v) for key, v in states.items()}
        inputs |= {
            key: like(value, var) for key, value in {**self._hypers(var), **hypers}.items()
        } | self._own_variables(var)
        if indices is None:
            inputs[self._gradient_input] = grad
        else:
            inputs |= {"grad": grad, "indices": indices}
        updated = get_op(f"{form}{self._op}")(**inputs, **self._attrs())
        return updated.op if isinstance(updated, Tensor) else updated

    def _decay_and_add(self, slot: Any, beta: Tensor, rows: Tensor, indices: Tensor) -> Any:
        """slot = beta * slot, plus `rows`; returns the new slot."""
        decayed = slot.assign(slot.value() * beta, use_locking=self._use_locking, read_value=False)
        with control_dependencies([decayed]):
            added = slot.scatter_add(IndexedSlices(rows, indices), use_locking=self._use_locking)
        with control_dependencies([added]):
            return slot.read_value()
