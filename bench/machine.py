"""A description of the machine that the figures were measured on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path


def describe_machine() -> str:
    memory = memory_gib()
    parts = [
        cpu_model(),
        f"{usable_cores()} of {os.cpu_count()} cores",
        f"{memory:.0f} GiB of memory" if memory else "",
        f"{platform.system()} {platform.release()} {platform.machine()}",
    ]
    return ", ".join(part for part in parts if part)


def cpu_model() -> str:
    """The first CPU's name: from /proc/cpuinfo on Linux, though not on every ARM machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def usable_cores() -> int:
    """The number of cores available to this process: a container or taskset may restrict it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gib() -> float | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, OSError, ValueError):
        return None


class OtherWork:
    """The load of other programs on the usable cores between two moments, in cores; includes steal time.

    It matters: a step whose threads meet at OpenMP barriers can take a hundred times as long if one of them has to wait
    for its core, so figures from a shared machine may be meaningless.
    """

    def __init__(self) -> None:
        self._start = self._read()

    def cores(self) -> float | None:
        """The load since this object was created; None if the system does not report it."""
        end = self._read()
        if self._start is None or end is None:
            return None
        wall, busy, own = (after - before for before, after in zip(self._start, end, strict=True))
        return max(0.0, (busy - own) / wall)

    def _read(self) -> tuple[float, float, float] | None:
        """Wall clock, seconds the cores were busy, and our part of those (with children waited for)."""
        try:
            lines = Path("/proc/stat").read_text().splitlines()
            ours = {f"cpu{core}" for core in os.sched_getaffinity(0)}
            ticks_per_second = os.sysconf("SC_CLK_TCK")
        except (AttributeError, OSError, ValueError):
            return None
        ticks = 0
        for name, *counts in map(str.split, lines):
            if name in ours:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, counts[:8])
                ticks += user + nice + system + irq + softirq + steal
        return time.monotonic(), ticks / ticks_per_second, sum(os.times()[:4])
