"""Training steps whose memory is measured: six kinds of models, in sizes that train in a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as tf

Built = tuple[Any, dict[Any, Any]]
"""A loss, and what is fed."""


def _values(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).rand(*shape).astype(np.float32)


def _labels(count: int, classes: int) -> np.ndarray:
    return np.random.RandomState(1).randint(0, classes, count).astype(np.int64)


def _classified(logits: Any, classes: int) -> Built:
    count = int(logits.shape[0])
    labels = tf.placeholder(tf.int64, [count])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    return loss, {labels: _labels(count, classes)}


def mlp(layers: int = 40, units: int = 256, batch: int = 512) -> Built:
    x = tf.placeholder(tf.float32, [batch, units])
    y = x
    for i in range(layers):
        y = tf.layers.dense(y, units, tf.nn.tanh, name=f"layer_{i}")
    loss, fed = _classified(tf.layers.dense(y, 10), 10)
    return loss, {x: _values(batch, units), **fed}


def conv_net(batch: int = 16, side: int = 48) -> Built:
    x = tf.placeholder(tf.float32, [batch, side, side, 3])
    y = x
    for i, channels in enumerate((16, 16, 32, 32, 64, 64)):
        y = tf.layers.conv2d(y, channels, 3, padding="same", activation=tf.nn.relu, name=f"conv_{i}")
        if i % 2:
            y = tf.layers.max_pooling2d(y, 2, 2)
    loss, fed = _classified(tf.layers.dense(tf.layers.flatten(y), 10), 10)
    return loss, {x: _values(batch, side, side, 3), **fed}


def resnet(blocks: int = 6, batch: int = 16, side: int = 24, channels: int = 32) -> Built:
    x = tf.placeholder(tf.float32, [batch, side, side, 3])

    def layer(y: Any, name: str) -> Any:
        y = tf.layers.conv2d(y, channels, 3, padding="same", use_bias=False, name=name)
        return tf.layers.batch_normalization(y, training=True, name=f"{name}_norm")

    y = tf.nn.relu(layer(x, "first"))
    for i in range(blocks):
        y = tf.nn.relu(y + layer(tf.nn.relu(layer(y, f"block_{i}_a")), f"block_{i}_b"))
    loss, fed = _classified(tf.layers.dense(tf.reduce_mean(y, [1, 2]), 10), 10)
    return loss, {x: _values(batch, side, side, 3), **fed}


def _recurrent(build: Callable[[Any, Any], Any], steps: int, batch: int, units: int) -> Built:
    x = tf.placeholder(tf.float32, [steps, batch, units])
    loss, fed = _classified(tf.layers.dense(build(tf.nn.rnn_cell.LSTMCell(units), x), 10), 10)
    return loss, {x: _values(steps, batch, units), **fed}


def unrolled_rnn(steps: int = 40, batch: int = 64, units: int = 128) -> Built:
    def build(cell: Any, x: Any) -> Any:
        return tf.nn.static_rnn(cell, tf.unstack(x), dtype=tf.float32)[0][-1]

    return _recurrent(build, steps, batch, units)


def dynamic_rnn(steps: int = 40, batch: int = 64, units: int = 128) -> Built:
    def build(cell: Any, x: Any) -> Any:
        return tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)[1].h

    return _recurrent(build, steps, batch, units)


def transformer(layers: int = 4, batch: int = 8, length: int = 64, units: int = 128, heads: int = 4) -> Built:
    x = tf.placeholder(tf.float32, [batch, length, units])

    def norm(y: Any) -> Any:
        mean, variance = tf.nn.moments(y, [2], keep_dims=True)
        return (y - mean) * tf.rsqrt(variance + 1e-6)

    def split(y: Any) -> Any:
        return tf.transpose(tf.reshape(y, [batch, length, heads, units // heads]), [0, 2, 1, 3])

    y = x
    for i in range(layers):
        normed = norm(y)
        query, key, value = (split(tf.layers.dense(normed, units, name=f"{name}_{i}")) for name in ("q", "k", "v"))
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * (units // heads) ** -0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [batch, length, units])
        y += tf.layers.dense(mixed, units, name=f"out_{i}")
        y += tf.layers.dense(tf.layers.dense(norm(y), 4 * units, tf.nn.relu, name=f"wide_{i}"), units, name=f"back_{i}")
    loss, fed = _classified(tf.layers.dense(tf.reduce_mean(y, 1), 10), 10)
    return loss, {x: _values(batch, length, units), **fed}


MODELS: dict[str, Callable[[], Built]] = {
    "MLP, 40 layers": mlp,
    "conv net": conv_net,
    "ResNet": resnet,
    "unrolled RNN": unrolled_rnn,
    "dynamic RNN": dynamic_rnn,
    "transformer": transformer,
}
