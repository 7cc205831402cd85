"""Random order: every element once, in an order that seeds settle and nothing else does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20, 100])
def test_each_element_comes_once_and_no_earlier_than_the_buffer_lets_it(size: int) -> None:
    found = elements(Dataset.range(20).shuffle(size))
    assert sorted(found) == list(range(20))
    assert all(found[i] < i + size for i in range(20))
    assert (found == list(range(20))) == (size == 1)


def test_the_order_does_not_depend_on_how_many_are_asked_for() -> None:
    def shuffled() -> Any:
        return Dataset.range(100).shuffle(17, seed=5).repeat(2)

    singles = elements(shuffled())
    assert [n for batch in elements(shuffled().batch(7)) for n in batch] == singles
    assert [n for batch in elements(shuffled().prefetch(5).batch(64)) for n in batch] == singles


def test_each_repetition_has_another_order_unless_the_user_wants_the_same() -> None:
    def rounds(dataset: Any) -> list[list[int]]:
        found = elements(dataset.repeat(3))
        return [found[i : i + 30] for i in (0, 30, 60)]

    first, second, third = rounds(Dataset.range(30).shuffle(30, seed=1))
    assert first != second != third != first
    first, second, third = rounds(Dataset.range(30).shuffle(30, seed=1, reshuffle_each_iteration=False))
    assert first == second == third
    assert Counter(elements(Dataset.range(30).apply(tf.contrib.data.shuffle_and_repeat(10, 3)))) == dict.fromkeys(
        range(30), 3
    )


def test_a_seed_settles_the_order_and_no_seed_means_another_each_time() -> None:
    def order(**kwargs: Any) -> list[int]:
        return elements(Dataset.range(30).shuffle(30, **kwargs))

    assert order(seed=3) == order(seed=3) != order(seed=4)
    assert order() != order()
    orders = []
    for _ in range(2):
        with tf.Graph().as_default():
            tf.set_random_seed(7)
            orders.append((order(), order()))
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]


def test_orders_are_about_equally_likely() -> None:
    dataset = Dataset.range(3).shuffle(3, seed=11).repeat(3000).batch(3)
    counts = Counter(map(tuple, elements(dataset)))
    assert len(counts) == 6
    assert all(400 < count < 600 for count in counts.values())


def test_elements_of_any_kind_are_shuffled() -> None:
    numbers = np.arange(12)
    parts = {
        "half": numbers.astype(np.float16),
        "unsigned": numbers.astype(np.uint16),
        "complex": numbers * 1j,
        "flag": numbers % 2 == 0,
        "text": [b"%d" % n for n in numbers],
        "matrix": np.stack([numbers, numbers], 1),
        "bfloat": tf.cast(tf.constant(numbers, tf.float32), tf.bfloat16),
        "ragged": numbers,
    }
    dataset = Dataset.from_tensor_slices(parts).map(lambda d: dict(d, ragged=tf.fill([d["ragged"] % 3], d["ragged"])))
    found = elements(dataset.shuffle(5).map(lambda d: dict(d, bfloat=tf.cast(d["bfloat"], tf.float32))))
    assert sorted(d["bfloat"] for d in found) == list(range(12))
    for d in found:
        n = int(d["bfloat"])
        expected = {
            "half": n, "unsigned": n, "complex": n * 1j, "flag": n % 2 == 0, "text": b"%d" % n,
            "matrix": [n, n], "bfloat": n, "ragged": [n] * (n % 3),
        }  # fmt: skip
        assert d == expected


@pytest.mark.parametrize("size", [0, -1])
def test_a_buffer_has_a_size(size: int) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="buffer_size must be greater than zero"):
        elements(Dataset.range(3).shuffle(size))


def test_datasets_are_sampled_as_often_as_their_weights_say() -> None:
    parts = [Dataset.from_tensors(n).repeat() for n in range(3)]
    counts = Counter(elements(tf.contrib.data.sample_from_datasets(parts, [0.5, 0.2, 0.3], seed=3).take(4000)))
    assert [round(counts[n] / 4000, 1) for n in range(3)] == [0.5, 0.2, 0.3]
    alternating = Dataset.from_tensor_slices([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).repeat()
    assert elements(tf.contrib.data.sample_from_datasets(parts, alternating).take(4)) == [0, 2, 0, 2]
    with pytest.raises(ValueError, match="length"):
        tf.contrib.data.sample_from_datasets(parts, [0.5, 0.5])
    with pytest.raises(ValueError, match="same type"):
        tf.contrib.data.sample_from_datasets([parts[0], Dataset.from_tensors(1.0)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Selector index out of range"):
        elements(tf.contrib.data.choose_from_datasets(parts, Dataset.range(2, 5)))
