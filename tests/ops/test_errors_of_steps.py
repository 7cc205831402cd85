"""What a step says of inputs that do not fit; where static shapes are known, TensorFlow leaves some of it to the step.

The words are those that TensorFlow 2.21 gave for the same calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf


def fed(value: Any) -> Any:
    return tf.placeholder_with_default(tf.constant(value), None)


def sparse(index: list[int], shape: list[int]) -> Any:
    return tf.SparseTensor([index], [1.0], shape)


def serialized(rank: int) -> Any:
    return tf.serialize_sparse(tf.SparseTensor([[0] * rank], [1], [4] * rank))


def elements() -> Any:
    return tf.TensorArray(tf.float32, 3, infer_shape=False)


CUBE, COLUMN = np.zeros((2, 3, 5), np.float32), np.ones((3, 1), np.float32)
IMAGES = np.zeros((2, 3, 5, 1), np.float32)

WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: tf.tile(fed([7]), fed(2)), r"Expected multiples to be 1-D, but got shape \[\]"),
    (lambda: tf.random_uniform(fed(3)), r"shape must be a vector of {int32,int64}, got shape \[\]"),
    (lambda: tf.slice(fed([1, 2]), fed(0), fed([1])), r"1-D tensors of size 1, but got shapes \[\] and \[1\] instead"),
    (lambda: tf.slice(fed([1, 2]), fed([0, 0]), fed([1, 1])), r"but got shapes \[2\] and \[2\] instead"),
    (lambda: tf.unsorted_segment_sum(fed([1, 2]), fed([0, 0]), fed([4])), r"num_segments should be a scalar, not"),
    (lambda: tf.segment_sum([1, 2], [0, 0, 0]), "segment_ids should be the same size as dimension 0 of input"),
    (lambda: tf.pad(fed(7), fed([[1, 2]])), "The first dimension of paddings must be the rank of inputs"),
    (lambda: tf.pad(fed([7]), fed([[1, 2, 3]])), "paddings must be a matrix with 2 columns"),
    (lambda: fed([1, 2])[1:, 1:], "Index out of range using input dim 1; input has only 1 dims"),
    (lambda: tf.matmul(fed([[1.0, 2]]), fed([[1.0, 2]])), r"Matrix size-incompatible: In\[0\]: \[1, 2\], In\[1\]"),
    (lambda: tf.matmul(fed([[[1.0, 2]]]), fed([[[1.0, 2]]])), r"Matrix size-incompatible: In\[0\]: \[1, 1, 2\]"),
    (lambda: tf.transpose(CUBE, [0, 1, 1]), "2 is missing from {0,1,1}"),
    (lambda: tf.transpose(fed(CUBE), fed([0, 1])), "transpose expects a vector of size 3.* is a vector of size 2"),
    (lambda: tf.transpose(fed(CUBE), fed([0, 1, 7])), r"7 is out of range \[0 .. 3\)"),
    (lambda: tf.sparse_tensor_dense_matmul(sparse([1, 10], [2, 3]), COLUMN), r"k \(10\) from index\[0,1\] out .*>=3"),
    (lambda: tf.sparse_tensor_dense_matmul(sparse([7, 1], [3, 2]), COLUMN, adjoint_a=True), r"k \(7\) from index\[0,0"),
    (lambda: tf.sparse_maximum(sparse([0, 0], [3, 2]), sparse([0], [3])).values, "do not have the same ranks"),
    (lambda: tf.sparse_reduce_sum(sparse([0], [4]), 3), "Invalid reduction dimension 3, for input with 1 dim"),
    (
        lambda: tf.deserialize_many_sparse(tf.stack([serialized(1), serialized(1)]), tf.int64).values,
        r"Requested SparseTensor of type int64 but SparseTensor\[0\].values.dtype\(\) == int32",
    ),
    (
        lambda: tf.deserialize_many_sparse(tf.stack([serialized(1), serialized(2)]), tf.int32).values,
        r"rank prior to SparseTensor\[1\] was: 2 but rank of SparseTensor\[1\] is: 3",
    ),
    (lambda: tf.reverse_sequence(np.zeros((2, 3)), [1, 1], seq_axis=0, batch_axis=0), "batch_dim == seq_dim == 0"),
    (lambda: elements().split(1.0, [1]).flow, r"Expected value to be at least a vector, but received shape: \[\]"),
]


@pytest.mark.parametrize(("build", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_a_step_says_what_does_not_fit(build: Callable[[], Any], words: str) -> None:
    found = build()
    with pytest.raises(tf.errors.InvalidArgumentError, match=words), tf.Session() as session:
        session.run(found)


@pytest.mark.parametrize("pool", [tf.nn.max_pool, tf.nn.avg_pool])
def test_pools_over_a_batch_are_not_supported_and_too_large_ones_are_refused_at_once(pool: Any) -> None:
    over_batch = pool(fed(IMAGES), [1, 1, 1, 1], [2, 1, 1, 1], "SAME")
    with pytest.raises(tf.errors.UnimplementedError, match="Pooling is not yet supported on the batch"):
        tf.Session().run(over_batch)
    with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 4 from 3"):
        pool(tf.constant(IMAGES), [1, 4, 1, 1], [1, 1, 1, 1], "VALID")
    assert tf.Session().run(pool(fed(IMAGES), [1, 4, 1, 1], [1, 1, 1, 1], "VALID")).shape == (2, 0, 5, 1)


def test_a_handle_is_assigned_values_of_its_type_only() -> None:
    handle = tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], shared_name="v")
    with pytest.raises(ValueError, match=r"wrong dtype. Expected int32 got float"):
        tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(1.0))


def test_what_space_to_batch_leaves_alone_keeps_its_static_size() -> None:
    images, unknown = tf.placeholder(tf.float32, [3, None, None, 2]), tf.placeholder(tf.int32)
    fed_blocks = tf.placeholder(tf.int32, [2])
    assert tf.space_to_batch_nd(images, fed_blocks, unknown).shape.as_list() == [None, None, None, 2]
    assert tf.space_to_batch_nd(images, [2, 3], unknown).shape.as_list() == [18, None, None, 2]


def test_float32_and_bfloat16_multiply_where_one_is_said_to_be_sparse() -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    product = tf.matmul(tf.constant(x), tf.cast(y, tf.bfloat16), a_is_sparse=True)
    turned = tf.matmul(tf.cast(x, tf.bfloat16), tf.constant(y.T), transpose_b=True, b_is_sparse=True)
    assert product.dtype == tf.float32
    with tf.Session() as session:
        for found in session.run([product, turned]):
            np.testing.assert_array_equal(found, x @ y)  # small integers: bfloat16 holds them exactly
