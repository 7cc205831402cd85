"""torch's OpenMP runtime, called directly, for what torch has no function for, or only one that affects all threads."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Fn = Callable[..., Any]


def limited(fn: Fn, number: int) -> Fn:
    """Returns a function that does what `fn` does with at most this many threads.

    The calling thread's number of threads is restored afterwards. Returns `fn` itself if torch has no OpenMP.
    """
    both = setters()
    if both is None:
        return fn
    set_openmp, set_mkl = both
    count = torch.get_num_threads  # torch sets its own number at its first call in each thread

    def run(*args: Any) -> Any:
        before = count()
        if before <= number:
            return fn(*args)
        set_openmp(number)
        mkl_before = set_mkl(number)
        try:
            return fn(*args)
        finally:
            set_mkl(mkl_before)
            set_openmp(before)

    return run


class Threads:
    """Temporarily sets the number of threads for this thread's kernels."""

    __slots__ = ("_before", "_mkl_before", "_number")

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._before = torch.get_num_threads()
        self._mkl_before = set_threads(self._number)

    def __exit__(self, *exc: Any) -> None:
        set_threads(self._before, self._mkl_before)


_together = threading.local()


class Share(Threads):
    """The part of this process's threads that this thread's kernels may use, while others use the rest."""

    __slots__ = ()

    def __enter__(self) -> None:
        super().__enter__()
        _together.number = self._before

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        _together.number = None


def threads_together() -> int:
    """How many threads the calling thread's kernels use, with those that share them."""
    number: int | None = getattr(_together, "number", None)
    return torch.get_num_threads() if number is None else number


def set_threads(number: int, of_mkl: int | None = None) -> int:
    """Set the calling thread's number for OpenMP and, if it should differ, for MKL; returns MKL's previous number."""
    both = setters()
    if both is None:
        return 0
    both[0](number)
    return both[1](number if of_mkl is None else of_mkl)


@functools.cache
def setters() -> tuple[Callable[[int], None], Callable[[int], int]] | None:
    """Functions that set the calling thread's number for OpenMP and for MKL and return the previous one. None without
    OpenMP."""
    found = _torchs(ctypes.PyDLL)  # they return at once, so the interpreter's lock is kept
    if found is None:
        return None
    openmp = found.omp_set_num_threads
    openmp.argtypes, openmp.restype = (ctypes.c_int,), None
    mkl = getattr(found, "MKL_Set_Num_Threads_Local", None)
    if mkl is None:
        return openmp, lambda number: 0
    mkl.argtypes, mkl.restype = (ctypes.c_int,), ctypes.c_int
    return openmp, mkl


@functools.cache
def library() -> Any:
    """The runtime, whose functions release the interpreter's lock; None if torch has none that can be set."""
    return _torchs(ctypes.CDLL)


def _torchs(kind: type[ctypes.CDLL]) -> Any:
    """torch's own library, through which the libraries that it was linked with are found."""
    for path in Path(torch.__file__).parent.glob("lib/libtorch_cpu.*"):
        try:
            found = kind(str(path))
        except OSError:
            continue
        if hasattr(found, "omp_set_num_threads"):
            return found
    return None
