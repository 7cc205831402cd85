"""SGD step of tf.nn.dynamic_rnn with an LSTM: sequences of up to 20 steps and unlike lengths, batch 20, 200 units.

`tf.nn.dynamic_rnn` is written out, since TensorFlow 2 has it no more: the length is known at run time only, and a
sequence that has ended keeps its state and returns zeros.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import zeros
from bench.workloads.training import Step, jax_sgd, jax_training, tf_training, torch_training

STEPS, BATCH, UNITS = 20, 20, 200
LEARNING_RATE = 1e-4  # small, since the loss is a sum
FORGET_BIAS = 1.0


def data() -> tuple[np.ndarray, np.ndarray]:
    """Inputs [BATCH, STEPS, UNITS] float32 and lengths [BATCH] int32, the longest of which is STEPS."""
    rng = np.random.RandomState(0)
    lengths = rng.randint(STEPS // 2, STEPS + 1, BATCH).astype(np.int32)
    lengths[0] = STEPS
    return rng.randn(BATCH, STEPS, UNITS).astype(np.float32), lengths


def parameters() -> tuple[np.ndarray, np.ndarray]:
    """Weights [2 UNITS, 4 UNITS], of input and output to the gates i, j, f and o, and biases [4 UNITS]."""
    weights = np.random.RandomState(1).randn(2 * UNITS, 4 * UNITS) * 0.05
    return weights.astype(np.float32), zeros(4 * UNITS)


def build(tf: ModuleType) -> Step:
    weights, biases = (tf.Variable(value) for value in parameters())
    inputs = tf.placeholder(tf.float32, [None, None, UNITS])
    lengths = tf.placeholder(tf.int32, [None])

    by_time = tf.transpose(inputs, [1, 0, 2])
    steps, batch = tf.shape(by_time)[0], tf.shape(by_time)[1]
    array = tf.TensorArray(tf.float32, steps).unstack(by_time)
    nothing = tf.zeros(tf.stack([batch, UNITS]))
    end = tf.minimum(steps, tf.maximum(1, tf.reduce_max(lengths)))

    def one_step(t: Any, h: Any, c: Any, outputs: Any) -> Any:
        gates = tf.nn.bias_add(tf.matmul(tf.concat([array.read(t), h], 1), weights), biases)
        i, j, f, o = tf.split(gates, 4, axis=1)
        new_c = c * tf.sigmoid(f + FORGET_BIAS) + tf.sigmoid(i) * tf.tanh(j)
        new_h = tf.tanh(new_c) * tf.sigmoid(o)
        ended = t >= lengths
        outputs = outputs.write(t, tf.where(ended, nothing, new_h))
        return t + 1, tf.where(ended, h, new_h), tf.where(ended, c, new_c), outputs

    state_shape = tf.TensorShape([None, UNITS])
    *_, outputs = tf.while_loop(
        lambda t, *_: t < end,
        one_step,
        (tf.constant(0), nothing, nothing, tf.TensorArray(tf.float32, steps)),
        shape_invariants=(tf.TensorShape([]), state_shape, state_shape, tf.TensorShape(None)),
    )
    by_batch = tf.transpose(outputs.stack(), [1, 0, 2])
    loss = tf.reduce_sum(tf.square(by_batch))
    train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((inputs, lengths), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    """`torch.nn.LSTM` of packed sequences. It has the gates as i, f, j, o, and two biases, of which one is used."""
    weights, biases = parameters()
    i, j, f, o = np.split(weights, 4, 1)
    weights = np.concatenate([i, f, j, o], 1)
    biases[UNITS : 2 * UNITS] = FORGET_BIAS
    lstm = torch.nn.LSTM(UNITS, UNITS, batch_first=True)
    lstm.weight_ih_l0.data, lstm.weight_hh_l0.data = (torch.from_numpy(w.T.copy()) for w in np.split(weights, 2))
    lstm.bias_ih_l0.data, lstm.bias_hh_l0.data = torch.from_numpy(biases), torch.zeros(4 * UNITS)
    lstm.bias_hh_l0.requires_grad = False
    optimizer = torch.optim.SGD([lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0], LEARNING_RATE)
    inputs_value, lengths_value = data()

    def loss_of() -> Any:
        inputs, lengths = torch.from_numpy(inputs_value), torch.from_numpy(lengths_value)
        packing = torch.nn.utils.rnn
        packed = packing.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        outputs, _ = packing.pad_packed_sequence(lstm(packed)[0], batch_first=True)
        return outputs.square().sum()

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    jnp = jax.numpy

    def loss_of(params: Any, inputs: Any, lengths: Any) -> Any:
        weights, biases = params

        def cell(state: Any, at: Any) -> Any:
            (h, c), (t, x_t) = state, at
            i, j, f, o = jnp.split(jnp.concatenate([x_t, h], 1) @ weights + biases, 4, axis=1)
            new_c = c * jax.nn.sigmoid(f + FORGET_BIAS) + jax.nn.sigmoid(i) * jnp.tanh(j)
            new_h = jnp.tanh(new_c) * jax.nn.sigmoid(o)
            ended = (t >= lengths)[:, None]
            return (jnp.where(ended, h, new_h), jnp.where(ended, c, new_c)), jnp.where(ended, 0, new_h)

        nothing = jnp.zeros((inputs.shape[0], UNITS))
        _, outputs = jax.lax.scan(cell, (nothing, nothing), (jnp.arange(STEPS), inputs.transpose(1, 0, 2)))
        return jnp.square(outputs).sum()

    return jax_training(jax, loss_of, parameters(), data(), jax_sgd(jax, LEARNING_RATE))
