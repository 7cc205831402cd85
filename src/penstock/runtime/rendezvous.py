"""The rendezvous of a step: where a Send leaves a value and a Recv takes it (white paper section 3.2.2).

One for each step, so that its values go when the step ends. A key names the tensor, the device that it goes to, and
the iteration of each loop around it. Nothing is copied here; a value that comes before it is wanted waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Key = tuple[str, tuple[Any, ...]]
Receiver = Callable[[Any], None]


class Abandoned(Exception):
    """The step failed on another device, whose error is the one to show."""


class Rendezvous:
    """Values on their way between the devices of one step. Neither side ever blocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[Key, Any] = {}
        self._receivers: dict[Key, Receiver] = {}
        self._failed = False

    def send(self, key: Key, value: Any) -> None:
        """Leave `value`, or give it to who waits for it."""
        with self._lock:
            receiver = self._receivers.pop(key, None)
            if receiver is None:
                self._values[key] = value
        if receiver is not None:
            receiver(value)

    def receive(self, key: Key, receiver: Receiver) -> None:
        """Call `receiver` with the value, now or when it comes; with `Abandoned` if it never will."""
        with self._lock:
            if key not in self._values:
                if not self._failed:
                    self._receivers[key] = receiver
                    return
                value: Any = Abandoned()
            else:
                value = self._values.pop(key)
        receiver(value)

    def abandon(self) -> None:
        """The step has failed: end all that waits, now and from now on."""
        with self._lock:
            self._failed = True
            waiting, self._receivers = list(self._receivers.values()), {}
            self._values.clear()
        for receiver in waiting:
            receiver(Abandoned())
