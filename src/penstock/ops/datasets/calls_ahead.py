"""Work that is done ahead, in threads that are borrowed for it, and waited for until the iterator is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.ops.datasets.base import IterationContext
from penstock.runtime.workers import Workers

_workers = Workers()


class Result:
    """What a call gives, once it is `done`."""

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
    """Calls in other threads, on behalf of one iterator."""

    def __init__(self, ctx: IterationContext) -> None:
        self._ctx = ctx
        self.changed = threading.Condition()
        self.closed = False
        ctx.on_close(self.notify)

    def notify(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def run(self, fn: Callable[..., Any], *args: Any) -> Result:
        """Begin `fn(*args)`."""
        found = Result()

        def task() -> None:
            value: Any = None
            error: Exception | None = None
            try:
                if self.closed or self._ctx.closed:
                    error = errors.CancelledError(None, None, "Iterator was closed")
                else:
                    value = fn(*args)
            except Exception as raised:
                error = raised
            with self.changed:
                found.set(value, error)
                self.changed.notify_all()

        _workers.run(task)
        return found

    def wait(self, result: Result) -> Result:
        """`result`, once it is done. CancelledError where the iterator is closed meanwhile."""
        if not result.done:
            with self.changed:
                self._ctx.wait(self.changed, lambda: result.done)
        return result

    def close(self) -> None:
        self.closed = True
        self.notify()
