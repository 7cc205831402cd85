"""How many nodes layers count for the seeds of what follows: as many as in TensorFlow 1.15, first call and second."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.scopes import seed_count

L = tf.keras.layers
IMAGE, SERIES = (8, 8, 3), (5, 3)

LAYERS: list[tuple[Any, tuple[int | None, ...], int, int]] = [
    (lambda: L.Dense(3), (5,), 20, 4),
    (lambda: L.Dense(3, kernel_regularizer="l2"), (5,), 20, 4),
    (lambda: L.Dense(3, activation="selu"), (5,), 28, 12),
    (L.Flatten, IMAGE, 8, 8),
    (L.Flatten, (None, 3), 8, 8),
    (lambda: L.Conv2D(4, 3, strides=2, padding="same", activation="relu"), IMAGE, 22, 5),
    (lambda: L.Conv2D(4, 3, dilation_rate=2), IMAGE, 31, 14),
    (lambda: L.Conv1D(4, 3), (8, 3), 26, 9),
    (lambda: L.SeparableConv2D(4, 3), IMAGE, 35, 8),
    (lambda: L.DepthwiseConv2D(3), IMAGE, 22, 6),
    (lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"), IMAGE, 43, 27),
    (L.UpSampling1D, (8, 3), 5, 5),
    (L.UpSampling2D, IMAGE, 8, 8),
    (L.BatchNormalization, IMAGE, 68, 46),
    (lambda: L.BatchNormalization(scale=False, center=False), (5,), 75, 63),
    (lambda: L.Dropout(0.5), (5,), 26, 24),
    (lambda: L.Dropout(0.0), (5,), 10, 8),
    (lambda: L.SpatialDropout1D(0.5), (8, 3), 36, 34),
    (lambda: L.GaussianNoise(0.5), (5,), 16, 14),
    (lambda: L.GaussianDropout(0.5), (5,), 16, 14),
    (L.PReLU, (5,), 12, 7),
    (L.Masking, (4, 5), 7, 7),
    (lambda: L.LSTM(4), SERIES, 280, 240),
    (lambda: L.LSTM(4, go_backwards=True), (None, 3), 282, 242),
    (lambda: L.LSTM(4, implementation=2), SERIES, 212, 172),
    (lambda: L.LSTM(4, recurrent_activation="sigmoid", use_bias=False), SERIES, 212, 181),
    (lambda: L.LSTM(4, dropout=0.2, recurrent_dropout=0.2), SERIES, 496, 454),
    (lambda: L.GRU(4), SERIES, 274, 238),
    (lambda: L.GRU(4, reset_after=True), SERIES, 302, 266),
    (lambda: L.SimpleRNN(4), SERIES, 128, 94),
    (lambda: L.Bidirectional(L.LSTM(4)), SERIES, 564, 484),
    (lambda: L.TimeDistributed(L.Dense(3)), SERIES, 24, 8),
    (lambda: L.TimeDistributed(L.Dense(3)), (None, 3), 31, 15),
    (lambda: L.TimeDistributed(L.Flatten()), (None, 8, 8, 3), 19, 19),
    (lambda: L.TimeDistributed(L.Conv2D(2, 3)), (5, 8, 8, 3), 25, 8),
]


@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_layers_count_tensorflows_nodes(number: int) -> None:
    make, shape, first, second = LAYERS[number]
    x, layer = tf.keras.Input(shape), make()
    counts = [seed_count()]
    for _ in range(2):
        layer(x)
        counts.append(seed_count())
    # `clear_session` has made the learning phase, which the first call makes otherwise.
    made = 2 if isinstance(layer, L.BatchNormalization | L.Dropout | L.GaussianNoise | L.GaussianDropout) else 0
    made = 2 if getattr(layer, "recurrent_dropout", 0) else made
    assert (counts[1] - counts[0] + made, counts[2] - counts[1]) == (first, second)


def test_masks_and_states_count_too() -> None:
    x = L.Masking()(tf.keras.Input(SERIES))
    states = [tf.keras.Input((4,)) for _ in range(2)]
    counts = [seed_count()]
    for layer, options in (
        (L.LSTM(4), {}),
        (L.GRU(4), {}),
        (L.SimpleRNN(4), {}),
        (L.TimeDistributed(L.Dense(3, activation="relu")), {}),
        (L.LSTM(4), {"initial_state": states}),
    ):
        layer(x, **options)
        counts.append(seed_count())
    assert [b - a for a, b in itertools.pairwise(counts)] == [313, 304, 158, 29, 292]


def test_clear_session_makes_the_learning_phase() -> None:
    tf.keras.backend.clear_session()
    assert seed_count() == 2


OBJECTIVES: list[tuple[str, Any, int, list[str] | None, int, int]] = [
    ("mse", None, 3, None, 1, 24),
    ("mae", None, 1, None, 3, 143),
    ("binary_crossentropy", "sigmoid", 1, None, 1, 34),
    ("binary_crossentropy", None, 1, ["acc"], 1, 72),
    ("categorical_crossentropy", "softmax", 3, None, 1, 53),
    ("categorical_crossentropy", None, 3, ["acc", "mae"], 1, 89),
    ("sparse_categorical_crossentropy", None, 3, ["acc"], 2, 181),
    ("logcosh", None, 3, None, 2, 107),
]


@pytest.mark.parametrize(("loss", "activation", "units", "metrics", "outputs", "nodes"), OBJECTIVES)
def test_compile_counts_tensorflows_nodes(
    loss: str, activation: Any, units: int, metrics: Any, outputs: int, nodes: int
) -> None:
    x = tf.keras.Input((5,))
    model = tf.keras.Model(x, [L.Dense(units, activation=activation)(x) for _ in range(outputs)])
    begin = seed_count()
    model.compile(tf.keras.optimizers.Adam(0.0002, 0.5), loss, metrics=metrics)
    assert seed_count() - begin == nodes
    if outputs == 1 and loss == "mse":
        model.train_on_batch(np.ones((1, 5)), np.ones((1, 3)), sample_weight=np.ones(1))


@pytest.mark.parametrize(("regularized", "nodes"), [(1, 41), (2, 58), (3, 74)])
def test_compile_counts_regularizers(regularized: int, nodes: int) -> None:
    layers = [L.Dense(3, kernel_regularizer="l2" if i < regularized else None, input_shape=(5,)) for i in range(3)]
    model = tf.keras.Sequential(layers)
    begin = seed_count()
    model.compile("nadam", "mse")
    assert seed_count() - begin == nodes


def test_a_generator_built_after_its_discriminator_has_tensorflows_weights() -> None:
    """As a program does that begins with `tf.set_random_seed(7)`; TensorFlow 1.15 printed the numbers."""
    tf.keras.backend.clear_session()
    tf.set_random_seed(7)
    discriminator = tf.keras.Sequential(
        [L.Dense(4, input_shape=(5,)), L.LeakyReLU(0.2), L.Dropout(0.3), L.Dense(1, activation="sigmoid")]
    )
    discriminator.compile(tf.keras.optimizers.Adam(0.0002, 0.5), "binary_crossentropy", metrics=["accuracy"])
    generator = tf.keras.Sequential([L.Dense(4, input_shape=(2,)), L.BatchNormalization(), L.Dense(5)])
    sums = [round(float(np.abs(weight).sum()), 4) for weight in generator.get_weights()[::6]]
    assert sums == [3.5999, 7.7705]


def test_layers_after_metrics_that_layers_add_begin_with_tensorflows_weights() -> None:
    """A mean that a layer's call adds makes 22 nodes there, and the variables of a metric object 5 each."""

    class Adds(tf.keras.layers.Layer):
        def call(self, inputs: Any) -> Any:
            self.add_metric(tf.reduce_mean(inputs, -1), name="mean", aggregation="mean")
            return 2 * inputs

    class Calls(tf.keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.mean = tf.keras.metrics.Mean(name="mean")

        def call(self, inputs: Any) -> Any:
            self.add_metric(self.mean(inputs))
            return 2 * inputs

    for kind, wanted in ((Adds, [-0.521798, -0.5333099]), (Calls, [-0.84460413, -0.7779853])):
        tf.keras.backend.clear_session()
        tf.set_random_seed(1)
        dense = tf.keras.layers.Dense(3)
        dense(kind()(tf.keras.Input((4,))))
        np.testing.assert_allclose(dense.get_weights()[0].ravel()[:2], wanted, rtol=1e-5)
