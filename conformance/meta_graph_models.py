"""Small models whose meta graphs and checkpoints Penstock and TensorFlow exchange. Each is a function of `tf`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Feeds = dict[str, np.ndarray]


def partitioned_adam(tf: Any) -> Feeds:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.variable_scope("layer", partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", [3, 4], initializer=tf.constant_initializer(0.3))
    v = tf.Variable(np.linspace(-1, 1, 4).reshape(4, 1).astype(np.float32), name="v")
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w)), v) - 1.0), name="loss")
    tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step(), name="train")
    tf.summary.scalar("loss_1", loss)
    for key, item in (("ints", 3), ("floats", 2.5), ("texts", "abc")):
        tf.add_to_collection(key, item)
    return {"x:0": np.array([[1, 2, 3]] * 5, np.float32)}


def resource_momentum(tf: Any) -> Feeds:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 1], initializer=tf.constant_initializer(0.5), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0), name="loss")
    tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, name="train")
    return {"x:0": np.ones((5, 3), np.float32)}


def loop_with_conditional(tf: Any) -> Feeds:
    x = tf.placeholder(tf.float32, [4], name="x")
    w = tf.Variable(1.5, name="w")

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(tf.reduce_sum(a) > 12.0, lambda: a * w, lambda: a + w)

    _, total = tf.while_loop(lambda i, a: i < 3, body, [0, x])
    loss = tf.reduce_sum(total * total, name="loss")
    tf.train.GradientDescentOptimizer(0.0001).minimize(loss, name="train")
    return {"x:0": np.arange(4, dtype=np.float32)}


def loops_without_their_gradient(tf: Any) -> Feeds:
    """The graph for training is built by the program that imports this one."""
    x = tf.placeholder(tf.float32, [5, 4], name="x")
    w = tf.get_variable("w", [4], initializer=tf.constant_initializer(0.8), use_resource=True)
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(1.1), use_resource=True)

    def row(i: Any, total: Any, rows: Any) -> Any:
        def square() -> Any:
            return tf.while_loop(lambda j, a: j < i, lambda j, a: (j + 1, a * w + total), [0, x[i]])[1]

        element = tf.cond(tf.equal(i % 2, 0), square, lambda: tf.sin(total * v))
        return i + 1, tf.tanh(element + total), rows.write(i, element)

    start = [0, tf.zeros([4]), tf.TensorArray(tf.float32, 5)]
    _, total, rows = tf.while_loop(lambda i, *_: i < 5, row, start, swap_memory=True)
    averages = tf.scan(lambda a, e: 0.5 * a + tf.reduce_mean(e) * v, rows.stack(), initializer=0.0)
    frozen = tf.while_loop(lambda a: a < 10.0, lambda a: a * a + 1.0, [tf.reduce_sum(total)], back_prop=False)
    tf.identity(tf.reduce_sum(total * total) + tf.reduce_sum(averages) + frozen, name="loss")
    return {"x:0": np.linspace(-1, 1, 20).reshape(5, 4).astype(np.float32)}


def queues(tf: Any) -> Feeds:
    value = tf.train.input_producer(tf.constant([1.0, 2.0, 3.0]), shuffle=False).dequeue()
    w = tf.Variable(2.0, name="w")
    loss = tf.reduce_sum(tf.train.batch([value], 2) * w, name="loss")
    tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
    return {}


def table(tf: Any) -> Feeds:
    keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    ids = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    x = tf.placeholder(tf.string, [None], name="x")
    w = tf.Variable(2.0, name="w")
    loss = tf.reduce_sum(tf.cast(ids.lookup(x), tf.float32) * w, name="loss")
    tf.train.FtrlOptimizer(0.01).minimize(loss, name="train")
    return {"x:0": np.array([b"a", b"b", b"c"], object)}


def batch_norm_and_averages(tf: Any) -> Feeds:
    x = tf.placeholder(tf.float32, [8, 6, 6, 2], name="x")
    kernel = tf.get_variable("kernel", [3, 3, 2, 4], initializer=tf.constant_initializer(0.1))
    scale = tf.get_variable("scale", [4], initializer=tf.ones_initializer())
    offset = tf.get_variable("offset", [4], initializer=tf.zeros_initializer())
    h, _, _ = tf.nn.fused_batch_norm(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), scale, offset)
    h = tf.nn.max_pool(tf.nn.elu(h), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    loss = tf.reduce_mean(h * h, name="loss")
    averages = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([tf.train.AdagradOptimizer(0.1).minimize(loss)]):
        update = averages.apply([kernel])
    with tf.control_dependencies([update]):
        tf.no_op(name="train")
    return {"x:0": np.random.RandomState(0).rand(8, 6, 6, 2).astype(np.float32)}


def sharded_rmsprop(tf: Any) -> Feeds:
    with tf.device("/cpu:0"):
        w = tf.Variable([2.0], name="w")
    v = tf.Variable([3.0], name="v")
    loss = tf.reduce_sum(v * v + w, name="loss")
    tf.train.RMSPropOptimizer(0.01).minimize(loss, name="train")
    return {}


MODELS: dict[str, Callable[[Any], Feeds]] = {
    build.__name__: build
    for build in (
        partitioned_adam, resource_momentum, loop_with_conditional, loops_without_their_gradient, queues, table,
        batch_norm_and_averages, sharded_rmsprop,
    )
}  # fmt: skip
