"""Windows, datasets as components of elements, unique elements, and what TensorFlow 1.15 asks of datasets besides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.datasets.tools import elements

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _windows(*arguments: Any, **options: Any) -> list[Any]:
    windows = Dataset.range(7).window(*arguments, **options)
    return elements(windows.flat_map(lambda window: window.batch(10)))


def test_windows_follow_one_another_or_overlap() -> None:
    assert _windows(2) == [[0, 1], [2, 3], [4, 5], [6]]
    assert _windows(3, 2, 1, True) == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert _windows(3, 1, 2, True) == [[0, 2, 4], [1, 3, 5], [2, 4, 6]]
    assert _windows(5, shift=2) == [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [4, 5, 6], [6]]


def test_a_window_has_every_stride_th_element_and_may_leave_elements_out() -> None:
    assert _windows(2, 3, 2) == [[0, 2], [3, 5], [6]]
    assert _windows(2, 5) == [[0, 1], [5, 6]]


def test_a_window_of_tuples_is_a_tuple_of_datasets() -> None:
    pairs = Dataset.range(4).map(lambda x: (x, {"square": x * x})).window(2)
    joined = pairs.flat_map(lambda x, more: Dataset.zip((x.batch(2), more["square"].batch(2))))
    assert elements(joined) == [([0, 1], [0, 1]), ([2, 3], [4, 9])]


def test_a_window_needs_at_least_one_element() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Window size must be greater than zero"):
        _windows(0)


def test_an_error_takes_the_place_of_its_window() -> None:
    numbers = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]).map(lambda x: tf.check_numerics(1.0 / x, "inverse"))
    take = numbers.window(2).flat_map(lambda window: window.batch(2)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="inverse"):
            session.run(take)
        assert session.run(take).tolist() == [0.5, 0.25]


def test_windows_go_on_where_they_were_saved(tmp_path: Path) -> None:
    iterator = Dataset.range(9).window(3, 2).make_initializable_iterator()
    take = tf.data.experimental.get_single_element(iterator.get_next().batch(3))
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        session.run(take)
        path = saver.save(session, str(tmp_path / "position"))
        after = session.run(take).tolist()
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert session.run(take).tolist() == after == [2, 3, 4]


def test_a_function_may_return_datasets_among_components() -> None:
    counts = Dataset.range(1, 4).map(lambda n: (n, Dataset.range(n)))
    assert elements(counts.flat_map(lambda n, numbers: numbers.map(lambda x: (n, x)))) == [
        (1, 0),
        (2, 0),
        (2, 1),
        (3, 0),
        (3, 1),
        (3, 2),
    ]


def test_a_dataset_as_an_element_is_iterated_in_a_step() -> None:
    total = Dataset.from_tensors(Dataset.range(5)).make_one_shot_iterator().get_next().reduce(np.int64(0), tf.add)
    with tf.Session() as session:
        assert session.run(total) == 10


def test_a_list_of_datasets_has_them_as_elements() -> None:
    parts = Dataset.from_tensor_slices([Dataset.range(3), Dataset.range(2)])
    assert elements(parts.flat_map(lambda part: part)) == [0, 1, 2, 0, 1]
    assert elements(parts.interleave(lambda part: part, cycle_length=2)) == [0, 0, 1, 1, 2]


def test_windows_are_not_batched_as_they_are() -> None:
    with pytest.raises(TypeError, match="flat_map"):
        Dataset.range(4).window(2).batch(2)


def test_unique_leaves_out_what_has_come_before() -> None:
    texts = Dataset.from_tensor_slices(["b", "a", "b", "c", "a"]).apply(tf.data.experimental.unique())
    assert elements(texts) == [b"b", b"a", b"c"]
    numbers = Dataset.from_tensor_slices(np.array([3, 3, 1, 3], np.int32)).apply(tf.data.experimental.unique())
    assert elements(numbers) == [3, 1]


def test_unique_elements_are_of_one_component_of_whole_numbers_or_strings() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="UniqueDataset"):
        elements(Dataset.from_tensor_slices([1.0, 2.0]).apply(tf.data.experimental.unique()))


def test_legacy_functions_give_the_same_elements() -> None:
    even = Dataset.range(6).filter_with_legacy_function(lambda x: tf.equal(x % 2, 0))
    assert elements(even.map_with_legacy_function(lambda x: x * x, num_parallel_calls=2)) == [0, 4, 16]
    squares = tf.data.experimental.map_and_batch_with_legacy_function(lambda x: x * x, 4)
    assert elements(Dataset.range(6).apply(squares)) == [[0, 1, 4, 9], [16, 25]]


def test_element_spec_describes_components() -> None:
    batches = Dataset.from_tensors({"a": tf.zeros([2, 3]), "b": tf.constant("x")}).batch(4, drop_remainder=True)
    assert batches.element_spec == {"a": tf.TensorSpec([4, 2, 3], tf.float32), "b": tf.TensorSpec([4], tf.string)}
    assert batches.make_one_shot_iterator().element_spec == batches.element_spec
    sparse = Dataset.from_tensors(tf.SparseTensor([[0, 1]], [5], [2, 3]))
    assert sparse.element_spec == tf.SparseTensorSpec([2, 3], tf.int32)


def test_parse_example_dataset_parses_batches_of_examples() -> None:
    def example(value: float) -> bytes:
        feature = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        return tf.train.Example(features=tf.train.Features(feature={"x": feature})).SerializeToString()

    records = Dataset.from_tensor_slices([example(1.0), example(2.5), example(4.0)]).batch(2)
    parse = tf.data.experimental.parse_example_dataset({"x": tf.FixedLenFeature([], tf.float32)}, num_parallel_calls=2)
    assert elements(records.apply(parse)) == [{"x": [1.0, 2.5]}, {"x": [4.0]}]
    with pytest.raises(TypeError, match="strings"):
        Dataset.range(3).batch(2).apply(parse)


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_elements_are_written_as_records(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "records")
    write = tf.data.experimental.TFRecordWriter(path, kind).write(Dataset.range(3).map(tf.as_string))
    with tf.Session() as session:
        session.run(write)
    assert elements(tf.data.TFRecordDataset(path, kind)) == [b"0", b"1", b"2"]
    with pytest.raises(TypeError, match="scalar"):
        tf.data.experimental.TFRecordWriter(path).write(Dataset.range(3))


def test_options_have_options_of_their_own() -> None:
    options = tf.data.Options()
    options.experimental_threading.private_threadpool_size = 4
    options.experimental_optimization.map_vectorization.enabled = True
    options.experimental_optimization.autotune = False
    assert tf.data.Options().experimental_threading.private_threadpool_size is None
    assert options != tf.data.Options()
    merged = Dataset.range(2).with_options(options).with_options(tf.data.Options()).options()
    assert merged.experimental_threading.private_threadpool_size == 4
    assert merged.experimental_distribute.auto_shard is True
    with pytest.raises(AttributeError, match="Cannot set the property threads"):
        options.experimental_threading.threads = 1
    other = tf.data.Options()
    other.experimental_threading = tf.data.experimental.ThreadingOptions()
    other.experimental_threading.private_threadpool_size = 5
    with pytest.raises(ValueError, match="incompatible"):
        options.merge(other)
