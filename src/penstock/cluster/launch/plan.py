"""What a cluster is to be: its jobs, how many tasks each has, and what a task may use of a machine."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from penstock import errors
from penstock.cluster.spec import LOOPBACK, task_name

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEADING = ("chief", "master", "worker")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,63}")

Jobs = str | Mapping[str, Any]


@dataclass(frozen=True)
class Needs:
    """What each task of a job may use. `cpus`: threads of its kernels, None for a fair part of the machine's. `gpus`:
    how many it sees. `memory`: the most bytes that it may allocate, None for no limit."""

    cpus: float | None = None
    gpus: int = 0
    memory: int | None = None


@dataclass(frozen=True)
class TaskPlan:
    job: str
    index: int
    needs: Needs = Needs()

    @property
    def name(self) -> str:
        return task_name(self.job, self.index)


@dataclass(frozen=True)
class Plan:
    """on: "processes" of this machine, "ray" for a Ray of this machine that the cluster starts and stops itself, or the
    address of a running Ray. replace: whether dead tasks are replaced. dead_s: after how many seconds without an answer
    a task counts as dead. config: a serialized ConfigProto, for each task's devices."""

    name: str
    tasks: tuple[TaskPlan, ...]
    on: str = "processes"
    replace: bool = True
    dead_s: float = 10.0
    config: str = ""
    token: str = ""
    cluster_id: str = field(default_factory=lambda: secrets.token_hex(8))

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise errors.InvalidArgumentError(
                None, None, f"A cluster's name has letters, digits, '_', '-' and '.', at most 64: not {self.name!r}."
            )

    @property
    def leader(self) -> str:
        """The task that sessions connect to: the chief, or the first worker, or just the first task."""
        for job in _LEADING:
            for task in self.tasks:
                if task.job == job:
                    return task.name
        return self.tasks[0].name

    @property
    def jobs(self) -> dict[str, dict[int, str]]:
        """A ClusterSpec's, before any task has chosen its port."""
        jobs: dict[str, dict[int, str]] = {}
        for task in self.tasks:
            jobs.setdefault(task.job, {})[task.index] = f"{LOOPBACK}:0"
        return jobs

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Plan:
        tasks = (TaskPlan(task["job"], task["index"], Needs(**task["needs"])) for task in found["tasks"])
        return Plan(**{**found, "tasks": tuple(tasks)})


def tasks_of(jobs: Jobs, needs: Needs = Needs()) -> tuple[TaskPlan, ...]:
    """The tasks of "worker=2,ps=1", {"worker": 2, "ps": 1} or {"worker": {"count": 2, "cpus": 4, "memory": "8G"}}.

    `needs` are those of jobs that do not say otherwise. Raises InvalidArgumentError for anything else.
    """
    given = _from_text(jobs) if isinstance(jobs, str) else jobs
    if not isinstance(given, Mapping) or not given:
        raise _wrong(jobs)
    return tuple(task for job, wanted in given.items() for task in _tasks_of_job(job, wanted, needs))


def _from_text(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in text.split(","):
        job, _, count = part.partition("=")
        if job.strip() in found:
            raise _wrong(text)
        found[job.strip()] = count.strip() or 1
    return found


def _tasks_of_job(job: str, wanted: Any, needs: Needs) -> list[TaskPlan]:
    if not re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*", job):
        raise errors.InvalidArgumentError(
            None, None, f"{job!r} cannot be the name of a job: it has letters and digits."
        )
    own = dict(wanted) if isinstance(wanted, Mapping) else {"count": wanted}
    try:
        count = int(own.pop("count", 1))
    except (TypeError, ValueError):
        count = 0
    unknown = own.keys() - {"cpus", "gpus", "memory"}
    if count < 1 or unknown:
        wrong = f"does not know {sorted(unknown)}" if unknown else f"has {wanted!r} tasks"
        raise errors.InvalidArgumentError(None, None, f"Job {job!r} {wrong}: say how many, at least 1.")
    if "memory" in own:
        own["memory"] = byte_count(own["memory"])
    needs = replace(needs, **own)
    if (needs.cpus is not None and needs.cpus <= 0) or needs.gpus < 0:
        raise errors.InvalidArgumentError(None, None, f"Job {job!r} cannot have {needs.cpus} cpus, {needs.gpus} gpus.")
    return [TaskPlan(job, index, needs) for index in range(count)]


def byte_count(text: int | str | None) -> int | None:
    """Bytes, of a number or of "512M", "1.5G"."""
    if text is None or isinstance(text, int):
        return text
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    if not match:
        raise errors.InvalidArgumentError(None, None, f"{text!r} is not an amount of memory, such as 512M or 1.5G.")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _wrong(jobs: object) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"A cluster's jobs are written 'worker=2,ps=1' or {{'worker': 2, 'ps': 1}}, not {jobs!r}."
    )
