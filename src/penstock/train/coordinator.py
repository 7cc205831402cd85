"""`Coordinator`: threads that stop together, and the error of one that failed (TF: tf.train.Coordinator)."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from penstock import errors
from penstock.export import export
from penstock.runtime.deadlock import watching

_LOG = logging.getLogger(__name__)
_LONGEST_PAUSE = 0.1
"""Seconds between two checks whether threads have ended."""


@export("train.Coordinator")
class Coordinator:
    """Lets any of several threads stop all of them, and passes the first error to the thread that joins them.

    A thread runs `while not coord.should_stop(): …` within `with coord.stop_on_exception():`.
    """

    def __init__(self, clean_stop_exception_types: Sequence[type[BaseException]] | None = None) -> None:
        """`clean_stop_exception_types`: errors that stop the threads without being a failure; by default
        OutOfRangeError, which marks the end of input."""
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._failure: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    # --- stopping ---------------------------------------------------------------------------------------

    def request_stop(self, ex: Any = None) -> None:
        """Request all threads to stop. `ex`: an exception, or the result of `sys.exc_info()`, which `join` will raise.

        Only the first request counts. After `join`, when it could not be reported there, it is raised here.
        """
        failure = _exception(ex)
        if isinstance(failure, self._clean_stop_exception_types):
            failure = None
        with self._lock:
            if self._joined:
                if failure is not None:
                    raise failure
            elif failure is not None and not self._stop_event.is_set():
                _LOG.info("Error reported to Coordinator: %s, %s", type(failure).__name__, failure)
                self._failure = failure
            self._stop_event.set()

    def should_stop(self) -> bool:
        return self._stop_event.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested, at most `timeout` seconds. Returns whether it was."""
        return self._stop_event.wait(timeout)

    def clear_stop(self) -> None:
        """Reset the stop request and its exception."""
        with self._lock:
            self._joined = False
            self._failure = None
            self._stop_event.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Any exception in the block, including Ctrl-C, ends it and stops all threads; `join` raises it."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def raise_requested_exception(self) -> None:
        """Raise the exception that a thread reported, if any."""
        with self._lock:
            if self._failure is not None:
                raise self._failure

    # --- joining ----------------------------------------------------------------------------------------

    def register_thread(self, thread: threading.Thread) -> None:
        """Make `join` also wait for `thread`."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until `threads` and registered threads have ended; then raise the exception that one of them reported.

        After a stop is requested they have `stop_grace_period_secs` to end. Unless `ignore_live_threads`, raises
        RuntimeError naming those that have not.
        """
        with self._lock:
            waited_for = list(self._registered_threads.union(threads or ()))
        with watching(self.should_stop, waited_for):
            while _alive(waited_for) and not self.wait_for_stop(_LONGEST_PAUSE):
                pass
        deadline, pause = time.monotonic() + stop_grace_period_secs, 0.001
        while (stragglers := _alive(waited_for)) and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._failure is not None:
                raise self._failure
            if stragglers:
                names = " ".join(thread.name for thread in stragglers)
                message = f"Coordinator stopped with threads still running: {names}"
                if not ignore_live_threads:
                    raise RuntimeError(message)
                _LOG.info(message)

    @property
    def joined(self) -> bool:
        return self._joined


def _alive(threads: Iterable[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in threads if thread.is_alive()]


def _exception(ex: Any) -> BaseException | None:
    """The exception in an argument of `request_stop`; a ValueError if there is none."""
    found = ex[1] if isinstance(ex, tuple) and len(ex) == 3 else ex
    if found is None or isinstance(found, BaseException):
        return found
    return ValueError(f"ex must be an exception or a tuple as sys.exc_info() gives it: {ex!r}")


@export("train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that repeats a task until its coordinator stops it (TF: tf.train.LooperThread).

    It calls `target`, or a subclass overrides `run_loop`. An exception there stops the coordinator's other threads.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """`timer_interval_secs`: from one start to the next; None for no pause."""
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._call, self._call_args, self._call_kwargs = target, tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A running thread that calls `target`."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    due += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the loop."""

    def stop_loop(self) -> None:
        """Called once when the coordinator has stopped the loop."""

    def run_loop(self) -> None:
        """The repeated task."""
        if self._call is not None:
            self._call(*self._call_args, **self._call_kwargs)
