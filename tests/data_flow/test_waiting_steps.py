"""Steps that wait for queues: who wakes them, with what, and what becomes of what they had taken."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock as tf
from penstock import errors
from penstock.ops.data_flow.queue_state import DEQUEUES, ENQUEUES, Queue
from tests.anywhere import alarm as alarm


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


class InThread:
    """A call in a thread of its own: what it gave, or raised, and when."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.found: Any = None
        self.ended = 0.0

        def run() -> None:
            try:
                self.found = call()
            except BaseException as error:
                self.found = error
            self.ended = time.perf_counter()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(80)
        assert not self._thread.is_alive(), "it does not end"
        return self.found


def _until_waiting(*queues: tf.QueueBase, sess: tf.Session, attempts: int = 1) -> None:
    """Until so many attempts wait at the queues."""
    states = [_state(queue, sess) for queue in queues]
    while sum(s.waiting(ENQUEUES, DEQUEUES) for s in states) < attempts:
        time.sleep(0.001)


def _state(queue: tf.QueueBase, sess: tf.Session) -> Any:
    sess.run(queue.size())
    return sess._state.per_node[Queue, queue.name]


def test_a_dequeue_waits_for_an_enqueue_and_an_enqueue_for_room() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    put, take = queue.enqueue(x), queue.dequeue() + 1
    with tf.Session() as sess:
        waits = InThread(lambda: sess.run(take))
        _until_waiting(queue, sess=sess)
        sess.run(put, {x: 1})
        assert waits.result() == 2
        sess.run(put, {x: 2})
        waits = InThread(lambda: sess.run(put, {x: 3}))
        _until_waiting(queue, sess=sess)
        assert [sess.run(take), sess.run(take)] == [3, 4]
        assert waits.result() is None


def test_attempts_are_served_in_the_order_in_which_they_came() -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue_many([[0, 1, 2, 3]])
    with tf.Session() as sess:
        waits = []
        for i in range(4):
            waits.append(InThread(lambda: sess.run(take)))
            _until_waiting(queue, sess=sess, attempts=i + 1)
        sess.run(put)
        assert [each.result() for each in waits] == [0, 1, 2, 3]


def test_a_batch_larger_than_the_queue_is_taken_as_it_comes() -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    put, take = queue.enqueue_many([list(range(10))]), queue.dequeue_many(8)
    with tf.Session() as sess:
        waits = InThread(lambda: sess.run(take))
        sess.run(put)
        assert waits.result().tolist() == list(range(8))
        assert sess.run(queue.dequeue_many(2)).tolist() == [8, 9]


def test_a_batch_by_priority_waits_until_all_of_it_is_there() -> None:
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    put, put_more = queue.enqueue_many([[3, 2], ["c", "b"]]), queue.enqueue((tf.constant(1, tf.int64), "a"))
    take = queue.dequeue_many(3)[1]
    with tf.Session() as sess:
        waits = InThread(lambda: sess.run(take))
        _until_waiting(queue, sess=sess)
        sess.run(put)
        assert sess.run(queue.size()) == 2
        sess.run(put_more)
        assert waits.result().tolist() == [b"a", b"b", b"c"]


def test_enough_stays_in_a_shuffling_queue_until_it_is_closed() -> None:
    queue = tf.RandomShuffleQueue(20, 5, tf.int32, shapes=[[]])
    put, take, size = queue.enqueue_many([list(range(8))]), queue.dequeue_many(4), queue.size()
    with tf.Session() as sess:
        sess.run(put)
        waits = InThread(lambda: sess.run(take))
        _until_waiting(queue, sess=sess)
        assert sess.run(size) == 5
        sess.run(queue.close())
        found = [*waits.result(), *sess.run(take)]
        assert sorted(found) == list(range(8))


def test_closing_a_queue_lets_enqueues_that_wait_in_or_cancels_them() -> None:
    for cancel in (False, True):
        queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
        put, close, take = queue.enqueue_many([[1, 2, 3]]), queue.close(cancel), queue.dequeue()
        with tf.Session() as sess:
            waits = InThread(lambda put=put: sess.run(put))  # type: ignore[misc]
            _until_waiting(queue, sess=sess)
            closes = InThread(lambda close=close: sess.run(close))  # type: ignore[misc]
            if cancel:
                assert closes.result() is None
                error = waits.result()
                assert isinstance(error, errors.CancelledError)
                assert error.message.startswith("Enqueue operation was cancelled")
            else:
                _until_waiting(queue, sess=sess, attempts=2)
                assert not sess.run(queue.is_closed())
            assert [sess.run(take) for _ in range(2 if cancel else 3)] == ([1, 2] if cancel else [1, 2, 3])
            assert waits.result() is None or cancel
            assert closes.result() is None
            with pytest.raises(errors.OutOfRangeError):
                sess.run(take)


def test_closing_a_queue_gives_back_what_a_batch_had_taken() -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    put, take, rest = queue.enqueue_many([[1, 2, 3]]), queue.dequeue_many(5), queue.dequeue_up_to(5)
    with tf.Session() as sess:
        sess.run(put)
        waits = InThread(lambda: sess.run(take))
        _until_waiting(queue, sess=sess)
        assert sess.run(queue.size()) == 0
        sess.run(queue.close())
        error = waits.result()
        assert isinstance(error, errors.OutOfRangeError)
        assert "(requested 2, current size 0)" in error.message
        assert sess.run(rest).tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "pool", "padding", "priority"])
def test_a_deadline_takes_nothing_out(kind: str) -> None:
    shape = [5000] if kind == "shuffle" else [2]
    queue: tf.QueueBase = {
        "fifo": lambda: tf.FIFOQueue(10, tf.int64, shapes=[shape]),
        "shuffle": lambda: tf.RandomShuffleQueue(10, 0, tf.int64, shapes=[shape]),
        "pool": lambda: tf.RandomShuffleQueue(10, 0, tf.int64, shapes=[shape]),
        "padding": lambda: tf.PaddingFIFOQueue(10, tf.int64, shapes=[[None]]),
        "priority": lambda: tf.PriorityQueue(10, [tf.int64], shapes=[shape]),
    }[kind]()
    first = [tf.range(3, dtype=tf.int64)] if kind == "priority" else []
    rows = tf.reshape(tf.range(3, dtype=tf.int64), [3, 1]) + tf.zeros(shape, tf.int64)
    put, take, all_ = queue.enqueue_many([*first, rows]), queue.dequeue_many(5), queue.dequeue_many(3)
    with tf.Session() as sess:
        sess.run(put)
        for _ in range(3):
            with pytest.raises(errors.DeadlineExceededError, match="Timed out waiting for notification"):
                sess.run(take, options=tf.RunOptions(timeout_in_ms=20))
            assert sess.run(queue.size()) == 3
        found = sess.run(all_)
        found = (found[-1] if first else found)[:, 0].tolist()
        assert sorted(found) == [0, 1, 2] if kind in ("shuffle", "pool") else found == [0, 1, 2]


def test_a_deadline_of_the_session_holds_for_waits_as_well() -> None:
    queue = tf.FIFOQueue(10, tf.int32)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20)) as sess:
        with pytest.raises(errors.DeadlineExceededError):
            sess.run(queue.dequeue())
        sess.run(queue.enqueue(1))
        assert sess.run(queue.dequeue()) == 1


def _plain(queue: tf.QueueBase) -> Any:
    return queue.dequeue()


def _two_at_once(queue: tf.QueueBase) -> Any:
    return [queue.dequeue(), queue.dequeue()]


def _in_a_loop(queue: tf.QueueBase) -> Any:
    return tf.while_loop(lambda i: i < 3, lambda i: i + queue.dequeue() * 0 + 1, [0])


def _in_a_branch(queue: tf.QueueBase) -> Any:
    return tf.cond(tf.equal(queue.size(), 0), lambda: queue.dequeue(), lambda: 0)


STEPS = [_plain, _two_at_once, _in_a_loop, _in_a_branch]


@pytest.mark.parametrize("build", STEPS)
def test_closing_the_session_wakes_a_step_at_once(build: Callable[[tf.QueueBase], Any]) -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    step = build(queue)
    sess = tf.Session()
    waits = InThread(lambda: sess.run(step))
    _until_waiting(queue, sess=sess)
    state = _state(queue, sess)
    begin = time.perf_counter()
    sess.close()
    error = waits.result()
    assert isinstance(error, errors.CancelledError)
    assert error.message.startswith("Dequeue operation was cancelled")
    assert error.op is not None and "test_waiting_steps.py" in error.message
    assert not state.waiting(DEQUEUES)
    assert waits.ended - begin < 0.5


@pytest.mark.parametrize("build", STEPS)
def test_an_element_wakes_a_step_at_once(build: Callable[[tf.QueueBase], Any]) -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    step, put = build(queue), queue.enqueue_many([[0, 0, 0]])
    with tf.Session() as sess:
        sess.run(put)
        sess.run(queue.dequeue_many(3))
        times = []
        for _ in range(20):
            waits = InThread(lambda: sess.run(step))
            _until_waiting(queue, sess=sess)
            begin = time.perf_counter()
            sess.run(put)
            waits.result()
            times.append(waits.ended - begin)
            while sess.run(queue.size()):
                sess.run(queue.dequeue())
    assert min(times) < 0.01  # the executor does not look round every 20 ms


@pytest.mark.parametrize("build", STEPS)
def test_ctrl_c_withdraws_what_waits(build: Callable[[tf.QueueBase], Any]) -> None:
    import signal

    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    step = build(queue)

    def interrupt() -> None:
        _until_waiting(queue, sess=sess)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with tf.Session() as sess:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            thread = InThread(interrupt)
            with pytest.raises(KeyboardInterrupt):
                sess.run(step)
            thread.result()
        finally:
            signal.signal(signal.SIGINT, before)
        assert not _state(queue, sess).waiting(DEQUEUES)
        sess.run(queue.enqueue(1))
        assert sess.run(queue.dequeue()) == 1


def test_an_error_elsewhere_in_the_step_withdraws_what_waits() -> None:
    queue, other = tf.FIFOQueue(10, tf.int32, shapes=[[]]), tf.FIFOQueue(10, tf.int32, shapes=[[]])
    step = [queue.dequeue(), 1 // other.dequeue()]
    with tf.Session() as sess:
        waits = InThread(lambda: sess.run(step))
        _until_waiting(queue, other, sess=sess, attempts=2)
        sess.run(other.enqueue(0))
        assert isinstance(waits.result(), errors.InvalidArgumentError)
        sess.run(queue.enqueue(5))
        assert sess.run(queue.size()) == 1


def test_an_error_on_another_device_withdraws_what_waits() -> None:
    with tf.device("/cpu:0"):
        queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
        x = queue.dequeue()
        later = tf.placeholder(tf.int32, [])
        y = later * 2
    with tf.device("/cpu:1"):
        z = y // tf.placeholder_with_default(0, [])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        with pytest.raises(errors.InvalidArgumentError):
            sess.run([x, z], {later: 1})
        assert not _state(queue, sess).waiting(DEQUEUES)


def test_ten_thousand_dequeues_of_a_step_hold_no_thread_each() -> None:
    queue = tf.FIFOQueue(20_000, tf.int32, shapes=[[]])
    total = tf.add_n([queue.dequeue() for _ in range(10_000)])
    with tf.Session() as sess:
        before = threading.active_count()
        waits = InThread(lambda: sess.run(total))
        _until_waiting(queue, sess=sess, attempts=10_000)
        assert threading.active_count() <= before + 2  # the caller's, and perhaps the compiler's
        sess.run(queue.enqueue_many([list(range(10_000))]))
        assert waits.result() == sum(range(10_000))
        again = InThread(lambda: sess.run(total, options=tf.RunOptions(timeout_in_ms=500)))
        assert isinstance(again.result(), errors.DeadlineExceededError)
        assert not _state(queue, sess).waiting(DEQUEUES)


def test_a_step_that_enqueues_and_dequeues_at_one_queue_does_not_wait_for_itself() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    take, put = queue.dequeue(), queue.enqueue(x * 2 + 1)
    with tf.Session() as sess:
        for i in range(3):
            assert sess.run([take, put], {x: i})[0] == 2 * i + 1


@pytest.mark.parametrize("compiled", ["off", "on"])
def test_what_does_not_depend_on_a_wait_runs_before_it(compiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another step may wait for just that: whatever is put together, or compiled, must not keep it back."""
    monkeypatch.setenv("PENSTOCK_COMPILE", compiled)
    queue, answers = tf.FIFOQueue(1, tf.float32, shapes=[[4]]), tf.FIFOQueue(1, tf.float32, shapes=[[4]])
    v = tf.Variable(tf.zeros([4]))
    x = tf.placeholder(tf.float32, [4])
    y = queue.dequeue()  # built first
    told = v.assign(tf.exp(x) * 2.0 + 1.0)
    z = tf.exp(x + 1.0) * 3.0 + y * 2.0
    with tf.control_dependencies([answers.enqueue(tf.tanh(x) + 1.0)]):
        done = tf.identity(z)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for _ in range(3):
            waits = InThread(lambda: sess.run([done, told.op], {x: [0, 0, 0, 0]}))
            assert sess.run(answers.dequeue()).tolist() == [1] * 4
            while sess.run(v)[0] != 3:
                time.sleep(0.001)
            sess.run(queue.enqueue(tf.ones([4])))
            assert waits.result()[0] == pytest.approx([3 * 2.718281828 + 2] * 4)
            sess.run(v.initializer)


@pytest.mark.parametrize("compiled", ["off", "on"])
@pytest.mark.parametrize("queues", [1, 2])
def test_what_fails_without_a_wait_fails_at_once(compiled: str, queues: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two queues the step is a dataflow, with one a function."""
    monkeypatch.setenv("PENSTOCK_COMPILE", compiled)
    waits = [tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue() for _ in range(queues)]
    i = tf.placeholder(tf.int32, [])
    y = tf.add_n([tf.gather([1.0, 2.0, 3.0], i) * 2.0, *waits])
    with tf.Session() as sess, pytest.raises(errors.InvalidArgumentError, match="9"):
        sess.run(y, {i: 9}, options=tf.RunOptions(timeout_in_ms=20_000))


@pytest.mark.parametrize("compiled", ["off", "on"])
def test_what_fails_without_values_of_other_devices_fails_at_once(
    compiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", compiled)
    with tf.device("/cpu:1"):
        taken = tf.FIFOQueue(1, tf.float32).dequeue()
    with tf.device("/cpu:0"):
        a, b = tf.placeholder(tf.float32, None), tf.placeholder(tf.float32, None)
        y = tf.exp(a + b) * taken
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as sess, pytest.raises(errors.InvalidArgumentError):
        sess.run(y, {a: [1, 2], b: [1, 2, 3]}, options=tf.RunOptions(timeout_in_ms=20_000))


def test_a_step_reads_variables_when_its_wait_is_over() -> None:
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    v = tf.Variable(1.0)
    y = queue.dequeue() * v
    with tf.Session() as sess:
        sess.run(v.initializer)
        waits = InThread(lambda: sess.run(y))
        _until_waiting(queue, sess=sess)
        sess.run(v.assign(5.0))
        sess.run(queue.enqueue(2.0))
        assert waits.result() == 10


def test_a_training_step_that_dequeues_is_one_function_with_one_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_COMPILE", "auto")
    queue = tf.FIFOQueue(100, [tf.float32, tf.float32], shapes=[[4], [2]])
    x, y = queue.dequeue_many(8)
    w = tf.Variable(tf.ones([4, 2]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(w.initializer)
        source = sess.explain([loss, train])
        assert len(re.findall("_region\\(", source)) == 1
        assert source.index("queuedequeuemanyv2(") < source.index("_region(")
        sess.run(queue.enqueue_many([tf.ones([8, 4]), tf.ones([8, 2])]))
        assert sess.run([loss, train])[0] == 9


def test_an_enqueue_in_a_branch_waits_where_it_is_taken() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    keep, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    put = tf.cond(keep, lambda: tf.group(queue.enqueue(x * 2)), tf.no_op)
    either = tf.cond(keep, lambda: queue.dequeue(), lambda: queue.dequeue() + 100)
    with tf.Session() as sess:
        sess.run(put, {keep: False, x: 1})
        assert sess.run(queue.size()) == 0
        sess.run(put, {keep: True, x: 1})
        sess.run(put, {keep: False, x: 1})
        waits = InThread(lambda: sess.run(put, {keep: True, x: 2}))
        _until_waiting(queue, sess=sess)
        assert [sess.run(either, {keep: True}), sess.run(either, {keep: False})] == [2, 104]
        assert waits.result()  # what the branches' operations stand for: `keep`
        assert "queueenqueuev2(" in sess.explain(put, [keep, x])  # a function, not a dataflow


def test_a_partial_run_that_waits_ends_with_its_session() -> None:
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    y = queue.dequeue() + x
    sess = tf.Session()
    handle = sess.partial_run_setup([y], [x])
    waits = InThread(lambda: sess.partial_run(handle, y, {x: 1}))
    _until_waiting(queue, sess=sess)
    state = _state(queue, sess)
    sess.close()
    assert isinstance(waits.result(), errors.CancelledError)
    assert not state.waiting(DEQUEUES)
