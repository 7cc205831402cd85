"""Input pipelines of queues. Names, shapes and errors are those of TensorFlow 2.21's graph mode, recorded."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@contextmanager
def running() -> Iterator[tf.Session]:
    """A session whose queue runners run; what they raise is raised here."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            yield sess
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=30)


def until_the_end(sess: tf.Session, fetches: Any) -> list[Any]:
    found = []
    while True:
        try:
            found.append(sess.run(fetches))
        except tf.errors.OutOfRangeError:
            return found


# --- names ----------------------------------------------------------------------------------------------


def _names(collection: str) -> list[str]:
    return [thing.name for thing in tf.get_collection(collection)]


def _one() -> list[tf.Tensor]:
    return [tf.constant([1.0, 2.0]), tf.constant(3)]


def test_producers_have_tensorflows_names() -> None:
    queue = tf.train.string_input_producer(["a", "b"], num_epochs=2)
    assert queue.name == "input_producer"
    assert tf.train.range_input_producer(5).dequeue().name == "input_producer_1_Dequeue:0"
    slices = tf.train.slice_input_producer([tf.zeros([4, 2]), tf.ones([4], tf.int32)], name="mine")
    assert [(t.name, t.shape.as_list()) for t in slices] == [("mine/GatherV2:0", [2]), ("mine/GatherV2_1:0", [])]
    tf.train.input_producer(tf.zeros([4, 2]), summary_name="full")
    files = tf.train.match_filenames_once("*.none")
    assert (files.op.name, files.shape.ndims) == ("matching_filenames", None)
    assert [v.op.name for v in tf.local_variables()] == ["input_producer/limit_epochs/epochs", "matching_filenames"]
    assert tf.trainable_variables() == []
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert [runner.enqueue_ops[0].name for runner in runners] == [
        "input_producer/input_producer_EnqueueMany",
        "input_producer_1/input_producer_1_EnqueueMany",
        "mine/input_producer/input_producer_EnqueueMany",
        "input_producer_2/FIFOQueueV2_EnqueueMany",
    ]
    assert _names(tf.GraphKeys.SUMMARIES) == [
        "input_producer/fraction_of_32_full:0",
        "input_producer_1/fraction_of_32_full:0",
        "mine/input_producer/fraction_of_32_full:0",
        "input_producer_2/full:0",
    ]


def test_batches_have_tensorflows_names_and_shapes() -> None:
    train, keep = tf.train, tf.placeholder(tf.bool, [])
    for made, names, shapes in (
        (train.batch(_one(), 4, num_threads=2), ["batch:0", "batch:1"], [[4, 2], [4]]),
        (train.batch(_one(), 4, allow_smaller_final_batch=True), ["batch_1:0", "batch_1:1"], [[None, 2], [None]]),
        (train.maybe_batch(_one(), keep, 4, name="mine"), ["mine:0", "mine:1"], [[4, 2], [4]]),
        (train.batch_join([_one(), _one()], 4), ["batch_join:0", "batch_join:1"], [[4, 2], [4]]),
        (train.shuffle_batch(_one(), 4, 20, 10), ["shuffle_batch:0", "shuffle_batch:1"], [[4, 2], [4]]),
        ([train.shuffle_batch_join([_one()[:1]], 4, 20, 5)], ["shuffle_batch_join:0"], [[4, 2]]),
        (
            [train.batch([_unknown(3, None)], 4, dynamic_pad=True, enqueue_many=True)],
            ["batch_2:0"],
            [[4, None]],
        ),
    ):
        assert [(t.name, t.shape.as_list()) for t in made] == list(zip(names, shapes, strict=True))
    by_key = train.batch({"b": _one()[0], "a": _one()[1]}, 4)
    assert {key: value.name for key, value in by_key.items()} == {"a": "batch_3:0", "b": "batch_3:1"}
    assert train.batch({"b": _one()[0]}, 4)["b"].name == "batch_4:0"
    assert _names(tf.GraphKeys.SUMMARIES)[:6] == [
        "batch/fraction_of_32_full:0",
        "batch_1/fraction_of_32_full:0",
        "mine/fraction_of_32_full:0",
        "batch_join/fraction_of_32_full:0",
        "shuffle_batch/fraction_over_10_of_10_full:0",
        "shuffle_batch_join/fraction_over_5_of_15_full:0",
    ]
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert [op.name for op in runners[0].enqueue_ops] == 2 * ["batch/fifo_queue_enqueue"]
    assert [op.name for op in runners[3].enqueue_ops] == [
        "batch_join/fifo_queue_enqueue",
        "batch_join/fifo_queue_enqueue_1",
    ]
    assert runners[4].name == "shuffle_batch/random_shuffle_queue"


def _unknown(*dims: int | None) -> tf.Tensor:
    return tf.placeholder(tf.bool, dims)


@pytest.mark.parametrize(
    ("build", "error", "said"),
    [
        (lambda t: t.batch([], 4), ValueError, r"Expected at least one tensor in batch\(\)"),
        (lambda t: t.shuffle_batch(_one(), 4, 10, 10), ValueError, "capacity 10 must be bigger than min_after_dequeue"),
        (lambda t: t.batch([tf.placeholder(tf.float32)], 4), ValueError, "Cannot infer Tensor's rank"),
        (lambda t: t.batch([_unknown(None)], 4), ValueError, "All shapes must be fully defined"),
        (lambda t: t.batch_join([_one(), _one()[::-1]], 4), TypeError, "consistent: float32, int32 vs. int32, float32"),
        (lambda t: t.maybe_batch(_one(), tf.placeholder(tf.bool), 4), ValueError, "`keep_input` dimensions must be"),
        (lambda t: t.maybe_batch(_one(), _unknown(2), 4), ValueError, "`keep_input` cannot be a vector when"),
        (
            lambda t: t.maybe_batch(_one(), _unknown(2, 2), 4, enqueue_many=True),
            ValueError,
            "must be 0 or 1 dim",
        ),
        (lambda t: t.batch_join([], 4), ValueError, "Expected at least one set of tensors"),
        (lambda t: t.batch_join([{"a": 1}, {"b": 1}], 4), ValueError, "must have the same keys"),
        (lambda t: t.string_input_producer([]), ValueError, "string_input_producer requires a non-null input tensor"),
        (lambda t: t.input_producer(_unknown(None, None)), ValueError, "Either `input_tensor` must have a fully"),
        (lambda t: t.limit_epochs(1, 0), ValueError, "num_epochs must be > 0 not 0"),
        (lambda t: t.slice_input_producer([]), ValueError, "at least one tensor in slice_input_producer"),
    ],
)
def test_what_cannot_be_is_refused(build: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        build(tf.train)


# --- values ---------------------------------------------------------------------------------------------


def test_producers_give_each_row_once_an_epoch() -> None:
    rows = tf.constant([[1, 2], [3, 4], [5, 6]])
    take = [
        tf.train.input_producer(rows, num_epochs=2, shuffle=False).dequeue(),
        tf.train.range_input_producer(3, num_epochs=2, seed=1).dequeue(),
        tf.train.string_input_producer(["a", "b"], num_epochs=3).dequeue(),
        *tf.train.slice_input_producer([rows, tf.constant([10, 20, 30])], num_epochs=1),
    ]
    with running() as sess:
        assert [row.tolist() for row in until_the_end(sess, take[0])] == 2 * [[1, 2], [3, 4], [5, 6]]
        order = until_the_end(sess, take[1])
        assert sorted(order[:3]) == sorted(order[3:]) == [0, 1, 2]
        assert Counter(until_the_end(sess, take[2])) == {b"a": 3, b"b": 3}
        slices = [(row.tolist(), int(n)) for row, n in until_the_end(sess, take[3:])]
        assert sorted(slices) == [([1, 2], 10), ([3, 4], 20), ([5, 6], 30)]


def test_limit_epochs_counts_the_steps_that_use_it() -> None:
    limited = tf.train.limit_epochs(tf.constant(7), 2)
    assert tf.train.limit_epochs(limited) is limited
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert [sess.run(limited), sess.run(limited)] == [7, 7]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(limited)


def test_file_names_are_matched_when_local_variables_are_initialised(tmp_path: Path) -> None:
    files = tf.train.match_filenames_once([f"{tmp_path}/a*", f"{tmp_path}/b*"])
    name = tf.train.string_input_producer(files, num_epochs=1, shuffle=False).dequeue()
    for file in ("b1", "a2", "a1", "c"):
        (tmp_path / file).touch()
    with running() as sess:
        (tmp_path / "a3").touch()
        assert until_the_end(sess, name) == [f"{tmp_path}/{file}".encode() for file in ("a1", "a2", "b1")]


def test_an_empty_list_of_files_is_an_error_in_the_runner(tmp_path: Path) -> None:
    name = tf.train.string_input_producer(tf.train.match_filenames_once(f"{tmp_path}/*")).dequeue()
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="string_input_producer requires a non-null input tensor"),
        running() as sess,
        pytest.raises(tf.errors.OutOfRangeError),
    ):
        sess.run(name)


def _numbers(count: int) -> tf.Tensor:
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def test_batches_come_in_order() -> None:
    n = _numbers(10)
    whole = tf.train.batch([n, tf.cast(n, tf.float32) * 0.5], 4)
    with running() as sess:
        assert [(a.tolist(), b.tolist()) for a, b in until_the_end(sess, whole)] == [
            ([0, 1, 2, 3], [0.0, 0.5, 1.0, 1.5]),
            ([4, 5, 6, 7], [2.0, 2.5, 3.0, 3.5]),
        ]


def test_the_last_batch_may_be_smaller() -> None:
    batch = tf.train.batch({"n": _numbers(10)}, 4, allow_smaller_final_batch=True)
    with running() as sess:
        assert [found["n"].tolist() for found in until_the_end(sess, batch)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_rows_are_elements_and_short_ones_are_filled_up() -> None:
    n = _numbers(6)
    rows = tf.train.batch([tf.stack([n, -n])], 3, enqueue_many=True)
    ranges = tf.train.batch([tf.range(_numbers(6))], 3, dynamic_pad=True)
    with running() as sess:
        assert np.concatenate(until_the_end(sess, rows)).tolist() == [0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5]
        assert [found.tolist() for found in until_the_end(sess, ranges)] == [
            [[0, 0], [0, 0], [0, 1]],
            [[0, 1, 2, 0, 0], [0, 1, 2, 3, 0], [0, 1, 2, 3, 4]],
        ]


def test_only_what_is_kept_is_batched() -> None:
    n, m, k = _numbers(12), _numbers(12), _numbers(4)
    odd = tf.train.maybe_batch([n], tf.equal(n % 2, 1), 3)
    chosen = tf.train.maybe_shuffle_batch([m], 3, 20, 2, tf.less(m, 6), seed=1)
    row = 3 * k + tf.range(3)
    rows = tf.train.maybe_batch([row], tf.not_equal(row % 3, 1), 4, enqueue_many=True)
    none = tf.train.maybe_batch([_numbers(3)], False, 1)
    with running() as sess:
        assert [found.tolist() for found in until_the_end(sess, odd)] == [[1, 3, 5], [7, 9, 11]]
        assert sorted(np.concatenate(until_the_end(sess, chosen)).tolist()) == [0, 1, 2, 3, 4, 5]
        assert [found.tolist() for found in until_the_end(sess, rows)] == [[0, 2, 3, 5], [6, 8, 9, 11]]
        assert none.shape.as_list() == [1]


def test_sparse_tensors_are_batched() -> None:
    n = _numbers(4)
    sparse = tf.SparseTensor([[tf.cast(n, tf.int64)]], [n * 10], [5])
    batch, dense = tf.train.batch([sparse, n], 2)
    m = _numbers(4)
    several = tf.SparseTensor([[0, tf.cast(m, tf.int64)], [1, 0]], [m * 10, m], [2, 5])
    rows = tf.train.batch([several], 4, enqueue_many=True)
    k = _numbers(6)
    kept = tf.train.maybe_batch([tf.SparseTensor([[tf.cast(k, tf.int64)]], [k], [6])], tf.equal(k % 2, 0), 3)
    joined = tf.train.batch_join([[tf.SparseTensor([[0]], [_numbers(2)], [1])] for _ in range(2)], 4)
    assert batch.dense_shape.shape.as_list() == [2]
    with running() as sess:
        found = until_the_end(sess, [batch, dense])
        assert [(s.indices.tolist(), s.values.tolist(), s.dense_shape.tolist(), d.tolist()) for s, d in found] == [
            ([[0, 0], [1, 1]], [0, 10], [2, 5], [0, 1]),
            ([[0, 2], [1, 3]], [20, 30], [2, 5], [2, 3]),
        ]
        first = sess.run(rows)
        assert (first.indices.tolist(), first.values.tolist()) == ([[0, 0], [1, 0], [2, 1], [3, 0]], [0, 0, 10, 1])
        assert [s.values.tolist() for s in until_the_end(sess, kept)] == [[0, 2, 4]]
        assert sorted(sess.run(joined).values.tolist()) == [0, 0, 1, 1]


def test_sparse_tensors_of_different_kinds_are_not_joined() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [1])
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
        tf.train.batch_join([[sparse], [tf.constant(1.0)]], 2)


def test_summaries_say_how_full_the_queue_is() -> None:
    tf.train.batch([tf.constant(1)], 2, capacity=8)
    tf.train.shuffle_batch([tf.constant(1)], 2, capacity=8, min_after_dequeue=4)
    with running() as sess:
        summary = tf.summary.merge_all()
        for _ in range(1000):
            full = {v.tag: v.simple_value for v in tf.summary.Summary.FromString(sess.run(summary)).value}
            if set(full.values()) == {1.0}:
                break
            time.sleep(0.01)
        assert full == {"batch/fraction_of_8_full": 1.0, "shuffle_batch/fraction_over_4_of_4_full": 1.0}


# --- each record exactly twice --------------------------------------------------------------------------


def _pipeline(names: list[str], seed: int) -> tf.Tensor:
    """Two epochs of the files, by three readers and four threads, which let others go first at random."""
    draw = random.Random(seed)
    files = tf.train.string_input_producer(names, num_epochs=2, capacity=2, seed=seed)

    def held_up(value: bytes) -> bytes:
        if draw.random() < 0.2:
            time.sleep(draw.random() * 1e-3)
        return value

    elements = []
    for _ in range(3):
        read = tf.TFRecordReader().read(files)[1]
        elements.append([tf.py_func(held_up, [read], tf.string)])
    for (element,) in elements:
        element.set_shape([])
    elements.append(elements[0])  # two threads share a reader
    return tf.train.shuffle_batch_join(elements, 7, 30, 5, allow_smaller_final_batch=True)


def _check_each_record_comes_twice(folder: Path, runs: int) -> None:
    names, records, before = [], Counter(), threading.enumerate()
    for i, count in enumerate((5, 0, 17, 1, 30)):
        names.append(f"{folder}/{i}")
        with tf.python_io.TFRecordWriter(names[-1]) as writer:
            for j in range(count):
                writer.write(f"{i}-{j}")
                records[f"{i}-{j}".encode()] += 2
    for seed in range(runs):
        with tf.Graph().as_default():
            batch = _pipeline(names, seed)
            with running() as sess:
                found = Counter(np.concatenate(until_the_end(sess, batch)).tolist())
        assert found == records, seed
    assert not [t for t in threading.enumerate() if t.name.startswith("QueueRunner") and t not in before]


def test_each_record_of_two_epochs_comes_twice_whatever_the_threads_do(tmp_path: Path) -> None:
    _check_each_record_comes_twice(tmp_path, 10)


@pytest.mark.slow
def test_each_record_of_two_epochs_comes_twice_in_two_hundred_runs(tmp_path: Path) -> None:
    _check_each_record_comes_twice(tmp_path, 200)
