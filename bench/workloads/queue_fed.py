"""A training step of an MLP 784-128-10 whose batch of 64 comes from a queue that a runner's threads fill."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.training import Step

BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 128, 10


def build(tf: ModuleType) -> Step:
    images, labels = (tf.constant(each) for each in examples([BATCH, INPUTS], CLASSES))
    queue = tf.FIFOQueue(8, [tf.float32, tf.int32], [[BATCH, INPUTS], [BATCH]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue([images, labels])] * 2))
    x, y = queue.dequeue()
    rng = np.random.RandomState(1)
    h = tf.nn.relu(tf.matmul(x, tf.Variable(he_normal(rng, INPUTS, HIDDEN))) + tf.Variable(zeros(HIDDEN)))
    logits = tf.matmul(h, tf.Variable(he_normal(rng, HIDDEN, CLASSES))) + tf.Variable(zeros(CLASSES))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    tf.train.start_queue_runners(session)

    def step() -> float:
        value, _ = session.run([loss, train])
        return float(value)

    return step
