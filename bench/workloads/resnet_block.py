"""Momentum step of two residual blocks with fused batch norm, 16x16 images of 64 channels, batch 16.

The moving averages of the batch statistics are kept as well, as training does; the loss does not depend on them.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import convolution, linear
from bench.workloads.training import Step, jax_momentum, tf_training, torch_training

BATCH, SIZE, CHANNELS, CLASSES = 16, 16, 64, 10
BLOCKS = 2
DECAY, EPSILON = 0.9, 1e-5
LEARNING_RATE, MOMENTUM = 0.001, 0.9


def data() -> tuple[np.ndarray, np.ndarray]:
    return examples([BATCH, SIZE, SIZE, CHANNELS], CLASSES)


def parameters() -> tuple[list[tuple[np.ndarray, ...]], tuple[np.ndarray, np.ndarray]]:
    """Filters, scale and offset of each convolution, two for a block; weights and biases of the classifier."""
    rng = np.random.RandomState(1)
    layers: list[tuple[np.ndarray, ...]] = [
        (he_normal(rng, 3, 3, CHANNELS, CHANNELS), np.ones(CHANNELS, np.float32), zeros(CHANNELS))
        for _ in range(2 * BLOCKS)
    ]
    return layers, (he_normal(rng, CHANNELS, CLASSES), zeros(CLASSES))


def build(tf: ModuleType) -> Step:
    layers, (weights, biases) = parameters()
    images = tf.placeholder(tf.float32, [None, SIZE, SIZE, CHANNELS])
    labels = tf.placeholder(tf.int32, [None])
    updates = []

    def convolve(h: Any, filters: Any, scale: Any, offset: Any) -> Any:
        h = tf.nn.conv2d(h, tf.Variable(filters), strides=[1, 1, 1, 1], padding="SAME")
        h, *statistics = tf.nn.fused_batch_norm(h, tf.Variable(scale), tf.Variable(offset), epsilon=EPSILON)
        for initial, now in zip((zeros(CHANNELS), np.ones(CHANNELS, np.float32)), statistics, strict=True):
            average = tf.Variable(initial, trainable=False)
            updates.append(tf.assign_sub(average, (1 - DECAY) * (average - now)))
        return h

    h = images
    for first, second in zip(layers[::2], layers[1::2], strict=True):
        h = tf.nn.relu(h + convolve(tf.nn.relu(convolve(h, *first)), *second))
    h = tf.reduce_mean(h, [1, 2])
    logits = tf.nn.bias_add(tf.matmul(h, tf.Variable(weights)), tf.Variable(biases))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    with tf.control_dependencies(updates):
        train = tf.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((images, labels), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    layers, (weights, biases) = parameters()
    convolutions = torch.nn.ModuleList(convolution(torch, filters) for filters, _, _ in layers)
    norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(CHANNELS, EPSILON, 1 - DECAY) for _ in layers)
    classifier = linear(torch, weights, biases)
    parts = torch.nn.ModuleList([convolutions, norms, classifier])
    optimizer = torch.optim.SGD(parts.parameters(), LEARNING_RATE, momentum=MOMENTUM)
    images_value, labels_value = data()

    def loss_of() -> Any:
        h = torch.from_numpy(images_value).permute(0, 3, 1, 2)
        for i in range(0, 2 * BLOCKS, 2):
            inner = torch.relu(norms[i](convolutions[i](h)))
            h = torch.relu(h + norms[i + 1](convolutions[i + 1](inner)))
        labels = torch.from_numpy(labels_value).long()
        return torch.nn.functional.cross_entropy(classifier(h.mean((2, 3))), labels)

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    jnp = jax.numpy
    optimizer = jax_momentum(jax, LEARNING_RATE, MOMENTUM)

    def convolve(h: Any, filters: Any, scale: Any, offset: Any) -> Any:
        """The result, and the mean and the unbiased variance of the batch."""
        layout = ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(h, filters, (1, 1), "SAME", dimension_numbers=layout)
        mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
        count = h.size // CHANNELS
        h = (h - mean) * jax.lax.rsqrt(variance + EPSILON) * scale + offset
        return h, (mean, variance * count / (count - 1))

    def loss_of(params: Any, images: Any, labels: Any) -> Any:
        layers, (weights, biases) = params
        h, statistics = images, []
        for first, second in zip(layers[::2], layers[1::2], strict=True):
            inner, of_first = convolve(h, *first)
            outer, of_second = convolve(jax.nn.relu(inner), *second)
            h = jax.nn.relu(h + outer)
            statistics += [of_first, of_second]
        log_p = jax.nn.log_softmax(h.mean((1, 2)) @ weights + biases)
        return -jnp.take_along_axis(log_p, labels[:, None], 1).mean(), statistics

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(params: Any, momenta: Any, averages: Any, images: Any, labels: Any) -> Any:
        (loss, now), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, images, labels)
        averages = jax.tree.map(lambda average, new: DECAY * average + (1 - DECAY) * new, averages, now)
        return loss, *optimizer.update(params, gradients, momenta), averages

    params = jax.tree.map(jnp.array, parameters())
    momenta = optimizer.init(params)
    averages = [(jnp.zeros(CHANNELS), jnp.ones(CHANNELS)) for _ in range(2 * BLOCKS)]
    images_value, labels_value = data()

    def step() -> float:
        nonlocal params, momenta, averages
        loss, params, momenta, averages = update(params, momenta, averages, images_value, labels_value)
        return float(loss)

    return step
