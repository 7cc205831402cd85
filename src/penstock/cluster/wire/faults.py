"""What tests make go wrong on the wire."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from penstock.cluster.wire.identity import Identity


@dataclass(frozen=True)
class Sending:
    """A message before it is sent.

    `kind` is "call" or "tell" of a `method`, or without one "reply" (a value), "failure" (an exception), "ping" (a sign
    of life, or the question for one) or "connect" (this side has made a connection, and would now say so).
    """

    to: Identity
    kind: str
    method: str = ""


@dataclass(frozen=True)
class Fault:
    """What happens to a message: it comes `times` times (0: never), after `delay_s`; with `cut`, the connection ends
    before it is sent. Other messages overtake a delayed one. Signs of life and connections come or do not."""

    @property
    def never(self) -> bool:
        return self.cut or not self.times

    delay_s: float = 0.0
    times: int = 1
    cut: bool = False


Faults = Callable[[Sending], Fault | None]
"""Asked about everything that an endpoint sends, in the thread that sends; None lets it pass. A network that is down in
one direction is one that drops everything to some task."""


def wanted_faults(me: Identity) -> Faults | None:
    """What PENSTOCK_FAULTS ("package.module:function") makes of `me`, for tests of programs with many processes."""
    where = os.environ.get("PENSTOCK_FAULTS")
    if not where:
        return None
    module, _, name = where.partition(":")
    found: Faults | None = getattr(importlib.import_module(module), name)(me)
    return found
