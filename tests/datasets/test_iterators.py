"""Iterators: how they begin and end, what they share, what they refuse, and what becomes of steps that wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.datasets.tools import plain

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def rest(session: tf.Session, take: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(plain(session.run(take)))
        except tf.errors.OutOfRangeError:
            return found


@pytest.fixture
def prefetching() -> Callable[[], list[threading.Thread]]:
    """The threads that compute elements ahead, but for those that were there before."""
    before = threading.enumerate()
    return lambda: [t for t in threading.enumerate() if t.name == "penstock prefetch" and t not in before]


def test_an_iterator_begins_again_with_its_initializer_and_says_when_it_has_ended() -> None:
    size = tf.placeholder(tf.int64, [])
    iterator = Dataset.range(size).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(take)
        for count in (3, 0, 5):
            session.run(iterator.initializer, {size: count})
            assert rest(session, take) == list(range(count))
            for _ in range(2):
                with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                    session.run(take)
        session.run(iterator.initializer, {size: 4})
        session.run(take)
        session.run(iterator.initializer, {size: 4})
        assert session.run(take) == 0


def test_each_get_next_takes_an_element_of_its_own() -> None:
    iterator = Dataset.range(4).make_one_shot_iterator()
    pair = iterator.get_next(), iterator.get_next()
    with tf.Session() as session:
        assert sorted(session.run(pair)) == [0, 1]
        assert sorted(session.run(pair)) == [2, 3]


def test_a_one_shot_iterator_takes_no_feeds_and_no_state() -> None:
    held = tf.placeholder(tf.float32, [2], name="held")
    with pytest.raises(ValueError, match=r"Cannot capture a placeholder \(name:held, type:Placeholder\) by value"):
        Dataset.from_tensors(held).make_one_shot_iterator()
    with pytest.raises(ValueError, match="does not support datasets that capture stateful objects"):
        Dataset.from_tensors(tf.random_uniform([2]) + tf.Variable(1.0)).make_one_shot_iterator()
    doubled = tf.constant([1.0, 2.0]) * 2
    take = Dataset.from_tensors(doubled).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(take).tolist() == [2.0, 4.0]


def test_an_iterator_of_a_structure_takes_any_dataset_that_fits() -> None:
    iterator = tf.data.Iterator.from_structure((tf.int64, {"a": tf.float32}), ([], {"a": [None]}))
    take = iterator.get_next()
    assert take[1]["a"].shape.as_list() == [None]
    parts = [Dataset.from_tensors((np.int64(i), {"a": np.ones(i, np.float32)})) for i in (1, 2)]
    steps = [iterator.make_initializer(part) for part in parts]
    with pytest.raises(ValueError, match="does not have an initializer"):
        _ = iterator.initializer
    with pytest.raises(TypeError, match="Expected output types"):
        iterator.make_initializer(Dataset.from_tensors((1.0, {"a": [1.0]})))
    with pytest.raises(TypeError, match="Expected output shapes"):
        iterator.make_initializer(Dataset.from_tensors((np.int64(1), {"a": 1.0})))
    with pytest.raises((TypeError, ValueError)):
        iterator.make_initializer(Dataset.from_tensors((np.int64(1), {"b": [1.0]})))
    with tf.Session() as session:
        for i in (1, 0, 1):
            session.run(steps[i])
            assert rest(session, take) == [(i + 1, {"a": [1.0] * (i + 1)})]


def test_a_fed_handle_says_which_iterator() -> None:
    first, second = (Dataset.range(i, i + 3).repeat().make_initializable_iterator() for i in (0, 10))
    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, first.output_types, first.output_shapes)
    take = chosen.get_next()
    wrong = tf.data.Iterator.from_string_handle(handle, tf.float32).get_next()
    with tf.Session() as session:
        session.run([first.initializer, second.initializer])
        handles = session.run([first.string_handle(), second.string_handle()])
        found = [int(session.run(take, {handle: handles[i]})) for i in (0, 1, 1, 0, 1)]
        assert found == [0, 10, 11, 1, 12]
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected float32 but got int64"):
            session.run(wrong, {handle: handles[0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="no handle of an iterator"):
            session.run(take, {handle: "nonsense"})
        with tf.Session() as other, pytest.raises(tf.errors.InvalidArgumentError, match="no handle of an iterator"):
            other.run(take, {handle: handles[0]})


def test_sessions_of_a_target_share_iterators_by_name() -> None:
    iterator = Dataset.range(6).make_initializable_iterator(shared_name="shared")
    take = iterator.get_next()
    handle = tf.placeholder(tf.string, [])
    fed = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session("inproc://iterators") as one, tf.Session("inproc://iterators") as two:
        one.run(iterator.initializer)
        assert [int(session.run(take)) for session in (one, two, one)] == [0, 1, 2]
        assert two.run(fed, {handle: one.run(iterator.string_handle())}) == 3
    with tf.Session() as alone, pytest.raises(tf.errors.FailedPreconditionError):
        alone.run(take)
    tf.Session.reset("inproc://iterators")


def test_handles_of_iterators_are_in_a_collection() -> None:
    iterator = Dataset.range(3).make_initializable_iterator()
    assert tf.get_collection("iterators") == [iterator._iterator_resource]


def test_what_a_client_changes_of_a_fetched_element_is_its_own() -> None:
    take = Dataset.from_tensor_slices(np.zeros((2, 3))).repeat(2).make_one_shot_iterator().get_next()
    batch = Dataset.from_tensor_slices(np.zeros((2, 3))).repeat(2).batch(2).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        for _ in range(2):
            for node in (take, batch):
                value = session.run(node)
                assert not value.any()
                value += 1


def test_an_element_that_a_step_assigns_stays_what_it_was() -> None:
    take = Dataset.from_tensor_slices(np.zeros((2, 3), np.float32)).repeat().make_one_shot_iterator().get_next()
    held = tf.Variable(tf.ones(3))
    assigned = tf.assign(held, take)
    added = tf.assign_add(held, tf.ones(3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            assert not session.run(assigned).any()
            session.run(added)


def test_a_training_step_takes_its_batch_in_one_plan() -> None:
    x, y = np.random.RandomState(0).rand(64, 3).astype(np.float32), np.ones((64, 1), np.float32)
    images, labels = (
        Dataset.from_tensor_slices((x, y)).repeat().batch(8).prefetch(2).make_one_shot_iterator().get_next()
    )
    weights = tf.Variable(tf.zeros([3, 1]))
    loss = tf.reduce_mean(tf.square(tf.matmul(images, weights) - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([train, loss])[1] for _ in range(50)]
        assert losses[-1] < 0.2 * losses[0]


def test_a_closed_session_ends_steps_that_wait_and_threads_that_compute_ahead(
    prefetching: Callable[[], list[threading.Thread]],
) -> None:
    gate = threading.Event()

    def slow(n: Any) -> Any:
        gate.wait(20)
        return n

    dataset = Dataset.range(100).map(lambda n: tf.py_func(slow, [n], tf.int64)).prefetch(2)
    take = dataset.make_one_shot_iterator().get_next()
    session = tf.Session()
    raised: list[BaseException] = []

    def step() -> None:
        try:
            session.run(take)
        except BaseException as error:
            raised.append(error)

    waiting = threading.Thread(target=step)
    waiting.start()
    while not prefetching():
        time.sleep(0.01)
    time.sleep(0.05)
    session.close()
    waiting.join(10)
    gate.set()
    assert isinstance(raised[0], tf.errors.CancelledError)
    deadline = time.monotonic() + 10
    while prefetching() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not prefetching()


def test_an_iterator_that_begins_anew_leaves_no_thread_behind(
    prefetching: Callable[[], list[threading.Thread]],
) -> None:
    iterator = Dataset.range(1000).prefetch(3).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        for _ in range(20):
            session.run(iterator.initializer)
            assert session.run(take) == 0
        deadline = time.monotonic() + 10
        while len(prefetching()) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(prefetching()) <= 1


def test_many_threads_take_each_element_once() -> None:
    take = Dataset.range(2000).shuffle(50).prefetch(8).make_one_shot_iterator().get_next()
    found: list[int] = []
    with tf.Session() as session:
        threads = [threading.Thread(target=lambda: found.extend(rest(session, take))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(2000))


def test_one_element_is_taken_as_tensors() -> None:
    one = tf.contrib.data.get_single_element(Dataset.range(5).skip(4).map(lambda n: (n, n * 2)))
    none = tf.contrib.data.get_single_element(Dataset.range(0))
    many = tf.contrib.data.get_single_element(Dataset.range(2))
    with tf.Session() as session:
        assert session.run(one) == (4, 8)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset was empty"):
            session.run(none)
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than one element"):
            session.run(many)


def test_plans_are_for_the_sizes_of_batches_that_come() -> None:
    dataset = Dataset.from_tensor_slices((np.ones((20, 3), np.float32), np.ones(20))).batch(8).repeat(30).prefetch(2)
    images, labels = dataset.make_one_shot_iterator().get_next()
    assert images.shape.as_list() == [None, 3]
    total = tf.reduce_sum(images * tf.Variable(2.0)), tf.shape(labels)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [tuple(map(float, session.run(total))) for _ in range(90)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(total)
        text = session.explain(total)
    assert found == [(48.0, 8.0), (48.0, 8.0), (24.0, 4.0)] * 30
    assert text.count("def step") >= 2


def test_elements_are_fed_and_traced_and_have_deadlines_as_all_values() -> None:
    gate = threading.Event()

    def slow(n: Any) -> Any:
        gate.wait(20)
        return n

    numbers = Dataset.range(30).batch(2).make_one_shot_iterator().get_next()
    doubled = numbers * 2
    never = Dataset.range(9).map(lambda n: tf.py_func(slow, [n], tf.int64)).batch(2).prefetch(1)
    late = never.make_one_shot_iterator().get_next() + 1
    with tf.Session() as session:
        assert session.run(doubled, {numbers: [5, 6, 7]}).tolist() == [10, 12, 14]
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(doubled, options=options, run_metadata=metadata).tolist() == [0, 2]
        assert session.run([doubled, numbers])[1].tolist() == [2, 3]
        stats = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
        names = [node.node_name.removesuffix("/region") for node in stats if node.all_end_rel_nanos]
        assert names == ["IteratorGetNext", "mul"]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(late, options=tf.RunOptions(timeout_in_ms=100))
        gate.set()
        assert session.run(late).tolist() == [1, 2]  # no element was lost


def test_an_initializer_in_the_same_step_runs_in_the_order_of_building() -> None:
    iterator = Dataset.range(5).batch(2).make_initializable_iterator()
    with tf.control_dependencies([iterator.initializer]):
        take = iterator.get_next()
    with tf.Session() as session:
        assert [session.run(take).tolist() for _ in range(2)] == [[0, 1]] * 2


def test_a_one_shot_iterator_takes_a_data_set_of_another_graph() -> None:
    scale = tf.constant(2.0)
    dataset = tf.data.Dataset.from_tensor_slices({"a": np.arange(4.0, dtype=np.float32)})
    dataset = dataset.map(lambda row: row["a"] * scale).batch(3)
    with tf.Graph().as_default():
        following = dataset.make_one_shot_iterator().get_next()
        again = dataset.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert session.run([following, again])[1].tolist() == [0.0, 2.0, 4.0]
            assert session.run(following).tolist() == [6.0]
