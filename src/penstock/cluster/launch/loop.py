"""One thread that waits for many sockets, for programs that fork: a fork with other threads around may deadlock."""

from __future__ import annotations

import heapq
import itertools
import json
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

_READ = 1 << 16


class Loop:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._running = True

    def watch(self, file: Any, readable: Callable[[], None]) -> None:
        self._selector.register(file, selectors.EVENT_READ, readable)

    def forget(self, file: Any) -> None:
        self._selector.unregister(file)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), call))

    def stop(self) -> None:
        self._running = False

    def run(self) -> None:
        while self._running:
            self.turn()

    def turn(self, longest: float = 60.0) -> None:
        """Wait until something happens, and call whom it concerns."""
        if self._timers:
            longest = max(0.0, min(longest, self._timers[0][0] - time.monotonic()))
        for key, _ in self._selector.select(longest):
            key.data()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()


class Lines:
    """Messages over a stream socket: one line of JSON each."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._rest = b""

    def send(self, message: Any) -> None:
        """Raises OSError if the other side is gone."""
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[Any] | None:
        """What has come: waits for at least a part of a message. None at the end of the connection."""
        try:
            data = self.socket.recv(_READ)
        except ConnectionError:
            return None
        if not data:
            return None
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in whole]
