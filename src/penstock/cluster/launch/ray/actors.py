"""Tasks as actors of Ray: one threaded actor each, never restarted by Ray itself (a restart looks like a short absence,
and a task that has lost its variables must not look like that)."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock import errors
from penstock.cluster.launch.loop import Loop
from penstock.cluster.launch.plan import Plan, TaskPlan
from penstock.cluster.launch.ray.actor import TaskActor
from penstock.cluster.launch.ray.connect import connect
from penstock.cluster.launch.ray.folders import Folder
from penstock.cluster.launch.ray.head import Head
from penstock.cluster.launch.supervisor import Died, Event, Gone, Said, Started, Updated
from penstock.cluster.spec import LOOPBACK

_POLL_S = 0.05
_PING_S = 1.0
_START_S = 300.0
_STOP_S = 5.0
_RESOURCES_S = 60.0
_THREADS = 8
_LONGEST_REASON = 500


@dataclass
class _Actor:
    task: TaskPlan
    handle: Any
    calls: dict[Any, Callable[[Any], None]] = field(default_factory=dict)
    """What to do with the values of those that have not ended."""
    is_up: bool = False
    is_asked: bool = False
    heard: float = field(default_factory=time.monotonic)
    pid: int = 0
    host: str = ""


class Actors:
    """A `Crew`. `happened(task, event)` is called in the loop's thread."""

    def __init__(self, plan: Plan, loop: Loop, happened: Callable[[str, Event], None]) -> None:
        """Raises UnavailableError if there is no such Ray, or none installed, and ResourceExhaustedError if it has not
        what the tasks need."""
        self._plan, self._loop, self._happened = plan, loop, happened
        self._own = plan.on == "ray"
        self._folder = Folder() if self._own else None
        try:
            self._ray = connect(plan.on, sum(_resources(task)["CPU"] for task in plan.tasks), self._folder)
        except BaseException:
            self._clean_up()
            raise
        self._head = Head(self._ray.get_runtime_context().gcs_address)
        self._actors: dict[str, _Actor] = {}
        self._closing = self._is_lost = False
        self._group = self._reserve()
        self._later(self._poll)

    def start(self, task: TaskPlan, address: str) -> None:
        if not self._head.answers(0.0):
            self._later(lambda: self.start(task, address))
            return
        from ray.util import get_node_ip_address
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        needs = _resources(task)
        kind = self._ray.remote(TaskActor).options(
            name=f"{self._plan.name}{task.name} {secrets.token_hex(4)}",
            num_cpus=needs["CPU"],
            num_gpus=needs.get("GPU", 0),
            memory=needs.get("memory"),
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=_THREADS,
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                self._group, placement_group_bundle_index=self._plan.tasks.index(task)
            ),
        )
        actor = _Actor(task, kind.remote(self._plan, task))
        self._actors[task.name] = actor
        actor.calls[actor.handle.live.remote()] = lambda _: None
        if self._own:
            self._listen(actor, LOOPBACK, address)
            return
        where = actor.handle.__ray_call__.remote(lambda _: get_node_ip_address())
        actor.calls[where] = lambda host: self._listen(actor, host, address)

    def update(self, task: str, addresses: Mapping[str, str], version: int) -> None:
        actor = self._actors.get(task)
        if actor is not None:
            call = actor.handle.update.remote(dict(addresses), version)
            actor.calls[call] = lambda done: self._happened(task, Updated(done))

    def kill(self, task: str) -> None:
        if not self._head.answers(0.0):
            self._later(lambda: self.kill(task))
        elif task in self._actors:
            self._kill(self._actors[task], "was killed")

    def close(self) -> None:
        self._closing = True
        if self._is_lost:
            atexit.unregister(self._ray.shutdown)  # it waits for the head
            self._clean_up()
            return
        with contextlib.suppress(Exception):  # Ray itself may be gone
            stopped = [actor.handle.stop.remote() for actor in self._actors.values()]
            self._ray.wait(stopped, num_returns=len(stopped), timeout=_STOP_S)
            for actor in self._actors.values():
                self._ray.kill(actor.handle, no_restart=True)
            self._remove_group()
        self._ray.shutdown()
        self._clean_up()

    def _clean_up(self) -> None:
        """Nothing is left of a Ray that was started for this cluster, its logs included."""
        if self._folder is not None:
            self._folder.remove()

    def _listen(self, actor: _Actor, host: str, address: str) -> None:
        actor.host = host

        def started(found: dict[str, Any]) -> None:
            actor.is_up, actor.pid = True, found["pid"]
            self._happened(actor.task.name, Started(**found, node=host))

        actor.calls[actor.handle.start.remote(host, address)] = started

    def _later(self, call: Callable[[], None]) -> None:
        """Unless it is of no use any more by then."""
        self._loop.later(_POLL_S, lambda: None if self._closing or self._is_lost else call())

    def _poll(self) -> None:
        if self._head.answers():
            for actor in list(self._actors.values()):
                self._look_at(actor)
        elif self._own or self._head.silent_s > self._plan.dead_s:  # others' may be started anew
            self._lose()
        self._later(self._poll)

    def _lose(self) -> None:
        """Nothing can be started, killed or watched without the head."""
        self._is_lost = True
        after = "the tasks have ended with it" if self._own else "its tasks go on until Ray ends them"
        if self._folder is not None:
            self._folder.end_processes()
        why = f"Ray's head at {self._head.address} does not answer, so cluster {self._plan.name!r} is lost: {after}."
        self._happened("", Gone(f"{why} Start a new one."))

    def _look_at(self, actor: _Actor) -> None:
        calls = list(actor.calls)
        ended, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        for call in ended:
            then = actor.calls.pop(call)
            try:
                value = self._ray.get(call)
            except self._ray.exceptions.RayError as error:
                self._lost(actor, _reason(error))
                return
            actor.heard = time.monotonic()
            then(value)
        silent = time.monotonic() - actor.heard
        limit = self._plan.dead_s if actor.is_up else _START_S
        if silent > limit:
            self._kill(actor, f"did not answer for {limit:g} s")
        elif actor.is_up and not actor.is_asked and silent > min(_PING_S, self._plan.dead_s / 4):
            actor.is_asked = True
            actor.calls[actor.handle.ping.remote()] = lambda text: self._answered(actor, text)

    def _answered(self, actor: _Actor, text: bytes) -> None:
        actor.is_asked = False
        if text:
            self._happened(actor.task.name, Said(text))

    def _kill(self, actor: _Actor, because: str) -> None:
        """It may hang, and so not hear Ray: it is gone for this cluster, whatever it still does."""
        self._ray.kill(actor.handle, no_restart=True)
        if self._own and actor.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(actor.pid, signal.SIGKILL)
        self._lost(actor, because)

    def _lost(self, actor: _Actor, why: str) -> None:
        if self._actors.get(actor.task.name) is actor:
            del self._actors[actor.task.name]
            self._happened(actor.task.name, Died(why))

    def _reserve(self) -> Any:
        """A place for each task. Only those that are reserved together can all run."""
        group = self._ray.util.placement_group([_resources(task) for task in self._plan.tasks], strategy="PACK")
        self._group = group
        if not group.wait(_RESOURCES_S):
            there = {name: amount for name, amount in self._ray.available_resources().items() if ":" not in name}
            self._remove_group()
            self._ray.shutdown()
            self._clean_up()
            wanted = [_resources(task) for task in self._plan.tasks]
            raise errors.ResourceExhaustedError(
                None, None, f"The tasks of {self._plan.name!r} need {wanted}; Ray has {there} free."
            )
        return group

    def _remove_group(self) -> None:
        self._ray.util.remove_placement_group(self._group)


def _resources(task: TaskPlan) -> dict[str, float]:
    needs = task.needs
    wanted = {"CPU": needs.cpus or 1.0, "GPU": float(needs.gpus), "memory": float(needs.memory or 0)}
    return {name: amount for name, amount in wanted.items() if amount}


def _reason(error: Exception) -> str:
    """What went wrong in the actor, or of Ray's long messages what says why."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"failed: {cause}"
    first, *others = str(error).splitlines() or [""]
    because = [line.strip() for line in others if "because" in line]
    return " ".join([f"died ({type(error).__name__}): {first}", *because])[:_LONGEST_REASON]
