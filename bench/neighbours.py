"""Busy neighbours: programs that keep a core busy, like other programs on a shared machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

BUSY = """
import os, sys, time
end, parent = time.monotonic() + float(sys.argv[1]), int(sys.argv[2])
while time.monotonic() < end and os.getppid() == parent:
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def neighbours(count: int, limit_s: float) -> Iterator[None]:
    """So many of them, for as long as this is entered; if this process is killed, until they notice, or `limit_s`."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            command = [sys.executable, "-c", BUSY, str(limit_s), str(os.getpid())]
            processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True))
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def in_words(count: int) -> str:
    return {0: "no busy neighbour", 1: "one busy neighbour"}.get(count, f"{count} busy neighbours")
