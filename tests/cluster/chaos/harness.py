"""A cluster, a program that trains on it, and faults one after another, after each of which all must be well."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import penstock as tf
from penstock.cluster.spec import full_name
from tests.cluster.chaos.chances import CLIENT, DEAD_S
from tests.cluster.chaos.injected import node_of
from tests.cluster.chaos.program import DEADLINE_S, INTERVAL
from tests.cluster.chaos.stage import RECOVERS_S, Broken, Log, Stage, surroundings
from tests.cluster.launch.ray.nodes import Nodes, several_nodes

TOO_LONG_S = DEADLINE_S + 5.0
TASKS = "worker=2,ps=2"


@dataclass
class Run(Stage):
    """Within `with running(...)`."""

    folder: Path
    cluster: tf.cluster.Cluster
    steps: int
    expected: dict[int, str] | None
    client: subprocess.Popen[str] | None = None
    spare: subprocess.Popen[str] | None = None
    step: int = 0
    farthest: int = 0
    ends: list[float] = field(default_factory=list)
    """When each step ended."""
    steps_seen: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    pids: dict[str, int] = field(default_factory=dict)
    nodes: Nodes | None = None

    def __post_init__(self) -> None:
        self._log = Log(self.folder / "log")

    def begin(self) -> None:
        self._next_client()

    def _make_client(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.cluster.chaos.program", self.cluster.target, self.folder, self.steps]
        with self._log.path.open("ab") as log:
            return subprocess.Popen(map(str, command), stdin=subprocess.PIPE, stdout=log, stderr=log, text=True)

    def _next_client(self) -> None:
        """As somebody who starts a killed program again."""
        if self.client is not None and self.client.stdin is not None:
            self.client.stdin.close()
        self.client, self.spare = self.spare or self._make_client(), self._make_client()
        assert self.client.stdin is not None
        self.client.stdin.write("go\n")
        self.client.stdin.flush()

    def look(self) -> None:
        assert self.client is not None
        if self.client.poll() is not None and not self.ended:
            if self.client.returncode not in (0, -signal.SIGKILL):
                raise Broken(f"the program ended with status {self.client.returncode}")
            if self.client.returncode:
                self._next_client()
        for line in self._log.lines():
            self._hear(line)
        if self.nodes is not None:
            self.nodes.replace_lost()

    def _hear(self, line: str) -> None:
        match = re.fullmatch(r"(\d+\.\d+) (\w+) ?(.*)", line)
        if match is None:
            return
        when, what, rest = float(match[1]), match[2], match[3]
        if what == "begun":
            self.step = 0
        elif what == "restored":
            self.step = int(rest.rpartition("-")[2])
        elif what == "took" and float(rest) > TOO_LONG_S:
            raise Broken(f"a call took {rest} s, with a deadline of {DEADLINE_S} s")
        elif what == "ended":
            self.ended = True
        elif what == "step":
            number, digest = rest.split()
            self._check_step(int(number), digest)
            self.ends.append(when)

    def _check_step(self, number: int, digest: str) -> None:
        if number != self.step + 1:
            raise Broken(f"step {number} followed step {self.step}")
        if number < self.farthest - INTERVAL + 1:
            raise Broken(f"after step {self.farthest}, training went on with step {number}")
        expected = (self.expected or self.steps_seen).get(number, digest)
        if digest != expected:
            raise Broken(f"after step {number} the variables are {digest}, not {expected}")
        self.steps_seen[number] = digest
        self.step, self.farthest = number, max(number, self.farthest)

    def wait_for_step(self, after: float) -> float:
        for _ in self.wait_until("a good step"):
            later = [end for end in self.ends[-1000:] if end > after]
            if len(later) > 1:  # the first may have begun before
                return later[1]
            if self.ended:
                break
        return time.monotonic()

    def all_run(self) -> dict[str, int]:
        assert self.client is not None
        self.cluster.wait(RECOVERS_S)
        pids = {task.task: task.pid for task in self.cluster.tasks}
        if self.nodes is not None:
            pids |= {node_of(task.task): self.nodes.raylet_of(task) for task in self.cluster.tasks}
        return {**pids, CLIENT: self.client.pid}

    def end(self) -> None:
        """Let the program end, as it does by itself."""
        (self.folder / "stop").touch()
        for _ in self.wait_until("ended"):
            if self.ended:
                break

    def lose_head(self) -> None:
        """Kill Ray's head, and then a task that nobody can replace: the program must end, and say why."""
        assert self.nodes is not None and self.client is not None
        victim = self.all_run()[full_name("ps:0")]
        self.nodes.kill_head()
        os.kill(victim, signal.SIGKILL)
        try:
            status = self.client.wait(RECOVERS_S)
        except subprocess.TimeoutExpired:
            raise Broken("without Ray's head, the program does not end") from None
        self.ended = True
        if status != 1 or "FailedPreconditionError: Ray's head" not in self._log.last(8000):
            raise Broken(f"without Ray's head, the program ended with status {status}")

    def close(self) -> None:
        for process in filter(None, (self.client, self.spare)):
            with process:
                if process is self.spare or not self.ended:
                    process.kill()

    def state(self) -> str:
        """What helps to find out why."""
        assert self.client is not None
        with contextlib.suppress(ProcessLookupError):
            self.client.send_signal(signal.SIGUSR1)  # writes where its threads are
            time.sleep(0.5)
        tasks = ""
        with contextlib.suppress(tf.errors.OpError):  # the cluster may be what is lost
            tasks = "\n".join(f"--- {task}\n{self.cluster.logs(task.task)[-2000:]}" for task in self.cluster.tasks)
        return f"The program wrote:\n{self._log.last(8000)}\n{tasks}"


@contextlib.contextmanager
def running(folder: Path, steps: int, expected: dict[int, str] | None = None, on: str = "processes") -> Iterator[Run]:
    """A cluster on which the program trains for at most `steps` steps. `expected`: what the variables are after each.
    on: also "nodes", a Ray with a node for each task, whose head is lost in the end.

    Raises Broken, with the last that all have said.
    """
    with contextlib.ExitStack() as stack:
        mark = stack.enter_context(surroundings(folder))
        nodes = stack.enter_context(several_nodes(5)) if on == "nodes" else None
        on = on if nodes is None else nodes.address
        start = tf.cluster.start(TASKS, on=on, dead_s=DEAD_S, progress=lambda tasks: None)
        run = Run(mark, stack.enter_context(start), steps, expected, nodes=nodes)
        try:
            run.begin()
            yield run
            if nodes is None:
                run.end()
            else:
                run.lose_head()
        except (Broken, tf.errors.OpError) as error:
            raise Broken(f"{error}\n{run.state()}") from error
        finally:
            run.close()
