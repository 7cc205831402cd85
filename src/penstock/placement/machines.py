"""Devices as the simulator sees them, and the hosts that they are in."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.devices.device import HOST_PREFIX
from penstock.export import export
from penstock.graph.device_spec import DeviceSpec
from penstock.placement.calibration import Speeds
from penstock.placement.links import Link

INFINITE = float("inf")


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


@export("placement.Host")
@dataclass(frozen=True, slots=True)
class Host:
    """A machine, which its devices share.

    cores: of its processors, for those devices that use some. inside: a link between two of its devices; None: the
    default one. port: bytes per second, each way, that each device exchanges with all others. bus: bytes per second
    that all transfers to and from its devices may have together. card: to other hosts, each way, through one network
    card.
    """

    name: str
    cores: float = INFINITE
    inside: Link | None = None
    port: float = INFINITE
    bus: float = INFINITE
    card: Link | None = None


def full_name(name: str) -> str:
    """A device name with missing parts taken from this process's."""
    spec = DeviceSpec.from_string(HOST_PREFIX)
    spec.merge_from(DeviceSpec.from_string(name))
    if spec.device_type is None or spec.device_index is None:
        raise ValueError(f"{name!r} does not name one device: it needs a type and an index")
    return spec.to_string()
