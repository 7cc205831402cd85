"""What becomes of a cluster's tasks: they start, get to know each other, die and are replaced.

It starts nothing itself: a `Crew` does, processes of this machine or Ray's actors. All that happens arrives as calls of
`happened`, in one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock import logging
from penstock.cluster.launch.plan import Plan, TaskPlan

STARTING, LISTENING, READY, STOPPED = "starting", "listening", "ready", "stopped"
KILLED = "killed"
"""It may not have ended yet."""
DEAD, FAILED = "dead", "failed"
"""It is not replaced: because nobody wants it, because it did not even start."""
_MOST_FAILED_STARTS = 3
_KEPT_OUTPUT = 1 << 20


class Crew(Protocol):
    """What can run tasks."""

    def start(self, task: TaskPlan, address: str) -> None:
        """Begin to start `task`, at `address` ("host:port") if it was there before and that is still possible."""

    def update(self, task: str, addresses: Mapping[str, str], version: int) -> None:
        """Tell a task where all are. It answers with `Updated(version)`."""

    def kill(self, task: str) -> None:
        """End it at once. `Died` follows."""

    def close(self) -> None:
        """End all tasks, and leave nothing."""


@dataclass(frozen=True)
class Started:
    """It listens, but does not know where the others are."""

    address: str
    pid: int
    incarnation: int
    node: str = ""


@dataclass(frozen=True)
class Updated:
    version: int


@dataclass(frozen=True)
class Died:
    why: str


@dataclass(frozen=True)
class Said:
    """Something it wrote to stdout or stderr."""

    text: bytes


@dataclass(frozen=True)
class Gone:
    """Not of a task: the crew itself can do no more."""

    why: str


Event = Started | Updated | Died | Said | Gone


@dataclass
class Member:
    """A task as it is now."""

    plan: TaskPlan
    state: str = STARTING
    address: str = ""
    pid: int = 0
    incarnation: int = 0
    node: str = ""
    restarts: int = 0
    why: str = ""
    was_ready: bool = False
    failed_starts: int = 0
    output: deque[bytes] = field(default_factory=deque)
    output_kept: int = 0
    output_end: int = 0
    """How many bytes it has written since it was first started."""

    def public(self) -> dict[str, Any]:
        return {
            "task": self.plan.name,
            "job": self.plan.job,
            "index": self.plan.index,
            "state": self.state,
            "address": self.address,
            "pid": self.pid,
            "incarnation": self.incarnation,
            "node": self.node,
            "restarts": self.restarts,
            "why": self.why,
        }


class Supervisor:
    """`on_change` is called after each change that clients of the cluster may wait for."""

    def __init__(self, plan: Plan, crew: Crew, on_change: Callable[[], None] = lambda: None) -> None:
        self._plan, self._crew, self._on_change = plan, crew, on_change
        self.members = {task.name: Member(task) for task in plan.tasks}
        self.version = 0
        """Grows with each change."""
        self._addresses_version = 0
        self._closing = False
        self.gone = ""
        """Why the crew can do no more."""

    def begin(self) -> None:
        for member in self.members.values():
            self._crew.start(member.plan, "")

    def happened(self, task: str, event: Event) -> None:
        if isinstance(event, Gone):
            logging.error("%s", event.why)
            self.gone = event.why
            self._changed()
            return
        member = self.members[task]
        match event:
            case Said(text):
                self._keep(member, text)
            case Started():
                member.address, member.pid, member.node = event.address, event.pid, event.node
                member.incarnation = event.incarnation
                if member.state == STARTING:
                    member.state = LISTENING
                self._introduce()
            case Updated(version):
                if version == self._addresses_version and member.state == LISTENING:
                    member.state, member.was_ready, member.failed_starts = READY, True, 0
            case Died(why):
                self._died(member, why)
        if not isinstance(event, Said):
            self._changed()

    def kill(self, task: str) -> None:
        if self.members[task].state in (STARTING, LISTENING, READY):
            self.members[task].state = KILLED
            self._crew.kill(task)
            self._changed()

    def close(self) -> None:
        self._closing = True
        self._crew.close()
        for member in self.members.values():
            member.state = STOPPED
        self._changed()

    def output(self, task: str, after: int) -> tuple[str, int]:
        """What the task wrote after its first `after` bytes, as far as it is kept, and how many there are now."""
        member = self.members[task]
        text = b"".join(member.output)
        wanted = max(0, member.output_end - after)
        return text[len(text) - min(wanted, len(text)) :].decode(errors="replace"), member.output_end

    def _introduce(self) -> None:
        """As soon as all have addresses, tell them to all."""
        if any(member.state in (STARTING, KILLED) for member in self.members.values()):
            return
        self._addresses_version += 1
        addresses = {task: member.address for task, member in self.members.items() if member.address}
        for task, member in self.members.items():
            if member.state in (LISTENING, READY):
                member.state = LISTENING
                self._crew.update(task, addresses, self._addresses_version)

    def _died(self, member: Member, why: str) -> None:
        if self._closing:
            return
        name = member.plan.name
        member.failed_starts += not member.was_ready
        member.why, member.pid, member.incarnation, member.was_ready = why, 0, 0, False
        self._keep(member, f"--- {name} {why}\n".encode())
        if not self._plan.replace and member.failed_starts == 0:
            logging.warning("%s %s; it is not replaced", name, why)
            member.state = DEAD
        elif member.failed_starts >= _MOST_FAILED_STARTS or (member.failed_starts and not self._plan.replace):
            logging.error("%s %s while it started; giving it up", name, why)
            member.state = FAILED
        else:
            logging.warning("%s %s; replacing it", name, why)
            member.state, member.restarts = STARTING, member.restarts + 1
            self._crew.start(member.plan, member.address)

    def _keep(self, member: Member, text: bytes) -> None:
        member.output.append(text)
        member.output_end += len(text)
        member.output_kept += len(text)
        while len(member.output) > 1 and member.output_kept > _KEPT_OUTPUT:
            member.output_kept -= len(member.output.popleft())

    def _changed(self) -> None:
        self.version += 1
        self._on_change()
