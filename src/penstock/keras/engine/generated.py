"""`Generated`: batches that a generator or a Sequence makes."""

from __future__ import annotations

import inspect
import queue
import random
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.keras.engine.batches import Batch, Source, whole
from penstock.keras.engine.elements import is_elements
from penstock.keras.utils.arrays import Sequence


class Generated(Source):
    """Batches of a generator or Sequence, made ahead by threads. `prepare` makes a `Batch` of what it gives."""

    generated = True

    def __init__(
        self, generator: Any, steps: int | None, prepare: Any, ahead: int = 10, workers: int = 1, shuffle: bool = True
    ) -> None:
        self._sequence = generator if hasattr(generator, "__getitem__") and hasattr(generator, "__len__") else None
        self.steps = len(generator) if steps is None and self._sequence is not None else whole(steps)
        if self.steps is None:
            raise ValueError(
                "`steps_per_epoch=None` is only valid for a generator based on the `keras.utils.Sequence` class. "
                "Please specify `steps_per_epoch` or use the `keras.utils.Sequence` class."
            )
        self._prepare, self._shuffle = prepare, shuffle
        self._ahead, self._workers = max(1, ahead), workers
        self._iterator = iter(generator) if self._sequence is None else None
        self._pass: list[int] = []
        self._numbers: list[int] = []
        self._queue: Any = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def epoch(self) -> Iterator[Batch]:
        for batch in self._batches():
            self.last_size = batch.size
            yield batch

    def _batches(self) -> Iterator[Batch]:
        if self._sequence is not None:
            yield from self._of_sequence(self._sequence)
            return
        for _ in range(self.steps or 0):
            value = self._next()
            if value is None:
                return
            yield self._prepare(value)

    def _next(self) -> Any:
        if self._workers == 0:
            return next(self._iterator or iter(()), None)
        if self._thread is None:
            self._queue = queue.Queue(self._ahead)
            self._thread = threading.Thread(target=self._fill, daemon=True, name="keras-generator")
            self._thread.start()
        value, error = self._queue.get()
        if error is not None:
            raise error
        return value

    def _fill(self) -> None:
        try:
            for value in self._iterator or ():
                if not self._put((value, None)):
                    return
            self._put((None, None))
        except BaseException as error:  # raised where the batch is wanted
            self._put((None, error))

    def _put(self, item: Any) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def _of_sequence(self, sequence: Any) -> Iterator[Batch]:
        """An epoch goes on where the last one ended, which need not be where the sequence ends."""
        wanted = self.steps or 0
        while wanted:
            if not self._numbers:
                self._begin_pass(sequence)
            part, self._numbers = self._numbers[:wanted], self._numbers[wanted:]
            yield from map(self._prepare, self._elements(sequence, part))
            wanted -= len(part)

    def _begin_pass(self, sequence: Any) -> None:
        """End the last pass, and number the batches of another; Python's generator draws their order, from that of the
        last one. (What ends with `fit` is not ended, as in Keras.)"""
        if self._pass and self._workers and hasattr(sequence, "on_epoch_end"):
            sequence.on_epoch_end()
        length = len(sequence)
        if not length:
            raise ValueError("The sequence has no batches.")
        if len(self._pass) != length:
            self._pass = list(range(length))
        if self._shuffle and self._workers:
            random.shuffle(self._pass)
        self._numbers = list(self._pass)

    def _elements(self, sequence: Any, numbers: list[int]) -> Iterator[Any]:
        if self._workers == 0:
            yield from (sequence[i] for i in numbers)
            return
        with ThreadPoolExecutor(self._workers) as pool:
            coming: deque[Any] = deque()
            for i in numbers:
                coming.append(pool.submit(sequence.__getitem__, i))
                if len(coming) >= self._ahead:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


def is_generator(x: Any) -> bool:
    """Whether `x` makes batches itself."""
    return isinstance(x, Sequence) or inspect.isgenerator(x) or (hasattr(x, "__next__") and not is_elements(x))
