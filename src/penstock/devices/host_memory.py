"""Memory that a step frees is kept for the next step.

glibc's malloc requests each large block from the system, and returns it when it is freed. If a step allocates tensors
of a few megabytes, the system then maps and clears their pages each time, which took a tenth to a third of a
convolutional net's step.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys

KEPT = 512 << 20
"""Bytes of freed memory at the end of the heap that the process keeps."""
_LARGEST = 32 << 20
"""Blocks up to this size come from the heap: the largest value that glibc allows."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_… of malloc.h


@functools.cache
def keep_freed_memory() -> bool:
    """Make malloc keep freed memory, up to `KEPT` bytes; returns whether it does.

    Done once per process. Not done if malloc is not glibc's, or if a MALLOC_… or GLIBC_TUNABLES environment variable is
    set.
    """
    told = any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ)
    if told or not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST)) and bool(mallopt(_TRIM_THRESHOLD, KEPT))
