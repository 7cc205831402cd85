"""Gradients of scaled images: TensorFlow gives scale and translation none. (Values: `cases_image.py`.)"""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from tests.ops.nn_reference import randn

SCALE, MOVE = np.float32([0.75, 1.6]), np.float32([0.0, 0.5])


def scaled(images: tf.Tensor, kernel_type: str = "lanczos3") -> tf.Tensor:
    size = [3, 5]
    return tf.raw_ops.ScaleAndTranslate(
        images=images, size=size, scale=SCALE, translation=MOVE, kernel_type=kernel_type
    )


def test_values_and_gradients_are_those_of_tensorflow() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(24, dtype=np.float32).reshape(1, 4, 3, 2))
        y = scaled(x)
        assert y.shape == [1, 3, 5, 2]
        found = session.run([tf.reduce_sum(y), tf.reduce_sum(tf.gradients(y * y, x)[0])])
    np.testing.assert_allclose(found, [333.53217, 667.06445], rtol=1e-6)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16])
@pytest.mark.parametrize("kernel_type", ["triangle", "mitchellcubic", "Lanczos5"])
def test_the_gradient_is_that_of_differences(kernel_type: str, dtype: tf.DType) -> None:
    weights = randn(1, 3, 5, 1, seed=3)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [None, 4, 3, 1])
        y = scaled(x, kernel_type)
        units = session.run(y, {x: np.eye(12).reshape(12, 4, 3, 1)})
        (grad,) = session.run(tf.gradients(y, x, weights), {x: randn(1, 4, 3, 1)})
    wanted = (units * weights).sum((1, 2, 3)).reshape(1, 4, 3, 1)  # it is linear
    np.testing.assert_allclose(grad, wanted, rtol=1e-2 if dtype == tf.float16 else 1e-4, atol=1e-3)
