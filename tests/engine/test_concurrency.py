"""Many threads, one session: right values, bounded memory, an end for all when the session is closed.

PENSTOCK_THREADS is the number of threads (20), PENSTOCK_SECONDS how long they run (1).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

THREADS = int(os.environ.get("PENSTOCK_THREADS", "20"))
SECONDS = float(os.environ.get("PENSTOCK_SECONDS", "1"))
_JOIN = 60
"""A thread that takes longer to end hangs."""


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    """Ten times as often as usual: steps of others come between any two lines."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 10)
    yield
    sys.setswitchinterval(usual)


class _Crew:
    """Threads that repeat `work(number)` until told to stop, or until it raises; and what they raised."""

    def __init__(self, work: Callable[[int], None], count: int = THREADS) -> None:
        self.errors: dict[int, BaseException] = {}
        self.rounds = [0] * count
        self._work, self._stop = work, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(i,), daemon=True) for i in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int) -> None:
        try:
            while not self._stop.is_set():
                self._work(number)
                self.rounds[number] += 1
        except BaseException as error:
            self.errors[number] = error

    def wait_until_all_have_run(self) -> None:
        """Once more, each of them."""
        deadline, before = time.monotonic() + _JOIN, list(self.rounds)
        while any(a <= b for a, b in zip(self.rounds, before, strict=True)) and not self.errors:
            assert time.monotonic() < deadline, "a thread hangs"
            time.sleep(0.005)

    def end(self) -> None:
        self._stop.set()
        self.join()

    def join(self) -> None:
        deadline = time.monotonic() + _JOIN
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        assert not any(thread.is_alive() for thread in self._threads), "a thread hangs"


def _resident() -> int:
    """The bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _signatures() -> tuple[Any, list[tuple[Any, Callable[[np.ndarray], Any]]]]:
    """A placeholder [None, 16], and fetches of it with what they give: plain arithmetic, views, a branch, a loop."""
    x = tf.placeholder(tf.float32, [None, 16])
    weights = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32) / 4
    w = tf.Variable(weights)
    layer = tf.nn.relu(tf.matmul(x, w) + 0.5)
    loop = tf.while_loop(lambda i, y: tf.less(i, 5), lambda i, y: [i + 1, y * 0.5 + x], [0, x])[1]
    chosen = tf.cond(tf.less(tf.reduce_sum(x), 0.0), lambda: x - 1.0, lambda: x + 1.0)

    def looped(a: np.ndarray) -> np.ndarray:
        y = a
        for _ in range(5):
            y = y * np.float32(0.5) + a
        return y

    return x, [
        (layer, lambda a: np.maximum(a @ weights + np.float32(0.5), 0)),
        ([tf.transpose(x)[1:], tf.reduce_sum(x, 1)], lambda a: [a.T[1:], a.sum(1)]),
        (loop, looped),
        (chosen, lambda a: a - 1 if a.sum() < 0 else a + 1),
    ]


def _agree(found: Any, expected: Any) -> None:
    if not isinstance(expected, list):
        found, expected = [found], [expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to know its memory")
def test_threads_with_feeds_of_their_own_get_their_own_results_in_bounded_memory() -> None:
    x, signatures = _signatures()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        data = [np.full((1 + i % 7, 16), i - THREADS / 2, np.float32) for i in range(THREADS)]
        expected = [[value(array) for _, value in signatures] for array in data]
        calls = [session.make_callable(fetches, [x]) for fetches, _ in signatures]

        def work(number: int) -> None:
            for (fetches, _), call, value in zip(signatures, calls, expected[number], strict=True):
                _agree(session.run(fetches, {x: data[number]}), value)
                _agree(call(data[number]), value)

        crew = _Crew(work)
        crew.wait_until_all_have_run()
        time.sleep(SECONDS / 2)
        before = _resident()
        time.sleep(SECONDS / 2)
        crew.wait_until_all_have_run()
        grown = _resident() - before
        crew.end()
    assert not crew.errors
    # A leak of one row of floats in each step would be far more in a long run; allocators of threads keep some.
    assert grown < (16 << 20)


def test_updates_of_threads_that_hold_the_lock_are_all_counted() -> None:
    counts = [tf.Variable(0), tf.Variable(0, use_resource=True)]
    ups = [tf.assign_add(counts[0], 1, use_locking=True).op, counts[1].assign_add(1).op]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        crew = _Crew(lambda number: session.run(ups))
        crew.wait_until_all_have_run()
        crew.end()
        assert not crew.errors
        assert session.run(counts) == [sum(crew.rounds)] * 2


def test_what_one_thread_has_fetched_is_not_changed_by_the_updates_of_others() -> None:
    """A torn read is TensorFlow's as well; an array that changes after it was given is nobody's."""
    v = tf.Variable(np.zeros(64, np.float32))
    up = tf.assign_add(v, np.ones(64, np.float32), use_locking=True).op
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def work(number: int) -> None:
            if number % 2:
                session.run(up)
                return
            found = session.run(v)
            before = found.copy()
            time.sleep(0.001)
            np.testing.assert_array_equal(found, before)

        crew = _Crew(work)
        crew.wait_until_all_have_run()
        crew.end()
    assert not crew.errors


def test_threads_that_make_new_signatures_at_once_get_the_right_plans() -> None:
    x = tf.placeholder(tf.float32, [])
    sums = [x + float(i) for i in range(50)]
    with tf.Session() as session:

        def work(number: int) -> None:
            picked = [(number * 7 + i * 3) % 50 for i in range(5)]
            assert session.run([sums[i] for i in picked], {x: number}) == [number + i for i in picked]

        crew = _Crew(work)
        crew.wait_until_all_have_run()
        crew.end()
    assert not crew.errors


def test_closing_a_session_ends_every_thread_with_an_error_that_says_so() -> None:
    x, signatures = _signatures()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    array = np.ones((3, 16), np.float32)
    expected = [value(array) for _, value in signatures]

    def work(number: int) -> None:
        at = number % len(signatures)
        _agree(session.run(signatures[at][0], {x: array}), expected[at])

    crew = _Crew(work)
    crew.wait_until_all_have_run()
    session.close()
    crew.join()
    assert len(crew.errors) == THREADS
    for error in crew.errors.values():
        # Between the closing and the end of a step under way, its variables may be gone already.
        assert isinstance(error, RuntimeError | tf.errors.CancelledError | tf.errors.FailedPreconditionError), error
        assert str(error)


def test_a_deadline_in_one_thread_does_not_disturb_the_others() -> None:
    x = tf.placeholder(tf.int32, [])
    endless = tf.while_loop(lambda i: tf.less(i, x), lambda i: tf.maximum(i, 0), [0])
    doubled = tf.while_loop(lambda i: tf.less(i, x), lambda i: i + 1, [0]) * 2
    hurried = tf.RunOptions(timeout_in_ms=30)
    late = [0]
    with tf.Session() as session:

        def work(number: int) -> None:
            if number == 0:
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(endless, {x: 1}, options=hurried)
                late[0] += 1
            else:
                assert session.run(doubled, {x: number}) == 2 * number

        crew = _Crew(work)
        crew.wait_until_all_have_run()
        crew.end()
    assert not crew.errors
    assert late[0]
