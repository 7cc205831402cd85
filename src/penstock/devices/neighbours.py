"""How much of the processors is left by other programs, by other machines on the same hardware, and by quotas.

A measurement costs as much as a small step, so results up to half a second old are reused. It takes two readings to
measure anything; the first is taken when penstock is imported. Compilers that this process itself runs are known at
once: a step whose threads busy-wait for each other takes eight times as long beside one. Threads of this process that
prepare a step's input count as neighbours, too.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock.devices import processors
from penstock.devices.openmp import threads_together
from penstock.devices.waiting import wait_asleep

LOOK_S = 0.5
FIRST_LOOK_S = 0.1  # a tick of the accounts is a hundredth of a second
CROWDED, ALONE = 0.25, 0.12
"""How many processors are missing for each of a step's threads to have its own: from the first number on, threads sleep
while they wait; up to the second number they need not."""

Reading = tuple[float, float]
"""Seconds for which this process's processors were busy, and how many of them this process used for steps."""

_aside: dict[int, float] = {}


def work_aside(seconds: float) -> None:
    """Record that the calling thread used a processor for `seconds` beside steps."""
    here = threading.get_ident()
    _aside[here] = _aside.get(here, 0.0) + seconds


class Neighbours:
    """What is known about neighbours. Any number of threads may ask.

    read: None if the system does not tell. crowd: called when threads no longer have a processor each, and when they
    have one again. clock: in seconds.
    """

    def __init__(
        self,
        read: Callable[[], Reading | None],
        crowd: Callable[[bool], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._crowd, self._clock = read, crowd, clock
        self._lock = threading.Lock()
        self._next = clock() + FIRST_LOOK_S
        self._seen, self._at = read(), clock()
        self.others, self.own = 0.0, 0
        """Processors that others used between the last two readings; programs that this process runs."""
        self.crowded = False

    @property
    def taken(self) -> float:
        """Processors that are not available to this process; each program that it runs takes one."""
        return self.others + self.own

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """While a program that this process has started keeps a processor busy."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self.own += more
            if not self.own:  # what it has used since the last reading must not count as a neighbour's
                self._next, self._at, self._seen = self._clock() + FIRST_LOOK_S, self._clock(), self._read()
            self._judge()

    def look(self) -> None:
        """Measure again, if the last reading is old enough."""
        now = self._clock()
        if now < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self._next = now + LOOK_S
            seen = self._read()
            if seen is not None and self._seen is not None:
                busy, own = (after - before for before, after in zip(self._seen, seen, strict=True))
                self.others = max(0.0, (busy - own) / (now - self._at) - self.own)
            self._seen, self._at = seen, now
            self._judge()
        finally:
            self._lock.release()

    def _judge(self) -> None:
        left = min(processors.allowed() - self.taken, processors.usable())
        missing = threads_together() - left
        crowded = missing > (ALONE if self.crowded else CROWDED)
        if crowded != self.crowded:
            self.crowded = crowded
            self._crowd(crowded)


def read_accounts(file: Path = Path("/proc/stat")) -> Reading | None:
    """The kernel's counts. Time that a hypervisor gave to other machines counts as busy.

    Programs of low priority, such as background compilers, yield to others: they count only if this process's priority
    is low as well.
    """
    try:
        polite = os.nice(0) > 0
        ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        lines = file.read_text().splitlines()
        tick = 1.0 / os.sysconf("SC_CLK_TCK")
    except (AttributeError, OSError, ValueError):
        return None
    busy = 0
    for name, *counts in map(str.split, lines):
        if name in ours:
            user, nice, system, _idle, _waiting, irq, softirq, steal = map(int, counts[:8])
            busy += user + nice * polite + system + irq + softirq + steal
    return busy * tick, sum(os.times()[:2]) - sum(list(_aside.values()))


NEIGHBOURS = Neighbours(read_accounts, wait_asleep)
