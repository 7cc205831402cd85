"""Slice sampling (Neal, 2003) of several chains, whose densities are computed together.

A chain is a generator: it yields the points whose log densities it wants to know and receives them. `sample` collects
what all chains ask for into one batch, so no chain waits until another has found its point.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Questions = Generator[list[Array], list[float], None]

MOST_STEPS = 8  # of stepping out, to each side


def sample(
    log_density: Callable[[Array], Array], start: Array, sweeps: int, random: np.random.Generator, widths: Array
) -> Array:
    """Where chains from `start` [chains, D] are after `sweeps`, each of which renews all coordinates in random order.

    `log_density` takes [m, D] and returns [m]; it may return -inf, but not at `start`. `widths` [D] are the first
    guesses at the sizes of the slices: only speed depends on them.
    """
    state = start.copy()
    chains = [
        _chain(row, sweeps, np.random.default_rng(seed), widths)
        for row, seed in zip(state, random.integers(2**63, size=len(state)), strict=True)
    ]
    asked = {number: next(chain) for number, chain in enumerate(chains)} if sweeps else {}
    while asked:
        answers = iter(log_density(np.stack([point for points in asked.values() for point in points])).tolist())
        for number, points in list(asked.items()):
            try:
                asked[number] = chains[number].send([next(answers) for _ in points])
            except StopIteration:
                del asked[number]
    return state


def _chain(point: Array, sweeps: int, random: np.random.Generator, widths: Array) -> Questions:
    """Move `point` in place."""
    (density,) = yield [point.copy()]
    for _ in range(sweeps):
        for axis in random.permutation(len(point)):
            density = yield from _renew(point, int(axis), density, float(widths[axis]), random)


def _renew(
    point: Array, axis: int, density: float, width: float, random: np.random.Generator
) -> Generator[list[Array], list[float], float]:
    """Draw point[axis] from the slice through it: stepping out, then shrinking (Neal's figures 3 and 5)."""

    def at(value: float) -> Array:
        moved = point.copy()
        moved[axis] = value
        return moved

    level = density - random.exponential()
    here = float(point[axis])
    low = here - width * random.random()
    high = low + width
    left = int(random.integers(MOST_STEPS + 1))
    right = MOST_STEPS - left
    grow_low, grow_high = left > 0, right > 0
    while grow_low or grow_high:
        found = yield [at(value) for value, grows in ((low, grow_low), (high, grow_high)) if grows]
        if grow_low:
            grow_low = found.pop(0) > level
            if grow_low:
                low, left = low - width, left - 1
                grow_low = left > 0
        if grow_high:
            grow_high = found.pop(0) > level
            if grow_high:
                high, right = high + width, right - 1
                grow_high = right > 0
    while True:
        value = low + (high - low) * random.random()
        (density,) = yield [at(value)]
        if density > level or value == here:
            point[axis] = value
            return density
        if value < here:
            low = value
        else:
            high = value
