"""Compiling in the background: several waiting sources of a kind as one file, and several files at once if cores are
idle.

No step waits for it. `toolchain.py` runs the compiler, `object_cache.py` keeps its objects.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import shlex
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from penstock import errors
from penstock.codegen.c.command import NoCompiler
from penstock.codegen.c.first_run import crashing
from penstock.codegen.c.object_cache import Function, ObjectCache, cache_folder, function_of
from penstock.codegen.c.source import Source, file_of, groups
from penstock.codegen.c.toolchain import Toolchain, find_toolchain
from penstock.devices import processors

_LOG = logging.getLogger("penstock")
BATCH = 8
"""The most sources that are compiled as one file."""

Done = Callable[["Function | None"], None]
Write = Callable[[], Source | None]
"""Returns the source of a function, or None if there is nothing to write."""


class Compiler:
    """Compiles sources in its own threads; the first starts with the first request.

    Another starts if all are busy and a core of the machine is idle.
    """

    MOST_THREADS = 4

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = threading.Lock()
        """Held while writing sources or looking for functions; not while a compiler runs."""
        self._pending: queue.SimpleQueue[tuple[Write, Done]] = queue.SimpleQueue()
        self._threads = 0
        self._waiting = 0
        """The number of threads that wait for requests, minus the requests that they have not taken yet."""
        self._tools: tuple[Toolchain, ObjectCache] | NoCompiler | None = None
        self._told: NoCompiler | None = None
        self._loaded: dict[str, Function | None] = {}
        self._unanswered = 0
        self._answered = threading.Condition(self._lock)

    def request(self, write: Write, done: Done) -> None:
        """Request that `done(function)` be called later, in another thread; with None if it cannot be compiled.

        The source is also written there, because writing that of a large region takes longer than a step.
        """
        with self._lock:
            self._unanswered += 1
            self._pending.put((write, done))
            self._waiting -= 1
            if self._waiting < 0 and (not self._threads or (self._threads < self.MOST_THREADS and idle_cores() >= 1)):
                self._start()

    def prepare(self) -> None:
        """Find a compiler, in another thread, because it will be needed soon."""
        with self._lock:
            if not self._threads:
                self._start()

    def _start(self) -> None:
        """Start a thread; `_lock` is held."""
        self._threads += 1
        self._waiting += 1
        threading.Thread(target=self._serve, name="penstock-compiler", daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are answered; returns whether they are within `timeout` seconds."""
        with self._answered:
            return self._answered.wait_for(lambda: not self._unanswered, timeout)

    def compile(self, source: Source) -> Function | None:
        """Compile `source` now; returns None if it is known to be bad.

        Raises UnimplementedError with the compiler's messages if it cannot be compiled.
        """
        try:
            self._compile([source])
            return self._loaded[source.name]
        except (NoCompiler, OSError) as error:
            raise errors.UnimplementedError(None, None, f"cannot compile a cluster: {error}") from error

    # --- what is known about functions -------------------------------------------------------------------

    def watch(self, name: str, about: str) -> contextlib.AbstractContextManager[bool]:
        """While the function of this name runs for the first time; see `ObjectCache.watch`."""
        if not isinstance(self._tools, tuple):
            return contextlib.nullcontext(False)
        return self._tools[1].watch(name, about)

    def condemn(self, name: str, about: str) -> None:
        """Return None instead of the function of this name from now on, and in later processes."""
        self._loaded[name] = None
        if isinstance(self._tools, tuple):
            self._tools[1].condemn(name, about)

    # --- the threads ----------------------------------------------------------------------------------

    def get_ready(self) -> None:
        """What `prepare` does."""
        with self._working, contextlib.suppress(NoCompiler, OSError):
            self._toolchain()

    def _serve(self) -> None:
        self.get_ready()
        while True:
            batch = [self._pending.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < BATCH:
                    batch.append(self._pending.get_nowait())
            with self._lock:
                self._waiting += len(batch) - 1  # this one no longer waits
            with self._working:
                written = [(_written(write), done) for write, done in batch]
            mine = next(iter(slowest_first(groups(source for source, _ in written if source is not None))), [])
            for source, done in written:
                if source is not None and source not in mine:
                    self._hand_on(source, done)
            self._try(mine)
            answered = [(source, done) for source, done in written if source is None or source in mine]
            for source, done in answered:
                _tell(done, self._loaded.get(source.name) if source is not None else None)
            with self._answered:
                self._waiting += 1
                self._unanswered -= len(answered)
                self._answered.notify_all()

    def _hand_on(self, source: Source, done: Done) -> None:
        """Leave a source to the first available thread: a new one if there is a processor for it."""
        with self._lock:
            self._pending.put((lambda: source, done))
            self._waiting -= 1
            if self._waiting < 0 and self._threads < min(self.MOST_THREADS, processors.usable()):
                self._start()

    def _try(self, sources: Sequence[Source]) -> None:
        """Compile together, or if that fails each separately, so that one source does not affect the others."""
        try:
            self._compile(sources)
        except Exception as error:
            if isinstance(self._tools, NoCompiler) or len(sources) == 1:
                if error is not self._told:  # a compiler error caused by one source is only of interest for debugging
                    nothing_works = isinstance(self._tools, NoCompiler)
                    level = logging.WARNING if nothing_works else logging.INFO
                    _LOG.log(level, "Clusters stay uncompiled: %s", error)
                self._told = self._tools if isinstance(self._tools, NoCompiler) else None
                return
            for source in sources:
                self._try([source])

    def _compile(self, sources: Sequence[Source]) -> None:
        """Enter the functions of `sources` in `_loaded`."""
        missing = {source.name: source for source in sources if source.name not in self._loaded}
        if missing:
            self._loaded |= self.build(list(missing.values()))

    def build(self, sources: Sequence[Source]) -> dict[str, Function | None]:
        """The functions of `sources` by name, from the disk or from the C compiler; None for those that are known to be
        bad. Raises NoCompiler if it fails.

        Compilers for other languages override this.
        """
        with self._working:
            toolchain, cache = self._toolchain()
            found: dict[str, Function | None] = {source.name: None for source in sources if cache.is_bad(source.name)}
            for source in sources:
                if source.name not in found and (function := cache.load(source)) is not None:
                    found[source.name] = function
        missing = [source for source in sources if source.name not in found]
        if not missing:
            return found
        try:
            with cache.compiling(missing) as target:
                toolchain.compile(file_of(missing), target, missing[0].flags)
                bad = self._crashing(target, missing)
                # Not under its name in the cache: a wrong object may have been loaded from there, and would be reused.
                made = {s.name: function_of(target, s.name) if s.name not in bad else None for s in missing}
                return found | made
        except (OSError, ValueError) as error:
            raise NoCompiler(f"{shlex.join(toolchain.command[:1])} produced no usable object: {error}") from error

    def _crashing(self, made: Path, sources: Sequence[Source]) -> list[str]:
        """The names of functions that must not be called; this is logged and recorded."""
        calls = {source.name: source.first for source in sources if source.first is not None}
        found = crashing(made, calls)
        for name in found:
            self.condemn(name, calls[name].about)
            words = "Compiled code of %s ended the process in which it was tried; the nodes' own kernels are used."
            _LOG.warning(words, calls[name].about)
        return found

    def _toolchain(self) -> tuple[Toolchain, ObjectCache]:
        if self._tools is None:
            try:
                found = find_toolchain()
                self._tools = found, ObjectCache(cache_folder(), found.identity)
            except NoCompiler as error:
                self._tools = error
        if isinstance(self._tools, NoCompiler):
            raise self._tools
        return self._tools


def idle_cores() -> float:
    """Roughly the number of cores that this process may use and that were idle in the last minute."""
    return processors.usable() - os.getloadavg()[0]


def slowest_first(found: list[list[Source]]) -> list[list[Source]]:
    """Groups in the order in which they are compiled: first those whose flags require more time."""
    return sorted(found, key=lambda group: not group[0].flags)


def _tell(done: Done, function: Function | None) -> None:
    try:
        done(function)
    except Exception:  # others wait for theirs
        _LOG.exception("A compiled function was not taken")


def _written(write: Write) -> Source | None:
    try:
        return write()
    except Exception:  # others wait for theirs
        _LOG.exception("The source of a function could not be written")
        return None


_compiler = Compiler()
_others: dict[Hashable, Compiler] = {}


def compiler() -> Compiler:
    """The C compiler of this process."""
    return _compiler


def other_compiler(target: Hashable, make: Callable[[], Compiler]) -> Compiler:
    """The compiler of this process for another target, created on first use."""
    found = _others.get(target)
    return found if found is not None else _others.setdefault(target, make())


def wait(timeout: float | None = None) -> bool:
    """Wait until everything that steps have requested is compiled; returns whether it is within `timeout` seconds.

    Compiled functions are used from the next step on, which may request more.
    """
    end = None if timeout is None else time.monotonic() + timeout
    compilers = [_compiler, *_others.values()]
    return all(each.wait(None if end is None else max(0.0, end - time.monotonic())) for each in compilers)


def _forget() -> None:
    """A forked process has none of its parent's threads, and perhaps a locked lock: it starts over."""
    global _compiler
    _compiler = Compiler()
    _others.clear()


os.register_at_fork(after_in_child=_forget)
