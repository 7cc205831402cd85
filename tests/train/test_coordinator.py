"""Threads that stop together."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable

import pytest

import penstock as tf


def started(*targets: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    return threads


def raising(coord: tf.train.Coordinator, error: BaseException) -> Callable[[], None]:
    def run() -> None:
        with coord.stop_on_exception():
            raise error

    return run


def test_any_thread_stops_all() -> None:
    coord = tf.train.Coordinator()
    assert not coord.should_stop()
    assert not coord.wait_for_stop(0.01)
    threads = started(coord.wait_for_stop, coord.wait_for_stop, coord.request_stop)
    coord.join(threads, stop_grace_period_secs=10)
    assert coord.should_stop()
    assert coord.joined
    assert coord.wait_for_stop()
    assert not any(thread.is_alive() for thread in threads)


def test_join_returns_when_all_threads_have_ended_though_nobody_asked_for_a_stop() -> None:
    coord = tf.train.Coordinator()
    coord.join(started(lambda: time.sleep(0.01)), stop_grace_period_secs=10)
    assert not coord.should_stop()


def test_join_waits_for_registered_threads_as_well() -> None:
    coord = tf.train.Coordinator()
    (thread,) = started(lambda: time.sleep(0.2))
    coord.register_thread(thread)
    coord.request_stop()
    coord.join()
    assert not thread.is_alive()


def test_the_error_of_the_first_thread_is_raised_where_threads_are_joined() -> None:
    coord = tf.train.Coordinator()
    first = ValueError("first")
    threads = started(raising(coord, first))
    assert coord.wait_for_stop(10)
    threads += started(raising(coord, ValueError("second")))
    with pytest.raises(ValueError, match="first") as caught:
        coord.join(threads)
    assert caught.value is first
    with pytest.raises(ValueError, match="first"):
        coord.raise_requested_exception()
    coord.clear_stop()
    coord.raise_requested_exception()
    assert not coord.should_stop()
    assert not coord.joined
    coord.join()


def test_errors_are_given_as_exceptions_or_as_what_sys_exc_info_says() -> None:
    for ask in (lambda c, e: c.request_stop(e), lambda c, e: c.request_stop(sys.exc_info())):
        coord = tf.train.Coordinator()
        try:
            raise RuntimeError("broken")
        except RuntimeError as error:
            ask(coord, error)
        with pytest.raises(RuntimeError, match="broken"):
            coord.join()
    coord = tf.train.Coordinator()
    coord.request_stop("no exception")
    with pytest.raises(ValueError, match="no exception"):
        coord.join()


def test_the_end_of_input_is_a_clean_stop() -> None:
    coord = tf.train.Coordinator()
    coord.join(started(raising(coord, tf.errors.OutOfRangeError(None, None, "no more"))))
    assert coord.should_stop()
    coord = tf.train.Coordinator(clean_stop_exception_types=[StopIteration])
    coord.join(started(raising(coord, StopIteration())))
    coord.clear_stop()
    with pytest.raises(tf.errors.OutOfRangeError):
        coord.join(started(raising(coord, tf.errors.OutOfRangeError(None, None, "no more"))))


def test_what_comes_after_a_stop_does_not_count() -> None:
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.request_stop(ValueError("too late"))
    coord.join()


def test_what_is_reported_after_joining_is_raised_at_once() -> None:
    coord = tf.train.Coordinator()
    coord.join([])
    with pytest.raises(ValueError, match="too late"):
        coord.request_stop(ValueError("too late"))
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "no more"))


def test_threads_that_do_not_stop_in_time_are_named() -> None:
    release = threading.Event()
    for ignore in (False, True):
        coord = tf.train.Coordinator()
        (thread,) = started(release.wait)
        thread.name = "laggard"
        coord.request_stop()
        began = time.monotonic()
        if ignore:
            coord.join([thread], stop_grace_period_secs=0.2, ignore_live_threads=True)
        else:
            with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running: laggard"):
                coord.join([thread], stop_grace_period_secs=0.2)
        assert 0.2 <= time.monotonic() - began < 10
    coord = tf.train.Coordinator()
    coord.request_stop(ValueError("the reason"))
    with pytest.raises(ValueError, match="the reason"):  # which says more than who is late
        coord.join(started(release.wait), stop_grace_period_secs=0)
    release.set()


def test_ctrl_c_ends_waiting_for_threads() -> None:
    coord = tf.train.Coordinator()
    release = threading.Event()
    threading.Timer(0.2, _thread.interrupt_main).start()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        coord.join(started(release.wait))
    release.set()


def test_ctrl_c_in_a_block_stops_the_threads_and_is_raised_where_they_are_joined() -> None:
    coord = tf.train.Coordinator()
    with coord.stop_on_exception():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        coord.join(started(coord.wait_for_stop))


def test_a_looper_calls_its_target_until_it_is_stopped() -> None:
    coord = tf.train.Coordinator()
    calls: list[tuple[int, int]] = []

    def target(a: int, b: int) -> None:
        calls.append((a, b))
        if len(calls) == 3:
            coord.request_stop()

    looper = tf.train.LooperThread.loop(coord, None, target, args=(1,), kwargs={"b": 2})
    coord.join([looper])
    assert calls == [(1, 2)] * 3
    assert looper.daemon


def test_a_looper_keeps_to_its_interval_however_long_a_call_takes() -> None:
    coord = tf.train.Coordinator()
    began = time.monotonic()
    times: list[float] = []

    class Looper(tf.train.LooperThread):
        def start_loop(self) -> None:
            times.append(-1)

        def run_loop(self) -> None:
            times.append(time.monotonic() - began)
            time.sleep(0.03)
            if len(times) == 5:
                coord.request_stop()

        def stop_loop(self) -> None:
            times.append(-2)

    Looper(coord, 0.05).start()
    coord.join(stop_grace_period_secs=10)
    assert times[0] == -1
    assert times[-1] == -2
    assert len(times) == 6
    assert times[4] >= 0.15  # the fourth call, three intervals after the first


def test_what_a_looper_raises_stops_the_others() -> None:
    coord = tf.train.Coordinator()

    def fail() -> None:
        raise ValueError("in a looper")

    tf.train.LooperThread.loop(coord, 60, fail)
    other = tf.train.LooperThread.loop(coord, 60, lambda: None)
    with pytest.raises(ValueError, match="in a looper"):
        coord.join()
    assert not other.is_alive()


def test_loopers_say_what_is_wrong_with_their_arguments() -> None:
    with pytest.raises(ValueError, match="Coordinator"):
        tf.train.LooperThread(object(), 1)
    with pytest.raises(ValueError, match="target"):
        tf.train.LooperThread(tf.train.Coordinator(), 1, args=(1,))
