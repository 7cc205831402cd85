"""Momentum step of an Inception module, 16x16 images of 64 channels, batch 16: 1x1, 3x3, 5x5 and pooling branches."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import convolution, linear
from bench.workloads.training import Step, jax_momentum, jax_training, tf_training, torch_training

BATCH, SIZE, CHANNELS, CLASSES = 16, 16, 64, 10
BRANCHES = (  # kernel size and channels of the convolutions, one after another
    ((1, 32),),
    ((1, 48), (3, 64)),
    ((1, 8), (5, 16)),
    ((1, 16),),  # after a 3x3 max-pool
)
OUTPUTS = sum(branch[-1][1] for branch in BRANCHES)
LEARNING_RATE, MOMENTUM = 0.001, 0.9

Layer = tuple[np.ndarray, np.ndarray]


def data() -> tuple[np.ndarray, np.ndarray]:
    return examples([BATCH, SIZE, SIZE, CHANNELS], CLASSES)


def parameters() -> tuple[list[list[Layer]], Layer]:
    """Filters and biases of each branch's convolutions; weights and biases of the classifier."""
    rng = np.random.RandomState(1)
    branches = []
    for branch in BRANCHES:
        layers, inputs = [], CHANNELS
        for size, outputs in branch:
            layers.append((he_normal(rng, size, size, inputs, outputs), zeros(outputs)))
            inputs = outputs
        branches.append(layers)
    return branches, (he_normal(rng, OUTPUTS, CLASSES), zeros(CLASSES))


def build(tf: ModuleType) -> Step:
    branches, (weights, biases) = parameters()
    images = tf.placeholder(tf.float32, [None, SIZE, SIZE, CHANNELS])
    labels = tf.placeholder(tf.int32, [None])
    pooled = tf.nn.max_pool(images, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME")
    ends = []
    for h, layers in zip((images, images, images, pooled), branches, strict=True):
        for filters, bias in layers:
            h = tf.nn.conv2d(h, tf.Variable(filters), strides=[1, 1, 1, 1], padding="SAME")
            h = tf.nn.relu(tf.nn.bias_add(h, tf.Variable(bias)))
        ends.append(h)
    features = tf.reduce_mean(tf.concat(ends, 3), [1, 2])
    logits = tf.nn.xw_plus_b(features, tf.Variable(weights), tf.Variable(biases))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((images, labels), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    branches, (weights, biases) = parameters()
    modules = [
        torch.nn.Sequential(*(part for layer in layers for part in (convolution(torch, *layer), torch.nn.ReLU())))
        for layers in branches
    ]
    modules[-1].insert(0, torch.nn.MaxPool2d(3, 1, padding=1))
    classifier = linear(torch, weights, biases)
    parts = torch.nn.ModuleList([*modules, classifier])
    optimizer = torch.optim.SGD(parts.parameters(), LEARNING_RATE, momentum=MOMENTUM)
    images_value, labels_value = data()

    def loss_of() -> Any:
        images = torch.from_numpy(images_value).permute(0, 3, 1, 2)
        features = torch.cat([module(images) for module in modules], 1).mean((2, 3))
        return torch.nn.functional.cross_entropy(classifier(features), torch.from_numpy(labels_value).long())

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    jnp, lax = jax.numpy, jax.lax
    layout = ("NHWC", "HWIO", "NHWC")

    def loss_of(params: Any, images: Any, labels: Any) -> Any:
        branches, (weights, biases) = params
        pooled = lax.reduce_window(images, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
        ends = []
        for h, layers in zip((images, images, images, pooled), branches, strict=True):
            for filters, bias in layers:
                h = jax.nn.relu(lax.conv_general_dilated(h, filters, (1, 1), "SAME", dimension_numbers=layout) + bias)
            ends.append(h)
        log_p = jax.nn.log_softmax(jnp.concatenate(ends, 3).mean((1, 2)) @ weights + biases)
        return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

    return jax_training(jax, loss_of, parameters(), data(), jax_momentum(jax, LEARNING_RATE, MOMENTUM))
