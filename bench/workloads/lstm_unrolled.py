"""Adam step of an LSTM unrolled over 20 time steps, batch 20, 200 units: some 1,300 ops.

The loss is a sum: a mean has gradients so small that Adam's epsilon counts, which torch adds elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

STEPS, BATCH, UNITS = 20, 20, 200
LEARNING_RATE = 0.001


def data() -> np.ndarray:
    """Inputs [STEPS, BATCH, UNITS] float32."""
    return np.random.RandomState(0).randn(STEPS, BATCH, UNITS).astype(np.float32)


def parameters() -> tuple[np.ndarray, np.ndarray]:
    """Weights [2 UNITS, 4 UNITS], of input and output to the four gates, and biases [4 UNITS]."""
    weights = np.random.RandomState(1).randn(2 * UNITS, 4 * UNITS) * 0.05
    return weights.astype(np.float32), np.zeros(4 * UNITS, np.float32)


def build(tf: ModuleType) -> Callable[[], float]:
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

    session = tf.Session()
    session.run(tf.global_variables_initializer())
    x_value = data()

    def step() -> float:
        loss_value, _ = session.run([loss, train], {x: x_value})
        return float(loss_value)

    return step


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    weights, biases = (torch.nn.Parameter(torch.from_numpy(value)) for value in parameters())
    optimizer = torch.optim.Adam([weights, biases], LEARNING_RATE)
    x_value = data()

    def step() -> float:
        optimizer.zero_grad()
        h = c = torch.zeros(BATCH, UNITS)
        outputs = []
        for x_t in torch.from_numpy(x_value):
            gates = torch.addmm(biases, torch.cat([x_t, h], 1), weights)
            i, j, f, o = gates.chunk(4, 1)
            c = c * torch.sigmoid(f) + torch.sigmoid(i) * torch.tanh(j)
            h = torch.tanh(c) * torch.sigmoid(o)
            outputs.append(h)
        loss = torch.stack(outputs).square().sum()
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    """With `lax.scan` over time, as JAX users write it, and Adam's formulas as TensorFlow has them."""
    jnp = jax.numpy
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8

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

    @partial(jax.jit, donate_argnums=0)
    def update(state: Any, x: Any) -> Any:
        params, first, second, count = state
        loss, gradients = jax.value_and_grad(loss_of)(params, x)
        count = count + 1
        rate = LEARNING_RATE * jnp.sqrt(1 - beta2**count) / (1 - beta1**count)
        first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, second, gradients)
        params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + epsilon), params, first, second)
        return loss, (params, first, second, count)

    params = tuple(jnp.array(value) for value in parameters())
    zeros = [tuple(jnp.zeros_like(value) for value in params) for _ in range(2)]
    state = (params, *zeros, jnp.array(0.0))
    x_value = data()

    def step() -> float:
        nonlocal state
        loss, state = update(state, x_value)
        return float(loss)

    return step
