"""What goes wrong in one process: it looks for its orders whenever it sends a message.

They lie in the folder PENSTOCK_CHAOS: `orders.json` is a list of `Order`s, replaced by the next ones. Who carries one
out says so first, by a file `fired-NUMBER` that holds the time.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from penstock.cluster.wire.faults import Fault, Faults, Sending
from penstock.cluster.wire.identity import Identity

CLIENT = "client"
phase = ""
"""What the program is doing; in the client's process."""


@dataclass(frozen=True)
class Trigger:
    """The `nth` message of `kind` and `method` that `who` sends to `to` ("" for anybody) in `phase` ("" for any)."""

    who: str
    kind: str
    method: str = ""
    to: str = ""
    phase: str = ""
    nth: int = 1

    def fits(self, me: str, sending: Sending) -> bool:
        return (
            (me, sending.kind, sending.method) == (self.who, self.kind, self.method)
            and self.to in ("", sending.to.task)
            and self.phase in ("", phase)
        )


@dataclass(frozen=True)
class Order:
    """do: "kill" or "stop" the process `victim` after `after_s`, or kill the "node" of Ray that it runs on, with it;
    "part" all connections between `victim` and `other` for `for_s`; or "delay" (by `for_s`), "drop", "repeat" or "cut"
    the message of the trigger. follows: the number of another one that must have been carried out."""

    number: int
    trigger: Trigger
    do: str
    victim: str = ""
    other: str = ""
    after_s: float = 0.0
    for_s: float = 0.0
    follows: int | None = None
    pids: dict[str, int] = field(default_factory=dict)


def node_of(task: str) -> str:
    """The name of the process that stands for the node of Ray on which the task runs."""
    return f"node of {task}"


def to_json(orders: list[Order]) -> str:
    return json.dumps([asdict(order) for order in orders])


def from_json(text: str) -> list[Order]:
    return [Order(**{**found, "trigger": Trigger(**found["trigger"])}) for found in json.loads(text)]


def fired(folder: Path, number: int) -> Path:
    return folder / f"fired-{number}"


def faults(me: Identity) -> Faults | None:
    """The orders of the process that is `me`. Where there are several clients, CHAOS_CLIENT says which is in it."""
    folder = os.environ.get("PENSTOCK_CHAOS")
    name = os.environ.get("CHAOS_CLIENT", CLIENT) if me.task == CLIENT else me.task
    return _Injected(name, Path(folder)) if folder else None


@dataclass
class _Watched:
    """seen: messages that fitted the trigger. until: when connections are no longer parted."""

    order: Order
    seen: int = 0
    until: float = 0.0


class _Injected:
    def __init__(self, me: str, folder: Path) -> None:
        self._me, self._folder = me, folder
        self._lock = threading.Lock()
        self._read = 0
        self._watched: list[_Watched] = []

    def __call__(self, sending: Sending) -> Fault | None:
        with self._lock:
            self._look()
            for each in self._watched:
                order = each.order
                ends = {order.victim, order.other}
                if order.do == "part" and {self._me, sending.to.task} == ends and self._parted(each):
                    return Fault(times=0)
                if order.trigger.fits(self._me, sending) and self._is_on(order):
                    each.seen += 1
                    if each.seen == order.trigger.nth and self._is_first(order):
                        return _carry_out(order)
        return None

    def _look(self) -> None:
        file = self._folder / "orders.json"
        try:
            written = file.stat().st_mtime_ns
            if written != self._read:
                self._watched = [_Watched(order) for order in from_json(file.read_text())]
                self._read = written
        except FileNotFoundError:
            self._watched = []

    def _is_on(self, order: Order) -> bool:
        return order.follows is None or fired(self._folder, order.follows).exists()

    def _is_first(self, order: Order) -> bool:
        """A process that was started anew has the same orders."""
        try:
            with fired(self._folder, order.number).open("x") as file:
                file.write(repr(time.monotonic()))
        except FileExistsError:
            return False
        return True

    def _parted(self, each: _Watched) -> bool:
        if not each.until:
            with contextlib.suppress(FileNotFoundError, ValueError):
                each.until = float(fired(self._folder, each.order.number).read_text()) + each.order.for_s
        return time.monotonic() < each.until


def _carry_out(order: Order) -> Fault | None:
    match order.do:
        case "kill" | "stop" | "node":
            number = signal.SIGSTOP if order.do == "stop" else signal.SIGKILL
            if order.after_s:
                threading.Timer(order.after_s, _signal, (order, number)).start()
            else:
                _signal(order, number)
            return None
        case "delay":
            return Fault(delay_s=order.for_s)
        case "drop":
            return Fault(times=0)
        case "repeat":
            return Fault(times=2)
        case "cut":
            return Fault(cut=True)
    assert order.do == "part"
    return None


def _signal(order: Order, number: int) -> None:
    victims = [order.victim] if order.do != "node" else [node_of(order.victim), order.victim]
    with contextlib.suppress(ProcessLookupError):
        for victim in victims:
            os.kill(order.pids[victim], number)
        time.sleep(0.02)  # it takes a moment, before which this message must not be sent
