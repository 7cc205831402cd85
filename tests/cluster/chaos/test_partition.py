"""Two workers that cannot reach each other, though the client and the parameter servers reach both."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.chaos.networks import Network, can_be_made

pytestmark = pytest.mark.skipif(not can_be_made(), reason="only root makes network namespaces")

SPEC = {"worker": ["10.77.0.1:7000", "10.77.0.2:7000"], "ps": ["10.77.0.3:7000", "10.77.0.3:7001"]}
HOSTS = {"worker": [1, 2], "ps": [3, 3]}
SERVER = "import json, sys, penstock as tf; job, i = sys.argv[2:]; \
tf.train.Server(json.loads(sys.argv[1]), job, int(i), dead_s=2.0).join()"
PATIENCE_S = 60.0


class Training:
    def __init__(self, network: Network, folder: Path) -> None:
        self._network, self._log = network, folder / "log"
        (folder / "checkpoints").mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []
        with self._log.open("wb") as log:
            for job, hosts in HOSTS.items():
                for index, host in enumerate(hosts):
                    command = [sys.executable, "-c", SERVER, json.dumps(SPEC), job, str(index)]
                    self._processes.append(network.start(host, command, log))
            command = [
                sys.executable, "-m", "tests.cluster.chaos.program",
                f"grpc://{SPEC['worker'][0]}", str(folder / "checkpoints"), "100000",
            ]  # fmt: skip
            client = network.start(4, command, log, stdin=subprocess.PIPE)
        self._processes.append(client)
        assert client.stdin is not None
        client.stdin.write(b"go\n")
        client.stdin.flush()

    def steps(self) -> list[tuple[int, str]]:
        """What the variables were after each step."""
        found = [line.split() for line in self.said().splitlines() if " step " in line]
        return [(int(line[2]), line[3]) for line in found if len(line) == 4]

    def said(self) -> str:
        return self._log.read_text()

    def wait_for_steps(self, more: int) -> None:
        wanted, deadline = len(self.steps()) + more, time.monotonic() + PATIENCE_S
        while len(self.steps()) < wanted:
            assert time.monotonic() < deadline, self.said()[-6000:]
            time.sleep(0.05)

    def close(self) -> None:
        for process in self._processes:
            with process:
                process.kill()


@pytest.fixture
def network() -> Iterator[Network]:
    network = Network(4)
    yield network
    network.close()


@pytest.fixture
def training(network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Training]:
    root = str(Path(__file__).parents[3])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("PENSTOCK_CLUSTER_TOKEN", "of-this-test-only-0123456789")
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")
    training = Training(network, tmp_path)
    try:
        training.wait_for_steps(15)
        yield training
    finally:
        training.close()


def test_training_goes_on_after_a_partition_of_two_workers(training: Training, network: Network) -> None:
    network.part(1, 2)
    time.sleep(0.5)  # shorter than a connection lives in silence
    network.join(1, 2)
    training.wait_for_steps(20)
    assert "session was lost" not in training.said()

    network.part(1, 2)
    time.sleep(5.0)
    assert "session was lost" in training.said()
    network.join(1, 2)
    training.wait_for_steps(20)

    steps = training.steps()
    variables = dict(steps)
    assert all(variables[step] == digest for step, digest in steps), "repeated steps give the same"
    numbers = [step for step, _ in steps]
    assert all(later > earlier - 10 for earlier, later in itertools.pairwise(numbers))
