"""SGD step of skip-gram with an NCE loss and sparse updates: 20,000 words of 128, batch 128, 64 negatives."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import zeros
from bench.workloads.training import Step, jax_sgd, jax_training, tf_training, torch_training

WORDS, SIZE, BATCH, NEGATIVES = 20_000, 128, 128, 64
LEARNING_RATE = 0.1


def data() -> tuple[np.ndarray, ...]:
    """Words [BATCH] and their neighbours [BATCH], and negatives [NEGATIVES] for the whole batch; all int32.

    They are drawn here, the frequent words (those of low number) more often, and fed: what a framework draws
    could not be compared with the others.
    """
    rng = np.random.RandomState(0)
    return tuple((WORDS ** rng.uniform(0, 1, size)).astype(np.int32) for size in (BATCH, BATCH, NEGATIVES))


def log_expected() -> np.ndarray:
    """log(NEGATIVES * the probability of each word) [WORDS] float32, by the log-uniform distribution."""
    words = np.arange(WORDS)
    return np.log(NEGATIVES * np.log((words + 2) / (words + 1)) / np.log(WORDS + 1)).astype(np.float32)


def parameters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The embeddings [WORDS, SIZE], and the weights [WORDS, SIZE] and biases [WORDS] of the NCE loss."""
    rng = np.random.RandomState(1)
    embeddings = rng.uniform(-1, 1, (WORDS, SIZE)).astype(np.float32)
    return embeddings, (rng.randn(WORDS, SIZE) / np.sqrt(SIZE)).astype(np.float32), zeros(WORDS)


def build(tf: ModuleType) -> Step:
    """`tf.nn.nce_loss`, written out."""
    embeddings, weights, biases = (tf.Variable(value) for value in parameters())
    offsets = tf.constant(log_expected())
    words, neighbours = tf.placeholder(tf.int32, [BATCH]), tf.placeholder(tf.int32, [BATCH])
    negatives = tf.placeholder(tf.int32, [NEGATIVES])

    inputs = tf.nn.embedding_lookup(embeddings, words)
    true_weights, true_biases = tf.nn.embedding_lookup(weights, neighbours), tf.nn.embedding_lookup(biases, neighbours)
    true_logits = tf.reduce_sum(inputs * true_weights, 1) + true_biases - tf.gather(offsets, neighbours)
    other_weights, other_biases = tf.nn.embedding_lookup(weights, negatives), tf.nn.embedding_lookup(biases, negatives)
    products = tf.matmul(inputs, other_weights, transpose_b=True)
    other_logits = products + other_biases - tf.gather(offsets, negatives)
    entropy = tf.nn.sigmoid_cross_entropy_with_logits
    true_losses = entropy(labels=tf.ones_like(true_logits), logits=true_logits)
    other_losses = entropy(labels=tf.zeros_like(other_logits), logits=other_logits)
    loss = tf.reduce_mean(true_losses + tf.reduce_sum(other_losses, 1))
    train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((words, neighbours, negatives), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    embeddings_value, weights_value, biases_value = parameters()
    tables = embeddings_value, weights_value, biases_value[:, None]  # an embedding has two dimensions
    embeddings, weights, biases = (torch.nn.Parameter(torch.from_numpy(table)) for table in tables)
    offsets = torch.from_numpy(log_expected())
    optimizer = torch.optim.SGD([embeddings, weights, biases], LEARNING_RATE)
    data_values = data()

    def rows(table: Any, ids: Any) -> Any:
        return torch.nn.functional.embedding(ids, table, sparse=True)

    def loss_of() -> Any:
        words, neighbours, negatives = (torch.from_numpy(value) for value in data_values)
        inputs = rows(embeddings, words)
        true_products = (inputs * rows(weights, neighbours)).sum(1)
        true_logits = true_products + rows(biases, neighbours).squeeze(1) - offsets[neighbours]
        products = inputs @ rows(weights, negatives).T
        other_logits = products + rows(biases, negatives).squeeze(1) - offsets[negatives]
        softplus = torch.nn.functional.softplus
        return (softplus(-true_logits) + softplus(other_logits).sum(1)).mean()

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    """With dense gradients of the tables: JAX has no others."""
    offsets = jax.numpy.array(log_expected())

    def loss_of(params: Any, words: Any, neighbours: Any, negatives: Any) -> Any:
        embeddings, weights, biases = params
        inputs = embeddings[words]
        true_logits = (inputs * weights[neighbours]).sum(1) + biases[neighbours] - offsets[neighbours]
        other_logits = inputs @ weights[negatives].T + biases[negatives] - offsets[negatives]
        return (jax.nn.softplus(-true_logits) + jax.nn.softplus(other_logits).sum(1)).mean()

    return jax_training(jax, loss_of, parameters(), data(), jax_sgd(jax, LEARNING_RATE))
