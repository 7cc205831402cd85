"""The peak resident memory of a process from some moment on."""

from __future__ import annotations

import contextlib
import resource
import sys
from pathlib import Path


class PeakMemory:
    """The high-water mark, less the memory resident when this object is created.

    Linux can reset the mark to the current size. Elsewhere an earlier mark remains, so a lower peak reads as zero.
    """

    def __init__(self) -> None:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._start = high_water_mib()

    def mib(self) -> float:
        return high_water_mib() - self._start


def high_water_mib() -> float:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10  # from KiB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, KiB elsewhere
