"""What masters and workers say to each other, besides parts of steps (`cluster/ship.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.placement.calibration import Speeds

Timeout = tuple[int, float]
"""A step's `timeout_in_ms`, and how many seconds of it are left."""


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """A device of another task. cores: how many its kernels use, of `processors` that the task may use."""

    name: str
    type: str
    kernel_type: str
    memory: int
    incarnation: int
    speeds: Speeds
    cores: float = 0.0
    processors: float = 0.0


@dataclass(frozen=True, slots=True)
class Description:
    """A task, and what it knows of its cluster: the addresses of all tasks, in the order of the ClusterSpec."""

    task: str
    incarnation: int
    addresses: dict[str, str]
    devices: list[DeviceDescription]


@dataclass(frozen=True, slots=True)
class SessionSetup:
    """A session of a client, as a worker needs it.

    tasks: those that the session uses, with address and incarnation. passes: those that run on each part. isolated:
    whether it has state of its own. client: the task in whose process the client is; "" if it is in none.
    """

    number: int
    tasks: dict[str, tuple[str, int]]
    passes: frozenset[str]
    flushes: bool = False
    isolated: bool = False
    client: str = ""


NODES, WHOLE, MEMORY = 1, 2, 3
"""How a step is traced: each node, with `Observer.whole`, or with what nodes allocate; 0: not."""


@dataclass(slots=True)
class Traced:
    """A node that ran, with what traces say about it."""

    name: str
    op: str
    inputs: list[str]
    dtypes: tuple[Any, ...]
    shapes: tuple[Any, ...]


@dataclass(slots=True)
class DeviceTrace:
    """What an `Observer` saw on one device."""

    device: str
    nodes: list[Traced]
    starts: list[int]
    ends: list[int]
    end: int
    uses: list[Any] = field(default_factory=list)
