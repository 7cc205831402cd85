"""Deadlock detection: whether any thread is left that could serve what all calls of the process wait for.

Threads that wait in a step are recorded here. When one has waited for a while, it examines all threads. Threads that do
not run the program's code (idle pools, notebook servers, loggers) cannot serve, and neither can one that only waits for
a waiting thread to end. If no other is left, every waiting call fails with an error that says what it waited for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from penstock import errors
from penstock.graph.node_kernel import Pending
from penstock.graph.step_graph import Node
from penstock.runtime.workers import wait_for_task

Waits = tuple[Node, Pending]
_MOST_SHOWN = 20
_CERTAIN_S = 0.01
"""Seconds between the two looks that must find the same."""

_SERVICES = {
    *("IPython", "_pydevd_bundle", "_pytest", "concurrent", "debugpy", "execnet", "google", "ipykernel"),
    *("jupyter_client", "multiprocessing", "pydev_ipython", "pydevd", "pytest_timeout", "rich", "tensorboard"),
    *("tornado", "tqdm", "traitlets", "xdist", "zmq"),
}
"""Packages whose threads run a program's code only if their frames show it."""


@dataclass(eq=False, slots=True)
class Entry:
    """A waiting thread. fail: ends the wait. waits: what it waits for; None if something else is also running. ends:
    whether its wait is bounded, or other processes may end it. report: the same in words, with what other devices are
    to send."""

    fail: Callable[[Exception], None]
    waits: Callable[[], Sequence[Waits] | None]
    ends: bool
    report: Callable[[], Sequence[str]] = tuple


_lock = threading.Lock()
_entries: dict[int, Entry] = {}
_watchers: dict[int, Watcher] = {}


@contextmanager
def noted(entry: Entry) -> Iterator[None]:
    """Record that the calling thread waits."""
    here = threading.get_ident()
    with _lock:
        before = _entries.get(here)
        _entries[here] = entry
    try:
        yield
    finally:
        with _lock:
            if before is None:
                del _entries[here]
            else:
                _entries[here] = before


@dataclass(eq=False, slots=True)
class Watcher:
    """A thread that does nothing until `woken()`, or until one of `threads` ends."""

    woken: Callable[[], bool]
    threads: Sequence[threading.Thread]

    def is_stuck(self, stuck: set[int]) -> bool:
        """Whether the thread can never continue, given the idents of threads that can never continue."""
        alive = [thread.ident in stuck for thread in self.threads if thread.is_alive()]
        return not self.woken() and (all(alive) if alive else not self.threads)


@contextmanager
def watching(woken: Callable[[], bool], threads: Sequence[threading.Thread] = ()) -> Iterator[None]:
    """Records that the calling thread is a `Watcher`."""
    here = threading.get_ident()
    with _lock:
        _watchers[here] = Watcher(woken, threads)
    try:
        yield
    finally:
        with _lock:
            del _watchers[here]


def look() -> None:
    """End all waits with FailedPreconditionError if no thread is left that could serve them."""
    with _lock:
        stuck = bool(_stuck())
    if not stuck:
        return
    time.sleep(_CERTAIN_S)  # a thread that is just given something to do looks idle for a moment
    with _lock:  # before any of them can end
        found = _stuck()
        error = _report([line for entry, _ in found for line in entry.report()])
        for entry, waits in found:
            if waits:
                entry.fail(error())


def _stuck() -> list[tuple[Entry, Sequence[Waits] | None]]:
    """All threads that wait and what for, if no other is left that could serve them; else none."""
    entries = dict(_entries)
    if any(entry.ends for entry in entries.values()) or _somebody_else(set(entries)):
        return []
    found = [(entry, entry.waits()) for entry in entries.values()]
    return [] if any(waits is None for _, waits in found) else found


def may_be_served() -> bool:
    """Whether a thread is left, besides those that wait in a step, that could serve them."""
    with _lock:
        return _somebody_else(set(_entries))


def _report(waits: list[str]) -> Callable[[], errors.FailedPreconditionError]:
    lines = [f"  {line}" for line in waits]
    more = [f"  and {len(lines) - _MOST_SHOWN} more"] if len(lines) > _MOST_SHOWN else []
    text = "\n".join(
        [
            "Deadlock: every call of this process waits, and there is no thread or step left that could serve one:",
            *lines[:_MOST_SHOWN],
            *more,
        ]
    )
    return lambda: errors.FailedPreconditionError(None, None, text)


# --- other threads --------------------------------------------------------------------------------------


def _somebody_else(waiting: set[int]) -> bool:
    """Whether any thread besides those in `waiting` could serve them."""
    threads = {thread.ident: thread for thread in threading.enumerate()}
    frames = {
        ident: frame
        for ident, frame in sys._current_frames().items()
        if ident not in waiting and not _is_idle(frame, threads.get(ident))
    }
    stuck = set(waiting)
    while left := {ident for ident, frame in frames.items() if _joined(frame) in stuck or _only_watches(ident, stuck)}:
        stuck |= left
        frames = {ident: frame for ident, frame in frames.items() if ident not in left}
    return bool(frames)


def _is_idle(frame: FrameType, thread: threading.Thread | None) -> bool:
    """Whether a thread does not run the program's code, and will not until another thread gives it work."""
    if thread is not None and thread.name.startswith(("penstock-", "wire ")):
        return True  # compilers and similar threads; those that serve a cluster, whose waits others may end
    innermost, roots, ends = frame.f_code, set(), False
    untimed = innermost is threading.Condition.wait.__code__ and _sleeps(frame)
    each: FrameType | None = frame
    while each is not None:
        ends = ends or each.f_code is threading._shutdown.__code__  # type: ignore[attr-defined]
        roots.add(str(each.f_globals.get("__name__", "")).partition(".")[0])
        each = each.f_back
    if ends or thread is threading.main_thread():
        return ends  # for example in a notebook: the next cell may serve
    others = roots - sys.stdlib_module_names - _SERVICES
    if not others:
        return bool(roots & _SERVICES)
    waits_for_task = innermost is wait_for_task.__code__ and frame.f_locals["inbox"].empty()
    return others == {"penstock"} and (untimed or waits_for_task)


def _sleeps(frame: FrameType) -> bool:
    """Whether a thread in `Condition.wait` waits without a timeout and has not been notified: one that has been, but
    has not had its turn yet, is still in the same place."""
    values = frame.f_locals
    return values.get("timeout") is None and values.get("waiter") in values["self"]._waiters


def _only_watches(ident: int, stuck: set[int]) -> bool:
    watcher = _watchers.get(ident)
    return watcher is not None and watcher.is_stuck(stuck)


def _joined(frame: FrameType) -> int | None:
    """The thread that a thread joins without a timeout."""
    each: FrameType | None = frame
    while each is not None and each.f_globals.get("__name__") == "threading":
        if each.f_code is threading.Thread.join.__code__ and each.f_locals.get("timeout") is None:
            ident: int | None = each.f_locals["self"].ident
            return ident
        each = each.f_back
    return None
