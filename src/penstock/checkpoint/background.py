"""Writing checkpoints while training goes on: one write at a time, in a thread that the end of the process waits for.

A session's save nodes know only a prefix. `Saver` announces with `announced` how what they write under it is to be
written: in which format, and whether by the node or later. What is put off has been copied, and is written by `start`.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.checkpoint.formats import Format, default_format

_LOG = logging.getLogger(__name__)


# --- what savers tell save nodes --------------------------------------------------------------------------


@dataclass
class Announced:
    """How save nodes write a prefix. With `put_off` they copy values, and add what is left to do to `later`."""

    format: Format
    put_off: bool = False
    later: list[Callable[[], None]] = field(default_factory=list)

    def do(self, write: Callable[[], None]) -> None:
        if self.put_off:
            self.later.append(write)
        else:
            write()


_announced: dict[str, Announced] = {}


@contextmanager
def announced(prefix: str, format: Format, put_off: bool) -> Iterator[Announced]:
    """Within the context, save nodes find the object under `prefix` (one save of a prefix at a time)."""
    _announced[prefix] = found = Announced(format, put_off)
    try:
        yield found
    finally:
        _announced.pop(prefix, None)


def announced_for(path: str) -> Announced:
    """What was announced for the prefix; parts of a sharded checkpoint are in `prefix_temp…/`."""
    found = _announced.get(path) or _announced.get(path.rpartition("_temp")[0])
    return found or Announced(default_format())


# --- the write under way ----------------------------------------------------------------------------------


class _Writer:
    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._failed: weakref.WeakKeyDictionary[object, Exception] = weakref.WeakKeyDictionary()

    def start(self, write: Callable[[], None], owner: object, what: str) -> None:
        self.settle()
        # Not a daemon: Python waits for it before it ends.
        thread = threading.Thread(target=self._write, args=(write, owner, what), name="penstock-saver")
        try:
            thread.start()
        except RuntimeError:  # Python is ending already
            write()
        else:
            self._thread = thread

    def _write(self, write: Callable[[], None], owner: object, what: str) -> None:
        try:
            write()
        except Exception as error:
            _LOG.error("%s was not written: %s", what, error)
            self._failed[owner] = error.with_traceback(None)  # whose frames hold the owner

    def settle(self) -> None:
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
            if self._thread is thread:
                self._thread = None

    def finish(self, owner: object) -> Exception | None:
        self.settle()
        return self._failed.pop(owner, None)


_writer = _Writer()

turn = threading.RLock()
"""Threads that save take turns: whoever announces a save, or starts a write, holds it."""


def start(write: Callable[[], None], owner: object, what: str) -> None:
    """Do `write` in the background, after waiting for an earlier write. `finish(owner)` will raise its error.

    The error is also logged, as `what` that was not written: nothing may ever ask for it.
    """
    _writer.start(write, owner, what)


def settle() -> None:
    """Wait for the write under way: what looks for checkpoints must not see the state before it."""
    _writer.settle()


def finish(owner: object, raising: bool = True) -> None:
    """Wait for the write under way, and raise the error of the owner's last one; after that it is forgotten."""
    error = _writer.finish(owner)
    if error is not None and raising:
        raise error
