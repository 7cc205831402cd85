"""Programs that are started once for each task: each is killed, and started again by its user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.chaos.between import INTERVAL
from tests.cluster.servers import free_ports

PATIENCE_S = 60.0


class Tasks:
    """The tasks' processes, by "job:index"."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(3)
        self._spec = {"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{port}" for port in ports[1:]]}
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        job, _, index = name.partition(":")
        arguments = [json.dumps(self._spec), job, index, str(self._folder / "checkpoints")]
        with self._log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.chaos.between", *arguments], stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        with self._running.pop(name) as process:
            process.kill()

    def _log(self, name: str) -> Path:
        return self._folder / name

    def steps(self, name: str) -> list[int]:
        """Of a worker, from its first start on."""
        lines = self._log(name).read_text().splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("step ") and len(line.split()) == 4]

    def wait_for_steps(self, *names: str) -> None:
        """Until each has done some more."""
        had = {name: len(self.steps(name)) for name in names}
        deadline = time.monotonic() + PATIENCE_S
        while any(len(self.steps(name)) < had[name] + 2 * INTERVAL for name in names):
            if time.monotonic() > deadline or any(process.poll() is not None for process in self._running.values()):
                said = "\n".join(f"--- {name}\n{self._log(name).read_text()[-3000:]}" for name in self._running)
                raise AssertionError(f"no steps of {names}:\n{said}")
            time.sleep(0.02)

    def close(self) -> None:
        for name in list(self._running):
            self.kill(name)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tasks]:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])))
    found = Tasks(tmp_path)
    try:
        for name in ("ps:0", "worker:0", "worker:1"):
            found.start(name)
        found.wait_for_steps("worker:0", "worker:1")
        yield found
    finally:
        found.close()


def test_killed_tasks_that_their_user_starts_again_rejoin(tasks: Tasks) -> None:
    tasks.kill("worker:1")
    tasks.wait_for_steps("worker:0")
    tasks.start("worker:1")
    tasks.wait_for_steps("worker:0", "worker:1")

    before = max(tasks.steps("worker:0") + tasks.steps("worker:1"))
    tasks.kill("ps:0")
    tasks.start("ps:0")
    had = len(tasks.steps("worker:0"))
    tasks.wait_for_steps("worker:0", "worker:1")
    first = tasks.steps("worker:0")[had:]
    assert before - 3 * INTERVAL <= min(first), "the chief restores the last checkpoint, the other waits for it"

    tasks.kill("worker:0")
    tasks.wait_for_steps("worker:1")
    tasks.start("worker:0")
    tasks.wait_for_steps("worker:0", "worker:1")
