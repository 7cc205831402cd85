"""What tests on several devices share: nodes that may go anywhere, and an alarm for steps that do not end.

A module that imports these fixtures has them in all its tests.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.placement.choice import Choice
from penstock.placement.strategies import _strategies, register_strategy

_NAME = "test: anywhere"
SECONDS = 90
"""How long a test, or what it sets the alarm for again, may take: on a busy machine much longer than on an idle one."""


class Anywhere:
    """A strategy that throws dice for each node, others for graphs of other sizes and for each `seed`."""

    seed = 0

    def __call__(self, choice: Choice) -> list[int]:
        dice = random.Random(self.seed + len(choice.feasible))
        return choice.spread([dice.choice(feasible) for feasible in choice.feasible])

    def config(self, devices: int) -> tf.ConfigProto:
        """For a session on so many devices, whose nodes are placed so."""
        return tf.placement.configure(tf.ConfigProto(device_count={"CPU": devices}), _NAME)


@pytest.fixture(autouse=True, scope="module")
def anywhere() -> Iterator[Anywhere]:
    strategy = Anywhere()
    register_strategy(_NAME)(strategy)
    yield strategy
    del _strategies[_NAME]


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TimeoutError("the step does not end")

    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)
