"""Datasets of tensors, and those that give the elements of others in another number or order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as tf
from tests.datasets.tools import elements

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


class Pair(NamedTuple):
    x: Any
    y: Any


def test_elements_are_nests_of_the_rows_of_tensors() -> None:
    dataset = Dataset.from_tensor_slices((np.arange(3), {"b": Pair([[1, 2]] * 3, ["x", "y", "z"])}))
    assert elements(dataset) == [(i, {"b": Pair([1, 2], s)}) for i, s in enumerate([b"x", b"y", b"z"])]
    assert dataset.output_types == (tf.int64, {"b": Pair(tf.int32, tf.string)})
    assert dataset.output_shapes == (tf.TensorShape([]), {"b": Pair(tf.TensorShape([2]), tf.TensorShape([]))})
    assert dataset.output_classes == (tf.Tensor, {"b": Pair(tf.Tensor, tf.Tensor)})


def test_from_tensors_gives_one_element() -> None:
    assert elements(Dataset.from_tensors({"a": [1, 2], "b": 3.0})) == [{"a": [1, 2], "b": 3.0}]


def test_padding_keeps_scalar_strings_of_a_function() -> None:
    words = Dataset.from_tensor_slices(["a", "b", "c"]).map(lambda word: (word + "!", tf.size(word)))
    assert elements(words.padded_batch(2, ([], []))) == [([b"a!", b"b!"], [1, 1]), ([b"c!"], [1])]


@pytest.mark.parametrize("args", [(5,), (2, 6), (1, 10, 4), (5, 0, -2), (3, 3), (0, 5, -1)])
def test_a_range_is_as_pythons(args: tuple[int, ...]) -> None:
    assert elements(Dataset.range(*args)) == list(range(*args))
    assert elements(Dataset.range(*args).batch(2)) == [
        list(range(*args))[i : i + 2] for i in range(0, len(range(*args)), 2)
    ]


def test_tensors_of_different_numbers_of_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="not compatible"):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))
    with pytest.raises(ValueError, match="rank"):
        Dataset.from_tensor_slices(1)
    unknown = tf.placeholder(tf.int32, [None])
    iterator = Dataset.from_tensor_slices(([1, 2], unknown)).make_initializable_iterator()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="same size in the 0th"):
        session.run(iterator.initializer, {unknown: [1]})


def test_repeat_take_skip_shard_and_concatenate() -> None:
    five = Dataset.range(5)
    assert elements(five.repeat(2)) == [*range(5), *range(5)]
    assert elements(five.repeat(), 7) == [0, 1, 2, 3, 4, 0, 1]
    assert elements(five.repeat(0)) == []
    assert elements(five.take(0)) == elements(five.skip(-1)) == elements(five.skip(7)) == []
    assert elements(five.take(-1)) == elements(five.take(9)) == elements(five.skip(0)) == list(range(5))
    assert elements(five.skip(2)) == [2, 3, 4]
    assert elements(five.shard(2, 1)) == [1, 3]
    assert elements(Dataset.range(5000).shard(2000, 1)) == [1, 2001, 4001]
    assert elements(five.concatenate(Dataset.range(2))) == [*range(5), 0, 1]
    assert elements(five.concatenate(Dataset.range(2)).repeat(2).skip(6).take(3)) == [1, 0, 1]


def test_what_is_empty_for_ever_ends() -> None:
    assert elements(Dataset.range(0).repeat()) == []
    assert elements(Dataset.range(3).skip(3).repeat()) == []


def test_zip_ends_with_the_first_that_ends() -> None:
    dataset = Dataset.zip({"a": Dataset.range(3), "b": (Dataset.range(10, 20), Dataset.from_tensors("s").repeat())})
    assert elements(dataset) == [{"a": i, "b": (10 + i, b"s")} for i in range(3)]
    assert elements(Dataset.zip((Dataset.range(3), Dataset.range(1, 4))).batch(2)) == [([0, 1], [1, 2]), ([2], [3])]
    with pytest.raises(TypeError, match="do not support Python lists"):
        Dataset.zip([Dataset.range(3)])
    with pytest.raises(TypeError, match="nested structure of `Dataset`"):
        Dataset.zip((Dataset.range(3), 1))


def test_what_is_concatenated_has_one_structure() -> None:
    numbers = Dataset.range(3)
    with pytest.raises(TypeError, match="different types"):
        numbers.concatenate(Dataset.from_tensors(1.0))
    with pytest.raises(TypeError, match="different types"):
        numbers.concatenate(Dataset.zip((numbers,)))
    both = Dataset.from_tensors([1, 2]).concatenate(Dataset.from_tensors([1, 2, 3]))
    assert both.output_shapes.as_list() == [None]


def test_sparse_tensors_are_elements() -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])
    dataset = Dataset.from_tensor_slices((sparse, [1, 2, 3]))
    assert dataset.output_classes == (tf.SparseTensor, tf.Tensor)
    assert dataset.output_shapes[0].as_list() == [2]
    found = elements(dataset.batch(2))
    assert found[0] == (tf.SparseTensorValue([[0, 1]], [5.0], [2, 2]), [1, 2])
    assert found[1] == (tf.SparseTensorValue([[0, 0]], [6.0], [1, 2]), [3])
    ((whole, _),) = elements(Dataset.from_tensors((sparse, 1)))
    assert whole == tf.SparseTensorValue([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])
    rows = elements(Dataset.from_sparse_tensor_slices(sparse))
    assert rows == [([[1]], [5.0], [2]), ([], [], [2]), ([[0]], [6.0], [2])]


def test_files_are_listed_by_pattern(tmp_path: Any) -> None:
    for name in "cab":
        (tmp_path / f"{name}.txt").write_text(name)
    pattern = str(tmp_path / "*.txt")
    names = [f"{tmp_path}/{name}.txt".encode() for name in "abc"]
    assert elements(Dataset.list_files(pattern, shuffle=False)) == names
    assert sorted(elements(Dataset.list_files(pattern))) == names
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"No files matched pattern: .*/nothing"):
        elements(Dataset.list_files(str(tmp_path / "nothing*")))
    take = Dataset.list_files(str(tmp_path / "nothing*")).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError):
        session.run(take)


def test_options_go_along_with_a_dataset() -> None:
    options, more = tf.data.Options(), tf.data.Options()
    options.experimental_autotune = True
    more.experimental_numa_aware = False
    dataset = Dataset.range(3).with_options(options).repeat(2).with_options(more)
    assert elements(dataset) == [0, 1, 2] * 2
    assert dataset.options().experimental_autotune is True
    assert dataset.options() == options.merge(more)
    assert Dataset.range(3).options() == tf.data.Options()
    with pytest.raises(AttributeError):
        options.nonsense = 1
    more.experimental_autotune = False
    with pytest.raises(ValueError, match="incompatible values"):
        dataset.with_options(more)


def test_a_class_of_the_users_is_a_dataset() -> None:
    class Squares(tf.data.Dataset):  # type: ignore[misc]
        output_types, output_shapes, output_classes = tf.int64, tf.TensorShape([]), tf.Tensor

        def _as_variant_tensor(self) -> Any:
            return Dataset.range(4).map(lambda n: n * n)._as_variant_tensor()

    assert elements(Squares().skip(1).batch(2)) == [[1, 4], [9]]
