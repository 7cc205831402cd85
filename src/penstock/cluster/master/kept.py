"""The tensors that a session's handles refer to, as its client sees them: each is kept by the task that made it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from penstock.cluster.master.tasks import Task
from penstock.cluster.worker.kept import task_of_handle
from penstock.ops.session_tensors import KeptTensors


class ClientsTensors(KeptTensors):
    def __init__(self, tasks: Mapping[str, Task], session: int) -> None:
        super().__init__()
        self._tasks, self._session = tasks, session
        self._released: deque[str] = deque()

    def get(self, handle: str) -> Any:
        task = self._tasks.get(task_of_handle(handle))
        return super().get(handle) if task is None else task.call("kept", self._session, handle)

    def drop(self, handle: str) -> None:
        task = self._tasks.get(task_of_handle(handle))
        if task is not None:
            task.call("drop_kept", self._session, handle)

    def release(self, handle: str) -> None:
        self._released.append(handle)

    def drop_released(self) -> None:
        """Tell the tasks what has been released, before the next step."""
        while self._released:
            handle = self._released.popleft()
            task = self._tasks.get(task_of_handle(handle))
            if task is not None:
                task.tell("drop_kept", self._session, handle)
