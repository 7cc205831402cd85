"""Work done ahead in borrowed threads, and waiting for it until the iterator is closed."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from penstock import errors
from penstock.devices.neighbours import work_aside
from penstock.devices.openmp import Share
from penstock.ops.datasets.base import IterationContext
from penstock.runtime.workers import Workers

_workers = Workers()


class Result:
    """The result of a call, once it is `done`."""

    __slots__ = ("_error", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: Any = None
        self._error: Exception | None = None

    def set(self, value: Any, error: Exception | None) -> None:
        self._value, self._error = value, error
        self.done = True

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class CallsAhead:
    """Calls in other threads on behalf of one iterator: at most `most` at once, others wait.

    `most` may be changed. `working`: how many threads make calls.
    """

    def __init__(self, ctx: IterationContext, most: float = math.inf) -> None:
        self._ctx, self.most = ctx, most
        self.changed = threading.Condition()
        self.closed = False
        self._waiting: deque[tuple[Result, Callable[..., Any], tuple[Any, ...]]] = deque()
        self.working = 0
        self._awaited: Result | None = None
        ctx.on_close(self.notify)

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def run(self, fn: Callable[..., Any], *args: Any) -> Result:
        """Start `fn(*args)`, now or when a thread is free."""
        found = Result()
        with self.changed:
            self._waiting.append((found, fn, args))
            if self.working >= self.most:
                return found
            self.working += 1
        _workers.run(self._work)
        return found

    def _work(self) -> None:
        """The calls share the processors: kernels of each may use its part of the threads."""
        with Share(max(1, int(torch.get_num_threads() / self.most))):
            while self._work_once():
                pass

    def _work_once(self) -> bool:
        with self.changed:
            if not self._waiting or self.working > self.most:
                self.working -= 1
                return False
            found, fn, args = self._waiting.popleft()
        value: Any = None
        error: Exception | None = None
        begin = time.thread_time()
        try:
            value = fn(*args)
        except Exception as raised:
            error = raised
        work_aside(time.thread_time() - begin)
        found.set(value, error)
        if found is self._awaited:  # `wait` sets this first, and then looks whether it is done
            self.notify()
        return True

    def check(self) -> None:
        """Raises CancelledError if the iterator is closed: calls that have not begun by then are not worth making."""
        if self.closed or self._ctx.closed:
            raise errors.CancelledError(None, None, "Iterator was closed")

    def wait(self, result: Result, seconds: float | None = None) -> Result:
        """`result`, once it is done, or after some seconds. Raises CancelledError if the iterator is closed meanwhile.

        One thread at a time may wait.
        """
        if not result.done:
            with self.changed:
                self._awaited = result
                self._ctx.wait(self.changed, lambda: result.done, seconds)
        return result

    def close(self) -> None:
        self.closed = True
        self.notify()
