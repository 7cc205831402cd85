"""Queues that fill themselves with batches: `OrderedEnqueuer` and `GeneratorEnqueuer` (Keras 2.2's `data_utils`)."""

from __future__ import annotations

import queue
import random
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_DONE = object()


class SequenceEnqueuer:
    """Makes batches ahead, in threads: `start`, then the iterator that `get` gives, then `stop`.

    use_multiprocessing: is accepted; batches are made in threads of this process.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence, self.use_multiprocessing = sequence, use_multiprocessing
        self.workers = 0
        self.queue: Any = None
        self.run_thread: Any = None
        self.stop_signal: Any = None

    def is_running(self) -> bool:
        return self.stop_signal is not None and not self.stop_signal.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begin to make batches, at most `max_queue_size` ahead."""
        self.workers = workers
        self.queue = queue.Queue(max_queue_size)
        self.stop_signal = threading.Event()
        self.run_thread = threading.Thread(target=self._run, daemon=True)
        self.run_thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Make no more batches; those that are made are lost."""
        self.stop_signal.set()
        with self.queue.mutex:
            self.queue.queue.clear()
            self.queue.not_full.notify_all()
        self.run_thread.join(timeout)

    def get(self) -> Iterator[Any]:
        """Batches, in order; without those that are None. Raises what a batch raised."""
        while self.is_running():
            try:
                future = self.queue.get(timeout=0.1)
            except queue.Empty:
                continue
            batch = future.result()
            if batch is _DONE:
                return
            if batch is not None:
                yield batch

    def _run(self) -> None:
        raise NotImplementedError

    def _put(self, future: Future[Any]) -> None:
        while self.is_running():
            try:
                self.queue.put(future, timeout=0.1)
            except queue.Full:
                continue
            return


class OrderedEnqueuer(SequenceEnqueuer):
    """Batches of a `Sequence`, epoch after epoch without end. shuffle: each epoch in another order."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _run(self) -> None:
        workers = max(1, self.workers)
        with ThreadPoolExecutor(workers) as pool:
            while self.is_running():
                order = list(range(len(self.sequence)))
                if self.shuffle:
                    random.shuffle(order)
                last: deque[Future[Any]] = deque(maxlen=workers)
                for number in order:
                    last.append(pool.submit(self.sequence.__getitem__, number))
                    self._put(last[-1])
                for future in last if self.is_running() else ():
                    future.exception()  # wait for it: the epoch ends when all its batches are made
                if self.is_running():
                    self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """Batches of a generator, until it ends.

    Its elements are made one at a time: what Keras refused, a generator with several workers, is in order here.
    """

    def __init__(
        self, sequence: Any, use_multiprocessing: bool = False, wait_time: Any = None, random_seed: Any = None
    ) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.random_seed = random_seed

    def _run(self) -> None:
        source = iter(self.sequence)
        with ThreadPoolExecutor(1) as pool:
            while self.is_running():
                future = pool.submit(next, source, _DONE)
                self._put(future)
                if future.exception() is not None or future.result() is _DONE:
                    return
