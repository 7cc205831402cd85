"""Finds the number of threads with which a step is fastest, by timing steps repeatedly, because neighbours come and go.

Two numbers of threads at a time run alternately, for a few milliseconds each, until one is clearly faster. The better
one then runs for two hundred times as long as trying the other has cost, so that trials cost half a percent; only
twenty times if something has changed: the number itself, which may have won by chance, or the times of its steps. A
trial starts at once if neighbours have come or gone, or the steps have changed. If there is only one number to choose
from, nothing is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

SAMPLE_S = 0.004
"""The time measured at once: a processor runs another program for about as long."""
MARGINS = (1.5, 1.3, 1.2, 1.15, 1.1, 1.07, 1.05, 1.0)
"""After this many rounds, a number that takes this many times as long as the other is the slower one."""
CLEARLY = 0.95
"""The fraction of the present time that a change must save."""
LOOK_S = 0.05
LOOKS, CHANGED = 3, 1.4
"""This many measurements that differ this much from the usual count as a change."""
LEAST_PAUSE_S, LEAST_PAUSE, MOST_PAUSE = 0.25, 20.0, 200.0
TINY_S = 20e-6
"""Steps shorter than this start no threads or would gain too little: they are tried once."""


class TrialBlock(NamedTuple):
    """Steps to run with a number of threads: first `skip` untimed ones, then some for at least `seconds`.

    best: whether this is the best known number.
    """

    threads: int
    seconds: float = SAMPLE_S
    skip: int = 0
    best: bool = False


class Times(NamedTuple):
    """How long the timed steps of a block took together."""

    steps: float
    seconds: float

    @property
    def mean(self) -> float:
        return self.seconds / self.steps

    def plus(self, other: Times) -> Times:
        return Times(self.steps + other.steps, self.seconds + other.seconds)

    def halved(self) -> Times:
        return Times(self.steps / 2, self.seconds / 2)


NEVER = Times(0, 0.0)


def trial(
    first: int, options: Callable[[], Sequence[int]], change: Callable[[], object]
) -> Generator[TrialBlock, Times, int]:
    """Yields blocks to run and receives their times, for as long as the step may run; returns the final number.

    options: the numbers to choose from at present. change: a value that differs after something has changed.
    """
    best, usual = first, (yield TrialBlock(first, 0.0, skip=1, best=True)).mean  # the first step initialises things
    known: dict[int, Times] = {}
    while True:
        situation, cost, numbers = change(), 0.0, options()
        before = best = best if best in numbers else numbers[0]
        for challenger in numbers:
            if challenger != best:
                wins, extra = yield from _compare(best, challenger, known)
                cost += extra
                best = challenger if wins else best
        usual = known[best].mean if best in known else usual
        if usual < TINY_S:
            return best
        pause, strange, seen = 0.0, 0, usual
        least = max(LEAST_PAUSE_S, LEAST_PAUSE * cost)
        most = max(LEAST_PAUSE_S, MOST_PAUSE * cost) if best == before else least
        while pause < most and change() == situation and (strange < LOOKS or pause < least):
            skip = int(LOOK_S / seen)
            times = yield TrialBlock(best, skip=skip, best=True)
            pause += skip * seen + times.seconds
            seen = times.mean
            if usual / CHANGED < seen < usual * CHANGED:
                strange, usual = 0, usual + 0.1 * (seen - usual)
            else:
                strange += 1
        if pause < most:
            known.clear()


def _compare(best: int, challenger: int, known: dict[int, Times]) -> Generator[TrialBlock, Times, tuple[bool, float]]:
    """Whether the challenger is faster, and the seconds that the slower one has cost.

    known: times of earlier comparisons, which count for half, then for a quarter in the next; this one's are added.
    """
    a, b = (known.get(number, NEVER) for number in (best, challenger))
    a, b = a.halved(), b.halved()
    steps, wins = 0.0, False
    for margin in MARGINS:
        a = a.plus((yield TrialBlock(best)))
        tried = yield TrialBlock(challenger)
        b, steps = b.plus(tried), steps + tried.steps
        wins = b.mean * margin < a.mean * CLEARLY
        if wins or b.mean >= a.mean * margin:
            break
    known[best], known[challenger] = a, b
    return wins, steps * abs(b.mean - a.mean)
