"""Large constants travel to a task once in a session."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock.cluster.server import Server
from tests.anywhere import alarm as alarm
from tests.cluster.servers import outside as outside, running
from tests.cluster.traffic import Counter, sent as sent

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
SIZE = 1 << 20


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    with tf.Graph().as_default(), running(worker=1, ps=1) as found:
        yield found


def _large(seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).rand(SIZE // 4).astype(np.float32)


def test_a_large_constant_is_sent_once(servers: dict[str, Server], outside: None, sent: Counter) -> None:
    value = _large()
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [])
        constant = tf.constant(value)
        first, second = tf.reduce_sum(constant * x), tf.reduce_max(constant + x)
    with tf.Session(servers["worker:0"].target) as session:
        sent.since()
        assert np.isclose(session.run(first, {x: 2.0}), 2 * value.sum(dtype=np.float64), rtol=1e-4)
        assert SIZE <= sent.since() < 1.1 * SIZE
        assert np.isclose(session.run(second, {x: 1.0}), 1 + value.max())
        with tf.device(WORKER):
            third = tf.reduce_min(tf.constant(value.copy()) + x)  # as large, and equal
        assert np.isclose(session.run(third, {x: 1.0}), 1 + value.min())
        assert sent.since() < SIZE / 10


def test_constants_of_steps_that_are_gone_are_forgotten(servers: dict[str, Server], outside: None) -> None:
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [])
        with tf.Session(servers["worker:0"].target) as session:
            for seed in range(5):
                session.run(tf.reduce_sum(tf.constant(_large(seed)) * x), {x: 1.0})
                session._runners.clear()  # as a graph that changes makes a session do
                gc.collect()
            session.run(x + 1.0, {x: 1.0})
            (theirs,) = servers["ps:0"].worker._sessions.values()
            ours = session._master.tasks["/job:ps/replica:0/task:0"].constants
            assert len(theirs._constants.values) <= 1
            assert len(ours.values) <= 1


def test_each_session_sends_its_own(servers: dict[str, Server], outside: None, sent: Counter) -> None:
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [])
        y = tf.reduce_sum(tf.constant(_large()) * x)
    for _ in range(2):
        with tf.Session(servers["worker:0"].target) as session:
            sent.since()
            session.run(y, {x: 1.0})
            assert SIZE <= sent.since() < 1.1 * SIZE
