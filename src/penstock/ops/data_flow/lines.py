"""`Shared`: state in a container that operations may wait for, without holding a thread (paper 4.6 and 5.3).

An operation is an attempt: a function that does its work, or returns NOT_YET, having done at most a part of it.
Attempts of the same kind wait in a line, first come, first served. A change wakes the lines that it may help, and the
thread that made the change serves them under the resource's lock; it calls `done` after releasing the lock.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from penstock import errors
from penstock.runtime.kernels import KernelContext

Done = Callable[[Any], None]
NOT_YET: Any = type("NotYet", (), {"__repr__": lambda self: "NOT_YET", "__slots__": ()})()
_numbers = itertools.count()


class Shared:
    """Base of such state. Subclasses change it only in attempts and in `change`, and call `wake` there."""

    kind = "resource"

    def __init__(self, name: str, line: str = "") -> None:
        """`line`: the line of the program that built it."""
        self.name, self.line = name, line
        self.lock = threading.RLock()
        self._lines: dict[Hashable, OrderedDict[Attempt, None]] = {}
        self._woken: list[Hashable] = []
        self._ended: list[Attempt] = []

    def submit(
        self,
        line: Hashable,
        action: str,
        wants: str | Callable[[], str],
        what: Callable[[], Any],
        done: Done,
        undo: Callable[[], None] | None = None,
    ) -> Attempt | None:
        """Try `what` once it is first in `line`; `done` is called with its result or its exception.

        Returns None if that has already happened, otherwise the waiting attempt. `action` and `wants` are what error
        messages say: "Unstage", which waits for "an element". `undo` takes back the part that was done.
        """
        attempt = Attempt(self, line, action, wants, what, done, undo)
        with self.lock:
            standing = self._lines.get(line)
            if standing:
                standing[attempt] = None
                return attempt
            waits = attempt.run() is NOT_YET
            if waits:
                self._lines[line] = OrderedDict({attempt: None})
            ended = self._serve() if self._woken else ()
        if not waits:
            done(attempt.result)
        if ended:
            _tell(ended)
        return None if attempt.ended else attempt

    def change(self, what: Callable[[], Any]) -> Any:
        """Returns the result of `what`, which does not wait, and serves the attempts that it wakes."""
        ended: list[Attempt] = []
        try:
            with self.lock:
                try:
                    return what()
                finally:
                    ended = self._serve()
        finally:
            _tell(ended)

    def wake(self, *lines: Hashable) -> None:
        """Declares, within a change, that the first attempt in each of these lines may succeed now."""
        for line in lines:
            if line in self._lines:
                self._woken.append(line)

    def waiting(self, *lines: Hashable) -> int:
        """The number of attempts that wait in these lines."""
        with self.lock:
            return sum(len(self._lines.get(line, ())) for line in lines)

    def forget(self) -> None:
        """Resets the state to its initial value."""
        raise NotImplementedError

    def cancel(self, *lines: Hashable) -> None:
        """Within a change, ends the attempts in these lines with CancelledError."""
        for line in lines:
            for attempt in self._lines.pop(line, ()):
                attempt.end()
                attempt.result = errors.CancelledError(None, None, f"{attempt.action} operation was cancelled")
                self._ended.append(attempt)

    def clear(self) -> None:
        """Resets the state and cancels waiting attempts."""

        def change() -> None:
            self.cancel(*self._lines)
            self.forget()

        self.change(change)

    def withdraw(self, attempt: Attempt) -> bool:
        """See `Attempt.withdraw`."""
        with self.lock:
            if attempt.ended:
                return False
            attempt.end()
            self._lines[attempt.line].pop(attempt)
            ended = self._serve(attempt.line)  # later ones may need less than it did
        _tell(ended)
        return True

    def _serve(self, *lines: Hashable) -> list[Attempt]:
        """Serves `lines` and all lines woken meanwhile, as far as possible. Returns the attempts that ended."""
        self._woken += lines
        while self._woken:
            line = self._woken.pop(0)
            standing = self._lines.get(line)
            while standing:
                attempt = next(iter(standing))
                if attempt.run() is NOT_YET:
                    break
                del standing[attempt]
                self._ended.append(attempt)
            if standing is not None and not standing:
                del self._lines[line]
        ended, self._ended = self._ended, []
        return ended

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'" + (f", built at {self.line}" if self.line else "")


class Attempt:
    """An operation that is in progress."""

    __slots__ = ("_undo", "_wants", "_what", "action", "done", "ended", "line", "resource", "result")

    def __init__(
        self,
        resource: Shared,
        line: Hashable,
        action: str,
        wants: str | Callable[[], str],
        what: Callable[[], Any],
        done: Done,
        undo: Callable[[], None] | None,
    ) -> None:
        self.resource, self.line, self.action, self.done = resource, line, action, done
        self._wants, self._what, self._undo = wants, what, undo
        self.ended = False
        self.result: Any = None

    def run(self) -> Any:
        """Returns NOT_YET, or what `done` is to be called with."""
        try:
            self.result = self._what()
        except Exception as error:
            self.result = error
        self.ended = self.result is not NOT_YET
        return self.result

    def end(self) -> None:
        """Ends it without effect, under the resource's lock."""
        self.ended = True
        if self._undo is not None:
            self._undo()

    def withdraw(self) -> bool:
        """Ends the attempt without effect; `done` is not called. False if it already was, or is about to be."""
        return self.resource.withdraw(self)

    def __str__(self) -> str:
        return f"waits for {self._wants if isinstance(self._wants, str) else self._wants()} in {self.resource}"


def _tell(ended: list[Attempt]) -> None:
    for attempt in ended:
        attempt.done(attempt.result)


def unique_name(node: str) -> str:
    """A name for a resource that is not shared."""
    return f"_{next(_numbers)}_{node}"


R = TypeVar("R", bound=Shared)


def shared(ctx: KernelContext, kind: type[R], create: Callable[[str, str], R], by_node: bool = False) -> R:
    """The resource of a node; `create(name, line of the program)` makes it if it does not exist.

    Without a shared name it belongs to the session, otherwise to the node's container. `by_node` makes the node's own
    name the shared name where the node has none.
    """
    source = ctx.node.source
    line = (source.user_line or "") if source is not None else ""
    name = ctx.text("shared_name") or (ctx.name if by_node else "")
    if not name:
        return ctx.state.keep((kind, ctx.name), lambda: create(unique_name(ctx.name), line))
    return ctx.resources.lookup_or_create(ctx.text("container"), kind, name, lambda: create(name, line))
