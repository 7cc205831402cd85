"""The devices of a cluster and the links between them, as placement sees them."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterable

from penstock.cluster.master.tasks import Task
from penstock.cluster.worker.messages import DeviceDescription
from penstock.placement.hardware import HAND_OVER, PCIE_BYTES_PER_SECOND, PCIE_LATENCY, Hardware
from penstock.placement.links import Link
from penstock.placement.machines import Host, SimulatedDevice

_UNKNOWN = Link(2e-4, 1.5e9)
"""Between tasks, until it is measured."""


class MeasuredHardware:
    """Of the tasks of a session. Their links are measured in the background, one for each pair of hosts.

    Tasks of the same two hosts have the same link, so a cluster on one host has one to measure, however many tasks it
    has. The tasks remember what they have measured.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._devices = {task: task.devices for task in tasks}
        self.hardware = Hardware([], _UNKNOWN)
        for task, devices in self._devices.items():
            host = _host(task)
            for d in devices:
                made = SimulatedDevice(d.name, d.type, d.speeds, float(d.memory), host, d.cores)
                self.hardware.devices.append(made)
                cores = max(d.processors, self.hardware.hosts[host].cores if host in self.hardware.hosts else 0.0)
                self.hardware.hosts[host] = Host(host, cores)
        for devices in self._devices.values():
            self._link(devices, devices, None)
        self._left = 0
        self._changed = threading.Condition()
        self._measure()

    def wait(self, seconds: float) -> None:
        """Until all links are measured, but not longer than that."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._left and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)

    def _measure(self) -> None:
        hosts: dict[str, list[Task]] = {}
        for task in sorted(self._devices, key=lambda task: task.name):  # the same pairs for all clients
            hosts.setdefault(_host(task), []).append(task)
        names = list(hosts)
        pairs = [(a, b) for i, a in enumerate(names) for b in names[i:] if a != b or len(hosts[a]) > 1]
        self._left = len(pairs)
        for a, b in pairs:
            # A task in this process would be called in this thread, so it is the one that is measured to.
            sources = [task for task in hosts[a] if not task.is_here]
            if sources:
                source, target = sources[0], next(task for task in hosts[b] if task is not sources[0])
            else:
                source, target = hosts[b][-1], hosts[a][0]
            done = functools.partial(self._found, hosts[a], hosts[b])
            source.start("link", target.name, target.address, target.incarnation, done=done)

    def _found(self, these: list[Task], those: list[Task], link: Link | Exception) -> None:
        if isinstance(link, Link):  # otherwise a task is gone, of which steps will tell
            for a in these:
                for b in those:
                    if a is not b:
                        self._link(self._devices[a], self._devices[b], link)
                        self._link(self._devices[b], self._devices[a], link)
        with self._changed:
            self._left -= 1
            self._changed.notify_all()

    def _link(self, these: list[DeviceDescription], those: list[DeviceDescription], link: Link | None) -> None:
        """`link` leads from these to those; None: they are of one task."""
        for a in these:
            for b in those:
                if a is not b:
                    self.hardware.links[a.name, b.name] = link or _inside(a, b)


def _host(task: Task) -> str:
    return task.address.rpartition(":")[0]


def _inside(a: DeviceDescription, b: DeviceDescription) -> Link:
    return Link(HAND_OVER) if a.type == b.type else Link(PCIE_LATENCY, PCIE_BYTES_PER_SECOND)
