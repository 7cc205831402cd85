"""SGD step of an LSTM in a tf.while_loop over 20 time steps, batch 20, 200 units, with TensorArrays in and out."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bench.workloads import lstm_unrolled
from bench.workloads.lstm_unrolled import BATCH, STEPS, UNITS, data, parameters
from bench.workloads.training import Step, jax_sgd, jax_training, tf_training, torch_training

LEARNING_RATE = 1e-4  # small, since the loss is a sum


def build(tf: ModuleType) -> Step:
    weights, biases = (tf.Variable(value) for value in parameters())
    x = tf.placeholder(tf.float32, [STEPS, BATCH, UNITS])
    inputs = tf.TensorArray(tf.float32, STEPS).unstack(x)
    zeros = tf.zeros([BATCH, UNITS])

    def cell(t: Any, h: Any, c: Any, outputs: Any) -> Any:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs.read(t), h], 1), weights), biases)
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return t + 1, h, c, outputs.write(t, h)

    *_, outputs = tf.while_loop(
        lambda t, *_: t < STEPS, cell, (tf.constant(0), zeros, zeros, tf.TensorArray(tf.float32, STEPS))
    )
    loss = tf.reduce_sum(tf.square(outputs.stack()))
    gradients = tf.gradients(loss, [weights, biases])
    optimizer = tf.train.GradientDescentOptimizer(LEARNING_RATE)
    train = optimizer.apply_gradients(zip(gradients, [weights, biases], strict=True))
    return tf_training(tf, loss, train, {x: data()})


def torch_eager(torch: ModuleType) -> Step:
    """With a Python loop, torch's own."""
    params = [torch.nn.Parameter(torch.from_numpy(value)) for value in parameters()]
    x_value = data()
    return torch_training(
        torch.optim.SGD(params, LEARNING_RATE),
        lambda: lstm_unrolled.torch_loss(torch, params, torch.from_numpy(x_value)),
    )


def jax_jit(jax: ModuleType) -> Step:
    return jax_training(jax, lstm_unrolled.jax_loss(jax), parameters(), [data()], jax_sgd(jax, LEARNING_RATE))
