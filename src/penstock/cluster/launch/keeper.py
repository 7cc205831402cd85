"""The process that keeps a cluster: it starts the tasks, watches over them, and answers whoever controls the cluster.

It ends with the program that started it, however that ends, unless it is told to stay (`detach`). It does everything in
one thread, because it forks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from penstock import errors
from penstock.cluster.launch import places
from penstock.cluster.launch.loop import Lines, Loop
from penstock.cluster.launch.plan import Plan
from penstock.cluster.launch.supervisor import Crew, Event, Supervisor

Reply = Callable[[Any], None]
_ALWAYS = ("output", "stop")
"""What can be done after the crew is gone."""


class Keeper:
    def __init__(self, plan: Plan, owner: Lines, starter: int) -> None:
        self._plan, self._started = plan, time.time()
        self._owner: Lines | None = owner
        """With whose connection the cluster ends."""
        self._loop = Loop()
        self._waiting: list[tuple[int, Reply]] = []
        self._starter = os.pidfd_open(starter)
        self._listener = places.listen(plan.name)
        self._is_closing = False
        self._crew = _crew(plan, self._loop, self._happened)
        self._supervisor = Supervisor(plan, self._crew, self._changed)

    def run(self) -> None:
        """Until the cluster is stopped."""
        try:
            self._loop.watch(self._starter, self.stop)
            self._loop.watch(self._listener, self._accept)
            if self._owner is not None:
                self._serve(self._owner)
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: self.stop())
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._supervisor.begin()
            self._loop.run()
        finally:
            self.stop()

    def stop(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._supervisor.close()
            places.give_up(self._plan.name)
            self._loop.stop()

    def _happened(self, task: str, event: Event) -> None:
        self._supervisor.happened(task, event)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        self._serve(Lines(connection))

    def _serve(self, lines: Lines) -> None:
        def heard() -> None:
            messages = lines.receive()
            if messages is None:
                self._loop.forget(lines.socket)
                lines.socket.close()
                if self._owner is lines:
                    self.stop()
            for message in messages or ():
                self._answer(lines, message)

        self._loop.watch(lines.socket, heard)

    def _answer(self, lines: Lines, message: dict[str, Any]) -> None:
        def reply(value: Any) -> None:
            gone = "" if message["do"] in _ALWAYS else self._supervisor.gone
            answer = {"error": [errors.UNAVAILABLE, gone]} if gone else {"value": value}
            with contextlib.suppress(OSError):  # who asked is gone
                lines.send({"id": message["id"], **answer})

        try:
            match message["do"]:
                case "status":
                    reply(self._status())
                case "changes":
                    self._reply_after(message["after"], message["timeout"], reply)
                case "kill":
                    self._supervisor.kill(self._task(message["task"]))
                    reply(None)
                case "output":
                    reply(self._supervisor.output(self._task(message["task"]), message["after"]))
                case "detach":
                    self._detach()
                    reply(None)
                case "stop":
                    self.stop()
                    reply(None)
        except errors.OpError as error:
            lines.send({"id": message["id"], "error": [error.error_code, error.message]})

    def _task(self, name: str) -> str:
        if name not in self._supervisor.members:
            known = ", ".join(self._supervisor.members)
            raise errors.NotFoundError(None, None, f"{name} is not a task of {self._plan.name!r}. It has {known}.")
        return name

    def _status(self) -> dict[str, Any]:
        plan = self._plan
        return {
            "name": plan.name,
            "on": plan.on,
            "pid": os.getpid(),
            "started": self._started,
            "leader": plan.leader,
            "token": plan.token,
            "cluster_id": plan.cluster_id,
            "version": self._supervisor.version,
            "tasks": [member.public() for member in self._supervisor.members.values()],
        }

    def _reply_after(self, version: int, timeout: float, reply: Reply) -> None:
        if self._supervisor.version > version or self._supervisor.gone:
            reply(self._status())
            return
        entry = version, reply
        self._waiting.append(entry)

        def give_up() -> None:
            if entry in self._waiting:
                self._waiting.remove(entry)
                reply(self._status())

        self._loop.later(timeout, give_up)

    def _changed(self) -> None:
        waiting, self._waiting = self._waiting, []
        for _, reply in waiting:
            reply(self._status())

    def _detach(self) -> None:
        self._loop.forget(self._starter)
        self._owner = None
        with open(os.devnull, "r+b") as nothing:
            for descriptor in (0, 1, 2):
                os.dup2(nothing.fileno(), descriptor)


def _crew(plan: Plan, loop: Loop, happened: Callable[[str, Event], None]) -> Crew:
    if plan.on == "processes":
        from penstock.cluster.launch.processes import Processes

        return Processes(plan, loop, happened)
    from penstock.cluster.launch.ray.actors import Actors

    return Actors(plan, loop, happened)


def main() -> None:
    owner = Lines(socket.socket(fileno=int(sys.argv[1])))
    messages: list[Any] | None = []
    while not messages:
        messages = owner.receive()
        if messages is None:
            return
    message = messages[0]
    try:
        keeper = Keeper(Plan.from_json(message["plan"]), owner, message["starter"])
    except (errors.OpError, OSError) as error:
        code = error.error_code if isinstance(error, errors.OpError) else errors.UNAVAILABLE
        owner.send({"id": 0, "error": [code, str(error)]})
        return
    owner.send({"id": 0, "value": None})
    keeper.run()


if __name__ == "__main__":
    main()
