"""Hardware as the simulator sees it: devices with speeds and memory, and the cost of transfers between them.

Real hardware is described by `Hardware.of(devices)`, hypothetical hardware by a YAML file::

    devices:
      - {name: "/device:CPU:0", flops: 5.0e+10, bytes_per_second: 1.0e+10, launch: 3.0e-6}
      - {name: "/device:GPU:0", flops: 3.0e+13, bytes_per_second: 1.5e+12, launch: 5.0e-6, memory: 8.0e+9}
    links:
      default: {latency: 1.0e-5, bytes_per_second: 1.2e+10}
      pairs:
        - {from: "/device:GPU:0", to: "/device:GPU:1", bytes_per_second: 5.0e+10, latency: 5.0e-6}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import yaml

from penstock.devices import processors
from penstock.devices.device import HOST_PREFIX, Device
from penstock.export import export
from penstock.graph.device_spec import DeviceSpec
from penstock.placement.calibration import Speeds, calibrated
from penstock.placement.links import Link


@export("placement.SimulatedDevice")
@dataclass(frozen=True, slots=True)
class SimulatedDevice:
    """A device by its full name. memory: bytes; 0: no limit. host: the machine whose cores its kernels run on, of which
    each uses `cores` (0: as if the device had its own)."""

    name: str
    type: str
    speeds: Speeds
    memory: float = 0.0
    host: str = ""
    cores: float = 0.0


@export("placement.Hardware")
@dataclass(slots=True)
class Hardware:
    """Devices in the order of preference, and the links between pairs of them."""

    devices: list[SimulatedDevice]
    default_link: Link = field(default_factory=Link)
    links: dict[tuple[str, str], Link] = field(default_factory=dict)
    cores: dict[str, float] = field(default_factory=dict)
    """How many cores a host has, where that is known."""

    def link(self, source: str, target: str) -> Link:
        """The cost of moving a tensor from one device to another; zero within a device."""
        if source == target:
            return Link()
        return self.links.get((source, target), self.default_link)

    @property
    def names(self) -> list[str]:
        return [device.name for device in self.devices]

    def __getitem__(self, name: str) -> SimulatedDevice:
        return next(device for device in self.devices if device.name == name)

    @staticmethod
    def of(devices: list[Device]) -> Hardware:
        """This process's devices with their measured speeds (see `calibration.py`)."""
        speeds = {device: calibrated(device) for device in devices}
        found = [SimulatedDevice(d.name, d.type, speeds[d], float(d.memory_limit), "", cores_used(d)) for d in devices]
        hardware = Hardware(found, Link(HAND_OVER), cores={"": processors.usable()})
        for a in devices:
            for b in devices:
                if a is not b and a.torch.type != b.torch.type:
                    hardware.links[a.name, b.name] = Link(PCIE_LATENCY, PCIE_BYTES_PER_SECOND)
        return hardware

    @staticmethod
    def load(path: str | Path) -> Hardware:
        """Read a description. Raises ValueError, naming the file and the entry, if it is invalid."""
        try:
            found = yaml.safe_load(Path(path).read_text())
            if not isinstance(found, dict) or not found.get("devices"):
                raise ValueError("a mapping with a list 'devices' is expected")
            links = found.get("links") or {}
            unknown = set(found) - {"devices", "links"} or set(links) - {"default", "pairs"}
            if unknown:
                raise ValueError(f"unknown entry {sorted(unknown)[0]!r}")
            devices = [_device(entry) for entry in found["devices"]]
            hardware = Hardware(devices, _link(links.get("default", {})))
            for entry in links.get("pairs", []):
                a, b = full_name(entry.pop("from")), full_name(entry.pop("to"))
                both = entry.pop("both_ways", True)
                hardware.links[a, b] = link = _link(entry)
                if both:
                    hardware.links[b, a] = link
        except (ValueError, TypeError, KeyError, yaml.YAMLError) as error:
            raise ValueError(f"{path} does not describe hardware: {error}") from error
        return hardware


def cores_used(device: Device) -> float:
    """How many of its host's cores a large kernel on this device uses."""
    return float(device.threads or torch.get_num_threads()) if device.torch.type == "cpu" else 0.0


HAND_OVER = 6e-5
"""Seconds from the end of a node on one CPU device to the start of its consumer on another: waking a thread."""
PCIE_LATENCY, PCIE_BYTES_PER_SECOND = 2e-5, 1.2e10


def full_name(name: str) -> str:
    """A device name with missing parts taken from this process's."""
    spec = DeviceSpec.from_string(HOST_PREFIX)
    spec.merge_from(DeviceSpec.from_string(name))
    if spec.device_type is None or spec.device_index is None:
        raise ValueError(f"{name!r} does not name one device: it needs a type and an index")
    return spec.to_string()


def _device(entry: Any) -> SimulatedDevice:
    entry = dict(entry)
    name, memory = full_name(str(entry.pop("name"))), float(entry.pop("memory", 0))
    speeds = Speeds(**{key: float(value) for key, value in entry.items()})
    if min(speeds.flops, speeds.bytes_per_second) <= 0 or speeds.launch < 0 or memory < 0:
        raise ValueError(f"speeds of {name} must be positive")
    return SimulatedDevice(name, DeviceSpec.from_string(name).device_type or "", speeds, memory)


def _link(entry: Any) -> Link:
    unknown = set(entry) - {"latency", "bytes_per_second"}
    if unknown:
        raise ValueError(f"unknown entry {sorted(unknown)[0]!r}")
    link = Link(float(entry.get("latency", 0.0)), float(entry.get("bytes_per_second", "inf")))
    if link.latency < 0 or link.bytes_per_second <= 0:
        raise ValueError(f"a link needs a latency of at least 0 and a positive rate, not {entry}")
    return link
