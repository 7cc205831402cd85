"""Collective operations: members of several sessions meet, or none waits for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from penstock.runtime.resources import resources_of
from tests.data_flow.later import Later

TARGET = "inproc://collectives"
LIMIT = tf.RunOptions(timeout_in_ms=30000)
Build = Callable[[int], Any]


@pytest.fixture(autouse=True)
def no_members_of_other_tests() -> Iterator[None]:
    yield
    resources_of(TARGET).reset()


def members(build: Build, count: int) -> list[tuple[tf.Session, Any]]:
    """Sessions of one target, each with the graph of a member."""
    made = []
    for i in range(count):
        with tf.Graph().as_default() as graph:
            made.append((tf.Session(TARGET, graph), build(i)))
    return made


def run(sessions: list[tuple[tf.Session, Any]]) -> list[Any]:
    steps = [Later(session.run, fetches, None, LIMIT) for session, fetches in sessions]
    return [step.result() for step in steps]


def reduced(value: Any, size: int, instance: int, number: int, merge: str = "Add", final: str = "Id") -> Any:
    with tf.get_default_graph()._attr_scope({"_member": number}):
        return get_op("CollectiveReduce")(
            value, group_size=size, group_key=1, instance_key=instance, merge_op=merge, final_op=final,
            subdiv_offsets=[0],
        )  # fmt: skip


@pytest.mark.parametrize(
    ("merge", "final", "expected"),
    [("Add", "Id", [6, 9, 12]), ("Add", "Div", [2, 3, 4]), ("Mul", "Id", [0, 15, 48]), ("Min", "Id", [0, 1, 2]),
     ("Max", "Id", [4, 5, 6])],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_all_members_get_what_all_have_given(merge: str, final: str, expected: list[int], dtype: str) -> None:
    values = np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6]], dtype)
    sessions = members(lambda i: reduced(tf.constant(values[i]), 3, 1, i, merge, final), 3)
    for _ in range(3):
        for found in run(sessions):
            np.testing.assert_array_equal(found, np.array(expected, dtype))


def test_sums_do_not_depend_on_who_comes_first() -> None:
    values = np.float32([[1e8], [1.0], [-1e8]])  # (1e8 + 1) - 1e8 is 0 in float32, (1e8 - 1e8) + 1 is 1
    sessions = members(lambda i: reduced(tf.constant(values[i]), 3, 1, i), 3)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        steps = []
        for i in order:
            steps.append(Later(sessions[i][0].run, sessions[i][1], None, LIMIT))
            steps[-1].waits(0.05)
        assert [step.result().tolist() for step in steps] == [[0.0]] * 3


def test_one_member_sends_to_the_others_and_all_may_gather() -> None:
    send, receive, gather = (get_op(f"Collective{name}") for name in ("BcastSend", "BcastRecv", "Gather"))
    keys = {"group_size": 2, "group_key": 7}

    def build(i: int) -> Any:
        mine = tf.fill([1, 2], float(i))
        sent = (
            send(tf.constant([1.0, 2.0]), instance_key=1, shape=[2], **keys)
            if i == 1
            else receive(T=tf.float32, instance_key=1, shape=[2], **keys)
        )
        return sent, tf.shape(gather(mine, instance_key=2, shape=[2, 2], **keys))

    for sent, shape in run(members(build, 2)):
        assert (sent.tolist(), shape.tolist()) == ([1, 2], [2, 2])


def test_devices_of_one_step_may_meet() -> None:
    total = []
    with tf.Graph().as_default():
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                total.append(
                    get_op("NcclAllReduce")(
                        tf.constant([1.0 + i, 2.0]), reduction="sum", num_devices=2, shared_name="n"
                    )
                )
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            for _ in range(3):
                assert [found.tolist() for found in session.run(total, options=LIMIT)] == [[3, 4], [3, 4]]


def test_the_gradient_of_a_sum_over_devices_is_the_sum_of_their_gradients() -> None:
    with tf.Graph().as_default():
        xs = [tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0])]
        losses, reduce = [], get_op("NcclAllReduce")
        for i, x in enumerate(xs):
            with tf.device(f"/cpu:{i}"):
                total = reduce(x, reduction="sum", num_devices=2, shared_name="g")
                losses.append(tf.reduce_sum(total * total) * (i + 1.0))
        grads = tf.gradients(losses, xs, colocate_gradients_with_ops=True)
        least = reduce(xs[0], reduction="min", num_devices=1, shared_name="least")
        with pytest.raises(LookupError, match='except for reduction="sum"'):
            tf.gradients(least, xs[0])
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            found = session.run(grads, options=LIMIT)
    for grad in found:
        np.testing.assert_allclose(grad, [2 * 4 * 3, 2 * 7 * 3])


def test_when_a_step_ends_early_no_other_waits_for_it_and_its_group_is_over() -> None:
    sessions = members(lambda i: reduced(tf.constant([1.0]), 3, 1, i), 3)
    run(sessions)
    waiting = Later(sessions[0][0].run, sessions[0][1], None, LIMIT)
    assert waiting.waits()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sessions[1][0].run(sessions[1][1], options=tf.RunOptions(timeout_in_ms=100))
    with pytest.raises(tf.errors.AbortedError, match="A step was ended in collective group '1'"):
        waiting.result()
    for session, fetches in sessions:
        with pytest.raises(tf.errors.AbortedError, match="begin anew with new sessions"):
            session.run(fetches, options=LIMIT)
    assert [found.tolist() for found in run(members(lambda i: reduced(tf.constant([1.0]), 3, 1, i), 3))] == [[3]] * 3


def test_when_a_session_closes_the_others_do_not_wait_for_it() -> None:
    sessions = members(lambda i: reduced(tf.constant([1.0]), 2, 1, i), 2)
    run(sessions)
    waiting = Later(sessions[0][0].run, sessions[0][1], None, LIMIT)
    assert waiting.waits()
    sessions[1][0].close()
    with pytest.raises(tf.errors.AbortedError, match="A member's session has ended"):
        waiting.result()
    sessions[0][0].close()
    run(members(lambda i: reduced(tf.constant([1.0]), 2, 1, i), 2))


def test_members_that_disagree_are_told() -> None:
    shapes = members(lambda i: reduced(tf.zeros([1 + i]), 2, 1, i), 2)
    for step in [Later(session.run, fetches, None, LIMIT) for session, fetches in shapes]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"different shapes: \[\[1\], \[2\]\]"):
            step.result()
    (session, fetches), *_ = members(lambda i: reduced(tf.zeros([1]), 3, 2, 0), 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 2 members, not 3"):
        session.run(fetches, options=LIMIT)
