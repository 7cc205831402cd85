"""The tensors that handles refer to, as a task's kernels see them: those of other tasks are fetched from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock.cluster.worker.parts import task_of
from penstock.ops.session_tensors import KeptTensors, device_of_handle

Call = Callable[..., Any]
"""`call(task, method, handle)` asks another task of the session."""


class TasksTensors(KeptTensors):
    """Those of one session in one task."""

    def __init__(self, here: str, others: frozenset[str], call: Call) -> None:
        super().__init__()
        self._here, self._others, self._call = here, others, call

    def get(self, handle: str) -> Any:
        task = task_of_handle(handle)
        return self._call(task, "kept", handle) if task in self._others else super().get(handle)

    def drop(self, handle: str) -> None:
        task = task_of_handle(handle)
        if task in self._others:
            self._call(task, "drop_kept", handle)
        else:
            self.drop_own(handle)

    def drop_own(self, handle: str) -> None:
        """A value of this task; never waits."""
        super().drop(handle)

    def travelling(self, handle: str) -> Any:
        """A value of this task, for another or for the client."""
        value = KeptTensors.get(self, handle)
        return value.cpu() if isinstance(value, torch.Tensor) else value


def task_of_handle(handle: str) -> str:
    """The task part of its device's name; "" if it has none."""
    return task_of(device_of_handle(handle))
