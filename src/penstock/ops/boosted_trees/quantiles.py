"""Approximate quantiles of streams of weighted numbers, whose error is bounded.

A summary holds some of the numbers, each with a lower and an upper bound of its rank. Summaries are merged without more
error, and compressed with a little more. Sources: Greenwald and Khanna, Space-efficient online computation of quantile
summaries (2001), and Power-conserving computation of order-statistics over sensor networks (2004); Zhang and Wang, A
fast algorithm for approximate quantiles in high speed data streams (2007). Ranks are float32, as TensorFlow's are.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple, Self

import numpy as np

from penstock import errors

F32 = np.float32


class Summary(NamedTuple):
    """Numbers in ascending order, each once; what they weigh, and the bounds of their ranks."""

    value: np.ndarray
    weight: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of_rows(cls, rows: np.ndarray) -> Self:
        return cls(*np.ascontiguousarray(rows.T))

    @classmethod
    def of_numbers(cls, numbers: np.ndarray, weights: np.ndarray) -> Self:
        """The exact summary."""
        there = weights > 0
        value, place = np.unique(numbers[there], return_inverse=True)
        weight = np.zeros(len(value), F32)
        np.add.at(weight, place.reshape(-1), weights[there])
        high = np.cumsum(weight, dtype=F32)
        low = np.concatenate([np.zeros(1, F32), high])[: len(high)]
        return cls(value, weight, low, high)

    def rows(self) -> np.ndarray:
        return np.stack(self, 1)

    def __bool__(self) -> bool:
        return len(self.value) > 0

    def total(self) -> np.float32:
        return self.high[-1] if self else F32(0)

    def before(self) -> np.ndarray:
        """The upper bound of the rank of what comes before each."""
        return self.high - self.weight

    def after(self) -> np.ndarray:
        """The lower bound of the rank of what comes after each."""
        return self.low + self.weight

    def merged(self, other: Summary) -> Summary:
        if not other:
            return self
        if not self:
            return other
        at = np.searchsorted(other.value, self.value)
        both = np.append(other.value, np.nan)[at] == self.value
        mine, theirs = self._among(other, at), other._among(self, np.searchsorted(self.value, other.value))
        twins = at[both]
        for column in (1, 2, 3):
            mine[column][both] = self[column][both] + other[column][twins]
        alone = np.ones(len(other.value), bool)
        alone[twins] = False
        whole = [np.concatenate([m, t[alone]]) for m, t in zip(mine, theirs, strict=True)]
        order = np.argsort(whole[0], kind="stable")
        return Summary(*(column[order] for column in whole))

    def _among(self, other: Summary, at: np.ndarray) -> Summary:
        """The entries of this one, not in the other, with ranks in both; `at`: their places in the other."""
        low = self.low + np.concatenate([np.zeros(1, F32), other.after()])[at]
        high = self.high + np.append(other.before(), other.total())[at]
        return Summary(self.value, self.weight.copy(), low, high)

    def compressed(self, size: int, least_error: float = 0.0) -> Summary:
        """About `size` entries, the first and the last among them."""
        size, count = max(size, 2), len(self.value)
        if count <= size:
            return self
        allowed = float(self.total()) * max(1.0 / size, least_error)
        before, after = self.before().tolist(), self.after().tolist()
        kept, read, credit = [0], 0, 0
        while read + 1 < count:
            following = read + 1
            while following < count and credit < count and before[following] - after[read] <= allowed:
                credit += size
                following += 1
            read = max(read + 1, following - 1)
            kept.append(read)
            credit -= count
        if kept[-1] + 1 < count:
            kept.append(count - 1)
        return Summary(*(column[kept] for column in self))

    def error(self) -> float:
        if not self:
            return 0.0
        inside = (self.high - self.low - self.weight)[1:]
        between = self.before()[1:] - self.after()[:-1]
        return float(np.concatenate([np.zeros(1, F32), inside, between]).max()) / float(self.total())

    def boundaries(self, count: int) -> np.ndarray:
        """About `count` numbers that cut the stream into parts of like weight."""
        if not self:
            return self.value
        return self.compressed(count, float(F32(self.error() + 1.0 / count))).value

    def quantiles(self, count: int) -> np.ndarray:
        """The `count` + 1 numbers at ranks 0, total / count, …, total."""
        if not self:
            return self.value
        count, found, at = max(count, 2), [], 0
        after, before, size = self.after(), self.before(), len(self.value)
        for rank in range(count + 1):
            twice = F32(2) * (F32(rank) * self.total() / F32(count))
            following = at + 1
            while following < size and twice >= self.low[following] + self.high[following]:
                following += 1
            at = following - 1
            here = following == size or twice < after[at] + before[following]
            found.append(self.value[at if here else following])
        return np.array(found, F32)


EMPTY = Summary.of_rows(np.zeros((0, 4), F32))


def block_size(error: float, most: int) -> int:
    """How many entries a summary of each level has, for a stream of at most `most` numbers."""
    level, size = 1, 2
    while (size << level) < most:
        size = math.ceil(level / error) + 1
        level += 1
    return max(size, 2)


class Stream:
    """Summaries in levels: each level holds about twice as much of the stream as the one below."""

    def __init__(self, error: float, most: int) -> None:
        self._error = float(F32(error))
        self._size = block_size(self._error, most)
        self._buffer = min(self._size * 2, most)
        self._levels: list[Summary] = []

    def push(self, numbers: np.ndarray, weights: np.ndarray) -> None:
        """All numbers of a stream, in blocks. Those that weigh nothing are left out."""
        there = np.flatnonzero(weights > 0)
        for start in range(0, len(there), self._buffer):
            block = there[start : start + self._buffer]
            self.add(Summary.of_numbers(numbers[block], weights[block]))

    def add(self, summary: Summary) -> None:
        summary = summary.compressed(self._size, self._error)
        if not summary:
            return
        for level, held in enumerate(self._levels):
            summary = summary.merged(held)
            if not held or len(summary.value) <= self._size + 1:
                self._levels[level] = summary
                return
            summary, self._levels[level] = summary.compressed(self._size, self._error), EMPTY
        self._levels.append(summary)

    def summary(self) -> Summary:
        """Of all that has been added."""
        found = EMPTY
        for held in self._levels:
            found = found.merged(held)
        return found


class Streams:
    """Streams in a container, and the boundaries that were made of them. `boundaries` is None until it is created."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.boundaries: list[np.ndarray] | None = None
        self._error, self._most = 0.0, 0
        self._streams: list[Stream] = []

    def create(self, error: float, most: int, streams: int) -> None:
        """Unless they exist already."""
        with self.lock:
            if self.boundaries is None:
                self._error, self._most = error, most
                self.boundaries = [np.zeros(0, F32) for _ in range(streams)]
                self._begin()

    def _begin(self) -> None:
        self._streams = [Stream(self._error, self._most) for _ in self.read_boundaries()]

    def clear(self) -> None:
        with self.lock:
            self.boundaries, self._streams = None, []

    def read_boundaries(self) -> list[np.ndarray]:
        """The boundaries of each stream; raises FailedPreconditionError if there are no streams yet."""
        if self.boundaries is None:
            raise errors.FailedPreconditionError(
                None, None, f"Quantile streams {self.name} are not initialized. Run their initializer, or restore them."
            )
        return self.boundaries

    def add(self, summaries: list[Any]) -> None:
        with self.lock:
            self.read_boundaries()
            for stream, rows in zip(self._streams, summaries, strict=True):
                stream.add(Summary.of_rows(rows))

    def flush(self) -> list[Summary]:
        """The summaries of what was added; then there is nothing."""
        with self.lock:
            self.read_boundaries()
            found = [stream.summary() for stream in self._streams]
            self._begin()
            return found
