"""Each thread's stack of `as_default` graphs, above one graph that all threads share."""

from __future__ import annotations

import threading
from typing import Any


class _DefaultGraphs(threading.local):
    shared: Any = None
    """The graph that all threads share: `scopes.py` makes it."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


default_graphs = _DefaultGraphs()
