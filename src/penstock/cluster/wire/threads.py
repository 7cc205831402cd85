"""Threads that are kept for the next task, as many as there are tasks at a time."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

_IDLE_S = 10.0


class _Worker:
    __slots__ = ("gate", "task", "thread")

    def __init__(self, task: tuple[Callable[..., Any], tuple[Any, ...]] | None) -> None:
        self.gate = threading.Lock()
        self.gate.acquire()
        self.task = task
        self.thread: threading.Thread


class Threads:
    """A pool without a limit: a task that blocks must not hold up others.

    The thread that became idle last takes the next task; one that has been idle for a while ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()
        self._closed = False

    def submit(self, fn: Callable[..., Any], *args: Any) -> None:
        """Run it in a thread. Raises RuntimeError after `close`."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the threads of {self._name} were ended")
            if self._idle:
                worker = self._idle.pop()
                worker.task = (fn, args)
                worker.gate.release()
                return
            worker = _Worker((fn, args))
            name = f"{self._name}-{next(self._numbers)}"
            worker.thread = threading.Thread(target=self._work, args=(worker,), name=name, daemon=True)
            self._all.add(worker)
        try:
            worker.thread.start()
        except BaseException:
            with self._lock:
                self._all.discard(worker)
            raise

    def _work(self, worker: _Worker) -> None:
        while worker.task is not None:
            fn, args = worker.task
            worker.task = None
            try:
                fn(*args)
            except BaseException as error:
                threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, worker.thread)))
            del fn, args  # an idle thread keeps nothing alive
            with self._lock:
                if self._closed:
                    break
                self._idle.append(worker)
            if not worker.gate.acquire(timeout=_IDLE_S):
                with self._lock:
                    if worker in self._idle:
                        self._idle.remove(worker)
                        break
                worker.gate.acquire()  # it was chosen at the same moment
        with self._lock:
            self._all.discard(worker)

    def close(self, timeout: float) -> None:
        """End the idle threads and wait for the busy ones, which end after their task, up to `timeout` seconds."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            threads = [worker.thread for worker in self._all]
        for worker in idle:
            worker.gate.release()
        end = time.monotonic() + timeout
        for thread in threads:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
