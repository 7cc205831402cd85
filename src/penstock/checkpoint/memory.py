"""Memory for the values of checkpoints: large, used for a moment, and wanted again by the next save or restore.

New memory is slow: to map and clear its pages takes up to five times as long as to copy to them. So what was used is
kept. The system may take it whenever it is short of memory (MADV_FREE), but until then it counts as the process's.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import numpy as np

from penstock.checkpoint.values import Bytes
from penstock.devices.processors import threads

T = TypeVar("T")
R = TypeVar("R")

_WORTH_THREADS = 16 << 20
_CAN_KEEP = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")
_LEAST = 1 << 20
"""Smaller blocks come from malloc, which keeps them itself."""
_LARGE_PAGE = 2 << 20
_SLOW_SECONDS = 1e-3
"""For a large page. It takes a tenth of this, or, where a virtual machine's host must find it first, five times this:
ten times what small pages take, which the host has rarely taken away."""


class KeptMemory:
    """Blocks of memory. All of them, in use and kept, never take more than was once in use together."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the garbage collector may give back a block in a thread that has it
        self._kept: list[mmap.mmap] = []
        self._used = self._most = 0

    def take(self, nbytes: int) -> Bytes:
        """Bytes with any content, given back when nothing refers to them. Raises MemoryError."""
        if nbytes < _LEAST or not _CAN_KEEP:
            return np.empty(nbytes, np.uint8)
        block = self._reserve(-(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        holder = (ctypes.c_char * len(block)).from_buffer(block)
        weakref.finalize(holder, self._give_back, block).atexit = False
        return np.frombuffer(memoryview(holder), np.uint8, nbytes)

    def forget(self) -> None:
        """Return what is kept to the system."""
        with self._lock:
            self._kept.clear()

    @property
    def kept_bytes(self) -> int:
        return sum(map(len, self._kept))

    def _reserve(self, size: int) -> mmap.mmap:
        with self._lock:
            fitting = [block for block in self._kept if size <= len(block) <= size + size // 4]
            if fitting:
                found = min(fitting, key=len)
                self._kept.remove(found)
            self._used += len(found) if fitting else size
            self._most = max(self._most, self._used)
            while self._kept and self._used + self.kept_bytes > self._most:
                del self._kept[0]
        if fitting:
            return found
        try:
            return _new_block(size)
        except OSError as error:
            with self._lock:
                self._used -= size
            raise MemoryError(f"no memory for {size} bytes") from error

    def _give_back(self, block: mmap.mmap) -> None:
        with self._lock:
            self._used -= len(block)
            with suppress(OSError):  # a system without it
                block.madvise(mmap.MADV_FREE)
                self._kept.append(block)


def _new_block(size: int) -> mmap.mmap:
    """Of large pages as far as they are at hand, otherwise of small ones."""
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without large pages
        block.madvise(mmap.MADV_HUGEPAGE)
    pages = np.frombuffer(block, np.uint8)
    for at in range(0, size, _LARGE_PAGE):
        begin = time.perf_counter()
        pages[at : at + _LARGE_PAGE : mmap.PAGESIZE] = 0
        if time.perf_counter() - begin > _SLOW_SECONDS:
            with suppress(OSError):
                block.madvise(mmap.MADV_NOHUGEPAGE)
            break
    return block


MEMORY = KeptMemory()


def in_threads(work: Callable[[T], R], items: Sequence[T], nbytes: int) -> list[R]:
    """The results of `work`, which goes through `nbytes` of memory outside Python's lock."""
    if nbytes < _WORTH_THREADS:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(8, threads()), "penstock-checkpoint") as pool:
        return list(pool.map(work, items))
