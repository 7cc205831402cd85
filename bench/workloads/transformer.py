"""Adam step of a transformer's encoder layer, batch 8, length 64: 128 units in 4 heads, 512 hidden, layer norm.

The loss is a sum: a mean has gradients so small that Adam's epsilon counts, which torch adds elsewhere.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import zeros
from bench.workloads.training import Step, jax_adam, jax_training, tf_training, torch_training

BATCH, LENGTH, UNITS, HEADS, HIDDEN = 8, 64, 128, 4, 512
EPSILON = 1e-5
LEARNING_RATE = 1e-3


def data() -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets [BATCH, LENGTH, UNITS] float32."""
    rng = np.random.RandomState(0)
    inputs, targets = (rng.randn(BATCH, LENGTH, UNITS).astype(np.float32) for _ in range(2))
    return inputs, targets


def parameters() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Weights [in, out] and biases [out] of the four products; scale and offset of the two normalisations."""
    rng = np.random.RandomState(1)

    def dense(inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
        return (rng.randn(inputs, outputs) / np.sqrt(inputs)).astype(np.float32), zeros(outputs)

    return {
        "queries_keys_values": dense(UNITS, 3 * UNITS),
        "attention": dense(UNITS, UNITS),
        "hidden": dense(UNITS, HIDDEN),
        "output": dense(HIDDEN, UNITS),
        "norm1": (np.ones(UNITS, np.float32), zeros(UNITS)),
        "norm2": (np.ones(UNITS, np.float32), zeros(UNITS)),
    }


def build(tf: ModuleType) -> Step:
    params = {name: [tf.Variable(value) for value in values] for name, values in parameters().items()}
    inputs = tf.placeholder(tf.float32, [BATCH, LENGTH, UNITS])
    targets = tf.placeholder(tf.float32, [BATCH, LENGTH, UNITS])

    def dense(name: str, rows: Any) -> Any:
        return tf.nn.xw_plus_b(rows, *params[name])

    def normalise(name: str, rows: Any) -> Any:
        scale, offset = params[name]
        mean, variance = tf.nn.moments(rows, [-1], keep_dims=True)
        return tf.nn.batch_normalization(rows, mean, variance, offset, scale, EPSILON)

    rows = tf.reshape(inputs, [-1, UNITS])
    split = tf.reshape(dense("queries_keys_values", rows), [BATCH, LENGTH, 3, HEADS, UNITS // HEADS])
    queries, keys, values = tf.unstack(tf.transpose(split, [2, 0, 3, 1, 4]))
    scores = tf.matmul(queries, keys, transpose_b=True) * (UNITS // HEADS) ** -0.5
    heads = tf.matmul(tf.nn.softmax(scores), values)
    attention = dense("attention", tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [-1, UNITS]))
    rows = normalise("norm1", rows + attention)
    rows = normalise("norm2", rows + dense("output", tf.nn.relu(dense("hidden", rows))))
    loss = tf.reduce_sum(tf.square(tf.reshape(rows, [BATCH, LENGTH, UNITS]) - targets))
    train = tf.train.AdamOptimizer(LEARNING_RATE).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((inputs, targets), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    params = {name: [torch.from_numpy(value.T.copy()) for value in values] for name, values in parameters().items()}
    layer = torch.nn.TransformerEncoderLayer(UNITS, HEADS, HIDDEN, dropout=0.0, batch_first=True)
    layer.self_attn.in_proj_weight.data, layer.self_attn.in_proj_bias.data = params["queries_keys_values"]
    for part, name in (
        (layer.self_attn.out_proj, "attention"),
        (layer.linear1, "hidden"),
        (layer.linear2, "output"),
        (layer.norm1, "norm1"),
        (layer.norm2, "norm2"),
    ):
        part.weight.data, part.bias.data = params[name]
    optimizer = torch.optim.Adam(layer.parameters(), LEARNING_RATE)
    inputs_value, targets_value = data()

    def loss_of() -> Any:
        inputs, targets = torch.from_numpy(inputs_value), torch.from_numpy(targets_value)
        return (layer(inputs) - targets).square().sum()

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    jnp = jax.numpy

    def loss_of(params: Any, inputs: Any, targets: Any) -> Any:
        def dense(name: str, x: Any) -> Any:
            weights, biases = params[name]
            return x @ weights + biases

        def normalise(name: str, x: Any) -> Any:
            scale, offset = params[name]
            mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
            return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + offset

        x = inputs
        split = dense("queries_keys_values", x).reshape(BATCH, LENGTH, 3, HEADS, UNITS // HEADS)
        queries, keys, values = jnp.moveaxis(split, 2, 0)
        scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) * (UNITS // HEADS) ** -0.5
        heads = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), values)
        x = normalise("norm1", x + dense("attention", heads.reshape(BATCH, LENGTH, UNITS)))
        x = normalise("norm2", x + dense("output", jax.nn.relu(dense("hidden", x))))
        return jnp.square(x - targets).sum()

    return jax_training(jax, loss_of, parameters(), data(), jax_adam(jax, LEARNING_RATE))
