"""Adam step of an LSTM unrolled over 20 time steps, batch 20, 200 units: some 1,300 ops.

The loss is a sum: a mean has gradients so small that Adam's epsilon counts, which torch adds elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.training import Step, jax_adam, jax_training, tf_training, torch_training

STEPS, BATCH, UNITS = 20, 20, 200
LEARNING_RATE = 0.001


def data() -> np.ndarray:
    """Inputs [STEPS, BATCH, UNITS] float32."""
    return np.random.RandomState(0).randn(STEPS, BATCH, UNITS).astype(np.float32)


def parameters() -> tuple[np.ndarray, np.ndarray]:
    """Weights [2 UNITS, 4 UNITS], of input and output to the four gates, and biases [4 UNITS]."""
    weights = np.random.RandomState(1).randn(2 * UNITS, 4 * UNITS) * 0.05
    return weights.astype(np.float32), np.zeros(4 * UNITS, np.float32)


def build(tf: ModuleType) -> Step:
    weights, biases = (tf.Variable(value) for value in parameters())
    x = tf.placeholder(tf.float32, [STEPS, BATCH, UNITS])
    h = c = tf.zeros([BATCH, UNITS])
    outputs = []
    for x_t in tf.unstack(x):
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x_t, h], 1), weights), biases)
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        outputs.append(h)
    loss = tf.reduce_sum(tf.square(tf.stack(outputs)))
    train = tf.train.AdamOptimizer(LEARNING_RATE).minimize(loss)
    return tf_training(tf, loss, train, {x: data()})


def torch_loss(torch: ModuleType, params: Any, x: Any) -> Any:
    weights, biases = params
    h = c = torch.zeros(BATCH, UNITS)
    outputs = []
    for x_t in x:
        gates = torch.addmm(biases, torch.cat([x_t, h], 1), weights)
        i, j, f, o = gates.chunk(4, 1)
        c = c * torch.sigmoid(f) + torch.sigmoid(i) * torch.tanh(j)
        h = torch.tanh(c) * torch.sigmoid(o)
        outputs.append(h)
    return torch.stack(outputs).square().sum()


def torch_eager(torch: ModuleType) -> Step:
    params = [torch.nn.Parameter(torch.from_numpy(value)) for value in parameters()]
    x_value = data()
    return torch_training(
        torch.optim.Adam(params, LEARNING_RATE), lambda: torch_loss(torch, params, torch.from_numpy(x_value))
    )


def jax_loss(jax: ModuleType) -> Callable[[Any, Any], Any]:
    """From (weights, biases) and inputs; with `lax.scan` over time, as JAX users write it."""
    jnp = jax.numpy

    def loss_of(params: Any, x: Any) -> Any:
        weights, biases = params

        def cell(state: Any, x_t: Any) -> Any:
            h, c = state
            i, j, f, o = jnp.split(jnp.concatenate([x_t, h], 1) @ weights + biases, 4, axis=1)
            c = c * jax.nn.sigmoid(f) + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jnp.tanh(c) * jax.nn.sigmoid(o)
            return (h, c), h

        zeros = jnp.zeros((BATCH, UNITS))
        _, outputs = jax.lax.scan(cell, (zeros, zeros), x)
        return jnp.square(outputs).sum()

    return loss_of


def jax_jit(jax: ModuleType) -> Step:
    return jax_training(jax, jax_loss(jax), parameters(), [data()], jax_adam(jax, LEARNING_RATE))
