"""How fast a task reaches others: what placement and timed Recvs count with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import torch

from penstock.cluster.wire import Peer
from penstock.placement.hardware import HAND_OVER
from penstock.placement.links import Link

_CALLS = 8
_SIZES = 1 << 16, 1 << 20
"""Bytes that are sent to learn how many go in a second; the larger only over links that are fast enough for it."""
_TIMES = 3
_SLOW_S = 2e-3

Connect = Callable[[str, str, int], Peer]
"""`connect(task, address, incarnation)`."""


class Links:
    """Of one task. Each is measured once for each start of the other task: all clients see the same."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._known: dict[tuple[str, int], Link] = {}
        self._lock = threading.Lock()

    def to(self, task: str, address: str, incarnation: int) -> Link:
        """Measured now if it is not known: some milliseconds. Raises like `connect`."""
        with self._lock:  # two that are measured at once would slow each other down
            key = task, incarnation
            if key not in self._known:
                self._known[key] = measure(self._connect(task, address, incarnation))
            return self._known[key]


def measure(peer: Peer) -> Link:
    """What a transfer adds to a step: a message, two threads that wake up (for the call of a further task, and for
    the value), and the other half of that call; and how many bytes go in a second."""
    call = _best(lambda: peer.call("ping"), _CALLS)
    rate = 0.0
    for size in _SIZES:
        value = torch.zeros(size, dtype=torch.uint8)
        taken = _best(lambda value=value: peer.call("ping", value), _TIMES)  # type: ignore[misc]
        rate = size / max(taken - call, 1e-6)
        if taken > _SLOW_S:
            break
    return Link(call + 2 * HAND_OVER, rate)


def _best(run: Callable[[], object], times: int) -> float:
    """Seconds, the least of several."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best
