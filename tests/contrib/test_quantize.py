"""Graphs rewritten for training with rounding. Losses and names are TensorFlow 1.15's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.contrib import slim

X = np.random.RandomState(0).randn(6, 8, 8, 3)
Y = [0, 1, 2, 0, 1, 2]


def _drawn() -> Callable[..., Any]:
    """An initializer that draws with the seeds 1, 2, … of NumPy."""
    seeds = iter(range(1, 100))

    def draw(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return np.random.RandomState(next(seeds)).randn(*map(int, shape)).astype(np.float32) * np.float32(0.3)

    return draw


def _loss(logits: Any) -> Any:
    return tf.losses.sparse_softmax_cross_entropy(tf.constant(Y, tf.int64), logits)


def _network() -> Any:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    drawn = _drawn()
    net = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, kernel_initializer=drawn)
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.dense(tf.layers.flatten(net), 6, activation=tf.nn.relu, kernel_initializer=drawn)
    return _loss(tf.layers.dense(net, 3, kernel_initializer=drawn))


def _trained(loss: Any, steps: int, extra: Any = ()) -> tuple[list[float], list[Any]]:
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train], {"x:0": X})[0] for _ in range(steps)]
        return losses, session.run(extra)


@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        (tf.contrib.quantize.create_training_graph, [1.0452, 0.8607, 0.6932, 0.5877, 0.4840, 0.4214]),
        (
            lambda: tf.contrib.quantize.experimental_create_training_graph(quant_delay=2, freeze_bn_delay=4),
            [1.0364, 0.8585, 0.6905, 0.5801, 0.4722, 0.4068],
        ),
        (
            lambda: tf.contrib.quantize.experimental_create_training_graph(
                weight_bits=6, activation_bits=7, symmetric=True
            ),
            [1.0177, 0.8479, 0.6873, 0.5586, 0.4316, 0.3685],
        ),
    ],
    ids=["8 bits", "after 2 steps", "6 and 7 bits, symmetric"],
)
def test_training_with_rounding_has_tensorflows_losses(rewrite: Callable[[], None], expected: list[float]) -> None:
    with tf.Graph().as_default():
        loss = _network()
        rewrite()
        np.testing.assert_allclose(_trained(loss, 6)[0], expected, atol=2e-4)


def _mobile(training: bool) -> Any:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3], name="x")
    how = {"is_training": training, "decay": 0.9, "scale": True}
    with slim.arg_scope(
        [slim.conv2d, slim.separable_conv2d],
        normalizer_fn=slim.batch_norm,
        normalizer_params=how,
        weights_initializer=_drawn(),
        activation_fn=tf.nn.relu6,
    ):
        net = slim.conv2d(x, 4, 3, scope="c1")
        net = slim.separable_conv2d(net, None, 3, 1, scope="d1")
        net = slim.conv2d(net, 6, 1, scope="p1")
        net += slim.conv2d(net, 6, 3, scope="c2", activation_fn=None)
    return slim.fully_connected(tf.reduce_mean(net, [1, 2]), 3, activation_fn=None, weights_initializer=_drawn())


def test_folded_batch_normalisations_train_like_those_that_are_not() -> None:
    """Before rounding begins, a rewritten graph computes what it did."""
    runs = []
    for rewrite in (False, True):
        with tf.Graph().as_default():
            loss = _loss(_mobile(training=True))
            if rewrite:
                tf.contrib.quantize.create_training_graph(quant_delay=1000)
            runs.append(_trained(loss, 4, tf.trainable_variables()))
    np.testing.assert_allclose(runs[1][0], runs[0][0], rtol=1e-5)
    for folded, plain in zip(runs[1][1], runs[0][1], strict=True):
        np.testing.assert_allclose(folded, plain, rtol=1e-3, atol=1e-5)


def test_nodes_and_variables_have_tensorflows_names() -> None:
    with tf.Graph().as_default() as graph:
        _mobile(training=True)
        tf.contrib.quantize.create_training_graph()
        rounded = {op.name.rpartition("/")[0] for op in graph.get_operations() if op.type == "FakeQuantWithMinMaxVars"}
        scopes = ["c1", "d1", "p1", "c2", "fully_connected"]
        roundings = {f"{scope}/{kind}_quant" for scope in scopes for kind in ("weights", "act")}
        assert rounded == {*roundings, "post_activation_bypass_quant"}
        folded = {op.name for op in graph.get_operations() if op.name.endswith("_Fold")}
        assert folded == {"c1/Conv2D_Fold", "d1/depthwise_Fold", "p1/Conv2D_Fold", "c2/Conv2D_Fold"}
        names = {v.op.name for v in tf.global_variables()}
        assert {"c1/weights_quant/min", "c1/act_quant/max", "c1/act_quant/c1/act_quant/max/local_step"} <= names


def test_a_graph_for_evaluation_keeps_its_ranges_and_takes_those_of_training() -> None:
    with tf.Graph().as_default():
        _mobile(training=False)
        tf.contrib.quantize.create_eval_graph()
        evaluated = {v.op.name for v in tf.global_variables()}
        assert not [op for op in tf.get_default_graph().get_operations() if "AssignM" in op.name]
    with tf.Graph().as_default():
        _mobile(training=True)
        tf.contrib.quantize.create_training_graph()
        assert evaluated <= {v.op.name for v in tf.global_variables()}


def test_a_graph_with_an_optimizer_is_refused() -> None:
    with tf.Graph().as_default():
        tf.train.GradientDescentOptimizer(0.1).minimize(_network())
        with pytest.raises(ValueError, match="Training op found in graph"):
            tf.contrib.quantize.create_training_graph()
