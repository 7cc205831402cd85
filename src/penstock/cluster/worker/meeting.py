"""Where the parts of a step meet that run in one task: a rendezvous whose values also go to other tasks and come from
them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from penstock import errors
from penstock.cluster.wire import Missing
from penstock.runtime.rendezvous import Abandoned, Key, Receiver, Rendezvous

Items = list[tuple[Key, Any]]
Push = Callable[[str, int, Items], None]
"""`push(task, step, items)` delivers values to another task; raises an error if that is known to be gone."""
Ask = Callable[[str, int, Key], None]
"""`ask(task, step, key)` asks another task for a value that it holds until then. Raises like Push."""

_LARGE = 1 << 18
"""Sending a value of so many bytes takes longer than a message."""


@dataclass(slots=True)
class Routes:
    """Which values of a kind of step go to other tasks and come from them, by the names in their keys.

    targets: the task that gets each. held: those of them that stay here until they are asked for. asked: the task that
    holds each that must be asked for. taken: those that are held for the client.
    """

    targets: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    asked: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)


class Meeting(Rendezvous):
    """Of one step in one task. It is there before the step runs here if others were faster.

    routes: known when the step runs.
    """

    def __init__(self, step: int, push: Push, ask: Ask) -> None:
        super().__init__()
        self.step = step
        self.routes = Routes()
        self.reason: Exception | None = None
        self._push, self._ask = push, ask
        self._outgoing: dict[str, Items] = {}
        self.outgoing = self._outgoing
        self._held: dict[Key, Any] = {}
        self._wanted: set[Key] = set()
        self._taken: set[str] = set()
        self._empty = threading.Event()

    def send(self, key: Key, value: Any) -> None:
        task = self.routes.targets.get(key[0])
        if task is None:
            super().send(key, value)
            return
        with self._lock:
            if key[0] in self.routes.held and key not in self._wanted:
                self._held[key] = value
            else:
                self._outgoing.setdefault(task, []).append((key, value))
                self.urgent = self.urgent or getattr(value, "nbytes", 0) >= _LARGE

    def flush(self) -> None:
        with self._lock:
            ready = list(self._outgoing.items())
            self._outgoing.clear()
            self.urgent = False
        for task, items in ready:
            self._push(task, self.step, items)

    def deliver(self, items: Items) -> None:
        """What another task has sent. Of a value that comes twice, the first counts."""
        for key, value in items:
            if isinstance(value, Missing):
                self.fail(_no_memory(key, value))
                return
            super().send(key, value)

    def receive(self, key: Key, receiver: Receiver, device: object) -> None:
        super().receive(key, receiver, device)
        task = self.routes.asked.get(key[0])
        if task is not None:
            self._ask(task, self.step, key)

    def want(self, key: Key) -> None:
        """Another task asks for a value, which goes there as soon as it is here. Whether it asks twice does not
        matter."""
        with self._lock:
            self._wanted.add(key)
            if key not in self._held:
                return
            value = self._held.pop(key)
            last = not self._held
        try:
            self._push(self.routes.targets[key[0]], self.step, [(key, value)])
        finally:
            if last:
                self._empty.set()

    def take(self, key: Key) -> Any:
        """What is held for the client, when it is there. Raises the reason why it never will be."""
        inbox = queue.SimpleQueue[Any]()
        self.receive(key, inbox.put, None)
        value = inbox.get()
        if isinstance(value, Abandoned):
            raise self.reason or errors.CancelledError(None, None, "The step was cancelled.")
        self._taken.add(key[0])
        self._empty.set()
        return value.cpu() if isinstance(value, torch.Tensor) else value

    @property
    def _holds(self) -> bool:
        return bool(self._held) or not self._taken >= self.routes.taken

    def wait_until_asked(self) -> None:
        """The parts here have run. Others may not have asked yet for what is held for them. Raises Abandoned."""
        while self._holds and not self._failed:
            self._empty.clear()
            if self._holds and not self._failed:
                self._empty.wait()
        if self._failed:
            raise Abandoned

    def fail(self, reason: Exception) -> None:
        """End the step here; `reason` is why, if no part has failed itself."""
        with self._lock:
            self.reason = self.reason or reason
        self.abandon()
        self._held.clear()
        self._empty.set()


def _no_memory(key: Key, value: Missing) -> errors.ResourceExhaustedError:
    """The key says where the value comes from and goes to."""
    return errors.ResourceExhaustedError(None, None, f"There is no memory for the {value.nbytes} bytes of {key[0]}.")
