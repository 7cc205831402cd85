"""What people see of a long write: a bar on a terminal, elsewhere a line in the log now and then."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOG = logging.getLogger(__name__)
_LEAST_BYTES = 256 << 20
_SECONDS_BEFORE_BAR = 2.0
_SECONDS_BETWEEN_LINES = 10.0

Advance = Callable[[int], object]


@contextmanager
def write_progress(path: str, total: int) -> Iterator[Advance]:
    """Yields a function to call with the number of bytes that have been written since."""
    name = path.rpartition("/")[2]
    if total < _LEAST_BYTES:
        yield lambda count: None
        return
    from tqdm import tqdm

    lines = _Lines(name, total)
    with tqdm(
        total=total,
        desc=f"Saving {name}",
        unit="B",
        unit_scale=True,
        delay=_SECONDS_BEFORE_BAR,
        leave=False,
        disable=None,  # where there is no terminal
    ) as bar:
        yield lines.advance if bar.disable else bar.update


class _Lines:
    def __init__(self, name: str, total: int) -> None:
        self._name, self._total, self._done = name, total, 0
        self._began = self._said = time.monotonic()

    def advance(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            speed = self._done / (now - self._began)
            _LOG.info(
                "Saving %s: %.1f of %.1f GB, %.2f GB/s, %.0f s left",
                self._name, self._done / 1e9, self._total / 1e9, speed / 1e9, (self._total - self._done) / speed,
            )  # fmt: skip
