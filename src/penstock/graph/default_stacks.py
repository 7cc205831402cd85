"""Each thread's stacks of graphs and of sessions that are made the default by `as_default`."""

from __future__ import annotations

import threading
from typing import Any


class DefaultStack(threading.local):
    """What a thread has made the default, innermost last. Every thread starts with an empty one."""

    def __init__(self) -> None:
        self.stack: list[Any] = []

    def innermost(self) -> Any:
        """The default, or None."""
        return self.stack[-1] if self.stack else None


default_graphs = DefaultStack()
default_sessions = DefaultStack()
