"""A cluster, a program that trains on it, and faults one after another, after each of which all must be well."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import penstock as tf
from tests.cluster.chaos.chances import CLIENT, DEAD_S, Chance
from tests.cluster.chaos.injected import Order, fired, to_json
from tests.cluster.chaos.program import DEADLINE_S, INTERVAL

TOO_LONG_S = DEADLINE_S + 5.0
RECOVERS_S = 60.0
"""Within this time after a fault there is a good step: stopped processes, dead ones and deadlines take a while."""
_ROOT = Path(__file__).parents[3]


class Broken(AssertionError):
    """Something that must hold did not."""


@dataclass
class Outcome:
    """fault: None if its moment did not come. recovery_s: from the fault until the next good step."""

    chance: Chance
    recovery_s: float | None = None
    faults: int = 0
    lost: int = 0


@dataclass
class Run:
    """Within `with running(...)`."""

    folder: Path
    cluster: tf.cluster.Cluster
    steps: int
    expected: dict[int, str] | None
    client: subprocess.Popen[str] | None = None
    spare: subprocess.Popen[str] | None = None
    seen: int = 0
    rest: str = ""
    step: int = 0
    farthest: int = 0
    lowest: int = 0
    """Where training last went on."""
    ends: list[float] = field(default_factory=list)
    """When each step ended."""
    steps_seen: dict[int, str] = field(default_factory=dict)
    ended: bool = False
    pids: dict[str, int] = field(default_factory=dict)

    # --- the program -------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._next_client()

    def _make_client(self) -> subprocess.Popen[str]:
        log = (self.folder / "log").open("ab")
        with log:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.cluster.chaos.program",
                    self.cluster.target,
                    self.folder,
                    str(self.steps),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
            )

    def _next_client(self) -> None:
        """As somebody who starts a killed program again."""
        if self.client is not None and self.client.stdin is not None:
            self.client.stdin.close()
        self.client, self.spare = self.spare or self._make_client(), self._make_client()
        assert self.client.stdin is not None
        self.client.stdin.write("go\n")
        self.client.stdin.flush()

    def look(self) -> None:
        """Read what the program has said since, and check it."""
        assert self.client is not None
        if self.client.poll() is not None and not self.ended:
            if self.client.returncode not in (0, -signal.SIGKILL):
                raise Broken(f"the program ended with status {self.client.returncode}")
            if self.client.returncode:
                self._next_client()
        with (self.folder / "log").open() as log:
            log.seek(self.seen)
            text = log.read()
            self.seen = log.tell()
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self._hear(line)

    def _hear(self, line: str) -> None:
        match = re.fullmatch(r"(\d+\.\d+) (\w+) ?(.*)", line)
        if match is None:
            return
        when, what, rest = float(match[1]), match[2], match[3]
        if what == "begun":
            self.step = 0
        elif what == "restored":
            self.step = self.lowest = int(rest.rpartition("-")[2])
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
        """Until a step ends that began after the time `after`; returns when."""
        deadline = time.monotonic() + RECOVERS_S
        while True:
            later = [end for end in self.ends[-1000:] if end > after]
            if len(later) > 1:  # the first may have begun before
                return later[1]
            if self.ended:
                return time.monotonic()
            if time.monotonic() > deadline:
                raise Broken(f"no step for {RECOVERS_S:g} s")
            time.sleep(0.005)
            self.look()

    # --- faults ------------------------------------------------------------------------------------------

    def suffer(self, chance: Chance) -> Outcome:
        """Let the fault happen, and the program recover."""
        outcome, order = Outcome(chance), chance.order
        self.cluster.wait(RECOVERS_S)
        self.wait_for_step(time.monotonic())
        farthest = self.farthest
        self._command([order for order in (chance.before, order) if order is not None])
        if chance.before is not None:
            outcome.faults += self._when(chance.before, 5.0) is not None
        happened = self._when(order, 3.0)
        if happened is not None:
            outcome.faults += 1
            over = happened + order.after_s
            if order.do == "stop":
                over += order.for_s
                self._go_on(self.pids[order.victim], over)
            outcome.recovery_s = self.wait_for_step(over) - happened
        elif chance.before is not None:
            self.wait_for_step(time.monotonic())
        (self.folder / "orders.json").unlink()
        outcome.lost = max(0, farthest - self.lowest)
        return outcome

    def _command(self, orders: list[Order]) -> None:
        assert self.client is not None
        self.pids = {task.task: task.pid for task in self.cluster.tasks} | {CLIENT: self.client.pid}
        new = self.folder / "orders.new"
        new.write_text(to_json([replace(order, pids=self.pids) for order in orders]))
        new.rename(self.folder / "orders.json")

    def _when(self, order: Order, patience: float) -> float | None:
        """When the order is carried out; None if that takes too long."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and not self.ended:
            with contextlib.suppress(FileNotFoundError, ValueError):
                return float(fired(self.folder, order.number).read_text())
            time.sleep(0.002)
            self.look()
        return None

    def _go_on(self, pid: int, when: float) -> None:
        """A process that was stopped goes on, unless it was replaced."""
        while time.monotonic() < when:
            time.sleep(0.005)
            self.look()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """Let the program end, as it does by itself."""
        (self.folder / "stop").touch()
        deadline = time.monotonic() + RECOVERS_S
        while not self.ended:
            if time.monotonic() > deadline:
                raise Broken("the program does not end")
            time.sleep(0.01)
            self.look()

    def close(self) -> None:
        for process in filter(None, (self.client, self.spare)):
            with process:
                if process is self.spare or not self.ended:
                    process.kill()


@contextlib.contextmanager
def running(folder: Path, steps: int, expected: dict[int, str] | None = None) -> Iterator[Run]:
    """A cluster on which the program trains for at most `steps` steps. `expected`: what the variables are after each.

    Raises Broken, with the last that all have said.
    """
    folder.mkdir(parents=True)
    mark = f"{folder}/{secrets.token_hex(8)}"
    Path(mark).mkdir()
    shared = _shared_memory()
    settings = {
        "PENSTOCK_CHAOS": mark,
        "PENSTOCK_FAULTS": "tests.cluster.chaos.injected:faults",
        "PENSTOCK_RUNTIME": f"{folder}/runtime",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
        "TF_DETERMINISTIC_OPS": "1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    run = None
    try:
        with tf.cluster.start("worker=2,ps=2", dead_s=DEAD_S, progress=lambda tasks: None) as cluster:
            run = Run(Path(mark), cluster, steps, expected)
            try:
                run.begin()
                yield run
                run.end()
            except (Broken, tf.errors.OpError) as error:
                raise Broken(f"{error}\n{_state(run)}") from error
            finally:
                run.close()
        _check_nothing_is_left(mark, shared)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def _state(run: Run) -> str:
    """What helps to find out why."""
    assert run.client is not None
    with contextlib.suppress(ProcessLookupError):
        run.client.send_signal(signal.SIGUSR1)  # writes where its threads are
        time.sleep(0.5)
    said = (run.folder / "log").read_text()[-8000:]
    tasks = "\n".join(f"--- {task}\n{run.cluster.logs(task.task)[-2000:]}" for task in run.cluster.tasks)
    return f"The program wrote:\n{said}\n{tasks}"


def _shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm"))


def _check_nothing_is_left(mark: str, shared: set[str]) -> None:
    deadline = time.monotonic() + 5.0
    while left := _left(mark):
        if time.monotonic() > deadline:
            raise Broken(f"these processes are left: {left}")
        time.sleep(0.05)
    if more := {name for name in _shared_memory() - shared if "penstock" in name or "torch" in name}:
        raise Broken(f"shared memory is left: {more}")
    if names := os.listdir(os.environ["PENSTOCK_RUNTIME"]):
        raise Broken(f"sockets of keepers are left: {names}")


def _left(mark: str) -> list[str]:
    """Processes that were started with this folder in their environment, this one's ended children excepted."""
    found = []
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                path.name.isdigit()
                and int(path.name) != os.getpid()
                and mark.encode() in (path / "environ").read_bytes()
            ):
                found.append(f"{path.name} {(path / 'cmdline').read_text().replace(chr(0), ' ')}")
    return found
