"""Building the graph of 100 dense layers with gradients and SGD, some 2,700 ops; timed once per process."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.parameters import zeros
from bench.workloads.training import Step

MEASURES = "build"
LAYERS, WIDTH, BATCH = 100, 16, 8
LEARNING_RATE = 0.01


def data() -> np.ndarray:
    """Inputs [BATCH, WIDTH] float32."""
    return np.random.RandomState(0).randn(BATCH, WIDTH).astype(np.float32)


def parameters() -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights [WIDTH, WIDTH] of each layer, near the identity so that the signal arrives, and biases [WIDTH]."""
    rng = np.random.RandomState(1)
    return [((np.eye(WIDTH) + 0.02 * rng.randn(WIDTH, WIDTH)).astype(np.float32), zeros(WIDTH)) for _ in range(LAYERS)]


def build(tf: ModuleType) -> Step:
    x = tf.placeholder(tf.float32, [None, WIDTH])
    h = x
    for weights, biases in parameters():
        h = tf.nn.relu(tf.matmul(h, tf.Variable(weights)) + tf.Variable(biases))
    loss = tf.reduce_mean(tf.square(h))
    train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)
    initializer = tf.global_variables_initializer()
    x_value = data()

    session = None

    def step() -> float:
        nonlocal session
        if session is None:
            session = tf.Session()
            session.run(initializer)
        loss_value, _ = session.run([loss, train], {x: x_value})
        return float(loss_value)

    return step
