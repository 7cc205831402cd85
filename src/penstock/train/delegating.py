"""Optimizers that let another one work."""

from __future__ import annotations

from typing import Any

from penstock.train.optimizer import Optimizer


class DelegatingOptimizer(Optimizer):
    """Does what the optimizer `opt` does, whose slots and variables it has."""

    _opt: Any

    def __init__(self, opt: Any, name: str, use_locking: bool = False) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.apply_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        return self._opt.variables()
