"""Why replicas that do the same do not take the same time: chances, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.export import export


@export("placement.Jitter")
@dataclass(frozen=True, slots=True)
class Jitter:
    """What a step's computation takes is multiplied by exp(spread * z), z standard normal, and with chance `slow` by
    `times` as well: a machine that does something else for a while."""

    spread: float = 0.0
    slow: float = 0.0
    times: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.spread < 0 or not 0 <= self.slow <= 1 or self.times < 1:
            raise ValueError("spread must be at least 0, slow a probability, and times at least 1")

    def draw(self, steps: int, replicas: int) -> NDArray[np.float64]:
        """A factor for each step of each replica. Those of the first n replicas are the same for all numbers."""
        factors = np.ones((steps, replicas))
        for replica in range(replicas):
            chances = np.random.default_rng([self.seed, replica])
            if self.spread:
                factors[:, replica] *= np.exp(self.spread * chances.standard_normal(steps))
            if self.slow:
                factors[:, replica] *= np.where(chances.random(steps) < self.slow, self.times, 1.0)
        return factors
