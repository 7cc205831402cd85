"""A small classifier that the tests of Estimators train: which of three classes, by the signs of two features."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf

_random = np.random.RandomState(0)
X = _random.randn(200, 4).astype(np.float32)
Y = ((X[:, 0] > 0).astype(np.int32) + (X[:, 1] > 0)).astype(np.int32)


def classifier(features: Any, labels: Any, mode: str, params: Any) -> Any:
    logits = tf.layers.dense(features["x"], 3, name="logits")
    predictions = {"classes": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits, name="probabilities")}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        optimizer = tf.train.GradientDescentOptimizer(params.get("rate", 0.1))
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["classes"])}
    return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op, metrics)


def input_fn(num_epochs: int | None = None, shuffle: bool = False, batch_size: int = 50) -> Any:
    return tf.estimator.inputs.numpy_input_fn({"x": X}, Y, batch_size, num_epochs, shuffle)


def serving_input() -> Any:
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def trained_by_hand(steps: int, rate: float = 0.1) -> tuple[Any, Any]:
    """Kernel and bias after so many steps from zeros, over the batches of `input_fn`; by NumPy."""
    kernel, bias = np.zeros((4, 3), np.float32), np.zeros(3, np.float32)
    for step in range(steps):
        rows = np.arange(50 * step, 50 * step + 50) % len(X)
        gradient = (probabilities(X[rows], kernel, bias) - np.eye(3, dtype=np.float32)[Y[rows]]) / 50
        kernel, bias = kernel - rate * X[rows].T @ gradient, bias - rate * gradient.sum(0)
    return kernel, bias


def probabilities(x: Any, kernel: Any, bias: Any) -> Any:
    exponentials = np.exp(x @ kernel + bias)
    return exponentials / exponentials.sum(1, keepdims=True)
