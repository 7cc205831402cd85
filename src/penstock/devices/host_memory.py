"""Memory that a step frees is kept for the next step.

glibc's malloc asks the system for each large block, and gives it back when it is freed. A step that makes tensors of
a few megabytes then has the system find and clear their pages each time: of a convolutional net's step that took a
tenth to a third.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

KEPT = 512 << 20
"""Bytes of freed memory at the end of the heap that the process keeps."""
_LARGEST = 32 << 20
"""Blocks up to here come from the heap: the most that glibc allows."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_… of malloc.h


@functools.cache
def keep_freed_memory() -> bool:
    """Have malloc keep what is freed, up to `KEPT` bytes; returns whether it does.

    Done once for the process. Not where malloc is another than glibc's, or is told otherwise by a MALLOC_… or
    GLIBC_TUNABLES variable of the environment.
    """
    told = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if told or not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(mallopt(_TRIM_THRESHOLD, KEPT))
