"""What all chaos tests do: orders go out, are carried out, and after each there must be good steps again."""

from __future__ import annotations

import abc
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.cluster.chaos.chances import Chance
from tests.cluster.chaos.injected import Order, fired, to_json

RECOVERS_S = 60.0
"""Within this time after a fault there is a good step: stopped processes, dead ones and deadlines take a while."""
_ROOT = Path(__file__).parents[3]


class Broken(AssertionError):
    """Something that must hold did not."""


@dataclass
class Outcome:
    """recovery_s: from the fault until the next good step; None if the fault's moment did not come."""

    chance: Chance
    recovery_s: float | None = None
    faults: int = 0


class Log:
    """What somebody writes to a file, line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen, self._rest = 0, ""

    def lines(self) -> list[str]:
        """Those that are new and complete."""
        if not self.path.exists():
            return []
        with self.path.open() as file:
            file.seek(self._seen)
            text = self._rest + file.read()
            self._seen = file.tell()
        *lines, self._rest = text.split("\n")
        return lines

    def last(self, size: int) -> str:
        return self.path.read_text()[-size:] if self.path.exists() else ""


class Stage(abc.ABC):
    """A program that trains on a cluster, in `folder`."""

    folder: Path
    ended = False
    pids: dict[str, int]
    """Whom the present orders may hit."""

    @abc.abstractmethod
    def look(self) -> None:
        """Read what the program has said since, check it, and start processes that its user would start again."""

    @abc.abstractmethod
    def wait_for_step(self, after: float) -> float:
        """Until a step ends that began after the time `after`; returns when."""

    @abc.abstractmethod
    def all_run(self) -> dict[str, int]:
        """The processes that faults may hit, when all of them run."""

    def suffer(self, chance: Chance) -> Outcome:
        """Let the fault happen, and the program recover."""
        outcome, order = Outcome(chance), chance.order
        self.pids = self.all_run()
        self.wait_for_step(time.monotonic())
        self.pids = self.all_run()
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
        return outcome

    def wait_until(self, holds: str, seconds: float = RECOVERS_S) -> Iterator[None]:
        """Turns of a loop until something holds. Raises Broken."""
        deadline = time.monotonic() + seconds
        while True:
            yield
            if time.monotonic() > deadline:
                raise Broken(f"not {holds} within {seconds:g} s")
            time.sleep(0.005)
            self.look()

    def _command(self, orders: list[Order]) -> None:
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


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[Path]:
    """A new folder for a program's files, with an environment in which faults are injected.

    Raises Broken if processes, sockets or shared memory are left in the end.
    """
    folder.mkdir(parents=True)
    mark = folder / secrets.token_hex(8)
    mark.mkdir()
    shared = _shared_memory()
    settings = {
        "PENSTOCK_CHAOS": str(mark),
        "PENSTOCK_FAULTS": "tests.cluster.chaos.injected:faults",
        "PENSTOCK_RUNTIME": f"{folder}/runtime",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
        "TF_DETERMINISTIC_OPS": "1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield mark
        _check_nothing_is_left(str(mark), shared)
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


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
    runtime = Path(os.environ["PENSTOCK_RUNTIME"])
    if names := list(runtime.iterdir()) if runtime.exists() else []:
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
