"""Dense relu layers that classify, trained by gradient descent: the text of `small_mlp` and `large_mlp`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Mlp:
    batch: int
    widths: tuple[int, ...]  # from the input's to the number of classes

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Inputs [batch, widths[0]] float32 and labels [batch] int32."""
        rng = np.random.RandomState(0)
        inputs = rng.randn(self.batch, self.widths[0]).astype(np.float32)
        return inputs, rng.randint(0, self.widths[-1], self.batch).astype(np.int32)

    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights [m, n] and biases [n] of each layer."""
        rng = np.random.RandomState(1)
        return [
            ((rng.randn(m, n) * np.sqrt(2 / m)).astype(np.float32), np.zeros(n, np.float32))
            for m, n in pairwise(self.widths)
        ]

    def build(self, tf: ModuleType) -> Callable[[], float]:
        x = tf.placeholder(tf.float32, [None, self.widths[0]])
        labels = tf.placeholder(tf.int32, [None])
        h = x
        for i, (weights, biases) in enumerate(self.layers()):
            h = tf.nn.bias_add(tf.matmul(h, tf.Variable(weights)), tf.Variable(biases))
            if i < len(self.widths) - 2:
                h = tf.nn.relu(h)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=h))
        train = tf.train.GradientDescentOptimizer(LEARNING_RATE).minimize(loss)

        session = tf.Session()
        session.run(tf.global_variables_initializer())
        x_value, labels_value = self.data()

        def step() -> float:
            loss_value, _ = session.run([loss, train], {x: x_value, labels: labels_value})
            return float(loss_value)

        return step

    def torch_eager(self, torch: ModuleType) -> Callable[[], float]:
        modules: list[Any] = []
        for weights, biases in self.layers():
            linear = torch.nn.Linear(*weights.shape)
            linear.weight.data = torch.from_numpy(weights.T.copy())
            linear.bias.data = torch.from_numpy(biases)
            modules += [linear, torch.nn.ReLU()]
        model = torch.nn.Sequential(*modules[:-1])
        optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)
        x_value, labels_value = self.data()

        def step() -> float:
            x, labels = torch.from_numpy(x_value), torch.from_numpy(labels_value).long()
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
            return float(loss)

        return step

    def jax_jit(self, jax: ModuleType) -> Callable[[], float]:
        jnp = jax.numpy

        def loss_of(layers: Any, x: Any, labels: Any) -> Any:
            h = x
            for i, (weights, biases) in enumerate(layers):
                h = h @ weights + biases
                if i < len(layers) - 1:
                    h = jax.nn.relu(h)
            log_p = jax.nn.log_softmax(h)
            return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

        @partial(jax.jit, donate_argnums=0)
        def update(layers: Any, x: Any, labels: Any) -> Any:
            loss, gradients = jax.value_and_grad(loss_of)(layers, x, labels)
            return loss, jax.tree.map(lambda p, g: p - LEARNING_RATE * g, layers, gradients)

        layers = jax.tree.map(jnp.array, self.layers())
        x_value, labels_value = self.data()

        def step() -> float:
            nonlocal layers
            loss, layers = update(layers, x_value, labels_value)
            return float(loss)

        return step
