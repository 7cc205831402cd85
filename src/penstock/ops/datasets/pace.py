"""How many calls of a function to make at once, by how long they take."""

from __future__ import annotations

import math
import threading

_HAND_OVER = 100e-6
"""The approximate seconds for passing a call to another thread and getting its result back."""
_ROUND = 64
"""Calls that are compared at a time."""
_WORTH = 1.05
"""How many times as fast several calls at once must be: what takes turns is slower, what shares processors is not."""
_REST, _MOST_REST = 1024, 1 << 16
"""After how many calls, one at a time, several at once are tried again: at first, and after failing repeatedly."""


class Pace:
    """Calls that are shorter than the overhead of another thread are better done directly (`quick`).

    `workers`: how many calls to make at once, `parallel` or 1. Calls that hold Python's lock take turns, and while
    threads pass it to each other they take twice as long.
    """

    def __init__(self, parallel: int) -> None:
        self.workers = self._parallel = parallel
        self._seconds = math.inf
        self._measured = 0
        self._lock = threading.Lock()
        self._together, self._count = 0.0, 0
        self._rest = self._resting = _REST

    @property
    def known(self) -> bool:
        return self._measured >= 3

    @property
    def quick(self) -> bool:
        return self.known and self._seconds < _HAND_OVER

    def note(self, seconds: float) -> None:
        """Record the time of a call that ran alone. The first one includes planning, so it is ignored."""
        with self._lock:
            if self.known:
                self._seconds += (seconds - self._seconds) / 8
            else:
                self._seconds = min(self._seconds, seconds)
            self._measured += 1
            if self.workers < self._parallel:
                self._resting -= 1
                if not self._resting:
                    self.workers = self._parallel

    def note_together(self, seconds: float) -> None:
        """Record the time of a call beside which all others ran."""
        with self._lock:
            self._together += seconds
            self._count += 1
            if self._count < _ROUND:
                return
            if self._together * _WORTH > self._seconds * self._parallel * self._count:
                self.workers, self._resting = 1, self._rest
                self._rest = min(2 * self._rest, _MOST_REST)
            else:
                self._rest = _REST
            self._together, self._count = 0.0, 0
