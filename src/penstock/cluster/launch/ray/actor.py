"""What runs in an actor of Ray: a task's Server. Steps do not go through Ray, but over the Server's own connections."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from penstock.cluster.launch.plan import Plan, TaskPlan
from penstock.cluster.launch.task import make_server, tell_addresses
from penstock.cluster.server import Server
from penstock.cluster.spec import host_and_port

_READ = 1 << 16
_KEPT = 1 << 20


class TaskActor:
    """Each method is a call of the keeper's; `live` ends when the actor does."""

    def __init__(self, plan: Plan, task: TaskPlan) -> None:
        self._plan, self._task = plan, task
        self._server: Server | None = None
        self._stopped = threading.Event()
        self._output = _Output()

    def start(self, host: str, address: str) -> dict[str, Any]:
        """Listen at `host`: at the port of `address`, where the task was before, if it is still the same host."""
        before = host_and_port(address) if address else (host, 0)
        port = before[1] if before[0] == host else 0
        self._server = make_server(self._plan, self._task, f"{host}:{port}")
        own = self._server.members.address(self._task.name)
        return {"address": own, "pid": os.getpid(), "incarnation": self._server.identity.incarnation}

    def update(self, addresses: Mapping[str, str], version: int) -> int:
        assert self._server is not None
        tell_addresses(self._server, dict(addresses))
        return version

    def ping(self) -> bytes:
        """What it has written since the last call."""
        return self._output.take()

    def live(self) -> None:
        self._stopped.wait()

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        self._stopped.set()


class _Output:
    """What the process writes to stdout and stderr, which also goes where it went before: to Ray's own files."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque(maxlen=_KEPT // 64)
        self._lock = threading.Lock()
        before = os.dup(1)
        output, written = os.pipe()
        for descriptor in (1, 2):
            os.dup2(written, descriptor)
        os.close(written)
        threading.Thread(target=self._read, args=(output, before), daemon=True, name="penstock-output").start()

    def take(self) -> bytes:
        with self._lock:
            pieces = b"".join(self._pieces)
            self._pieces.clear()
        return pieces[-_KEPT:]

    def _read(self, output: int, before: int) -> None:
        while text := os.read(output, _READ):
            os.write(before, text)
            with self._lock:
                self._pieces.append(text)
