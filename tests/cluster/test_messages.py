"""How many messages a step over tasks needs."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.cluster.worker.meeting import Items
from penstock.cluster.worker.session import WorkerSession


def test_small_variables_of_a_ps_travel_to_a_worker_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: list[int] = []
    push = WorkerSession._push

    def counted(self: WorkerSession, task: str, step: int, items: Items) -> None:
        pushed.append(len(items))
        push(self, task, step, items)

    monkeypatch.setattr(WorkerSession, "_push", counted)
    workers, servers = tf.test.create_local_cluster(1, 1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            variables = [tf.Variable(np.full(10, i, np.float32)) for i in range(5)]
        with tf.device("/job:worker/task:0"):
            total = tf.add_n(variables)
        with tf.Session(workers[0].target) as session:
            session.run(tf.global_variables_initializer())
            pushed.clear()
            np.testing.assert_array_equal(session.run(total), np.full(10, 10.0))
    for server in [*workers, *servers]:
        server.close()
    assert pushed == [5]
