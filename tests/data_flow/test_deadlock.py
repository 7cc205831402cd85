"""Deadlock is reported where nobody is left who could serve, and only there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tqdm import TMonitor, tqdm

import penstock as tf
from penstock import errors
from penstock.ops.datasets.base import IterationContext
from penstock.ops.datasets.calls_ahead import CallsAhead, Result
from penstock.runtime import deadlock
from tests.anywhere import alarm as alarm


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def _errors_of(*calls: Any) -> list[Any]:
    """What calls raise, each in a thread, while this one only waits for them."""
    found: list[Any] = [None] * len(calls)

    def run(i: int) -> None:
        try:
            calls[i]()
        except errors.OpError as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_call_that_nobody_can_serve_says_what_it_waits_for_and_where_that_was_built() -> None:
    queue = tf.FIFOQueue(7, tf.int32, shapes=[[]], shared_name="numbers")
    take, put = queue.dequeue_many(5, name="take"), queue.enqueue_many([[1, 2]])
    with tf.Session() as sess:
        sess.run(put)
        begin = time.perf_counter()
        with pytest.raises(errors.FailedPreconditionError, match="Deadlock: every call of this process") as raised:
            sess.run(take)
        assert 0.9 < time.perf_counter() - begin < 10
        message = raised.value.message
        assert "take = QueueDequeueManyV2 (built at" in message
        assert "waits for 3 elements in FIFOQueue 'numbers' (size 0, capacity 7, built at" in message
        assert message.count("test_deadlock.py") >= 3
        assert raised.value.op is take.op
        assert sess.run(queue.dequeue_many(2)).tolist() == [1, 2]


def test_all_calls_of_a_deadlock_fail_and_name_each_other() -> None:
    a, b = (tf.FIFOQueue(1, tf.int32, shapes=[[]], shared_name=name) for name in "ab")
    there, back = b.enqueue(a.dequeue()), a.enqueue(b.dequeue())
    at_once = [a.dequeue(), b.dequeue()]
    with tf.Session() as sess:
        found = _errors_of(*(lambda step=step: sess.run(step) for step in (there, back, at_once)))
    for error in found:
        assert isinstance(error, errors.FailedPreconditionError)
        assert error.message.count("waits for an element in FIFOQueue 'a'") == 2
        assert error.message.count("waits for an element in FIFOQueue 'b'") == 2


def test_a_step_on_two_devices_that_nobody_can_serve_fails() -> None:
    with tf.device("/cpu:0"):
        queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
        x = queue.dequeue()
    with tf.device("/cpu:1"):
        y = x * 2
    with (
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess,
        pytest.raises(errors.FailedPreconditionError, match="Deadlock"),
    ):
        sess.run(y)


def test_threads_of_pools_without_work_are_nobody() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take = queue.dequeue()
    with ThreadPoolExecutor(2) as pool, tf.Session() as sess:
        list(pool.map(str, range(10)))
        with pytest.raises(errors.FailedPreconditionError, match="Deadlock"):
            sess.run(take)


def test_the_monitor_of_progress_bars_is_nobody(alarm: Any) -> None:
    take = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
    monitor = TMonitor(tqdm, 10)
    try:
        with tf.Session() as sess, pytest.raises(errors.FailedPreconditionError, match="Deadlock"):
            sess.run(take)
    finally:
        monitor.exit()


def test_somebody_who_sleeps_may_still_serve() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue(3)
    with tf.Session() as sess:

        def serve() -> None:
            time.sleep(2.5)
            sess.run(put)

        thread = threading.Thread(target=serve)
        thread.start()
        assert sess.run(take) == 3
        thread.join()


def test_a_wait_with_a_deadline_ends_by_it_and_whoever_waits_so_may_serve_afterwards() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    other = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue(3)
    with tf.Session() as sess:

        def serve() -> None:
            with pytest.raises(errors.DeadlineExceededError):
                sess.run(other.dequeue(), options=tf.RunOptions(timeout_in_ms=1500))
            sess.run(put)

        thread = threading.Thread(target=serve)
        thread.start()
        assert sess.run(take) == 3
        thread.join()


def test_a_program_whose_main_thread_has_ended_is_told() -> None:
    program = """
        import threading
        import penstock as tf

        queue = tf.FIFOQueue(1, tf.int32, shared_name="q")
        sess, take = tf.Session(), queue.dequeue()
        threading.Thread(target=lambda: sess.run(take)).start()
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "FailedPreconditionError: Deadlock" in ended.stderr


def _runner_of_a_queue_that_nobody_empties() -> tf.FIFOQueue:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="full")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1), queue.enqueue(2)]))
    return queue


def test_queue_runners_with_a_coordinator_cannot_serve_each_other() -> None:
    _runner_of_a_queue_that_nobody_empties()
    empty = tf.FIFOQueue(3, tf.int32, shapes=[[]], shared_name="empty")
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(errors.FailedPreconditionError, match="Deadlock") as raised:
            sess.run(empty.dequeue())
        assert "'empty' (size 0, capacity 3" in raised.value.message
        assert raised.value.message.count("waits for a place in FIFOQueue 'full' (size 3, capacity 3") == 2
        with pytest.raises(errors.FailedPreconditionError, match="Deadlock"):
            coord.join(threads, stop_grace_period_secs=30)


def test_who_joins_a_coordinator_cannot_serve_its_threads() -> None:
    _runner_of_a_queue_that_nobody_empties()
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(errors.FailedPreconditionError, match=r"'full' .*size 3, capacity 3"):
            coord.join(threads, stop_grace_period_secs=30)


def test_a_thread_that_goes_on_may_serve_queue_runners() -> None:
    queue = _runner_of_a_queue_that_nobody_empties()
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        threads = tf.train.start_queue_runners(sess, coord)
        time.sleep(2.5)
        assert not coord.should_stop()
        assert sess.run(queue.dequeue_many(5)).shape == (5,)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=30)


def test_a_thread_that_was_notified_but_has_not_had_its_turn_may_serve() -> None:
    ahead, result = CallsAhead(IterationContext()), Result()
    thread = threading.Thread(target=ahead.wait, args=(result,), daemon=True)
    thread.start()

    def is_idle() -> bool:
        return deadlock._is_idle(sys._current_frames()[thread.ident or 0], thread)

    end = time.monotonic() + 10
    while not is_idle():
        assert time.monotonic() < end
        time.sleep(0.01)
    with ahead.changed:
        ahead.changed.notify_all()
        assert not is_idle()  # though it waits for the lock, which is held here
    result.set(None, None)
    ahead.notify()
    thread.join(10)
    assert not thread.is_alive()
