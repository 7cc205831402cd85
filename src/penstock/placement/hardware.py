"""Hardware as the simulator sees it: devices with speeds and memory, the hosts that they are in, and the links between
them.

Real hardware is described by `Hardware.of(devices)`, hypothetical hardware by a YAML file (`description.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from penstock.devices import processors
from penstock.devices.device import Device
from penstock.export import export
from penstock.placement import description
from penstock.placement.calibration import calibrated
from penstock.placement.links import Link, Wire
from penstock.placement.machines import INFINITE, Host, SimulatedDevice


@export("placement.Hardware")
@dataclass(slots=True)
class Hardware:
    """Devices in the order of preference, their hosts, and the links between pairs of them.

    links: the links between devices that are not as their hosts say. switch: bytes per second that all hosts together
    exchange. default_link: between devices without hosts.
    """

    devices: list[SimulatedDevice]
    default_link: Link = field(default_factory=Link)
    links: dict[tuple[str, str], Link] = field(default_factory=dict)
    hosts: dict[str, Host] = field(default_factory=dict)
    switch: float = INFINITE
    _named: dict[str, SimulatedDevice] = field(default_factory=dict, init=False, repr=False, compare=False)

    def link(self, source: str, target: str) -> Link:
        """The cost of moving a tensor from one device to another; zero within a device."""
        if source == target:
            return Link()
        if (source, target) in self.links:
            return self.links[source, target]
        a, b = self[source], self[target]
        here, there = self.hosts.get(a.host), self.hosts.get(b.host)
        if here is None or there is None:
            return self.default_link
        if here is there:
            return _attached(here.inside or self.default_link, (a, here, "out"), (b, there, "in"))
        return self._between(a, here, b, there)

    def _between(self, a: SimulatedDevice, here: Host, b: SimulatedDevice, there: Host) -> Link:
        """From host to host: over both cards and what leads to them."""
        if here.card is None or there.card is None:
            return self.default_link
        latency = max(here.card.latency, there.card.latency)
        attached = []
        for device, host, way in ((a, here, "out"), (b, there, "in")):
            if device.type != "CPU" and host.inside is not None:  # one that has to reach its host's memory first
                latency += host.inside.latency
                attached.append((device, host, way))
        rate = min(here.card.bytes_per_second, there.card.bytes_per_second)
        through = (
            Wire(f"{here.name} out", here.card.bytes_per_second),
            *([Wire("switch", self.switch)] if self.switch < INFINITE else []),
            Wire(f"{there.name} in", there.card.bytes_per_second),
        )
        return _attached(Link(latency, rate, through), *attached)

    @property
    def names(self) -> list[str]:
        return [device.name for device in self.devices]

    def __getitem__(self, name: str) -> SimulatedDevice:
        found = self._named.get(name)
        if found is None:
            self._named = {device.name: device for device in self.devices}
            found = self._named[name]
        return found

    @staticmethod
    def load(path: str | Path) -> Hardware:
        """Read a description. Raises ValueError, naming the file, the line and the entry, if it is invalid."""
        return Hardware._described(description.read(path))

    @staticmethod
    def cluster(tasks: Mapping[str, tuple[int, str]], switch: float = INFINITE) -> Hardware:
        """A cluster of well-known machines: `{"ps": (1, "cpu_2016"), "worker": (16, "p100x4")}` says how many tasks
        each job has, and what each of them runs on. Raises ValueError for a machine that is not in `library/`."""
        return Hardware._described(description.cluster(tasks, switch))

    @staticmethod
    def _described(found: description.Described) -> Hardware:
        return Hardware(found.devices, found.default_link, found.links, found.hosts, found.switch)

    @staticmethod
    def of(devices: list[Device]) -> Hardware:
        """This process's devices with their measured speeds (see `calibration.py`)."""
        speeds = {device: calibrated(device) for device in devices}
        found = [SimulatedDevice(d.name, d.type, speeds[d], float(d.memory_limit), "", cores_used(d)) for d in devices]
        hardware = Hardware(found, Link(HAND_OVER), hosts={"": Host("", processors.usable())})
        for a in devices:
            for b in devices:
                if a is not b and a.torch.type != b.torch.type:
                    hardware.links[a.name, b.name] = Link(PCIE_LATENCY, PCIE_BYTES_PER_SECOND)
        return hardware


def _attached(link: Link, *ends: tuple[SimulatedDevice, Host, str]) -> Link:
    """The link through the ports and buses of some of its ends as well."""
    wires: dict[Wire, None] = dict.fromkeys(link.through)
    for device, host, way in ends:
        if host.port < INFINITE and device.type != "CPU":
            wires[Wire(f"{device.name} {way}", host.port)] = None
        if host.bus < INFINITE:
            wires[Wire(f"{host.name} bus", host.bus)] = None
    return Link(link.latency, link.bytes_per_second, tuple(wires))


def cores_used(device: Device) -> float:
    """How many of its host's cores a large kernel on this device uses."""
    return float(device.threads or torch.get_num_threads()) if device.torch.type == "cpu" else 0.0


HAND_OVER = 6e-5
"""Seconds from the end of a node on one CPU device to the start of its consumer on another: waking a thread."""
PCIE_LATENCY, PCIE_BYTES_PER_SECOND = 2e-5, 1.2e10
