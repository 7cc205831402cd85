"""Threads that fill queues. The queue here is one of Python's, behind tf.py_func: what TensorFlow's do is theirs."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

import pytest

import penstock as tf


class PythonQueue:
    """What a QueueRunner asks of a queue."""

    def __init__(self, name: str = "a_queue") -> None:
        self.op = tf.no_op(name=name)
        self.items: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.log: list[str] = []

    @property
    def name(self) -> str:
        return self.op.name

    def enqueue(self, count: int, then: Callable[[], object]) -> tf.Operation:
        """An op that puts 0, 1, … in, and then calls `then`."""
        left = iter(range(count))

        def put() -> None:
            item = next(left, None)
            if item is None:
                then()
            else:
                self.items.put(item)

        return tf.py_func(put, [], [], name="enqueue")

    def close(self, cancel_pending_enqueues: bool = False) -> tf.Operation:
        what = "cancel" if cancel_pending_enqueues else "close"
        return tf.py_func(lambda: self.log.append(what), [], [], name=what)

    def taken(self) -> list[int]:
        return [self.items.get() for _ in range(self.items.qsize())]


def end() -> None:
    raise tf.errors.OutOfRangeError(None, None, "no more")


def fail() -> None:
    raise ValueError("a bad record")


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_a_thread_for_each_op_runs_it_until_there_is_no_more_and_the_last_closes_the_queue(session: tf.Session) -> None:
    q = PythonQueue()
    runner = tf.train.QueueRunner(q, [q.enqueue(5, end), q.enqueue(3, end)])
    threads = runner.create_threads(session)
    assert [thread.name for thread in threads] == [
        "QueueRunnerThread-a_queue-enqueue",
        "QueueRunnerThread-a_queue-enqueue_1",
    ]
    assert not any(thread.daemon or thread.is_alive() for thread in threads)
    for thread in threads:
        thread.start()
    joined(threads)
    assert sorted(q.taken()) == [0, 0, 1, 1, 2, 2, 3, 4]
    assert q.log == ["close"]
    assert runner.exceptions_raised == []


def test_threads_of_one_op_share_its_plan(session: tf.Session) -> None:
    q = PythonQueue()
    op = q.enqueue(20, end)
    runner = tf.train.QueueRunner(q, [op] * 4)
    joined(runner.create_threads(session, start=True, daemon=True))
    assert sorted(q.taken()) == list(range(20))
    assert q.log == ["close"]
    assert [key[0] for key in session._runners].count(op) == 1


def test_without_a_coordinator_errors_are_kept(session: tf.Session) -> None:
    q = PythonQueue()
    runner = tf.train.QueueRunner(q, [q.enqueue(2, fail)])
    joined(runner.create_threads(session, start=True))
    (error,) = runner.exceptions_raised
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert "a bad record" in str(error)
    assert q.log == []


def test_with_a_coordinator_an_error_stops_all_and_cancels_the_queue(session: tf.Session) -> None:
    q = PythonQueue()
    runner = tf.train.QueueRunner(q, [q.enqueue(2, fail), q.enqueue(10**9, end)])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord=coord, start=True, daemon=True)
    assert threads[-1].name == "QueueRunnerThread-a_queue-close_on_stop"
    with pytest.raises(tf.errors.InvalidArgumentError, match="a bad record"):
        coord.join(stop_grace_period_secs=30)
    assert q.log == ["cancel"]
    assert runner.exceptions_raised == []


def test_a_coordinator_that_stops_ends_the_threads_cleanly(session: tf.Session) -> None:
    q = PythonQueue()
    tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue(10**9, end)]))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord)
    assert all(thread.daemon for thread in threads)
    assert q.items.get(timeout=30) == 0
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=30)
    assert q.log == ["cancel"]


def test_which_errors_mean_that_there_is_no_more_can_be_said(session: tf.Session) -> None:
    q = PythonQueue()
    kinds = (tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)
    runner = tf.train.QueueRunner(q, [q.enqueue(2, fail)], queue_closed_exception_types=kinds)
    joined(runner.create_threads(session, start=True))
    assert runner.exceptions_raised == []
    assert q.log == ["close"]
    assert runner.queue_closed_exception_types == kinds
    for wrong in ((), [tf.errors.OutOfRangeError], (ValueError,), tf.errors.OutOfRangeError):
        with pytest.raises(TypeError, match="must be a tuple of"):
            tf.train.QueueRunner(q, [q.op], queue_closed_exception_types=wrong)


def test_no_threads_are_made_while_a_sessions_run_and_new_ones_when_they_have_ended(session: tf.Session) -> None:
    q = PythonQueue()
    release = threading.Event()
    wait = tf.py_func(lambda: release.wait(30) and end(), [], [])
    runner = tf.train.QueueRunner(q, [wait])
    threads = runner.create_threads(session, start=True)
    assert runner.create_threads(session, start=True) == []
    with tf.Session() as other:
        threads_of_other = runner.create_threads(other, start=True)
        assert len(threads_of_other) == 1
        release.set()
        joined(threads + threads_of_other)
    again = runner.create_threads(session, start=True)
    assert len(again) == 1
    joined(again)


def test_threads_end_with_their_session() -> None:
    q = PythonQueue()
    runner = tf.train.QueueRunner(q, [q.enqueue(10**9, end)])
    session = tf.InteractiveSession()
    without = tf.train.start_queue_runners(collection="nothing here")
    assert without == []
    threads = runner.create_threads(session, start=True)
    assert q.items.get(timeout=30) == 0
    session.close()
    joined(threads)
    session = tf.InteractiveSession()
    coord = tf.train.Coordinator()
    ended = tf.train.QueueRunner(q, [q.enqueue(0, end)]).create_threads(session, coord, start=True)
    joined(ended[:1])
    session.close()
    joined(ended[1:])  # which only the coordinator could have stopped else
    assert not coord.should_stop()


def test_a_closed_session_is_no_failure_of_the_threads_that_waited_in_it() -> None:
    q = tf.FIFOQueue(1, tf.int32)
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        filled = q.size()
        threads = tf.train.QueueRunner(q, [q.enqueue(1)]).create_threads(session, coord, start=True)
        while not session.run(filled):
            time.sleep(0.001)
        time.sleep(0.05)  # the next element waits for room
    joined(threads)
    coord.request_stop()
    coord.join(threads)


def test_runners_of_a_graph_are_started_in_the_default_session_or_in_one_that_is_given() -> None:
    q = PythonQueue()
    tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue(1, end)]))
    with pytest.raises(ValueError, match="Cannot start queue runners"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match="sess must be a"):
        tf.train.start_queue_runners(sess="a session")
    with tf.Graph().as_default(), tf.train.MonitoredSession() as monitored:
        assert tf.train.start_queue_runners(monitored) == []  # it has started them itself
    session = tf.Session()
    with tf.Graph().as_default():  # runners are those of the session's graph
        joined(tf.train.start_queue_runners(session))
    with session.as_default():
        joined(tf.train.queue_runner.start_queue_runners())
    assert q.log == ["close", "close"]
    not_started = tf.train.start_queue_runners(session, start=False)
    assert [thread.is_alive() for thread in not_started] == [False]
    session.close()


def test_runners_need_a_queue_and_ops() -> None:
    q = PythonQueue()
    for queue_, ops in ((None, [q.op]), (q, []), (q, None)):
        with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
            tf.train.QueueRunner(queue_, ops)
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.train.QueueRunner(q, [q.op], queue_runner_def=tf.train.QueueRunner(q, [q.op]).to_proto())
    with pytest.raises(TypeError, match="QueueRunnerDef"):
        tf.train.QueueRunner(queue_runner_def="text")


def test_a_runner_is_a_message_of_names() -> None:
    q = PythonQueue()
    op = q.enqueue(1, end)
    kinds = (tf.errors.OutOfRangeError, tf.errors.CancelledError)
    runner = tf.train.QueueRunner(q, [op, op], queue_closed_exception_types=kinds)
    definition = runner.to_proto()
    # What TensorFlow 2.21 writes for the same names.
    assert definition.SerializeToString() == (
        b"\n\x07a_queue\x12\x07enqueue\x12\x07enqueue\x1a\x05close\x22\x06cancel*\x02\x0b\x01"
    )
    again = tf.train.QueueRunner.from_proto(definition)
    assert again.name == "a_queue"
    assert again.enqueue_ops == [op, op]
    assert (again.close_op, again.cancel_op) == (runner.close_op, runner.cancel_op)
    assert again.queue_closed_exception_types == kinds
    assert runner.to_proto("elsewhere") is None
    definition.ClearField("queue_closed_exception_types")  # as early versions wrote it
    assert tf.train.QueueRunner.from_proto(definition).queue_closed_exception_types == (tf.errors.OutOfRangeError,)


def test_runners_are_in_meta_graphs(session: tf.Session) -> None:
    q = PythonQueue()
    tf.train.add_queue_runner(tf.train.QueueRunner(q, [q.enqueue(3, end)]))
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(meta_graph, import_scope="copy")
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.name == "copy/a_queue"
        assert runner.to_proto("copy").queue_name == "a_queue"
        joined(tf.train.start_queue_runners(other))
    assert q.taken() == [0, 1, 2]
    assert q.log == ["close"]


def test_the_last_of_many_threads_closes_the_queue_however_they_end(session: tf.Session) -> None:
    for _ in range(30):
        q = PythonQueue()
        barrier = threading.Barrier(4)
        ends = [tf.py_func(lambda b=barrier: b.wait(30) < 4 and end(), [], []) for _ in range(4)]
        began = time.monotonic()
        joined(tf.train.QueueRunner(q, ends).create_threads(session, start=True))
        assert q.log == ["close"]
        assert time.monotonic() - began < 30
