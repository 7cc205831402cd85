"""Dense relu layers that classify, trained by gradient descent: the text of `small_mlp` and `large_mlp`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import linear
from bench.workloads.training import Step, jax_sgd, jax_training, tf_training, torch_training

LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Mlp:
    batch: int
    widths: tuple[int, ...]  # from the input's to the number of classes

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        return examples([self.batch, self.widths[0]], self.widths[-1])

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights [m, n] and biases [n] of each layer."""
        rng = np.random.RandomState(1)
        return [(he_normal(rng, m, n), zeros(n)) for m, n in pairwise(self.widths)]

    def build(self, tf: ModuleType) -> Step:
        x = tf.placeholder(tf.float32, [None, self.widths[0]])
        labels = tf.placeholder(tf.int32, [None])
        h = x
        for i, (weights, biases) in enumerate(self.layers()):
            h = tf.nn.bias_add(tf.matmul(h, tf.Variable(weights)), tf.Variable(biases))
            if i < len(self.widths) - 2:
                h = tf.nn.relu(h)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))
        train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)
        return tf_training(tf, loss, train, dict(zip((x, labels), self.data(), strict=True)))

    def torch_eager(self, torch: ModuleType) -> Step:
        modules: list[Any] = []
        for weights, biases in self.layers():
            modules += [linear(torch, weights, biases), torch.nn.ReLU()]
        model = torch.nn.Sequential(*modules[:-1])
        optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)
        x_value, labels_value = self.data()

        def loss_of() -> Any:
            x, labels = torch.from_numpy(x_value), torch.from_numpy(labels_value).long()
            return torch.nn.functional.cross_entropy(model(x), labels)

        return torch_training(optimizer, loss_of)

    def jax_jit(self, jax: ModuleType) -> Step:
        jnp = jax.numpy

        def loss_of(layers: Any, x: Any, labels: Any) -> Any:
            h = x
            for i, (weights, biases) in enumerate(layers):
                h = h @ weights + biases
                if i < len(layers) - 1:
                    h = jax.nn.relu(h)
            log_p = jax.nn.log_softmax(h)
            return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

        return jax_training(jax, loss_of, self.layers(), self.data(), jax_sgd(jax, LEARNING_RATE))
