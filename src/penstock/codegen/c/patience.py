"""When a function that runs again and again has become worth a compiler's time."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable

CALLS_BEFORE_COMPILING = 2
SECONDS_BEFORE_COMPILING = 0.2
"""Steps that initialise, or run once or for a moment, are not worth a compiler's time; and in the first step of a loop
it would take a core from the step."""

_REPEATED = 2


class Patience:
    """Of one function; any number of threads may call it at once. since: when its time began, if before the first call.
    prepare: called at the second call, when the compiler is likely to be wanted soon.

    Seconds are those of `time.monotonic`.
    """

    def __init__(self, since: float = math.inf, prepare: Callable[[], None] | None = None) -> None:
        self._since, self._prepare = since, prepare
        self._calls = itertools.count(1)

    def is_over(self) -> bool:
        """Asked at each call of the function: whether it ran often enough, and long enough ago for the first time."""
        now = time.monotonic()
        self._since = min(self._since, now)
        calls = next(self._calls)
        if calls == _REPEATED and self._prepare is not None:
            self._prepare()
        return calls >= CALLS_BEFORE_COMPILING and now - self._since >= SECONDS_BEFORE_COMPILING
