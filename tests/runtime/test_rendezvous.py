"""Where Send and Recv meet: what comes first waits, each value is taken once, a step that fails ends all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.rendezvous import Abandoned, Rendezvous

A, B = "device A", "device B"


def key(name: str, *iteration: Any) -> tuple[str, tuple[Any, ...]]:
    return name, iteration


class Log:
    """What has come, in order: `name = value`."""

    def __init__(self) -> None:
        self.come: list[str] = []

    def taking(self, name: str) -> Callable[[Any], None]:
        return lambda value: self.come.append(f"{name} = {'abandoned' if isinstance(value, Abandoned) else value}")


def test_a_value_and_who_takes_it_meet_whichever_comes_first_and_only_once() -> None:
    meeting, log = Rendezvous(), Log()
    meeting.send(key("early"), 1)
    assert log.come == []
    meeting.receive(key("early"), log.taking("early"), A)
    assert log.come == ["early = 1"]
    meeting.receive(key("late"), log.taking("late"), A)
    assert log.come == ["early = 1"]
    meeting.send(key("late"), 2)
    assert log.come == ["early = 1", "late = 2"]
    meeting.receive(key("early"), log.taking("again"), A)
    assert log.come == ["early = 1", "late = 2"]
    assert meeting._values == {} and list(meeting._receivers) == [key("early")]


def test_values_of_one_tensor_are_apart_by_iteration_whatever_order_they_come_in() -> None:
    meeting, log = Rendezvous(), Log()
    for i in (1, 0):
        meeting.receive(key("x", "loop", i), log.taking(f"iteration {i}"), A)
    meeting.receive(key("x"), log.taking("outside"), A)
    for i in (0, 1):
        meeting.send(key("x", "loop", i), i * 10)
    assert log.come == ["iteration 0 = 0", "iteration 1 = 10"]
    assert list(meeting._receivers) == [key("x")]


def test_who_takes_a_value_may_take_and_send_others_at_once() -> None:
    """No lock is held while it is told."""
    meeting, log = Rendezvous(), Log()

    def pass_on(value: Any) -> None:
        meeting.send(key("second"), value + 1)

    meeting.receive(key("second"), log.taking("second"), B)
    meeting.receive(key("first"), pass_on, A)
    meeting.send(key("first"), 1)
    assert log.come == ["second = 2"]


def test_a_step_that_failed_ends_all_that_waits_now_and_from_then_on_and_forgets_its_values() -> None:
    meeting, log = Rendezvous(), Log()
    meeting.send(key("there"), 1)
    meeting.receive(key("x"), log.taking("x"), A)
    meeting.receive(key("y"), log.taking("y"), B)
    meeting.abandon()
    assert log.come == ["x = abandoned", "y = abandoned"]
    meeting.receive(key("there"), log.taking("there"), A)
    meeting.receive(key("z"), log.taking("z"), B)
    assert log.come[2:] == ["there = abandoned", "z = abandoned"]
    assert meeting._values == {} and meeting._receivers == {}


def test_devices_are_stuck_only_when_all_wait_and_nothing_that_they_wait_for_is_on_its_way() -> None:
    meeting, log = Rendezvous(devices=2), Log()
    meeting.receive(key("to A"), log.taking("to A"), A)
    assert meeting.only_waits(A, 1) == []  # B still computes
    meeting.receive(key("to B"), log.taking("to B"), B)
    assert meeting.only_waits(B, 2) == []  # of B's two values one has come, and B has not looked at it yet
    assert meeting.only_waits(B, 1) == [key("to A"), key("to B")]
    meeting.send(key("there"), 1)
    meeting.receive(key("there"), log.taking("there"), A)
    assert meeting.only_waits(B, 1) == []  # A goes on with this: what it said before does not count any more
    assert meeting.only_waits(A, 1) == [key("to A"), key("to B")]


def test_a_device_that_has_left_sends_nothing_to_those_that_wait() -> None:
    meeting, log = Rendezvous(devices=2), Log()
    meeting.receive(key("x"), log.taking("x"), A)
    assert meeting.only_waits(A, 1) == []
    meeting.leave(B)
    assert meeting.only_waits(A, 1) == [key("x")]


def test_where_nobody_counts_devices_nobody_is_stuck() -> None:
    meeting, log = Rendezvous(), Log()
    meeting.receive(key("x"), log.taking("x"), A)
    assert meeting.only_waits(A, 1) == []
