"""Mean and variance of channels as one node: when they are, and that they are as exact as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.ops.fused_moments import MOST_ROWS
from penstock.passes.fuse_moments import fuse_moments
from penstock.passes.prune import prune
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager

_LARGE = [40, 12, 12, 24]


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _ops(fetches: list[Any], feeds: list[Any]) -> Counter[str]:
    return Counter(node.op.name for node in fuse_moments(prune(feeds, fetches, [])).nodes)


def _value(shape: list[int], dtype: Any = np.float32) -> Any:
    return (np.random.RandomState(0).randn(*shape) * 3 + 20).astype(dtype)


# --- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [_LARGE, [1200, 100], [3 * MOST_ROWS, 17], [MOST_ROWS * 5 + 1, 10], [2, 70000], [8, 16384, 1]],
    ids=str,
)
def test_moments_of_channels_are_one_node_with_the_values_of_numpy(
    shape: list[int], dtype: Any, keep_dims: bool
) -> None:
    x = tf.placeholder(dtype, shape)
    axes = list(range(len(shape) - 1))
    moments = list(tf.nn.moments(x, axes, keep_dims=keep_dims))
    found = _ops(moments, [x])
    assert (found["_ChannelMoments"], found["Mean"], found["SquaredDifference"]) == (1, 0, 0)
    value = _value(shape, dtype)
    with tf.Session() as session:
        assert "_channelmoments" in session.explain(moments, [x])
        mean, variance = session.run(moments, {x: value})
    exact = value.astype(np.float64)
    rtol = 4e-6 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(mean, exact.mean(tuple(axes), keepdims=keep_dims), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(variance, exact.var(tuple(axes), keepdims=keep_dims), rtol=rtol, atol=rtol)


def test_training_through_a_normalization_gives_the_gradients_of_finite_differences() -> None:
    x = tf.placeholder(tf.float64, _LARGE)
    scale = tf.constant(np.linspace(0.5, 2, 24))
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    y = tf.nn.batch_normalization(x, mean, variance, tf.zeros([24], tf.float64), scale, 1e-3)
    loss = tf.reduce_sum(tf.sigmoid(y) * tf.constant(_value(_LARGE, np.float64)))
    (gradient,) = tf.gradients(loss, x)
    value = _value(_LARGE, np.float64)
    direction = np.random.RandomState(1).randn(*_LARGE)
    with tf.Session() as session:
        assert "_channelmoments" in session.explain([loss, gradient], [x])
        along = np.sum(session.run(gradient, {x: value}) * direction)
        high, low = (session.run(loss, {x: value + step * direction}) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(along, (high - low) / 2e-5, rtol=1e-6)


def test_values_laid_out_otherwise_in_memory_have_the_same_moments() -> None:
    x = tf.placeholder(tf.float32, [40, 24, 12, 12])
    moments = list(tf.nn.moments(tf.transpose(x, [0, 2, 3, 1]), [0, 1, 2]))
    value = _value([40, 24, 12, 12])
    with tf.Session() as session:
        assert "_channelmoments" in session.explain(moments, [x])
        mean, variance = session.run(moments, {x: value})
    np.testing.assert_allclose(mean, value.astype(float).mean((0, 2, 3)), rtol=2e-6)
    np.testing.assert_allclose(variance, value.astype(float).var((0, 2, 3)), rtol=2e-6)


def test_moments_written_out_by_hand_are_found_too() -> None:
    x = tf.placeholder(tf.float32, _LARGE)
    mean = tf.reduce_mean(x, [-2, 0, 1], keepdims=True)
    variance = tf.reduce_mean(tf.squared_difference(mean, x), [0, 1, 2], keepdims=True)
    assert _ops([mean, variance], [x])["_ChannelMoments"] == 1
    value = _value(_LARGE)
    found = tf.Session().run(variance, {x: value})
    np.testing.assert_allclose(found, value.astype(float).var((0, 1, 2), keepdims=True), rtol=2e-6)


def test_a_gpu_has_a_kernel_for_it() -> None:
    """Its arithmetic, on the processor: in torch's own terms the same everywhere."""
    x = tf.placeholder(tf.float32, _LARGE)
    graph = fuse_moments(prune([x], list(tf.nn.moments(x, [0, 1, 2], keep_dims=True)), []))
    (node,) = (n for n in graph.nodes if n.op.name == "_ChannelMoments")
    kernel = make_kernel(node, "GPU", torch.device("cpu"), SessionState(ResourceManager()))
    value = _value(_LARGE)
    mean, variance = kernel(torch.from_numpy(value))  # type: ignore[operator, misc]
    np.testing.assert_allclose(mean, value.astype(float).mean((0, 1, 2), keepdims=True), rtol=2e-6)
    np.testing.assert_allclose(variance, value.astype(float).var((0, 1, 2), keepdims=True), rtol=4e-6)


# --- when not -------------------------------------------------------------------------------------------


def test_small_tensors_are_left_for_regions() -> None:
    x = tf.placeholder(tf.float32, [10, 20])
    assert not _ops(list(tf.nn.moments(x, [0])), [x])["_ChannelMoments"]


def test_tensors_of_unknown_size_keep_their_nodes() -> None:
    x = tf.placeholder(tf.float32, [None, 12, 12, 24])
    assert not _ops(list(tf.nn.moments(x, [0, 1, 2])), [x])["_ChannelMoments"]


@pytest.mark.parametrize("axes", [[3], [1, 2], [0, 1, 2, 3]])
def test_moments_over_other_axes_keep_their_nodes(axes: list[int]) -> None:
    x = tf.placeholder(tf.float32, _LARGE)
    assert not _ops(list(tf.nn.moments(x, axes)), [x])["_ChannelMoments"]


def test_squares_that_something_else_takes_are_computed() -> None:
    x = tf.placeholder(tf.float32, _LARGE)
    mean = tf.reduce_mean(x, [0, 1, 2], keepdims=True)
    squares = tf.squared_difference(x, tf.stop_gradient(mean))
    variance = tf.reduce_mean(squares, [0, 1, 2], keepdims=True)
    assert not _ops([variance, squares], [x])["_ChannelMoments"]
    assert not _ops([variance, tf.reduce_max(squares)], [x])["_ChannelMoments"]
    assert _ops([variance], [x])["_ChannelMoments"] == 1


def test_a_mean_of_something_else_is_no_part_of_a_variance() -> None:
    x, other = (tf.placeholder(tf.float32, _LARGE) for _ in range(2))
    mean = tf.reduce_mean(other, [0, 1, 2], keepdims=True)
    distance = tf.reduce_mean(tf.squared_difference(x, mean), [0, 1, 2], keepdims=True)
    assert not _ops([distance], [x, other])["_ChannelMoments"]


def test_parts_on_several_devices_stay_where_they_are() -> None:
    x = tf.placeholder(tf.float32, _LARGE)
    with tf.device("/cpu:0"):
        mean = tf.reduce_mean(x, [0, 1, 2], keepdims=True)
    with tf.device("/cpu:1"):
        variance = tf.reduce_mean(tf.squared_difference(x, mean), [0, 1, 2], keepdims=True)
    assert not _ops([mean, variance], [x])["_ChannelMoments"]


def test_a_variance_that_waits_for_something_stays_after_it() -> None:
    x, v = tf.placeholder(tf.float32, _LARGE), tf.Variable(1.0)
    mean = tf.reduce_mean(x, [0, 1, 2], keepdims=True)
    squares, axes = tf.squared_difference(x, mean), tf.constant([0, 1, 2])
    with tf.control_dependencies([v.assign(2.0)]):
        waiting = tf.reduce_mean(squares, axes, keepdims=True)
        with_waiting_axes = tf.reduce_mean(squares, [0, 1, 2], keepdims=True)
    assert not _ops([waiting], [x])["_ChannelMoments"]
    assert not _ops([with_waiting_axes], [x])["_ChannelMoments"]


def test_what_waits_for_the_mean_or_the_variance_waits_for_both() -> None:
    x, one = tf.placeholder(tf.float32, _LARGE), tf.constant(1.0)
    mean, variance = tf.nn.moments(x, [0, 1, 2], keep_dims=True)
    with tf.control_dependencies([mean]):
        after_mean = tf.identity(one)
    with tf.control_dependencies([variance]):
        after_variance = tf.identity(one)
    graph = fuse_moments(prune([x], [after_mean, after_variance], []))
    (node,) = (n for n in graph.nodes if n.op.name == "_ChannelMoments")
    assert [edge.node.controls for edge in graph.fetches] == [(node,), (node,)]
