"""Replicas in sessions of their own, on tasks of a cluster, whose variables are on a parameter server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.data_flow.later import Later

LIMIT = tf.RunOptions(timeout_in_ms=60000)


class Replica:
    """One worker's graph and session."""

    def __init__(self, index: int, workers: Any, aggregate: int, total: int, slow: bool = False) -> None:
        self.is_chief = index == 0
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps/task:0"):
                self.step = tf.Variable(0, name="global_step", trainable=False)
                self.v = tf.Variable(0.0, name="v0")
            with tf.device("/job:ps/task:1"):
                self.w = tf.Variable(1.0, name="v1")
                self.rows = tf.Variable([[3.0], [4.0]], name="v_sparse")
            with tf.device(f"/job:worker/task:{index}"):
                gradients = [tf.constant(0.1 + index * 0.2), tf.constant(0.9 + index * 0.2)]
                sparse = tf.IndexedSlices(
                    tf.constant([0.1 + index * 0.2], shape=[1, 1]), tf.constant([1]), tf.constant([2, 1])
                )
                optimizer = tf.train.SyncReplicasOptimizer(
                    tf.train.GradientDescentOptimizer(2.0), replicas_to_aggregate=aggregate, total_num_replicas=total
                )
                pairs = list(zip([*gradients, sparse], [self.v, self.w, self.rows], strict=True))
                self.train = optimizer.apply_gradients(pairs, global_step=self.step)
            self.optimizer = optimizer
            self.local_step = optimizer._local_step
            hook = optimizer.make_session_run_hook(self.is_chief, num_tokens=0 if aggregate == total else -1)
        self._hook, self._graph, self._target = hook, graph, workers[index].target

    def begin(self) -> None:
        with self._graph.as_default():
            creator = (tf.train.ChiefSessionCreator if self.is_chief else tf.train.WorkerSessionCreator)(
                master=self._target
            )
            self.session = tf.train.MonitoredSession(creator, hooks=[self._hook], stop_grace_period_secs=5)

    def run(self, fetches: Any) -> Any:
        return self.session._tf_sess().run(fetches, options=LIMIT)


@pytest.fixture
def cluster() -> Iterator[list[Any]]:
    workers, servers = tf.test.create_local_cluster(num_workers=3, num_ps=2)
    yield workers
    for server in [*workers, *servers]:
        server.close()


def began(workers: Any, count: int, aggregate: int, total: int) -> list[Replica]:
    replicas = [Replica(i, workers, aggregate, total) for i in range(count)]
    starts = [Later(replica.begin) for replica in replicas]
    for start in starts:
        start.result()
    return replicas


def wait_for_step(replica: Replica, step: int) -> None:
    end = time.monotonic() + 30
    while replica.run(replica.step) < step:
        assert time.monotonic() < end, "the chief does not apply the gradients"
        time.sleep(0.01)


def test_two_workers_make_each_step_together(cluster: list[Any]) -> None:
    replicas = began(cluster, 2, 2, 2)
    first, second = replicas
    assert first.run([first.v, first.w, first.step]) == [0.0, 1.0, 0]
    steps = [Later(replica.run, replica.train) for replica in replicas]
    for step in steps:
        step.result()
    wait_for_step(second, 1)
    assert [replica.run(replica.local_step) for replica in replicas] == [1, 1]
    np.testing.assert_allclose(second.run(second.v), 0 - (0.1 + 0.3) / 2 * 2.0, rtol=1e-6)
    np.testing.assert_allclose(second.run(second.w), 1 - (0.9 + 1.1) / 2 * 2.0, atol=1e-6)
    np.testing.assert_allclose(first.run(first.rows), [[3.0], [4.0 - (0.1 + 0.3) / 2 * 2.0]], rtol=1e-6)
    # One alone waits for the other.
    early = Later(first.run, first.train)
    assert early.waits(0.3) and first.run(first.step) == 1
    second.run(second.train)
    early.result()
    wait_for_step(first, 2)
    np.testing.assert_allclose(first.run(first.v), -2 * (0.1 + 0.3) / 2 * 2.0, rtol=1e-6)


def test_the_slowest_of_three_is_a_backup_whose_late_gradients_are_dropped(cluster: list[Any]) -> None:
    replicas = began(cluster, 3, 2, 3)
    first, second, third = replicas
    # The chief gives tokens for a whole first step, so that any two can finish it.
    steps = [Later(replica.run, replica.train) for replica in (first, second)]
    for step in steps:
        step.result()
    wait_for_step(third, 1)
    np.testing.assert_allclose(third.run(third.v), -(0.1 + 0.3) / 2 * 2.0, rtol=1e-6)
    assert third.run(third.local_step) == 0  # the third's gradients are now of an earlier step
    third.run(third.train)
    assert third.run([third.step, third.local_step]) == [1, 1]  # its token brought it up to date
    np.testing.assert_allclose(third.run(third.v), -(0.1 + 0.3) / 2 * 2.0, rtol=1e-6)
