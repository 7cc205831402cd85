"""The workloads that bench/devices.py places and runs: training steps of a few nets, a random layered graph, a loop."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Built = tuple[Any, dict[Any, np.ndarray]]


def train_on(tf: Any, loss: Any) -> Any:
    variables = tf.trainable_variables()
    return tf.group(*(v.assign_sub(0.01 * g) for v, g in zip(variables, tf.gradients(loss, variables), strict=True)))


def weight(tf: Any, *shape: int) -> Any:
    return tf.Variable(np.random.RandomState(len(shape)).uniform(-0.1, 0.1, shape).astype(np.float32))


def mlp(tf: Any) -> Built:
    """Two towers of three layers, joined at the end."""
    x = tf.placeholder(tf.float32, [128, 784])
    towers = []
    for tower in range(2):
        with tf.name_scope(f"part{tower}"):
            h = x
            for width in (512, 512, 256):
                h = tf.nn.relu(tf.matmul(h, weight(tf, h.shape.as_list()[1], width)))
            towers.append(h)
    y = tf.matmul(tf.concat(towers, 1), weight(tf, 512, 10))
    return train_on(tf, tf.reduce_mean(tf.square(y))), {x: np.ones((128, 784), np.float32)}


def conv_net(tf: Any) -> Built:
    """Two groups of filters, as AlexNet had on its two GPUs."""
    x = tf.placeholder(tf.float32, [16, 32, 32, 3])
    groups = []
    for group in range(2):
        with tf.name_scope(f"part{group}"):
            h = x
            for channels in (16, 32):
                h = tf.nn.conv2d(h, weight(tf, 3, 3, h.shape.as_list()[3], channels), [1, 1, 1, 1], "SAME")
                h = tf.nn.max_pool(tf.nn.relu(h), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
            groups.append(tf.reshape(h, [16, -1]))
    y = tf.matmul(tf.concat(groups, 1), weight(tf, 4096, 10))
    return train_on(tf, tf.reduce_mean(tf.square(y))), {x: np.ones((16, 32, 32, 3), np.float32)}


def lstm(tf: Any) -> Built:
    """Two layers of LSTM cells over ten steps, unrolled: the textbook places each layer on its own device."""
    x = tf.placeholder(tf.float32, [32, 10, 64])
    inputs = [x[:, t] for t in range(10)]
    for layer in range(2):
        with tf.name_scope(f"part{layer}"):
            size = 256
            kernel = weight(tf, inputs[0].shape.as_list()[1] + size, 4 * size)
            h = c = tf.zeros([32, size])
            outputs = []
            for step in inputs:
                i, j, f, o = tf.split(tf.matmul(tf.concat([step, h], 1), kernel), 4, 1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
                h = tf.sigmoid(o) * tf.tanh(c)
                outputs.append(h)
            inputs = outputs
    return train_on(tf, tf.reduce_mean(tf.square(inputs[-1]))), {x: np.ones((32, 10, 64), np.float32)}


def layered(tf: Any) -> Built:
    """Ten layers of six products of random earlier ones."""
    dice = random.Random(0)
    x = tf.placeholder(tf.float32, [192, 192])
    now = [x]
    for _ in range(10):
        made = []
        for column in range(6):
            with tf.name_scope(f"part{column % 2}"):
                made.append(tf.matmul(dice.choice(now), dice.choice(now)) * 0.01)
        now = made
    return tf.add_n(now), {x: np.full((192, 192), 0.1, np.float32)}


GRAPHS: dict[str, Callable[[Any], Built]] = {"MLP": mlp, "conv net": conv_net, "LSTM": lstm, "random layers": layered}


def human(name: str, choice: Any, count: int) -> list[int]:
    """A placement by hand: each named part, with its gradients, on its own device."""
    wanted: dict[int, int] = {}
    for node, group in zip(choice.problem.nodes, choice.groups, strict=True):
        for part in range(count):
            if f"part{part}" in node.name:
                wanted.setdefault(group, part)
    devices = [wanted.get(g, 0) for g in range(len(choice.feasible))]
    return choice.spread([d if d in f else f[0] for d, f in zip(devices, choice.feasible, strict=True)])


def loop_program(tf: Any, parallel: int) -> tuple[Any, Any]:
    """Forty iterations: one device computes terms from the counter, the other sums them; neither waits for the
    other."""
    feed = tf.placeholder(tf.float32, [256, 256])

    def body(i: Any, total: Any) -> list[Any]:
        with tf.device("/cpu:0"):
            made = feed * tf.cast(i, tf.float32)
            for _ in range(3):
                made = tf.matmul(made, feed)
        with tf.device("/cpu:1"):
            for _ in range(3):
                made = tf.matmul(made, feed)
            added = total + made
        return [i + 1, added]

    with tf.device("/cpu:0"):
        start = [tf.constant(0), tf.zeros([256, 256])]
        _, total = tf.while_loop(lambda i, _: i < 40, body, start, parallel_iterations=parallel)
    return feed, tf.reduce_sum(total)


def fan_in(tf: Any, inputs: int, size: int) -> tuple[Any, Any]:
    """Many tensors of the host, which the other device processes one by one."""
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [size, size])
        parts = [x * float(i) for i in range(inputs)]
    with tf.device("/device:NPU:0"):
        total = tf.zeros([size, size])
        for part in parts:
            total = tf.matmul(tf.matmul(total + part, part), part)  # slower than the host sends
    return x, total
