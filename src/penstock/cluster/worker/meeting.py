"""Where the parts of a step meet that run in one task: a rendezvous whose values also go to other tasks and come from
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.runtime.rendezvous import Key, Rendezvous

Items = list[tuple[Key, Any]]
Push = Callable[[str, int, Items], None]
"""`push(task, step, items)` delivers values to another task; raises an error if that is known to be gone."""


class Meeting(Rendezvous):
    """Of one step in one task. It is there before the step runs here if others were faster.

    targets: for each key that another task receives, that task; known when the step runs.
    """

    def __init__(self, step: int, push: Push) -> None:
        super().__init__()
        self.step = step
        self.targets: Mapping[str, str] = {}
        self.reason: Exception | None = None
        self._push = push
        self._outgoing: dict[str, Items] = {}
        self.outgoing = self._outgoing

    def send(self, key: Key, value: Any) -> None:
        task = self.targets.get(key[0])
        if task is None:
            super().send(key, value)
            return
        with self._lock:
            self._outgoing.setdefault(task, []).append((key, value))

    def flush(self) -> None:
        with self._lock:
            ready = list(self._outgoing.items())
            self._outgoing.clear()
        for task, items in ready:
            self._push(task, self.step, items)

    def deliver(self, items: Items) -> None:
        """What another task has sent. Of a value that comes twice, the first counts."""
        for key, value in items:
            super().send(key, value)

    def fail(self, reason: Exception) -> None:
        """End the step here; `reason` is why, if no part has failed itself."""
        with self._lock:
            self.reason = self.reason or reason
        self.abandon()
