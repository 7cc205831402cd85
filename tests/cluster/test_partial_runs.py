"""Partial runs over several tasks: clients inside and outside, state, errors, and what is left."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import penstock as tf
from penstock import errors
from penstock.cluster.server import Server
from tests.anywhere import alarm as alarm
from tests.cluster.servers import outside as outside, running

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    with tf.Graph().as_default(), running(worker=1, ps=1) as found:
        yield found


def _running(servers: dict[str, Server]) -> int:
    """How many steps run, when those that end have had time for it."""
    count = -1
    deadline = time.monotonic() + 3
    while count and time.monotonic() < deadline:
        sessions = [session for server in servers.values() for session in server.worker._sessions.values()]
        count = sum(len(session._running) + len(session._meetings) for session in sessions)
        time.sleep(0.01)
    return count


def _steps() -> tuple[tf.Tensor, ...]:
    x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder(tf.float32, [], name="y")
    with tf.device(PS):
        v = tf.Variable(1.0, name="v")
        updated = tf.assign_add(v, x)
    with tf.device(WORKER):
        doubled = updated * 2.0
    with tf.device(PS), tf.control_dependencies([updated]):
        result = doubled + y + v.read_value()
    return x, y, v, doubled, result


def test_a_client_in_a_task_runs_its_part_beside(servers: dict[str, Server]) -> None:
    x, y, v, doubled, result = _steps()
    with tf.Session(servers["worker:0"].target) as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([doubled, result], [x, y])
        assert session.partial_run(handle, doubled, {x: 3.0}) == 8
        assert session.run(v) == 4
        assert session.partial_run(handle, result, {y: 0.5}) == 12.5
        assert session.run(v) == 4
        assert _running(servers) == 0


@pytest.mark.usefixtures("outside")
def test_what_was_read_stays_when_other_steps_write(servers: dict[str, Server]) -> None:
    y = tf.placeholder(tf.float32, [2])
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])
        read = v.read_value()
        total = read + y
    with tf.Session(servers["worker:0"].target) as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([read, v, total], [y])
        assert session.partial_run(handle, read).tolist() == [1, 2]
        session.run(tf.assign_add(v, [10.0, 10.0]))
        assert session.partial_run(handle, [total], {y: [0.0, 0.0]})[0].tolist() == [1, 2]


@pytest.mark.parametrize("inside", [True, False])
def test_an_error_names_its_node_and_ends_the_run_everywhere(
    servers: dict[str, Server], inside: bool, request: pytest.FixtureRequest
) -> None:
    if not inside:
        request.getfixturevalue("outside")
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with tf.device(PS):
        first = x * 2.0
        wrong = first + y
    with tf.device(WORKER):
        last = wrong * 2.0
    with tf.Session(servers["worker:0"].target) as session:
        for _ in range(10):
            handle = session.partial_run_setup([first, last], [x, y])
            assert session.partial_run(handle, first, {x: [1.0, 2.0]}).tolist() == [2, 4]
            with pytest.raises(errors.InvalidArgumentError, match=r"(?s)node add.*built at.*test_partial_runs\.py"):
                session.partial_run(handle, last, {y: [1.0, 2.0, 3.0]})
            with pytest.raises(errors.InvalidArgumentError, match="partial_run_setup"):
                session.partial_run(handle, last)
        assert _running(servers) == 0


def test_closing_the_session_ends_its_partial_runs(servers: dict[str, Server]) -> None:
    x, y, v, doubled, result = _steps()
    with tf.Session(servers["worker:0"].target) as session, tf.Session(servers["ps:0"].target) as other:
        other.run(v.initializer)
        handle = session.partial_run_setup([doubled, result], [x, y])
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.partial_run(handle, doubled, {x: 3.0})
        assert _running(servers) == 0
        assert other.run(v) == 1


@pytest.mark.usefixtures("outside")
def test_a_lost_task_ends_the_partial_run(servers: dict[str, Server]) -> None:
    x, y, v, doubled, result = _steps()
    with tf.Session(servers["worker:0"].target) as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([doubled, result], [x, y])
        assert session.partial_run(handle, doubled, {x: 3.0}) == 8
        servers["ps:0"].close()
        with pytest.raises((errors.UnavailableError, errors.AbortedError)):
            session.partial_run(handle, result, {y: 1.0})
