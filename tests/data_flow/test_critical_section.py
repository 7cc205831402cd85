"""Mutexes and critical sections."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from tests.data_flow.later import Later

LIMIT = tf.RunOptions(timeout_in_ms=30000)


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def counter(session: tf.Session, start: float = 0.0) -> Any:
    v = tf.get_variable("v", initializer=start, use_resource=True)
    session.run(v.initializer)
    return v


def count(v: Any) -> Any:
    """A function that adds one to `v` in two steps that others could come between, and returns what it was."""

    def fn() -> tf.Tensor:
        before = v.read_value()
        slow = tf.py_func(lambda x: x, [before], tf.float32)
        with tf.control_dependencies([v.assign(slow + 1.0)]):
            return tf.identity(before)

    return fn


def test_executions_of_one_step_see_each_others_updates(session: tf.Session) -> None:
    v = counter(session)
    section = tf.CriticalSection()
    found = [section.execute(count(v)) for _ in range(10)]
    assert sorted(session.run(found, options=LIMIT)) == list(range(10))
    assert session.run(v) == 10


def test_executions_of_several_threads_exclude_each_other(session: tf.Session) -> None:
    v = counter(session)
    found = tf.CriticalSection(name="section").execute(count(v))
    session.run(found)
    threads = [Later(lambda: [int(session.run(found, options=LIMIT)) for _ in range(25)]) for _ in range(4)]
    seen = [number for thread in threads for number in thread.result()]
    assert sorted(seen) == list(range(1, 101))


def test_sections_of_one_shared_name_exclude_each_other(session: tf.Session) -> None:
    v = counter(session)
    sections = [tf.CriticalSection(shared_name="one") for _ in range(2)]
    found = [section.execute(count(v)) for section in sections for _ in range(5)]
    assert sorted(session.run(found, options=LIMIT)) == list(range(10))


def test_a_section_returns_the_structure_that_its_function_returns(session: tf.Session) -> None:
    v = counter(session, 2.0)
    section = tf.contrib.framework.CriticalSection()
    found = section.execute(lambda a, b=0: {"sum": v.read_value() + a, "rest": (v.assign_add(b), [a])}, 3.0, b=4.0)
    values = session.run(found, options=LIMIT)
    assert (float(values["rest"][0]), float(values["rest"][1][0])) == (6, 3)
    assert float(values["sum"]) in (5, 9)
    op = section.execute(lambda: v.assign(1.0, read_value=False))
    assert isinstance(op, tf.Operation)
    session.run(op, options=LIMIT)
    assert session.run(v) == 1


def test_what_a_function_uses_is_computed_before_the_section_is_entered(session: tf.Session) -> None:
    v = counter(session)
    section = tf.CriticalSection()
    first = section.execute(count(v)) + 10.0
    second = section.execute(lambda: v.assign_add(first))
    assert session.run(second, options=LIMIT) == 11


def test_a_section_is_free_again_after_a_step_that_failed(session: tf.Session) -> None:
    v = counter(session)
    section = tf.CriticalSection()
    fails = section.execute(lambda: tf.py_func(lambda: 1 / 0, [], tf.float32))
    for _ in range(3):
        with pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
            session.run(fails, options=LIMIT)
    gc.collect()
    assert session.run(section.execute(count(v)), options=LIMIT) == 0


def test_sections_work_in_loops_and_conditionals(session: tf.Session) -> None:
    v = counter(session)
    section = tf.CriticalSection()

    def body(i: Any) -> Any:
        with tf.control_dependencies([section.execute(count(v))]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 7, body, [0])
    assert session.run(loop, options=LIMIT) == 7
    assert session.run(v) == 7
    choice = tf.placeholder(tf.bool, [])
    either = tf.cond(choice, lambda: section.execute(count(v)), lambda: -1.0)
    assert [float(session.run(either, {choice: c}, options=LIMIT)) for c in (True, False, True)] == [7, -1, 8]


def test_entering_a_section_within_itself_is_refused(session: tf.Session) -> None:
    v = counter(session)
    section = tf.CriticalSection()
    with pytest.raises(ValueError, match="already running"):
        section.execute(lambda: section.execute(count(v)))
    with pytest.raises(ValueError, match="already running"):
        section.execute(lambda: get_op("MutexLock")(section._handle))
    assert session.run(section.execute(count(v)), options=LIMIT) == 0


def test_resources_belong_to_one_section_unless_both_say_otherwise(session: tf.Session) -> None:
    v = counter(session)
    first, second = tf.CriticalSection(name="first"), tf.CriticalSection(name="second")
    first.execute(v.read_value)
    first.execute(v.read_value)
    for exclusive in (True, False):
        with pytest.raises(ValueError, match=r"would access resources: \['v:0'\].*first.*exclusive_resource_access=Fa"):
            second.execute(v.read_value, exclusive_resource_access=exclusive)
    w = tf.get_variable("w", initializer=1.0, use_resource=True)
    for section in (first, second):
        section.execute(w.read_value, exclusive_resource_access=False)
    with pytest.raises(ValueError, match="would access resources"):
        second.execute(w.read_value)
    assert tf.get_collection("critical_sections") == [first, second]
    assert first.name == "first"


def test_a_lock_is_held_until_it_is_consumed(session: tf.Session) -> None:
    mutex = get_op("MutexV2")(shared_name="mutex")
    lock = get_op("MutexLock")(mutex)
    gate = tf.py_func(lambda: entered.append(1), [], [])
    entered: list[int] = []
    with tf.control_dependencies([lock]):
        inside = tf.group(gate)
    with tf.control_dependencies([inside]):
        release = get_op("ConsumeMutexLock")(lock)
    for _ in range(3):
        session.run(release, options=LIMIT)
    session.run(lock.op, options=LIMIT)  # nobody consumes it: it is free when nothing refers to it any more
    gc.collect()
    session.run(release, options=LIMIT)
    assert len(entered) == 4
