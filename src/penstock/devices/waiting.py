"""How torch's threads wait for each other: in busy loops, which is quickest where they have their processors alone,
or asleep, which lets others run.

GNU's OpenMP decides it when it is loaded (OMP_WAIT_POLICY, GOMP_SPINCOUNT), for good, but for one rule that its manual
states: while there are more OpenMP threads than processors, waits are short (100 turns instead of 300,000, some 3 ms).
So a few threads that do nothing put all others to sleep, and wake their habits again by ending. It needs nothing to be
set before torch is imported, and child processes inherit nothing of it. LLVM's and Intel's have a function for it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import torch

from penstock.devices import openmp, processors

_SAID = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Where users say how threads should wait: then they wait so."""
_SPIN_MS = 200
"""What LLVM's and Intel's runtimes have by themselves."""

_lock = threading.Lock()
_crowd: _Crowd | None = None


def wait_asleep(asleep: bool) -> None:
    """Let threads that wait for each other sleep, or let them look again and again until it is their turn."""
    global _crowd
    library = openmp.library()
    if library is None or any(os.environ.get(name) for name in _SAID):
        return
    set_time = getattr(library, "kmp_set_blocktime", None)
    if set_time is not None:
        set_time(0 if asleep else _SPIN_MS)
        return
    with _lock:
        if not hasattr(library, "GOMP_parallel"):
            return
        if asleep and _crowd is None:
            _crowd = _Crowd(library)
        elif not asleep and _crowd is not None:
            _crowd.leave()
            _crowd = None


class _Crowd:
    """Sleeping OpenMP threads: enough for there to be more than processors, with the threads of one step."""

    def __init__(self, library: Any) -> None:
        self._over = threading.Event()
        self.is_there = False
        count = 2 + max(0, processors.allowed() - torch.get_num_threads())
        nothing = ctypes.cast(library.omp_get_thread_num, ctypes.c_void_p)

        def stand_by() -> None:
            library.GOMP_parallel(nothing, None, ctypes.c_uint(count), ctypes.c_uint(0))
            self.is_there = True
            self._over.wait()  # the threads that it started belong to this one, and end with it

        threading.Thread(target=stand_by, name="penstock-crowd", daemon=True).start()

    def leave(self) -> None:
        self._over.set()
