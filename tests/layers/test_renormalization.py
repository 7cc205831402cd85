"""Batch renormalisation: the numbers are TensorFlow 1.15.5's, after four batches of changing mean and deviation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

DRAWS = np.random.RandomState(1)
BATCHES = [DRAWS.normal(i, 1 + i, [5, 3]).astype(np.float32) for i in range(4)]
LAST = {  # of each variant: sums of the last outputs, the sum of the gradient's sizes
    "free": ([9.6598, 10.48894, 19.48867], 36.412),
    "clipped": ([1.5, 1.5, 1.5], 28.1284),
    "rmax": ([9.6598, 10.48894, 19.48867], 22.5027),
}
MOVING = [
    [0.43248, 0.66004, 0.78493],
    [1.63547, 1.68605, 2.03823],
    [1.27925, 1.29886, 1.42802],
    [0.80719, 1.22822, 1.53876],
    [1.50514, 1.56702, 1.79577],
]
CLIPPING: dict[str, Any] = {"free": None, "clipped": {"rmin": 0.5, "rmax": 1.5, "dmax": 0.3}, "rmax": {"rmax": 1.2}}
VARIABLES = ["gamma", "beta", "moving_mean", "moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _tf_layers(x: Any, training: Any, clipping: Any) -> Any:
    return tf.layers.batch_normalization(
        x, training=training, momentum=0.9, renorm=True, renorm_clipping=clipping, renorm_momentum=0.8
    )


def _contrib(x: Any, training: Any, clipping: Any) -> Any:
    return tf.contrib.layers.batch_norm(
        x, decay=0.9, is_training=training, renorm=True, renorm_clipping=clipping, renorm_decay=0.8, scale=True
    )


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("variant", ["free", "clipped", "rmax"])
@pytest.mark.parametrize("layer", [_tf_layers, _contrib])
def test_batches_are_corrected_by_averages_of_earlier_ones(layer: Any, variant: str, fed: bool) -> None:
    x = tf.placeholder(tf.float32, [5, 3])
    y = layer(x, tf.placeholder_with_default(True, []) if fed else True, CLIPPING[variant])
    named = {v.op.name.split("/")[-1]: v for v in tf.global_variables()}
    assert set(named) == set(VARIABLES)
    assert [v.op.name.split("/")[-1] for v in tf.trainable_variables()] in (["gamma", "beta"], ["beta", "gamma"])
    gradient = tf.gradients(y * np.arange(15, dtype=np.float32).reshape(5, 3), x)[0]
    step = [y, gradient, tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            output, slope, _ = session.run(step, {x: batch})
        np.testing.assert_allclose(output.sum(0), LAST[variant][0], rtol=1e-4)
        assert np.abs(slope).sum() == pytest.approx(LAST[variant][1], rel=1e-4)
        np.testing.assert_allclose(session.run([named[name] for name in VARIABLES[2:]]), MOVING, rtol=1e-4)


@pytest.mark.parametrize("layer", [_tf_layers, _contrib])
def test_outside_training_moving_statistics_are_used_and_stay(layer: Any) -> None:
    x, training = tf.placeholder(tf.float32, [5, 3]), tf.placeholder_with_default(True, [])
    y = layer(x, training, {"rmax": 1.2})
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    named = {v.op.name.split("/")[-1]: v for v in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            session.run(updates, {x: batch})
        output, _ = session.run([y, updates], {x: BATCHES[0], training: False})
        np.testing.assert_allclose(output.sum(0), [-0.34238, -2.1016, -5.15521], rtol=1e-4)
        np.testing.assert_allclose(session.run([named[name] for name in VARIABLES[2:]]), MOVING, rtol=1e-4)


def test_images_are_corrected_by_channel() -> None:
    images = np.stack(BATCHES)[:, :, None, :]  # [4, 5, 1, 3]
    rows = tf.layers.batch_normalization(tf.constant(images.reshape(20, 3)), training=True, renorm=True)
    whole = tf.layers.batch_normalization(tf.constant(images), training=True, renorm=True)
    first = tf.layers.batch_normalization(tf.constant(images.transpose(0, 3, 1, 2)), axis=1, training=True, renorm=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected, found, channels = session.run([rows, whole, first])
    np.testing.assert_allclose(found.reshape(20, 3), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(channels.transpose(0, 2, 3, 1), found, rtol=1e-5, atol=1e-6)


def test_bounds_have_names() -> None:
    with pytest.raises(ValueError, match="not in"):
        tf.layers.batch_normalization(tf.ones([2, 3]), renorm=True, renorm_clipping={"max": 1})
