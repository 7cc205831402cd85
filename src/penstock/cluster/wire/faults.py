"""What tests make go wrong on the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.cluster.wire.identity import Identity


@dataclass(frozen=True)
class Sending:
    """A message before it is sent. `kind` is "call", "tell", "reply" or "failure"; `method` is "" for answers."""

    to: Identity
    kind: str
    method: str


@dataclass(frozen=True)
class Fault:
    """What happens to a message: it comes `times` times (0: never), after `delay_s`; with `cut`, the connection ends
    before it is sent. Other messages overtake a delayed one."""

    delay_s: float = 0.0
    times: int = 1
    cut: bool = False


Faults = Callable[[Sending], Fault | None]
"""Asked about every message that an endpoint sends, pings excepted, in the thread that sends; None lets it pass."""
