"""A progress bar on stderr with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable, Sequence

WIDTH = 24
CLEAR = "\r\x1b[K"  # back to the start of the line, and erase it


class Progress:
    """Follows a known list of jobs; jobs with the same key are expected to take equally long.

    On a terminal one line is redrawn; elsewhere (a log file) each job gets a line.
    """

    def __init__(self, keys: Sequence[Hashable]) -> None:
        self._waiting = list(keys)
        self._total = len(self._waiting)
        self._seconds: dict[Hashable, float] = {}  # the latest of each kind
        self._live = sys.stderr.isatty()
        self._start = time.monotonic()

    def begin(self, label: str) -> None:
        done = self._total - len(self._waiting)
        filled = WIDTH * done // max(self._total, 1)
        bar = "#" * filled + "." * (WIDTH - filled)
        line = f"[{bar}] {done}/{self._total}  {self._time_left():>9}  {label}"
        if self._live:
            print(f"{CLEAR}{line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self._start = time.monotonic()

    def end(self, key: Hashable) -> None:
        """The job just begun, of kind `key`, is done."""
        self._waiting.remove(key)
        self._seconds[key] = time.monotonic() - self._start

    def skip(self, key: Hashable) -> None:
        """A job of kind `key` will not be done."""
        self._waiting.remove(key)

    def close(self) -> None:
        if self._live:
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def _time_left(self) -> str:
        """The waiting jobs' previous durations; new ones count as the mean of the others."""
        if not self._seconds:
            return ""
        mean = sum(self._seconds.values()) / len(self._seconds)
        seconds = round(sum(self._seconds.get(key, mean) for key in self._waiting))
        return f"{seconds // 60}:{seconds % 60:02d} left"
