"""When a function that runs again and again has become worth a compiler's time."""

from __future__ import annotations

import itertools
import math
import time

CALLS_BEFORE_COMPILING = 3
SECONDS_BEFORE_COMPILING = 0.2
"""Steps that initialise, or run a few times, are not worth a compiler's time; and in the first step of a loop it would
take a core from the step."""


class Patience:
    """Of one function; any number of threads may call it at once. since: when its time began, if before the first call.

    Seconds are those of `time.monotonic`.
    """

    def __init__(self, since: float = math.inf) -> None:
        self._since = since
        self._calls = itertools.count(1)

    def is_over(self) -> bool:
        """Asked at each call of the function: whether it ran often enough, and long enough ago for the first time."""
        now = time.monotonic()
        self._since = min(self._since, now)
        return next(self._calls) >= CALLS_BEFORE_COMPILING and now - self._since >= SECONDS_BEFORE_COMPILING
