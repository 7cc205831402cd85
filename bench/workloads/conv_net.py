"""Momentum step of a VGG-like net, 32x32x3 images, batch 32: six 3x3 convolutions (64, 128, 256 channels)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

BATCH, SIZE, CLASSES = 32, 32, 10
CHANNELS = (64, 128, 256)  # two convolutions each, then a 2x2 max-pool
FLAT = (SIZE // 2 ** len(CHANNELS)) ** 2 * CHANNELS[-1]
LEARNING_RATE, MOMENTUM = 1e-4, 0.9  # a larger rate makes the loss jump, which magnifies rounding errors


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images [BATCH, SIZE, SIZE, 3] float32 and labels [BATCH] int32."""
    rng = np.random.RandomState(0)
    images = rng.randn(BATCH, SIZE, SIZE, 3).astype(np.float32)
    return images, rng.randint(0, CLASSES, BATCH).astype(np.int32)


def parameters() -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[np.ndarray, np.ndarray]]:
    """Filters [3, 3, in, out] and biases [out] of each convolution; weights and biases of the last layer."""
    rng = np.random.RandomState(1)
    convolutions, inputs = [], 3
    for outputs in np.repeat(CHANNELS, 2):
        filters = rng.randn(3, 3, inputs, outputs) * np.sqrt(2 / (9 * inputs))
        convolutions.append((filters.astype(np.float32), np.zeros(outputs, np.float32)))
        inputs = outputs
    weights = (rng.randn(FLAT, CLASSES) * 0.01).astype(np.float32)
    return convolutions, (weights, np.zeros(CLASSES, np.float32))


def build(tf: ModuleType) -> Callable[[], float]:
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

    session = tf.Session()
    session.run(tf.global_variables_initializer())
    images_value, labels_value = data()

    def step() -> float:
        loss_value, _ = session.run([loss, train], {images: images_value, labels: labels_value})
        return float(loss_value)

    return step


def torch_eager(torch: ModuleType) -> Callable[[], float]:
    """In channels_last, which is both torch's faster layout here and the one the images come in."""
    convolutions, (weights, biases) = parameters()
    layers: list[Any] = []
    for i, (filters, bias) in enumerate(convolutions):
        convolution = torch.nn.Conv2d(*filters.shape[2:], kernel_size=3, padding=1)
        convolution.weight.data = torch.from_numpy(filters.transpose(3, 2, 0, 1).copy())
        convolution.bias.data = torch.from_numpy(bias)
        layers += [convolution, torch.nn.ReLU()]
        if i % 2:
            layers.append(torch.nn.MaxPool2d(2))
    features = torch.nn.Sequential(*layers).to(memory_format=torch.channels_last)
    head = torch.nn.Linear(FLAT, CLASSES)
    head.weight.data = torch.from_numpy(weights.T.copy())
    head.bias.data = torch.from_numpy(biases)
    weights_and_biases = [*features.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(weights_and_biases, LEARNING_RATE, momentum=MOMENTUM)
    images_value, labels_value = data()

    def step() -> float:
        images = torch.from_numpy(images_value).permute(0, 3, 1, 2)
        labels = torch.from_numpy(labels_value).long()
        optimizer.zero_grad()
        h = features(images).permute(0, 2, 3, 1).flatten(1)  # the order of an NHWC reshape
        loss = torch.nn.functional.cross_entropy(head(h), labels)
        loss.backward()
        optimizer.step()
        return float(loss)

    return step


def jax_jit(jax: ModuleType) -> Callable[[], float]:
    jnp, lax = jax.numpy, jax.lax
    layout = ("NHWC", "HWIO", "NHWC")

    def loss_of(params: Any, images: Any, labels: Any) -> Any:
        convolutions, (weights, biases) = params
        h = images
        for i, (filters, bias) in enumerate(convolutions):
            h = lax.conv_general_dilated(h, filters, (1, 1), "SAME", dimension_numbers=layout)
            h = jax.nn.relu(h + bias)
            if i % 2:
                h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        log_p = jax.nn.log_softmax(h.reshape(-1, FLAT) @ weights + biases)
        return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

    @partial(jax.jit, donate_argnums=(0, 1))
    def update(params: Any, momenta: Any, images: Any, labels: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, images, labels)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m + g, momenta, gradients)
        return loss, jax.tree.map(lambda p, m: p - LEARNING_RATE * m, params, momenta), momenta

    params = jax.tree.map(jnp.array, parameters())
    momenta = jax.tree.map(jnp.zeros_like, params)
    images_value, labels_value = data()

    def step() -> float:
        nonlocal params, momenta
        loss, params, momenta = update(params, momenta, images_value, labels_value)
        return float(loss)

    return step
