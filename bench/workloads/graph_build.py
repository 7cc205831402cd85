"""Building the graph of 100 dense layers with gradients and SGD, some 2,700 ops; timed once per process.

The first run, timed apart, is all that then happens once: opening the session, initialising the variables,
and one training step.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

MEASURES = "build"
LAYERS, WIDTH, BATCH = 100, 16, 8


def build(tf: ModuleType) -> Callable[[], float]:
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, WIDTH])
    h = x
    for _ in range(LAYERS):
        near_identity = np.eye(WIDTH) + 0.02 * rng.randn(WIDTH, WIDTH)  # so that the signal arrives
        weights = tf.Variable(near_identity.astype(np.float32))
        biases = tf.Variable(np.zeros(WIDTH, np.float32))
        h = tf.nn.relu(tf.matmul(h, weights) + biases)
    loss = tf.reduce_mean(tf.square(h))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    initializer = tf.global_variables_initializer()
    x_value = rng.randn(BATCH, WIDTH).astype(np.float32)

    session = None

    def step() -> float:
        nonlocal session
        if session is None:
            session = tf.Session()
            session.run(initializer)
        loss_value, _ = session.run([loss, train], {x: x_value})
        return float(loss_value)

    return step
