"""Momentum step of a VGG-like net, 32x32x3 images, batch 32: six 3x3 convolutions (64, 128, 256 channels)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import convolution, linear
from bench.workloads.training import Step, jax_momentum, jax_training, tf_training, torch_training

BATCH, SIZE, CLASSES = 32, 32, 10
CHANNELS = (64, 128, 256)  # two convolutions each, then a 2x2 max-pool
FLAT = (SIZE // 2 ** len(CHANNELS)) ** 2 * CHANNELS[-1]
LEARNING_RATE, MOMENTUM = 1e-4, 0.9  # a larger rate makes the loss jump, which magnifies rounding errors


def data() -> tuple[np.ndarray, np.ndarray]:
    return examples([BATCH, SIZE, SIZE, 3], CLASSES)


def parameters() -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[np.ndarray, np.ndarray]]:
    """Filters [3, 3, in, out] and biases [out] of each convolution; weights and biases of the last layer."""
    rng = np.random.RandomState(1)
    convolutions, inputs = [], 3
    for outputs in np.repeat(CHANNELS, 2):
        convolutions.append((he_normal(rng, 3, 3, inputs, outputs), zeros(outputs)))
        inputs = outputs
    return convolutions, ((rng.randn(FLAT, CLASSES) * 0.01).astype(np.float32), zeros(CLASSES))


def build(tf: ModuleType) -> Step:
    return tf_training(tf, *tf_model(tf))


def torch_eager(torch: ModuleType) -> Step:
    return torch_training(*torch_model(torch))


def jax_jit(jax: ModuleType) -> Step:
    optimizer = jax_momentum(jax, LEARNING_RATE, MOMENTUM)
    return jax_training(jax, jax_loss(jax, jax.numpy.float32), parameters(), data(), optimizer)


def tf_model(tf: ModuleType) -> tuple[Any, Any, dict[Any, np.ndarray]]:
    """The loss, the op that trains, and what to feed."""
    convolutions, (weights, biases) = parameters()
    images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3])
    labels = tf.placeholder(tf.int32, [None])
    h = images
    for i, (filters, bias) in enumerate(convolutions):
        h = tf.nn.conv2d(h, tf.Variable(filters), strides=[1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.bias_add(h, tf.Variable(bias)))
        if i % 2:
            h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    h = tf.reshape(h, [-1, FLAT])
    logits = tf.nn.bias_add(tf.matmul(h, tf.Variable(weights)), tf.Variable(biases))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    return loss, train, dict(zip((images, labels), data(), strict=True))


def torch_model(torch: ModuleType) -> tuple[Any, Callable[[], Any]]:
    """The optimizer, and what computes the loss.

    In channels_last, which is both torch's faster layout here and the one the images come in.
    """
    convolutions, (weights, biases) = parameters()
    layers: list[Any] = []
    for i, (filters, bias) in enumerate(convolutions):
        layers += [convolution(torch, filters, bias), torch.nn.ReLU()]
        if i % 2:
            layers.append(torch.nn.MaxPool2d(2))
    features = torch.nn.Sequential(*layers)
    head = linear(torch, weights, biases)
    weights_and_biases = [*features.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(weights_and_biases, LEARNING_RATE, momentum=MOMENTUM)
    images_value, labels_value = data()

    def loss_of() -> Any:
        images = torch.from_numpy(images_value).permute(0, 3, 1, 2)
        labels = torch.from_numpy(labels_value).long()
        h = features(images).permute(0, 2, 3, 1).flatten(1)  # the order of an NHWC reshape
        return torch.nn.functional.cross_entropy(head(h), labels)

    return optimizer, loss_of


def jax_loss(jax: ModuleType, dtype: Any) -> Callable[[Any, Any, Any], Any]:
    """The loss of parameters, images and labels, with convolutions of `dtype`."""
    jnp, lax = jax.numpy, jax.lax
    layout = ("NHWC", "HWIO", "NHWC")

    def loss_of(params: Any, images: Any, labels: Any) -> Any:
        convolutions, (weights, biases) = params
        h = images.astype(dtype)
        for i, (filters, bias) in enumerate(jax.tree.map(lambda each: each.astype(dtype), convolutions)):
            h = lax.conv_general_dilated(h, filters, (1, 1), "SAME", dimension_numbers=layout)
            h = jax.nn.relu(h + bias)
            if i % 2:
                h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        log_p = jax.nn.log_softmax(h.reshape(-1, FLAT).astype(weights.dtype) @ weights + biases)
        return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

    return loss_of
