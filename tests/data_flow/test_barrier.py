"""Barriers. What is expected of them is what TensorFlow 2.21 does, recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.client.barrier import Barrier
from penstock.graph.opdef import get_op
from tests.data_flow.later import Later

FIRST = -(2**63)


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def sizes(barrier: Barrier) -> list[tf.Tensor]:
    return [barrier.ready_size(), barrier.incomplete_size()]


def taken(session: tf.Session, barrier: Barrier, count: int, small: bool = False) -> list[Any]:
    indices, keys, values = session.run(barrier.take_many(count, small), options=tf.RunOptions(timeout_in_ms=30000))
    return [indices.tolist(), keys.tolist(), *(each.tolist() for each in values)]


def test_elements_that_have_all_components_come_out_by_the_age_of_their_keys(session: tf.Session) -> None:
    barrier = Barrier([tf.float32, tf.float32], [[], []])
    assert [t.shape.as_list() for t in (*barrier.take_many(2)[:2], *barrier.take_many(2)[2])] == [[2]] * 4
    assert barrier.take_many(2, allow_small_batch=True)[0].shape.as_list() == [None]
    session.run(barrier.insert_many(0, ["a", "b", "c"], [10.0, 20.0, 30.0]))
    assert session.run(sizes(barrier)) == [0, 3]
    session.run(barrier.insert_many(1, ["b", "a"], [200.0, 100.0]))
    assert session.run(sizes(barrier)) == [2, 1]
    assert taken(session, barrier, 1) == [[FIRST], [b"b"], [20], [200]]
    session.run(barrier.insert_many(0, ["d"], [40.0]))
    session.run(barrier.insert_many(1, ["d"], [400.0]))
    session.run(barrier.insert_many(1, ["c"], [300.0]))
    assert taken(session, barrier, 3) == [
        [FIRST, FIRST, FIRST + 1],
        [b"a", b"c", b"d"],
        [10, 30, 40],
        [100, 300, 400],
    ]
    assert taken(session, barrier, 0) == [[], [], [], []]


def test_who_takes_waits_until_there_are_enough(session: tf.Session) -> None:
    barrier = Barrier([tf.string, tf.float32], [[], [2]])
    waiting = Later(taken, session, barrier, 2)
    session.run(barrier.insert_many(0, ["a", "b"], ["x", "y"]))
    session.run(barrier.insert_many(1, ["a"], [[1.0, 2.0]]))
    assert waiting.waits()
    session.run(barrier.insert_many(1, ["b"], [[3.0, 4.0]]))
    assert waiting.result() == [[FIRST, FIRST], [b"a", b"b"], [b"x", b"y"], [[1, 2], [3, 4]]]


def test_a_component_can_be_set_once(session: tf.Session) -> None:
    barrier = Barrier([tf.float32, tf.float32])
    session.run(barrier.insert_many(0, ["a"], [1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key a already has a value for component 0 in barrier"):
        session.run(barrier.insert_many(0, ["a"], [2.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key z already has a value for component 0 in barrier"):
        session.run(barrier.insert_many(0, ["z", "z"], [1.0, 2.0]))
    session.run(barrier.insert_many(1, ["a"], [3.0]))
    assert taken(session, barrier, 1) == [[FIRST], [b"a"], [1], [3]]


def test_a_closed_barrier_takes_no_new_keys_but_what_is_missing_of_old_ones(session: tf.Session) -> None:
    barrier = Barrier([tf.float32, tf.float32])
    session.run(barrier.insert_many(0, ["e", "f"], [1.0, 2.0]))
    session.run(barrier.insert_many(1, ["e"], [10.0]))
    waiting = Later(taken, session, barrier, 3)
    assert waiting.waits()
    session.run(barrier.close())
    with pytest.raises(tf.errors.OutOfRangeError, match=r"is closed and has insufficient elements \(requested 3"):
        waiting.result()
    with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: n"):
        session.run(barrier.insert_many(0, ["n"], [1.0]))
    waiting = Later(taken, session, barrier, 2)
    assert waiting.waits()
    session.run(barrier.insert_many(1, ["f"], [20.0]))
    assert waiting.result() == [[FIRST, FIRST], [b"e", b"f"], [1, 2], [10, 20]]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 0, total size 0\)"):
        taken(session, barrier, 3, small=True)
    with pytest.raises(tf.errors.CancelledError, match="is already closed"):
        session.run(barrier.close())
    session.run(barrier.close(cancel_pending_enqueues=True))
    with pytest.raises(tf.errors.CancelledError, match="is already closed"):
        session.run(barrier.close(cancel_pending_enqueues=True))


def test_what_is_left_of_a_closed_barrier_may_be_a_small_batch(session: tf.Session) -> None:
    barrier = Barrier([tf.float32])
    session.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    session.run(barrier.close())
    assert taken(session, barrier, 3, small=True) == [[FIRST, FIRST], [b"a", b"b"], [1, 2]]


def test_cancelling_gives_up_what_is_not_complete(session: tf.Session) -> None:
    barrier = Barrier([tf.float32, tf.float32])
    session.run(barrier.insert_many(0, ["a", "b"], [1.0, 2.0]))
    session.run(barrier.insert_many(1, ["a"], [10.0]))
    session.run(barrier.close(cancel_pending_enqueues=True))
    assert session.run(sizes(barrier)) == [1, 0]
    with pytest.raises(tf.errors.CancelledError, match=r"is closed\.  Pending enqueues cancelled: 1"):
        session.run(barrier.insert_many(1, ["b"], [20.0]))
    assert taken(session, barrier, 1) == [[FIRST], [b"a"], [1], [10]]
    with pytest.raises(tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 1, total size 0\)"):
        taken(session, barrier, 1)


def test_what_does_not_fit_is_refused(session: tf.Session) -> None:
    barrier = Barrier([tf.float32, tf.float32], [[], []])
    other = get_op("BarrierTakeMany")(barrier.barrier_ref, 1, component_types=[tf.int32, tf.float32])
    for use, message in (
        (barrier.insert_many(5, ["q"], [1.0]), r"component ID is out of range 5 > num_components \(= 2\)"),
        (barrier.insert_many(0, ["q"], [1]), "component 0 of barrier .* is float32, not int32"),
        (barrier.insert_many(0, ["q"], [[1.0]]), "Shape mismatch in tuple component 0"),
        (other, "float32, not int32"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(use)
    for keys, values in ((["q", "r"], [1.0]), ("q", [1.0])):
        with pytest.raises(ValueError):
            barrier.insert_many(0, keys, values)
    with pytest.raises(ValueError, match="-1 must be >= 0"):
        barrier.take_many(-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tensors with no elements are not supported"):
        session.run(Barrier(tf.float32).insert_many(0, ["a"], np.zeros((1, 0), np.float32)))
    with pytest.raises(ValueError, match="Empty tensors are not supported"):
        Barrier(tf.float32, (0,))


def test_barriers_of_one_name_are_one_barrier_if_they_ask_for_the_same(session: tf.Session) -> None:
    first, second = (Barrier([tf.float32], [[2]], shared_name="shared") for _ in range(2))
    session.run(first.insert_many(0, ["a"], [[1.0, 2.0]]))
    assert taken(session, second, 1) == [[FIRST], [b"a"], [[1, 2]]]
    for what, other in (
        ("types", Barrier([tf.int32], [[2]], shared_name="shared")),
        ("shapes", Barrier([tf.float32], [[3]], shared_name="shared")),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"'shared' has component {what}"):
            session.run(other.ready_size())
