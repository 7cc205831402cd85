"""The gradient of a filter of one pixel that skips others."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(("size", "padding"), [(60, "SAME"), (57, "VALID")])
def test_the_filter_gradient_of_a_strided_projection_sums_over_the_pixels_it_sees(size: int, padding: str) -> None:
    # Images of these sizes with 8 channels were too much for the library's own gradient.
    rng = np.random.RandomState(0)
    x = rng.rand(4, size, size, 8).astype("f")
    seen = x[:, ::2, ::2]
    g = rng.rand(*seen.shape[:3], 16).astype("f")
    filters = tf.Variable(np.zeros((1, 1, 8, 16), "f"))
    (found,) = tf.gradients(tf.nn.conv2d(x, filters, [1, 2, 2, 1], padding), [filters], [g])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        value = session.run(found)
    expected = np.einsum("nhwc,nhwf->cf", seen.astype("d"), g.astype("d"))
    np.testing.assert_allclose(value[0, 0], expected, rtol=1e-4)
