"""Threads that steps on several devices borrow: one for each device except the first, for the duration of the step."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable

Task = Callable[[], None]


class Workers:
    """Idle threads are reused; if there is none, one is started. So no task ever waits for another to end, which
    matters because the parts of a step wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[queue.SimpleQueue[Task | None]] = []
        self._finalizer = weakref.finalize(self, _end, self._idle)

    def run(self, task: Task) -> None:
        """Run `task`, which must not raise, in a thread."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            threading.Thread(target=_work, args=(inbox, self._idle), daemon=True, name="penstock device").start()
        inbox.put(task)


def _work(inbox: queue.SimpleQueue[Task | None], idle: list[queue.SimpleQueue[Task | None]]) -> None:
    while (task := inbox.get()) is not None:
        task()
        del task  # otherwise the values of the last step would live until the next
        idle.append(inbox)


def _end(idle: list[queue.SimpleQueue[Task | None]]) -> None:
    for inbox in idle:
        inbox.put(None)
