"""Momentum step of a small AlexNet, 32x32x3 images, batch 32: 5x5 and 3x3 convolutions, pooling, LRN, two dense."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.parameters import examples, he_normal, zeros
from bench.workloads.torch_layers import convolution, linear
from bench.workloads.training import Step, jax_momentum, jax_training, tf_training, torch_training

BATCH, SIZE, CHANNELS, HIDDEN, CLASSES = 32, 32, 64, 256, 10
FLAT = 7 * 7 * CHANNELS  # 3x3 pools with stride 2 make 15 of 32 and 7 of 15
RADIUS, BIAS, ALPHA, BETA = 4, 1.0, 0.001 / 9, 0.75  # of the normalisation over channels
LEARNING_RATE, MOMENTUM = 1e-4, 0.9  # a larger rate makes the loss jump, which magnifies rounding errors


def data() -> tuple[np.ndarray, np.ndarray]:
    return examples([BATCH, SIZE, SIZE, 3], CLASSES)


def parameters() -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of the two convolutions and the two dense layers."""
    rng = np.random.RandomState(1)
    shapes = (5, 5, 3, CHANNELS), (3, 3, CHANNELS, CHANNELS), (FLAT, HIDDEN), (HIDDEN, CLASSES)
    return [(he_normal(rng, *shape), zeros(shape[-1])) for shape in shapes]


def build(tf: ModuleType) -> Step:
    *convolutions, hidden, classifier = ((tf.Variable(w), tf.Variable(b)) for w, b in parameters())
    images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3])
    labels = tf.placeholder(tf.int32, [None])
    h = images
    for filters, biases in convolutions:
        h = tf.nn.conv2d(h, filters, strides=[1, 1, 1, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.bias_add(h, biases))
        h = tf.nn.max_pool(h, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="VALID")
        h = tf.nn.lrn(h, RADIUS, BIAS, ALPHA, BETA)
    h = tf.nn.relu(tf.nn.xw_plus_b(tf.reshape(h, [-1, FLAT]), *hidden))
    logits = tf.nn.xw_plus_b(h, *classifier)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    return tf_training(tf, loss, train, dict(zip((images, labels), data(), strict=True)))


def torch_eager(torch: ModuleType) -> Step:
    *convolutions, hidden, classifier = parameters()
    size = 2 * RADIUS + 1
    layers: list[Any] = []
    for filters, biases in convolutions:
        layers += [convolution(torch, filters, biases), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2)]
        layers.append(torch.nn.LocalResponseNorm(size, ALPHA * size, BETA, BIAS))  # torch divides alpha by the size
    features = torch.nn.Sequential(*layers)
    head = torch.nn.Sequential(linear(torch, *hidden), torch.nn.ReLU(), linear(torch, *classifier))
    optimizer = torch.optim.SGD([*features.parameters(), *head.parameters()], LEARNING_RATE, momentum=MOMENTUM)
    images_value, labels_value = data()

    def loss_of() -> Any:
        h = features(torch.from_numpy(images_value).permute(0, 3, 1, 2))
        h = h.permute(0, 2, 3, 1).flatten(1)  # the order of an NHWC reshape
        return torch.nn.functional.cross_entropy(head(h), torch.from_numpy(labels_value).long())

    return torch_training(optimizer, loss_of)


def jax_jit(jax: ModuleType) -> Step:
    jnp, lax = jax.numpy, jax.lax
    layout = ("NHWC", "HWIO", "NHWC")

    def normalise(h: Any) -> Any:
        window = (1, 1, 1, 2 * RADIUS + 1)
        sums = lax.reduce_window(h * h, 0.0, lax.add, window, (1, 1, 1, 1), "SAME")
        return h * (BIAS + ALPHA * sums) ** -BETA

    def loss_of(params: Any, images: Any, labels: Any) -> Any:
        *convolutions, hidden, classifier = params
        h = images
        for filters, biases in convolutions:
            h = jax.nn.relu(lax.conv_general_dilated(h, filters, (1, 1), "SAME", dimension_numbers=layout) + biases)
            h = normalise(lax.reduce_window(h, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"))
        h = jax.nn.relu(h.reshape(-1, FLAT) @ hidden[0] + hidden[1])
        log_p = jax.nn.log_softmax(h @ classifier[0] + classifier[1])
        return -jnp.take_along_axis(log_p, labels[:, None], 1).mean()

    return jax_training(jax, loss_of, parameters(), data(), jax_momentum(jax, LEARNING_RATE, MOMENTUM))
