"""Ops of older graphs: the same datasets and iterators by their first names (TF 1.4's graphs have these)."""

from __future__ import annotations

import numpy as np

import penstock as tf


def _elements(dataset: tf.Tensor, shape: list[int | None], get_next: str) -> list[list[int]]:
    """All elements of a dataset of int64 tensors, by a raw iterator."""
    types = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape(shape)]}
    iterator = tf.raw_ops.Iterator(shared_name="", container="", **types)
    start = tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator)
    (element,) = getattr(tf.raw_ops, get_next)(iterator=iterator, **types)
    found = []
    with tf.Session() as session:
        session.run(start)
        while True:
            try:
                found.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                return found


def _slices() -> tf.Tensor:
    return tf.raw_ops.TensorSliceDataset(components=[tf.constant(np.arange(5))], output_shapes=[tf.TensorShape([])])


def test_batches_of_an_older_graph_end_with_a_smaller_one() -> None:
    shapes = [tf.TensorShape([None])]
    batched = tf.raw_ops.BatchDataset(
        input_dataset=_slices(), batch_size=2, output_types=[tf.int64], output_shapes=shapes
    )
    for get_next in ("IteratorGetNext", "IteratorGetNextSync"):
        assert _elements(batched, [None], get_next) == [[0, 1], [2, 3], [4]]


def test_padded_batches_of_an_older_graph_are_as_long_as_their_longest_row() -> None:
    rows = tf.data.Dataset.from_tensor_slices(np.arange(1, 4)).map(lambda n: tf.fill([n], n))
    padded = tf.raw_ops.PaddedBatchDataset(
        input_dataset=rows._as_variant_tensor(),
        batch_size=2,
        padded_shapes=[np.array([-1], np.int64)],
        padding_values=[tf.constant(0, tf.int64)],
        output_shapes=[tf.TensorShape([None, None])],
    )
    assert _elements(padded, [None, None], "IteratorGetNext") == [[[1, 0], [2, 2]], [[3, 3, 3]]]
