"""Batches by bucket: each of elements of one bucket, padded to the longest of them, nothing lost at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.train.test_input import running, until_the_end


def _numbers(count: int) -> tf.Tensor:
    return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()


def test_a_batch_is_of_one_bucket() -> None:
    with tf.Graph().as_default():
        n = _numbers(13)
        which, batch = tf.contrib.training.bucket(
            {"n": n, "half": n / 2}, n % 3, [2, 3, 2], 3, num_threads=2, allow_smaller_final_batch=True
        )
        with running() as sess:
            found = until_the_end(sess, [which, batch])
        assert [n for i, b in found for n in b["n"].tolist() if n % 3 != i] == []
        assert sorted(n for _, b in found for n in b["n"].tolist()) == list(range(13))
        assert {i: max(len(b["n"]) for j, b in found if j == i) for i in range(3)} == {0: 2, 1: 3, 2: 2}
        assert all((b["half"] == b["n"] / 2).all() for _, b in found)


def test_sequences_are_padded_to_the_longest_of_their_bucket() -> None:
    with tf.Graph().as_default():
        n = _numbers(12)
        length, (ranges, sparse) = tf.contrib.training.bucket_by_sequence_length(
            n, [tf.range(n), tf.SparseTensor([[0]], [n], [1])], 2, [4, 8], dynamic_pad=True
        )
        assert (length.shape.as_list(), ranges.shape.as_list()) == ([2], [2, None])
        with running() as sess:
            found = until_the_end(sess, [length, ranges, sparse])
        assert sorted(l.tolist() for l, _, _ in found) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
        for lengths, rows, kept in found:
            assert rows.shape == (2, lengths.max())
            for row, count in zip(rows, lengths, strict=True):
                assert row.tolist() == [*range(count), *[0] * (len(row) - count)]
            assert kept.values.tolist() == lengths.tolist()
    assert np.all([lengths.dtype == np.int32 for lengths, _, _ in found])


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"bucket_boundaries": []}, ValueError, "must not be empty"),
        ({"bucket_boundaries": [1.5]}, TypeError, "only integers"),
        ({"bucket_boundaries": [3, 3]}, ValueError, "sequentially increase"),
        ({"bucket_boundaries": [3], "batch_size": [1, 2, 3]}, ValueError, "but was: 3 vs 2"),
    ],
)
def test_boundaries_that_cannot_be_are_refused(arguments: dict[str, Any], error: type[Exception], said: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=said):
        tf.contrib.training.bucket_by_sequence_length(1, [tf.constant(1)], **{"batch_size": 2, **arguments})
