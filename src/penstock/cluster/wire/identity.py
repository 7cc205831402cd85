"""Who is at the end of a connection, whom one expects there, and the options of connections."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.version import PENSTOCK_VERSION

if TYPE_CHECKING:
    from penstock.cluster.wire.faults import Faults


@dataclass(frozen=True)
class Identity:
    """What a process says about itself when a connection is made.

    `task` is "/job:worker/replica:0/task:0" or "client", `incarnation` differs for every start of a task, `spec` is a
    digest of the ClusterSpec ("" if there is none, as in a client).
    """

    task: str
    incarnation: int
    version: str = PENSTOCK_VERSION
    spec: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Identity:
        """Raises TypeError, KeyError or ValueError for anything else than `as_json` writes."""
        return cls(str(value["task"]), int(value["incarnation"]), str(value["version"]), str(value["spec"]))


def new_incarnation() -> int:
    """A random positive number of 63 bits: no two starts of a task share one."""
    return secrets.randbits(63) | 1


@dataclass(frozen=True)
class Expect:
    """Who must answer at an address; None accepts anyone."""

    task: str | None = None
    incarnation: int | None = None


@dataclass(frozen=True)
class WireOptions:
    """How an endpoint connects and when it gives up. The defaults are for programs; tests make them shorter."""

    ping_s: float = 1.0
    """A connection from which nothing came for so long is asked for a sign of life."""
    dead_s: float = 10.0
    """A connection from which nothing came for so long is lost."""
    connect_s: float = 10.0
    """How long `Endpoint.peer` tries, unless it is told."""
    handshake_s: float = 5.0
    """Within this time a new connection proves that it knows the token."""
    unauthenticated: int = 64
    """So many connections may be in that state; one more ends the oldest."""
    message_bytes: int = 1 << 36
    """Larger messages are refused."""
    local: bool = True
    """Tasks of one host talk through a Unix socket instead of TCP."""
    shared_bytes: int = 1 << 30
    """So much shared memory may hold what an endpoint sent to tasks of its host and they still use; values beyond that
    go through the socket."""
    faults: Faults | None = None
    """What tests make go wrong."""


def quick_to_notice(dead_s: float) -> WireOptions:
    """Options with which silence of `dead_s` seconds ends a connection, and signs of life are asked for in time."""
    return WireOptions(ping_s=min(WireOptions.ping_s, dead_s / 4), dead_s=dead_s)


def check(mine: Identity, theirs: Identity, expect: Expect | None, where: str) -> None:
    """Raise the typed error for a `theirs` that `mine` cannot work with; `where` is its address."""
    if mine.version != theirs.version:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"{theirs.task} at {where} runs Penstock {theirs.version}, but {mine.task} here runs {mine.version}: "
            "all processes of a cluster must run the same version",
        )
    if mine.spec and theirs.spec and mine.spec != theirs.spec:
        raise errors.FailedPreconditionError(
            None,
            None,
            f"{theirs.task} at {where} was started with another ClusterSpec (digest {theirs.spec}) than {mine.task} "
            f"here ({mine.spec}): all tasks of a cluster need the same jobs and addresses",
        )
    if expect is None:
        return
    if expect.task is not None and expect.task != theirs.task:
        raise errors.AbortedError(None, None, f"expected {expect.task} at {where}, but {theirs.task} answers there")
    if expect.incarnation is not None and expect.incarnation != theirs.incarnation:
        raise errors.AbortedError(
            None,
            None,
            f"{theirs.task} at {where} was restarted (incarnation {theirs.incarnation} instead of "
            f"{expect.incarnation}): what it held in memory, such as variables, is gone",
        )
