"""Programs with queues, runners and coordinators, as they are written."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time

import pytest

import penstock as tf
from tests.anywhere import alarm as alarm


def source(limit: int, threads: int = 1, capacity: int = 5) -> tf.FIFOQueue:
    """A queue that runners fill with 0, 1, … below `limit`."""
    count = tf.Variable(0, name="count", trainable=False, dtype=tf.int64)
    queue = tf.FIFOQueue(capacity, tf.int64, shapes=[[]], name="numbers")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(count.count_up_to(limit))] * threads))
    return queue


def batch_of(queue: tf.FIFOQueue) -> tf.Tensor:
    """Batches of three squares, by a second queue and its runners."""
    squares = tf.FIFOQueue(4, tf.int64, shapes=[[]], name="squares")
    number = queue.dequeue()
    tf.train.add_queue_runner(tf.train.QueueRunner(squares, [squares.enqueue(number * number)] * 3))
    return squares.dequeue_many(3)


def test_a_pipeline_of_two_queues_gives_each_element_once_and_ends(session: tf.Session) -> None:
    batch = batch_of(source(300, threads=2))
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    assert len(threads) == 2 + 1 + 3 + 1
    found: list[int] = []
    try:
        while not coord.should_stop():
            found += session.run(batch).tolist()
    except tf.errors.OutOfRangeError as error:
        coord.request_stop(error)
    coord.join(threads, stop_grace_period_secs=30)
    assert sorted(found) == [i * i for i in range(300)]


def test_stopping_early_ends_runners_that_wait(session: tf.Session) -> None:
    batch = batch_of(source(10**9))
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        threads = tf.train.start_queue_runners(session, coord)
        session.run(batch)
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=30)
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            session.run(batch)


def test_a_runner_that_fails_stops_the_program_with_its_error(session: tf.Session) -> None:
    queue = source(10**9)
    bad = tf.FIFOQueue(4, tf.int64, shapes=[[]], name="checked")
    check = tf.Assert(queue.dequeue() < 5, ["too large"])
    with tf.control_dependencies([check]):
        put = bad.enqueue(tf.constant(1, tf.int64))
    tf.train.add_queue_runner(tf.train.QueueRunner(bad, [put]))
    taken = bad.dequeue()
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    with contextlib.suppress(tf.errors.OutOfRangeError):  # of the queue, which is closed
        while not coord.should_stop():
            session.run(taken)
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        coord.join(threads, stop_grace_period_secs=30)


def test_an_interactive_session_needs_no_coordinator(
    graph: tf.Graph, alarm: None, caplog: pytest.LogCaptureFixture
) -> None:
    session = tf.InteractiveSession()
    queue = source(10**9)
    batch = batch_of(queue)
    tf.global_variables_initializer().run()
    threads = tf.train.start_queue_runners()
    assert batch.eval().shape == (3,)
    with caplog.at_level(logging.INFO):
        session.close()
        for thread in threads:
            thread.join()
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
    for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
        assert runner.exceptions_raised
        assert all(isinstance(e, tf.errors.CancelledError | RuntimeError) for e in runner.exceptions_raised)


def test_ctrl_c_interrupts_a_step_that_waits_while_runners_run(session: tf.Session, alarm: None) -> None:
    queue = source(10**9)
    never = tf.FIFOQueue(1, tf.int64, shapes=[[]]).dequeue()
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    for _ in range(3):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(never)
        timer.join()
    assert session.run(queue.dequeue_many(20)).tolist() == list(range(20))
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=30)


def test_threads_end_soon_after_they_are_asked_to(session: tf.Session) -> None:
    batch_of(source(10**9, threads=4))
    session.run(tf.global_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coord)
    time.sleep(0.3)
    began = time.monotonic()
    coord.request_stop()
    coord.join(threads)
    assert time.monotonic() - began < 5
