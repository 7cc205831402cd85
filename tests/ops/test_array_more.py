"""Public functions of the older and rarer ops on arrays, images and sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


# --- arrays ---------------------------------------------------------------------------------------------


def test_parallel_stack_stacks_tensors_of_known_shape() -> None:
    stacked = tf.parallel_stack([[1, 2], [3, 4]])
    assert stacked.op.name == "parallel_stack/ParallelConcat"
    assert stacked.shape.as_list() == [2, 2]
    assert run(stacked).tolist() == [[1, 2], [3, 4]]
    assert run(tf.parallel_stack([tf.constant(b"a"), tf.constant(b"b")])).tolist() == [b"a", b"b"]
    with pytest.raises(ValueError, match="must be fully defined"):
        tf.parallel_stack([tf.placeholder(tf.float32, [None])] * 2)


def test_parallel_concat_takes_slices_of_one_row() -> None:
    concat = get_op("ParallelConcat")
    with pytest.raises(ValueError, match="Size of first dimension must be 1"):
        concat([tf.zeros([2, 3])], shape=[2, 3])
    with pytest.raises(ValueError, match="do not make one of shape"):
        concat([tf.zeros([1, 3])], shape=[1, 4])


def test_roll_moves_elements_on() -> None:
    assert run(tf.roll([1, 2, 3, 4], shift=1, axis=0)).tolist() == [4, 1, 2, 3]
    shift, axis = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    rolled = tf.roll([[1, 2], [3, 4]], shift, axis)
    with tf.Session() as session:
        assert session.run(rolled, {shift: [1, 1], axis: [0, 1]}).tolist() == [[4, 3], [2, 1]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="the same size"):
            session.run(rolled, {shift: [1, 1], axis: [0]})


def test_searchsorted_takes_any_leading_dims() -> None:
    assert run(tf.searchsorted([1, 3, 5], [0, 3, 6])).tolist() == [0, 1, 3]
    assert run(tf.searchsorted([1, 3, 5], [0, 3, 6], side="right")).tolist() == [0, 2, 3]
    sequence, values = np.arange(24.0).reshape(2, 3, 4) * 2, np.arange(12.0).reshape(2, 3, 2) * 4
    found = tf.searchsorted(sequence, values, out_type=tf.int64)
    assert found.dtype == tf.int64
    expected = [[np.searchsorted(sequence[i, j], values[i, j]) for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(run(found), expected)
    fed = tf.placeholder(tf.float64)
    np.testing.assert_array_equal(run(tf.searchsorted(fed, values), {fed: sequence})[0, 0], [0, 2])
    assert run(tf.searchsorted(np.zeros([3, 0]), np.zeros([3, 2]))).tolist() == [[0, 0]] * 3
    assert run(tf.searchsorted(np.zeros([2]), np.zeros([0]))).tolist() == []
    with pytest.raises(ValueError, match="side must be either"):
        tf.searchsorted([1], [1], side="middle")


def test_gather_nd_goes_through_batches() -> None:
    params = np.arange(24.0).reshape(2, 3, 4)
    indices = np.array([[[2, 1], [0, 0]], [[1, 3], [2, 2]]])
    expected = [[params[b, i, j] for i, j in rows] for b, rows in enumerate(indices)]
    found = tf.gather_nd(params, indices, batch_dims=1)
    assert found.shape.as_list() == [2, 2]
    np.testing.assert_array_equal(run(found), expected)
    slices = np.array([[[1], [0]], [[2], [2]]])
    expected = [[params[b, i] for (i,) in rows] for b, rows in enumerate(slices)]
    fed = tf.placeholder(tf.int32, [None, None, 1])
    np.testing.assert_array_equal(run(tf.gather_nd(params, fed, batch_dims=1), {fed: slices}), expected)
    two = np.array([[[[3]], [[1]], [[0]]], [[[2]], [[0]], [[1]]]])
    expected = [[[params[b, r, c] for (c,) in two[b, r]] for r in range(3)] for b in range(2)]
    np.testing.assert_array_equal(run(tf.gather_nd(params, two, batch_dims=2)), expected)
    with pytest.raises(ValueError, match="batch_dims"):
        tf.gather_nd(params, slices, batch_dims=3)


def test_approximate_equality_has_a_tolerance() -> None:
    assert run(tf.approximate_equal([1.0, 2.0], [1.05, 2.5], tolerance=0.1)).tolist() == [True, False]


def test_math_and_manip_list_functions_by_family() -> None:
    x = np.array([[3.0, 4.0], [6.0, 8.0]])
    np.testing.assert_allclose(run(tf.math.reduce_variance(x, axis=1)), x.var(1))
    np.testing.assert_allclose(run(tf.math.reduce_std(x, axis=0, keepdims=True)), x.std(0, keepdims=True))
    np.testing.assert_allclose(run(tf.math.reduce_euclidean_norm(x, 1)), [5, 10])
    np.testing.assert_allclose(run(tf.math.divide_no_nan(x, 0.0)), np.zeros([2, 2]))
    assert run(tf.manip.roll([1, 2, 3], 1, 0)).tolist() == [3, 1, 2]


# --- images ---------------------------------------------------------------------------------------------

IMAGE = np.float32([[1, 5, 2], [4, 3, 0], [7, 6, 8]]).reshape(1, 3, 3, 1)
FLAT = np.zeros([2, 2, 1], np.float32)


def test_dilation_and_erosion_are_moving_extrema() -> None:
    window = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    dilated = tf.nn.dilation2d(IMAGE, FLAT, **window)
    eroded = tf.nn.erosion2d(IMAGE, FLAT, **window)
    assert dilated.op.name == "Dilation2D"
    assert eroded.op.name == "erosion2d"
    assert run(dilated).reshape(2, 2).tolist() == [[5, 5], [7, 8]]
    assert run(eroded).reshape(2, 2).tolist() == [[1, 0], [3, 0]]
    tilted = np.float32([[0, 0], [0, 10]]).reshape(2, 2, 1)
    assert run(tf.nn.dilation2d(IMAGE, filters=tilted, strides=[1] * 4, dilations=[1] * 4, padding="VALID")).max() == 18


def test_pools_of_sequences_are_pools_of_one_row() -> None:
    x = np.float32([3, 1, 4, 1, 5, 9]).reshape(1, 6, 1)
    largest, mean = tf.nn.max_pool1d(x, 2, 2, "VALID"), tf.nn.avg_pool1d(x, [1, 3, 1], [1, 3, 1], "VALID")
    assert largest.shape.as_list() == [1, 3, 1]
    assert run(largest).reshape(-1).tolist() == [3, 4, 9]
    np.testing.assert_allclose(run(mean).reshape(-1), [8 / 3, 5], rtol=1e-6)
    first = tf.nn.max_pool1d(x.reshape(1, 1, 6), 2, 2, "VALID", data_format="NCW")
    assert run(first).tolist() == [[[3, 4, 9]]]


def test_names_of_pools_may_say_their_dims() -> None:
    assert run(tf.nn.max_pool2d(IMAGE, ksize=2, strides=1, padding="VALID")).reshape(-1).tolist() == [5, 5, 7, 8]
    assert run(tf.nn.avg_pool2d(IMAGE, [1, 3, 3, 1], [1, 3, 3, 1], "SAME")).reshape(-1).tolist() == [4]


@pytest.mark.parametrize("known", [True, False])
def test_max_pool_takes_its_window_as_tensors(known: bool) -> None:
    window, steps = [1, 2, 2, 1], [1, 1, 1, 1]
    ksize = tf.constant(window) if known else tf.placeholder(tf.int32, [4])
    strides = tf.constant(steps) if known else tf.placeholder(tf.int32, [4])
    x = tf.constant(IMAGE)
    pooled = get_op("MaxPoolV2")(x, ksize, strides, padding="VALID")
    gradient = tf.gradients(pooled, x)[0]
    assert pooled.shape.ndims == (4 if known else None)
    values, back = run([pooled, gradient], None if known else {ksize: window, strides: steps})
    assert values.reshape(-1).tolist() == [5, 5, 7, 8]
    assert back.reshape(3, 3).tolist() == [[0, 2, 0], [0, 0, 0], [1, 0, 1]]
    if not known:
        with pytest.raises(tf.errors.InvalidArgumentError, match="4 positive numbers"):
            run(pooled, {ksize: [1, 0, 2, 1], strides: steps})


def test_conv1d_transpose_undoes_the_shape_of_conv1d() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=[2, 8, 3]), rng.normal(size=[4, 3, 5])
    y = tf.nn.conv1d(x, w, stride=2, padding="SAME")
    g = tf.constant(rng.normal(size=[2, 4, 5]))
    transposed = tf.nn.conv1d_transpose(g, w, [2, 8, 3], strides=2)
    assert transposed.shape.as_list() == [2, 8, 3]
    found = run(transposed)
    # <conv(x), g> = <x, transpose(g)>, which is what a transpose is.
    np.testing.assert_allclose(run(tf.reduce_sum(y * g)), (x * found).sum(), rtol=1e-9)
    first = tf.nn.conv1d_transpose(tf.transpose(g, [0, 2, 1]), w, [2, 3, 8], strides=2, data_format="NCW")
    np.testing.assert_allclose(run(first).transpose(0, 2, 1), found, rtol=1e-9)
    with pytest.raises(ValueError, match="data_format"):
        tf.nn.conv1d_transpose(g, w, [2, 8, 3], strides=2, data_format="NHWC")


def test_swish_is_x_times_its_sigmoid() -> None:
    x = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_allclose(run(tf.nn.swish(x)), x / (1 + np.exp(-x)), rtol=1e-9)
    np.testing.assert_allclose(run(tf.nn.swish(x, beta=2.0)), x / (1 + np.exp(-2 * x)), rtol=1e-9)


# --- fractional pools -----------------------------------------------------------------------------------


def test_fractional_pools_draw_new_windows_for_each_step() -> None:
    x = np.random.default_rng(0).normal(size=[1, 20, 20, 1])
    pool = tf.nn.fractional_max_pool(x, [1.0, 1.6, 1.6, 1.0], seed=1)
    assert pool.output.shape.as_list() == [1, 12, 12, 1]
    with tf.Session() as session:
        rows = {tuple(session.run(pool.row_pooling_sequence)) for _ in range(8)}
    assert len(rows) > 1
    assert {(row[0], row[-1], len(row)) for row in rows} == {(0, 20, 13)}


def test_a_deterministic_fractional_pool_keeps_its_windows() -> None:
    x = np.random.default_rng(0).normal(size=[1, 20, 20, 1])
    pool = tf.nn.fractional_avg_pool(x, [1.0, 1.6, 1.6, 1.0], pseudo_random=True, deterministic=True, seed=1)
    with tf.Session() as session:
        rows = {tuple(session.run(pool.row_pooling_sequence)) for _ in range(8)}
    assert len(rows) == 1
    assert run(pool.row_pooling_sequence).tolist() == list(next(iter(rows)))  # the seed's, in any session


@pytest.mark.parametrize(
    ("op", "image", "block", "edges", "expected"),
    [
        (tf.batch_to_space_nd, [None, None, None, 2], None, None, [None, None, None, 2]),
        (tf.batch_to_space_nd, [18, None, 5, 2], [2, 3], None, [3, None, None, 2]),
        (tf.space_to_batch_nd, [18, None, 5, 2], [2, 3], None, [108, None, None, 2]),
        (tf.space_to_batch_nd, [18, None, 6, 2], [2, 3], [[0, 0], [0, 0]], [108, None, 2, 2]),
        (tf.space_to_batch_nd, [3, 4, 6, 2], None, [[0, 0], [0, 0]], [None, None, None, 2]),
    ],
)
def test_blocks_leave_the_dims_after_them_alone(op: Any, image: Any, block: Any, edges: Any, expected: Any) -> None:
    """Recorded from TensorFlow 2.21; None is a placeholder, of two numbers for the blocks."""
    block = tf.placeholder(tf.int32, [2]) if block is None else block
    edges = tf.placeholder(tf.int32) if edges is None else edges
    assert op(tf.placeholder(tf.float32, image), block, edges).shape.as_list() == expected
