"""The hardware that steps are placed on: six descriptions."""

from __future__ import annotations

from collections.abc import Callable

from penstock.placement import Hardware, Link, SimulatedDevice
from penstock.placement.calibration import Speeds

FAST = Speeds(flops=1e13, bytes_per_second=5e11, launch=5e-6)
PCIE = Link(1e-5, 1.2e10)
TIGHT = 0.5
"""The share of what a step takes on one device that each of four has."""


def _machine(speeds: list[Speeds], link: Link, memory: float = 0.0, hosts: int = 1) -> Hardware:
    each = len(speeds) // hosts
    names = [f"/job:worker/replica:0/task:{i // each}/device:GPU:{i % each}" for i in range(len(speeds))]
    return Hardware([SimulatedDevice(n, "GPU", s, memory) for n, s in zip(names, speeds, strict=True)], link)


def _hosts(_: float) -> Hardware:
    """Two machines of two devices, a network of 10 Gbit/s between them."""
    hardware = _machine([FAST] * 4, Link(5e-5, 1.25e9), hosts=2)
    for host in range(2):
        a, b = hardware.names[2 * host : 2 * host + 2]
        hardware.links[a, b] = hardware.links[b, a] = PCIE
    return hardware


MACHINES: dict[str, Callable[[float], Hardware]] = {
    "four": lambda _: _machine([FAST] * 4, PCIE),
    "two": lambda _: _machine([FAST] * 2, PCIE),
    "slow links": lambda _: _machine([FAST] * 4, Link(5e-5, 1e9)),
    "uneven": lambda _: _machine([FAST, FAST, Speeds(5e12, 2.5e11, 5e-6), Speeds(2e12, 1e11, 5e-6)], PCIE),
    "tight": lambda peak: _machine([FAST] * 4, PCIE, TIGHT * peak),
    "hosts": _hosts,
}
"""By name; each is called with the bytes that the step takes on one device."""
