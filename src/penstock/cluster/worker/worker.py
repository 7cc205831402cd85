"""`Worker`: devices, state and sessions of one task, as the other tasks and the clients of a cluster see them."""

from __future__ import annotations

import contextlib
import resource
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock import errors
from penstock.cluster.members import Members
from penstock.cluster.ship import ShippedPart
from penstock.cluster.wire import Endpoint, Expect, Handler, Peer
from penstock.cluster.worker.links import Links
from penstock.cluster.worker.meeting import Items
from penstock.cluster.worker.messages import Description, DeviceDescription, DeviceTrace, SessionSetup, Timeout
from penstock.cluster.worker.session import WorkerSession
from penstock.devices import processors
from penstock.devices.device import HOST_PREFIX, Device
from penstock.devices.registry import devices_for
from penstock.placement.calibration import calibrated
from penstock.placement.hardware import cores_used
from penstock.placement.links import Link
from penstock.runtime.rendezvous import Key
from penstock.runtime.resources import ResourceManager

_CONNECT_S = 5.0
"""How long a task tries to reach another: the client has reached it before."""


class Worker:
    """What a task runs; `service()` is what others may call. State outlives sessions, except that of isolated ones."""

    endpoint: Endpoint
    """Set by whoever listens."""

    def __init__(self, members: Members, config: Any = None) -> None:
        """config: a ConfigProto, for the task's devices."""
        self._members = members
        self.devices = devices_for(config)
        for device in self.devices:
            device.name = members.task + device.name.removeprefix(HOST_PREFIX)
        self._by_name = {device.name: device for device in self.devices}
        self.resources = ResourceManager()
        self._links = Links(self._connect)
        self._sessions: dict[int, WorkerSession] = {}
        self._latest: dict[str, int] = {}
        self._replaced: set[tuple[str, int]] = set()
        """Starts of tasks that others have replaced: their clients may write no more, should they still run."""
        self._lock = threading.Lock()
        self._started = threading.Event()
        self._closed = False

    def start(self) -> None:
        """From now on clients are served; before, they wait."""
        self._started.set()

    def close(self) -> None:
        """End all sessions. The state is gone."""
        with self._lock:
            self._closed = True
            sessions, self._sessions = list(self._sessions.values()), {}
        gone = errors.UnavailableError(None, None, f"{self._members.task} stops serving.")
        for session in sessions:
            session.close(gone)
        self.resources.reset()

    def service(self) -> Mapping[str, Handler]:
        """The methods that connections may call. None of them may be called by who does not have the token."""
        blocking: list[Callable[..., Any]] = [
            self.describe, self.open_session, self.close_session, self.keep, self.register, self.run, self.reset,
            self.explain, self.link, self.take, self.kept,
        ]  # fmt: skip
        inline: list[Callable[..., Any]] = [self.want, self.abort, self.forget, self.drop_kept, self.ping, self.clock]
        return {
            **{fn.__name__: Handler(fn) for fn in blocking},
            **{fn.__name__: Handler(fn, inline=True) for fn in inline},
            "deliver": Handler(self.deliver, inline=True, takes_missing=True),
        }

    # --- the service: the first argument is the connection that it comes from -----------------------------

    def ping(self, peer: Peer | None, value: Any = None) -> int:
        """Also what links are measured by: `value` is dropped."""
        return self.endpoint.identity.incarnation

    def describe(self, peer: Peer | None) -> Description:
        self._started.wait()
        tasks = self._members.tasks
        return Description(
            self._members.task,
            self.endpoint.identity.incarnation,
            {task: self._members.address(task) for task in tasks},
            [_described(device) for device in self.devices],
        )

    def link(self, peer: Peer | None, task: str, address: str, incarnation: int) -> Link:
        """From here to another task."""
        return self._links.to(task, address, incarnation)

    def open_session(self, peer: Peer | None, setup: SessionSetup) -> None:
        resources = ResourceManager() if setup.isolated else self.resources
        session = WorkerSession(self._members.task, setup, resources, self._by_name, self._connect)
        with self._lock:
            if self._closed:
                raise errors.UnavailableError(None, None, f"{self._members.task} stops serving.")
            fenced = self._note_starts(setup)
            self._sessions[setup.number] = session
        for each in fenced:
            each.close(_replaced_error(each.setup.client))
        if peer is not None:
            peer.on_lost(lambda error: self._client_lost(setup.number))

    def _note_starts(self, setup: SessionSetup) -> list[WorkerSession]:
        """Learn which tasks have been started anew: the sessions of their former clients, which end. With the lock."""
        if setup.client and (setup.client, setup.tasks[setup.client][1]) in self._replaced:
            raise _replaced_error(setup.client)
        for task, (_, incarnation) in setup.tasks.items():
            known = self._latest.get(task, incarnation)
            if (task, incarnation) not in self._replaced:
                self._latest[task] = incarnation
                if known != incarnation:
                    self._replaced.add((task, known))
        fenced = []
        for number, session in list(self._sessions.items()):
            client = session.setup.client
            if client and (client, session.setup.tasks[client][1]) in self._replaced:
                fenced.append(self._sessions.pop(number))
        return fenced

    def close_session(self, peer: Peer | None, number: int) -> None:
        with self._lock:
            session = self._sessions.pop(number, None)
        if session is not None:
            session.close()

    def _client_lost(self, number: int) -> None:
        with self._lock:
            session = self._sessions.pop(number, None)
        if session is not None:
            session.close(errors.CancelledError(None, None, "The client of the session is gone."))

    def keep(self, peer: Peer | None, number: int, plan: int, digest: bytes, value: Any) -> None:
        self._session(number).keep(plan, digest, value)

    def register(self, peer: Peer | None, number: int, plan: int, parts: Sequence[ShippedPart], slow: bool) -> None:
        self._session(number).register(plan, parts, slow)

    def run(
        self,
        peer: Peer | None,
        number: int,
        plan: int,
        step: int,
        values: Sequence[Any],
        timeout: Timeout | None = None,
        trace: int = 0,
    ) -> tuple[tuple[Any, ...], list[DeviceTrace]]:
        return self._session(number).run(plan, step, values, timeout, trace)

    def deliver(self, peer: Peer | None, number: int, step: int, items: Items) -> None:
        session = self._sessions.get(number)
        if session is not None:
            session.deliver(step, items)

    def take(self, peer: Peer | None, number: int, step: int, keys: Sequence[Key]) -> list[Any]:
        return self._session(number).take(step, keys)

    def want(self, peer: Peer | None, number: int, step: int, key: Key) -> None:
        session = self._sessions.get(number)
        if session is not None:
            session.want(step, key)

    def abort(self, peer: Peer | None, number: int, step: int, reason: Exception) -> None:
        session = self._sessions.get(number)
        if session is not None:
            session.abort(step, reason)

    def forget(self, peer: Peer | None, number: int, plans: Sequence[int]) -> None:
        session = self._sessions.get(number)
        if session is not None:
            session.forget(plans)

    def clock(self, peer: Peer | None) -> int:
        """This process's time, in nanoseconds since the epoch."""
        return time.time_ns()

    def explain(self, peer: Peer | None, number: int, plan: int) -> tuple[str, str, dict[str, str]]:
        """The source and the summary of a plan's parts, and its functions in C."""
        made = self._session(number).parts(plan).plan
        return made.source, made.summary(), made.c_functions()

    def kept(self, peer: Peer | None, number: int, handle: str) -> Any:
        """The tensor that a handle of a session refers to, which this task has made."""
        return self._session(number).kept.travelling(handle)

    def drop_kept(self, peer: Peer | None, number: int, handle: str) -> None:
        """Inline, so that it comes before a step that is run later."""
        session = self._sessions.get(number)
        if session is not None:
            session.kept.drop_own(handle)

    def reset(self, peer: Peer | None, containers: Sequence[str] | None) -> None:
        """Forget what is in these containers, or in all. As in TensorFlow, sessions end."""
        self.resources.reset(list(containers) if containers else None)

    # ------------------------------------------------------------------------------------------------------

    def _session(self, number: int) -> WorkerSession:
        session = self._sessions.get(number)
        if session is None:
            raise errors.AbortedError(
                None,
                None,
                f"{self._members.task} does not know this session: it was closed, or the task has been started anew "
                "since. Make a new session; variables there must be restored.",
            )
        return session

    def _connect(self, task: str, address: str, incarnation: int) -> Peer:
        return self.endpoint.peer(address, Expect(task, incarnation), timeout=_CONNECT_S)


def _replaced_error(task: str) -> errors.AbortedError:
    return errors.AbortedError(
        None, None, f"{task} has been replaced by another process: what this one does counts no more."
    )


def _described(d: Device) -> DeviceDescription:
    memory, speeds = _memory_of(d), calibrated(d)
    return DeviceDescription(
        d.name, d.type, d.kernel_type, memory, d.incarnation, speeds, cores_used(d), processors.usable()
    )


def _memory_of(device: Device) -> int:
    """What values and state may take; 0: no limit. For a CPU it is that of the process, less what it has taken."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if device.memory_limit or device.type != "CPU" or limit == resource.RLIM_INFINITY:
        return device.memory_limit
    with contextlib.suppress(OSError, StopIteration, ValueError), open("/proc/self/status") as lines:
        limit -= 1024 * int(next(line for line in lines if line.startswith("VmData:")).split()[1])
    return max(1, limit)
