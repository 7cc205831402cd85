"""The rendezvous of a step: where a Send leaves a value for a Recv to take (white paper section 3.2.2).

There is one for each step, so its values are freed when the step ends. A key names the tensor, the device that it goes
to, and the iteration of each loop around it. Nothing is copied here; a value that arrives before its Recv waits.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Collection
from typing import Any

Key = tuple[str, tuple[Any, ...]]
Receiver = Callable[[Any], None]


class Abandoned(Exception):
    """The step failed on another device, whose error is the one to report."""


class Rendezvous:
    """Values being sent between the devices of one step. Neither side ever blocks.

    waiting: for each device that can only wait, how many values it waits for, unless it has requested another since. If
    all devices are in it and none of these values has arrived, none will.
    """

    def __init__(self, devices: int = 0) -> None:
        """`devices`: how many devices report when they can only wait or have left; 0: they do not report."""
        self._lock = threading.Lock()
        self._values: dict[Key, Any] = {}
        self._receivers: dict[Key, tuple[Receiver, object]] = {}
        self._failed = False
        self._devices = devices
        self._waiting: dict[object, int] = {}
        self._told: list[Callable[[], None]] = []
        self._left: dict[Key, tuple[Receiver, object]] = {}
        self.reports: list[str] = []
        """What devices waited for when the step failed."""

    outgoing: Collection[Any] = ()
    """What was sent to other processes and waits for `flush`: values that are ready together travel together."""

    urgent = False
    """Whether `outgoing` is large: then it should be on its way while more is made ready."""

    def flush(self) -> None:
        """Send what is in `outgoing`."""

    def tell(self, told: Callable[[], None]) -> None:
        """Call `told` when the step has failed, now or later."""
        with self._lock:
            self._told.append(told)
            failed = self._failed
        if failed:
            told()

    def send(self, key: Key, value: Any) -> None:
        """Store `value`, or pass it to the receiver that waits for it."""
        with self._lock:
            receiver, _ = self._receivers.pop(key, (None, None))
            if receiver is None:
                self._values[key] = value
        if receiver is not None:
            receiver(value)

    def receive(self, key: Key, receiver: Receiver, device: object) -> None:
        """Call `receiver` with the value, now or when it arrives, or with `Abandoned` if it never will."""
        with self._lock:
            self._waiting.pop(device, None)
            if key not in self._values:
                if not self._failed:
                    self._receivers[key] = receiver, device
                    return
                value: Any = Abandoned()
            else:
                value = self._values.pop(key)
        receiver(value)

    def only_waits(self, device: object, count: int) -> list[Key]:
        """Report that `device` can continue only when one of `count` values arrives. Returns the keys that all wait
        for, if none will arrive."""
        with self._lock:
            self._waiting[device] = count
            return self._never_come()

    def leave(self, device: object) -> list[Key]:
        """Report that `device` has finished its part and sends nothing more. Returns the keys that all others wait for,
        if none will arrive."""
        with self._lock:
            self._waiting[device] = 0
            return self._never_come()

    def _never_come(self) -> list[Key]:
        missing = collections.Counter(each for _, each in self._receivers.values())
        ended = len(self._waiting) == self._devices
        stuck = ended and all(missing[each] == number for each, number in self._waiting.items())
        return list(self._receivers) if stuck else []

    def awaited(self, device: object) -> list[Key]:
        """What a device waits for, or waited for when the step failed."""
        with self._lock:
            return [key for key, (_, each) in {**self._left, **self._receivers}.items() if each is device]

    def abandon(self) -> None:
        """The step has failed: end all waiting receivers, now and from now on."""
        with self._lock:
            self._failed = True
            waiting = list(self._receivers.values())
            self._left |= self._receivers
            self._receivers = {}
            self._values.clear()
            told, self._told = self._told, []
        for receiver, _ in waiting:
            receiver(Abandoned())
        for tell in told:
            tell()
