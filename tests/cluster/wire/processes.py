"""A task in a process of its own, for tests that kill it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from penstock.cluster.wire.peer import Handler
from tests.cluster.wire.endpoints import ECHO, QUICK, WORKER, endpoint

_PROGRAM = "from tests.cluster.wire.processes import serve; serve()"


def serve() -> None:
    """The program: prints its port, and serves until its standard input ends."""
    service = {**ECHO, "wait": Handler(lambda peer, seconds: time.sleep(seconds))}
    # Generous: who stands still for a moment is not lost.
    with endpoint(WORKER, service, replace(QUICK, dead_s=10.0)) as worker:
        print(worker.listen("127.0.0.1"), flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def task() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process, f"127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def stop(pid: int) -> None:
    """Send SIGSTOP and wait until all threads have stopped: until one has seen the signal, the others go on."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 30
    while {_state(stat) for stat in Path(f"/proc/{pid}/task").glob("*/stat")} != {"T"}:
        assert time.monotonic() < end
        time.sleep(0.001)


def _state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]
