"""`penstock.cluster.start`: clusters by name, from Python."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tqdm import tqdm

import penstock
from penstock import errors
from penstock.cluster.launch import places
from penstock.cluster.launch.control import Control
from penstock.cluster.launch.plan import Jobs, Needs, Plan, byte_count, tasks_of
from penstock.cluster.launch.ray.folders import remove_left
from penstock.cluster.launch.supervisor import DEAD, FAILED, READY
from penstock.cluster.spec import ClusterSpec, full_name
from penstock.cluster.token import new_token, token_for
from penstock.export import export

_POLL_S = 5.0
_END_S = 10.0


@export("cluster.Task")
@dataclass(frozen=True)
class Task:
    """A task as it is now. `state`: "starting", "listening" (but not all others are known to it), "ready", "killed" or
    "dead" and "failed" (it is not replaced). `restarts`: how often it was replaced, `why` it died last."""

    task: str
    job: str
    index: int
    state: str
    address: str
    pid: int
    incarnation: int
    node: str
    restarts: int
    why: str


@export("cluster.Cluster")
class Cluster:
    """A running cluster: `tf.Session(cluster.target)` runs steps on it. Made by `start` and `connect`."""

    def __init__(self, name: str, keeper: _Keeper | None = None) -> None:
        self.name, self._keeper = name, keeper

    @property
    def target(self) -> str:
        """For sessions of any program of this user on this machine."""
        return f"penstock://{self.name}"

    def target_of(self, task: str) -> str:
        """The same, but of one task ("worker:1"): unconstrained nodes with state are there."""
        return f"penstock://{self.name}{full_name(task)}"

    @property
    def tasks(self) -> list[Task]:
        """All tasks as they are now."""
        return _tasks(self._ask("status"))

    @property
    def spec(self) -> ClusterSpec:
        """With the present addresses."""
        return spec_of(self._ask("status"))

    def wait(self, timeout: float = 120.0, progress: Callable[[list[Task]], None] | None = None) -> None:
        """Until all tasks are ready, also those that replace dead ones. `progress` is called with each change.

        Raises UnavailableError for a task that has died and is not replaced, with the last that it wrote, and
        DeadlineExceededError.
        """
        deadline = time.monotonic() + timeout
        version = -1
        with Control.of(self.name) as control:
            while True:
                status = control.ask("changes", after=version, timeout=_POLL_S)
                version, tasks = status["version"], _tasks(status)
                if progress is not None:
                    progress(tasks)
                if all(task.state == READY for task in tasks):
                    return
                for task in tasks:
                    if task.state in (DEAD, FAILED):
                        text, _ = control.ask("output", task=task.task, after=0)
                        raise errors.UnavailableError(
                            None, None, f"{task.task} of cluster {self.name!r} {task.why}. It wrote:\n{text[-4000:]}"
                        )
                if time.monotonic() > deadline:
                    missing = ", ".join(f"{task.task} ({task.state})" for task in tasks if task.state != READY)
                    raise errors.DeadlineExceededError(
                        None, None, f"Cluster {self.name!r} is not ready after {timeout:g} s: {missing}."
                    )

    def kill(self, task: str) -> None:
        """End a task ("/job:worker/task:1", "worker:1") at once, as if its machine had failed."""
        self._ask("kill", task=full_name(task))

    def logs(self, task: str) -> str:
        """The last that a task, and those it replaced, wrote to stdout and stderr."""
        return str(self._ask("output", task=full_name(task), after=0)[0])

    def stop(self) -> None:
        """End all tasks. What they held, such as variables, is gone."""
        if self._keeper is None or self._keeper.is_ours():
            with contextlib.suppress(errors.NotFoundError, errors.UnavailableError, errors.DeadlineExceededError):
                self._ask("stop")
            self._leave()

    def detach(self) -> None:
        """Let the cluster run on when this program ends, until somebody stops it: `penstock cluster stop NAME`."""
        self._ask("detach")
        self._leave(wait=False)

    def _ask(self, what: str, **details: Any) -> Any:
        with Control.of(self.name) as control:
            return control.ask(what, **details)

    def _leave(self, wait: bool = True) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            atexit.unregister(self.stop)
            keeper.leave(wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()


@export("cluster.start")
def start(
    jobs: Jobs,
    name: str | None = None,
    *,
    on: str = "processes",
    cpus: float | None = None,
    gpus: int = 0,
    memory: int | str | None = None,
    config: Any = None,
    replace: bool = True,
    dead_s: float = 10.0,
    timeout: float = 120.0,
    progress: Callable[[list[Task]], None] | None = None,
) -> Cluster:
    """Start a cluster, and return when all its tasks are ready.

    jobs: "worker=2,ps=1", {"worker": 2, "ps": 1}, or with needs: {"worker": {"count": 2, "cpus": 4, "memory": "8G"}}.
    cpus, gpus, memory: of each task, unless its job says otherwise. on: "processes" of this machine; "ray", a Ray of
    this machine that starts and ends with the cluster; or the address of a running Ray. config: a ConfigProto for each
    task's devices. replace: whether dead tasks are replaced, with a new incarnation that holds nothing; a task counts
    as dead when its process has ended or has not answered for `dead_s` seconds.

    The cluster ends when it is stopped, at the end of a `with` block, and at the latest with this process, however that
    ends. Without progress= a bar shows how far it is, on terminals.
    """
    needs = Needs(cpus, gpus, byte_count(memory))
    plan = Plan(
        name or f"{os.getpid()}-{secrets.token_hex(4)}",
        tasks_of(jobs, needs),
        on=on,
        replace=replace,
        dead_s=dead_s,
        config=b"".hex() if config is None else config.SerializeToString().hex(),
        token=(token_for([]) if on == "processes" else new_token().encode()).hex(),
    )
    if not hasattr(os, "pidfd_open"):
        raise errors.UnimplementedError(
            None, None, "Clusters are started on Linux only; tf.train.Server runs anywhere."
        )
    cluster = Cluster(plan.name, _Keeper(plan, timeout))
    atexit.register(cluster.stop)
    try:
        with tqdm(total=len(plan.tasks), desc=f"cluster {plan.name}", unit=" tasks", disable=_no_bar(progress)) as bar:

            def show(tasks: list[Task]) -> None:
                bar.n = sum(task.state == READY for task in tasks)
                bar.set_postfix_str(", ".join(task.task for task in tasks if task.state != READY)[:60])
                if progress is not None:
                    progress(tasks)

            cluster.wait(timeout, show)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _no_bar(progress: object) -> bool | None:
    """None: only where somebody can see it."""
    return True if progress is not None else None


class _Keeper:
    """The keeper that this process has started, and that ends with it."""

    def __init__(self, plan: Plan, timeout: float) -> None:
        """Raises the error for which it gives up."""
        ours, theirs = socket.socketpair()
        self._starter = os.getpid()
        self._control = Control(ours, plan.name)
        root = str(Path(penstock.__file__).parent.parent)
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cluster.launch.keeper", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for the program, which then ends the cluster
            )
        try:
            self._control.begin({"plan": plan.to_json(), "starter": self._starter}, timeout)
        except BaseException:
            self.leave(wait=True)
            raise

    def is_ours(self) -> bool:
        """Not in a fork of the program that started it."""
        return os.getpid() == self._starter

    def leave(self, wait: bool) -> None:
        """End the connection, and so the keeper, unless it was told to stay: then there is no end to wait for."""
        self._control.close()
        if not wait:
            self._process.returncode = 0
            return
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        remove_left()


@export("cluster.connect")
def connect(name: str) -> Cluster:
    """A cluster of this user on this machine. Raises NotFoundError if none of that name runs."""
    places.connect(name).close()
    return Cluster(name)


@export("cluster.names")
def names() -> list[str]:
    """Of this user's clusters that run on this machine."""
    remove_left()
    return places.names()


def spec_of(status: dict[str, Any]) -> ClusterSpec:
    jobs: dict[str, dict[int, str]] = {}
    for task in status["tasks"]:
        jobs.setdefault(task["job"], {})[task["index"]] = task["address"]
    return ClusterSpec(jobs)


def _tasks(status: dict[str, Any]) -> list[Task]:
    return [Task(**task) for task in status["tasks"]]
