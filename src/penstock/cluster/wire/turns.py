"""A lock that is given in the order in which it was asked for."""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """Who writes next.

    An ordinary lock goes to whoever is running, so a thread that writes a large message piece by piece would take it
    again and again while others wait. A place in the queue can also be taken now and waited for elsewhere.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._queue: deque[threading.Lock] = deque()

    def take(self) -> threading.Lock | None:
        """None: the turn is the caller's. Otherwise a lock that can be acquired when its turn comes."""
        with self._guard:
            if not self._held:
                self._held = True
                return None
            gate = threading.Lock()
            gate.acquire()
            self._queue.append(gate)
            return gate

    def give_up(self, gate: threading.Lock) -> None:
        """Leave the queue; if the turn came at the same moment, pass it on."""
        with self._guard:
            if gate in self._queue:
                self._queue.remove(gate)
                return
        self.end()

    def end(self) -> None:
        """The turn is over: the next in the queue has it."""
        with self._guard:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._held = False
