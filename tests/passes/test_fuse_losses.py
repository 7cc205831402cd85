"""Cross entropies of which only the loss is wanted: no gradient is computed, and losses and errors stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.passes.fuse import fuse
from penstock.passes.prune import prune
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager

_ROWS, _CLASSES = 60, 2000


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _ops(fetches: list[Any], feeds: list[Any]) -> Counter[str]:
    return Counter(node.op.name for node in fuse(prune(feeds, fetches, [])).nodes)


def _logits(rows: int = _ROWS, classes: int = _CLASSES, dtype: Any = np.float32) -> Any:
    return (np.random.RandomState(0).randn(rows, classes) * 5).astype(dtype)


def _logs(logits: Any) -> Any:
    """log(softmax) by its definition, in float64."""
    powers = np.exp(logits.astype(np.float64))
    return np.log(powers / powers.sum(1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels_dtype", [np.int32, np.int64])
def test_a_loss_by_labels_alone_is_one_node_with_the_values_of_numpy(dtype: Any, labels_dtype: Any) -> None:
    x, y = tf.placeholder(dtype, [_ROWS, _CLASSES]), tf.placeholder(labels_dtype, [_ROWS])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    assert _ops([loss], [x, y])["_SparseSoftmaxCrossEntropyWithLogitsLoss"] == 1
    logits, labels = _logits(dtype=dtype), np.random.RandomState(1).randint(0, _CLASSES, _ROWS).astype(labels_dtype)
    found = tf.Session().run(loss, {x: logits, y: labels})
    assert found.dtype == dtype
    np.testing.assert_allclose(found, -_logs(logits)[np.arange(_ROWS), labels], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loss_by_probabilities_alone_is_one_node_with_the_values_of_numpy(dtype: Any) -> None:
    x, y = (tf.placeholder(dtype, [_ROWS, _CLASSES]) for _ in range(2))
    loss = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)
    assert _ops([loss], [x, y])["_SoftmaxCrossEntropyWithLogitsLoss"] == 1
    logits, labels = _logits(dtype=dtype), np.random.RandomState(1).dirichlet(np.ones(_CLASSES), _ROWS).astype(dtype)
    with tf.Session() as session:
        assert "loss" in session.explain(loss, [x, y])
        found = session.run(loss, {x: logits, y: labels})
        again = session.run(loss, {x: logits, y: labels})
    np.testing.assert_allclose(found, -(labels * _logs(logits)).sum(1), rtol=2e-6)
    np.testing.assert_array_equal(found, again)  # nothing was written over a feed


def test_a_gpu_has_a_kernel_for_it() -> None:
    """Its arithmetic, on the processor: in torch's own terms the same everywhere."""
    x, y = tf.placeholder(tf.float32, [_ROWS, _CLASSES]), tf.placeholder(tf.int32, [_ROWS])
    graph = fuse(prune([x, y], [tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)], []))
    kernel = make_kernel(graph.fetches[0].node, "GPU", torch.device("cpu"), SessionState(ResourceManager()))
    found = kernel(torch.from_numpy(_logits()), torch.arange(_ROWS))  # type: ignore[operator, misc]
    np.testing.assert_allclose(found, -_logs(_logits())[np.arange(_ROWS), np.arange(_ROWS)], rtol=1e-6)


def test_a_gradient_that_is_wanted_is_computed_with_the_loss() -> None:
    x, y = tf.placeholder(tf.float32, [_ROWS, _CLASSES]), tf.placeholder(tf.int32, [_ROWS])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    (gradient,) = tf.gradients(loss, x)
    backprop = loss.op.outputs[1]
    for fetches in ([loss, gradient], [loss, backprop], [gradient]):
        found = _ops(fetches, [x, y])
        assert found["SparseSoftmaxCrossEntropyWithLogits"] == 1
        assert not found["_SparseSoftmaxCrossEntropyWithLogitsLoss"]


def test_a_small_loss_is_left_for_regions() -> None:
    x, y = tf.placeholder(tf.float32, [4, 10]), tf.placeholder(tf.int32, [4])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    assert _ops([loss], [x, y])["SparseSoftmaxCrossEntropyWithLogits"] == 1


def test_shapes_that_are_not_known_keep_the_kernel_that_looks_at_them() -> None:
    x, y = tf.placeholder(tf.float32, [None, _CLASSES]), tf.placeholder(tf.int32, [_ROWS])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    assert _ops([loss], [x, y])["SparseSoftmaxCrossEntropyWithLogits"] == 1


def test_labels_that_are_broadcast_keep_the_kernel_that_does_so() -> None:
    x, y = tf.placeholder(tf.float32, [_ROWS, _CLASSES]), tf.placeholder(tf.float32, [1, _CLASSES])
    loss, _ = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=y)
    assert _ops([loss], [x, y])["SoftmaxCrossEntropyWithLogits"] == 1
    logits, labels = _logits(), np.random.RandomState(1).dirichlet(np.ones(_CLASSES), 1).astype(np.float32)
    found = tf.Session().run(loss, {x: logits, y: labels})
    np.testing.assert_allclose(found, -(labels * _logs(logits)).sum(1), rtol=2e-6)


@pytest.mark.parametrize("label", [-1, _CLASSES])
def test_a_label_out_of_range_is_named(label: int) -> None:
    x, y = tf.placeholder(tf.float32, [_ROWS, _CLASSES]), tf.placeholder(tf.int32, [_ROWS])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    labels = np.zeros(_ROWS, np.int32)
    labels[7] = label
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"label value of {label} which is outside"):
        tf.Session().run(loss, {x: _logits(), y: labels})


def test_what_a_loss_waits_for_and_what_waits_for_it_stay() -> None:
    x, y, v = tf.placeholder(tf.float32, [_ROWS, _CLASSES]), tf.placeholder(tf.int32, [_ROWS]), tf.Variable(1.0)
    with tf.control_dependencies([v.assign(2.0)]):
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    one = tf.constant(1.0)
    with tf.control_dependencies([loss]):
        after = tf.identity(one)
    graph = fuse(prune([x, y], [after], []))
    (node,) = graph.fetches[0].node.controls
    assert node.op.name == "_SparseSoftmaxCrossEntropyWithLogitsLoss"
    assert "Assign" in {control.op.name for control in node.controls}
