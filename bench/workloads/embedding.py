"""Adagrad step of an embedding [50,000 x 64] with sparse updates: the means of 20 rows, classified, batch 128."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import zeros
from bench.workloads.torch_layers import linear
from bench.workloads.training import Step, jax_adagrad, jax_training, tf_training, torch_training

WORDS, SIZE, BATCH, LENGTH, CLASSES = 50_000, 64, 128, 20, 10
LEARNING_RATE = 0.05


def data() -> tuple[np.ndarray, np.ndarray]:
    """Word numbers [BATCH, LENGTH] int32, the low ones more often, and labels [BATCH] int32."""
    rng = np.random.RandomState(0)
    ids = (WORDS ** rng.uniform(0, 1, (BATCH, LENGTH))).astype(np.int32)
    return ids, rng.randint(0, CLASSES, BATCH).astype(np.int32)


def parameters() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table [WORDS, SIZE], and the classifier's weights [SIZE, CLASSES] and biases [CLASSES]."""
    rng = np.random.RandomState(1)
    table = rng.randn(WORDS, SIZE).astype(np.float32)
    return table, (rng.randn(SIZE, CLASSES) * 0.1).astype(np.float32), zeros(CLASSES)


def build(tf: ModuleType) -> Step:
    table, weights, biases = (tf.Variable(value) for value in parameters())
    ids = tf.placeholder(tf.int32, [None, LENGTH])
    labels = tf.placeholder(tf.int32, [None])
    means = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
    logits = tf.nn.bias_add(tf.matmul(means, weights), biases)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdagradOptimizer(LEARNING_RATE).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((ids, labels), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    table, weights, biases = parameters()
    embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False, sparse=True)
    classifier = linear(torch, weights, biases)
    optimizer = torch.optim.Adagrad(
        [*embedding.parameters(), *classifier.parameters()], LEARNING_RATE, initial_accumulator_value=0.1
    )
    ids_value, labels_value = data()

    def loss_of() -> Any:
        ids, labels = torch.from_numpy(ids_value), torch.from_numpy(labels_value).long()
        return torch.nn.functional.cross_entropy(classifier(embedding(ids).mean(1)), labels)

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    """With a dense gradient of the table: JAX has no other."""

    def loss_of(params: Any, ids: Any, labels: Any) -> Any:
        table, weights, biases = params
        log_p = jax.nn.log_softmax(table[ids].mean(1) @ weights + biases)
        return -jax.numpy.take_along_axis(log_p, labels[:, None], 1).mean()

    return jax_training(jax, loss_of, parameters(), data(), jax_adagrad(jax, LEARNING_RATE))
