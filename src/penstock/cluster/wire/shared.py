"""Memory that two processes of one host share: the sender copies a value into it, the receiver's tensors lie in it.

Most of the time of moving a large value goes into new pages, so segments are used again: the sender lends one with each
message, and has it back when the receiver's last tensor in it is gone. Segments have no names (memfd): when both
processes have ended, however they did, nothing is left of them.
"""

from __future__ import annotations

import itertools
import mmap
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SHARED_BYTES = 1 << 18
"""Values from this size on are lent; smaller ones are faster through the socket."""

_ALIGNMENT = 64
_PAGE = 1 << 16
_IDLE_S = 10.0


class Budget:
    """How much memory all lenders of a process may share."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give(self, size: int) -> None:
        with self._lock:
            self._left += size


class Segment:
    """A piece of memory of the lender."""

    __slots__ = ("fd", "known", "lent", "memory", "number", "size", "used")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.fd = os.memfd_create("penstock")
        try:
            os.ftruncate(self.fd, size)
            self.memory = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        except BaseException:
            os.close(self.fd)
            raise
        self.known = False
        """Whether the other side has it."""
        self.lent = True
        self.used = time.monotonic()


class Lender:
    """The segments into which this side of a connection writes."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._segments: dict[int, Segment] = {}
        self._closed = False
        self._dropped: list[int] = []

    def lend(self, beside: Sequence[memoryview]) -> Segment | None:
        """A segment that contains copies of the memory; None if too much is lent already."""
        size = sum(_aligned(view.nbytes) for view in beside)
        segment = self._take(size)
        if segment is None:
            return None
        at = 0
        for view in beside:
            segment.memory[at : at + view.nbytes] = np.frombuffer(view, np.uint8)  # unlike Python, without the GIL
            at += _aligned(view.nbytes)
        return segment

    def _take(self, size: int) -> Segment | None:
        with self._lock:
            if self._closed:
                return None
            free = sorted((s for s in self._segments.values() if not s.lent), key=lambda s: s.used)
            fitting = [s for s in free if size <= s.size <= 2 * size + _PAGE]
            if fitting:
                segment = min(fitting, key=lambda s: s.size)
                segment.lent = True
                return segment
            rounded = -(-size // _PAGE) * _PAGE
            while not self._budget.take(rounded):
                if not free:
                    return None
                self._drop(free.pop(0))
            try:
                segment = Segment(next(self._numbers), rounded)
            except OSError:  # no memory, or no file descriptors
                self._budget.give(rounded)
                return None
            self._segments[segment.number] = segment
            return segment

    def returned(self, number: int) -> None:
        """The other side needs it no more, or never got it."""
        with self._lock:
            segment = self._segments.get(number)
            if segment is None:
                return
            segment.lent = False
            segment.used = time.monotonic()
            if not segment.known:
                self._drop(segment)

    def dropped(self) -> list[int]:
        """End segments that were not used lately. The numbers of those that ended since the last time: the other side
        can forget them."""
        old = time.monotonic() - _IDLE_S
        with self._lock:
            for segment in [s for s in self._segments.values() if not s.lent and s.used < old]:
                self._drop(segment)
            dropped, self._dropped = self._dropped, []
        return dropped

    def _drop(self, segment: Segment) -> None:
        del self._segments[segment.number]
        os.close(segment.fd)
        self._budget.give(segment.size)
        if segment.known:
            self._dropped.append(segment.number)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for segment in list(self._segments.values()):
                self._drop(segment)


class Borrower:
    """The other side's segments. `returned(number)` is called when nothing lies in one any more: from anywhere, also
    while locks are held, so it may only note that."""

    def __init__(self, returned: Callable[[int], None]) -> None:
        self._returned = returned
        self._mapped: dict[int, mmap.mmap] = {}
        self._leases: dict[int, weakref.ref[Any]] = {}

    def add(self, number: int, fd: int) -> None:
        """A new segment; takes over its file descriptor."""
        try:
            self._mapped[number] = mmap.mmap(fd, os.fstat(fd).st_size)
        finally:
            os.close(fd)

    def borrow(self, number: int, lengths: Sequence[int]) -> list[Any]:
        """The memory of a message in that segment."""
        lease = np.frombuffer(self._mapped[number], np.uint8)
        if sum(map(_aligned, lengths)) > len(lease):
            raise ValueError("a message larger than its segment")

        def end(_: object) -> None:
            self._leases.pop(number, None)
            self._returned(number)

        self._leases[number] = weakref.ref(lease, end)
        pieces, at = [], 0
        for length in lengths:
            pieces.append(lease[at : at + length])  # its base is the lease, as is that of all that is made of it
            at += _aligned(length)
        return pieces

    def drop(self, number: int) -> None:
        """The lender has ended it."""
        self._mapped.pop(number, None)

    def close(self) -> None:
        """Of the segments, keep only those in which values lie."""
        self._mapped.clear()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
