"""The calls of layers that are running, and what they have added so far."""

from __future__ import annotations

import threading
from typing import Any


class Call:
    """What a running call has added so far."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.losses: list[Any] = []
        self.metrics: list[Any] = []
        self.called: list[tuple[Any, Any]] = []
        """Metric objects that were called, and their results."""


class _Running(threading.local):
    def __init__(self) -> None:
        self.calls: list[Call] = []


running = _Running()
"""The calls of layers that are running in this thread, the innermost last."""
