"""Replicas that apply one update together."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from tests.data_flow.later import Later

LIMIT = tf.RunOptions(timeout_in_ms=30000)


def test_an_update_is_made_of_the_mean_of_all_replicas(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    rows = tf.placeholder(tf.int32, [None])
    w = tf.Variable([1.0, 2.0], name="w")
    table = tf.Variable(np.zeros((3, 2), np.float32), name="table")
    unused = tf.Variable(5.0)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(w * x) + tf.reduce_sum(tf.gather(table, rows))
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.5), 2)
    with pytest.raises(ValueError, match=r"after apply_gradients\(\)"):
        optimizer.get_chief_queue_runner()
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.minimize(loss)
    train = optimizer.minimize(loss, global_step=step)
    assert [v.op.name for v in tf.local_variables()] == ["sync_rep_local_step"]
    session.run(tf.global_variables_initializer())
    assert session.run(optimizer.ready_for_local_init_op).tolist() == []
    session.run(optimizer.chief_init_op)
    coord = tf.train.Coordinator()
    threads = optimizer.get_chief_queue_runner().create_threads(session, coord, daemon=True, start=True)
    fed = [{x: [1, 2], rows: [0, 1]}, {x: [3, 6], rows: [1]}]
    for _ in range(3):
        replicas = [Later(session.run, train, feed, LIMIT) for feed in fed]
        for replica in replicas:
            replica.result()
    assert session.run(step) == 3
    np.testing.assert_allclose(session.run(w), [1 - 3 * 0.5 * 2, 2 - 3 * 0.5 * 4])
    # A row's mean is over the replicas that have it.
    np.testing.assert_allclose(session.run(table), [[-1.5, -1.5], [-1.5, -1.5], [0, 0]])
    assert session.run(unused) == 5
    assert session.run(tf.local_variables()) == [3]
    coord.request_stop()
    session.close()  # the runner waits for gradients, which no queue that is closed brings
    coord.join(threads, stop_grace_period_secs=30)


def test_first_tokens_let_fewer_replicas_begin(session: tf.Session) -> None:
    w = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    averages = tf.train.ExponentialMovingAverage(0.5)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.MomentumOptimizer(1.0, 0.9),
        replicas_to_aggregate=3,
        total_num_replicas=1,
        variable_averages=averages,
        variables_to_average=[w],
    )
    train = optimizer.minimize(2.0 * w, global_step=step)
    with pytest.raises(ValueError, match=r"Too few tokens to finish the first step: 1 \(given\) vs 2 \(needed\)"):
        optimizer.get_init_tokens_op(1)
    tokens = optimizer.get_init_tokens_op()
    session.run(tf.global_variables_initializer())
    session.run(optimizer.chief_init_op)
    session.run(tokens)
    optimizer.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
    while session.run(step) < 2:  # three gradients make a step; those of a replica that has an old token are dropped
        session.run(train, options=LIMIT)
    assert session.run(w) == -2 - (0.9 * 2 + 2)
    assert optimizer.get_slot_names() == ["momentum"]
    assert session.run(optimizer.get_slot(w, "momentum")) == pytest.approx(3.8)
    assert optimizer.variables() == [optimizer.get_slot(w, "momentum")]


def test_gradients_of_earlier_steps_are_dropped(session: tf.Session) -> None:
    w = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    train = optimizer.minimize(w, global_step=step)
    session.run(tf.global_variables_initializer())
    session.run(step.assign(7))
    session.run(optimizer.chief_init_op)
    session.run(tf.local_variables()[0].assign(6))  # a replica that was late
    session.run(optimizer.get_init_tokens_op(1))
    optimizer.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
    session.run(train, options=LIMIT)
    assert session.run([w, step]) == [0, 7]
    session.run(train, options=LIMIT)  # which gives a token only after the update
    assert session.run([w, step]) == [-1, 8]


def test_a_monitored_session_with_the_hook_applies_the_mean_of_each_step() -> None:
    w = tf.Variable(0.0)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2, total_num_replicas=1)
    train = optimizer.minimize(2.0 * w, global_step=step)
    hook = optimizer.make_session_run_hook(is_chief=True)
    hooks = [hook, tf.train.StopAtStepHook(last_step=3)]
    # At the end the chief's thread waits for gradients that nobody will send.
    with tf.train.MonitoredSession(hooks=hooks, stop_grace_period_secs=0.1) as session:
        while not session.should_stop():
            session.run(train, options=LIMIT)
        found = session._tf_sess().run([w, step])
    assert found == [-2 * found[1], found[1]] and found[1] >= 3


def test_the_hook_needs_applied_gradients() -> None:
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2)
    tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="apply_gradient should be called before using the hook"):
        tf.train.MonitoredSession(hooks=[optimizer.make_session_run_hook(is_chief=True)])


def test_the_replica_that_programs_of_tensorflow_0_name_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    def nodes(**replica: int) -> list[str]:
        with tf.Graph().as_default() as graph:
            step = tf.train.get_or_create_global_step()
            descent = tf.train.GradientDescentOptimizer(0.5)
            optimizer = tf.train.SyncReplicasOptimizer(
                descent, replicas_to_aggregate=2, total_num_replicas=3, **replica
            )
            optimizer.minimize(tf.Variable(2.0) ** 2, global_step=step)
            optimizer.get_init_tokens_op()
            return [node.name for node in graph.get_operations()]

    assert nodes(replica_id=1) == nodes()
    (message,) = caplog.messages
    assert "from before TensorFlow 1.0: write tf.train.SyncReplicasOptimizer without replica_id" in message
