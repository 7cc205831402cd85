"""Programs walk from the gradient of a variable to what it was summed from, as K-FAC does: nodes are TensorFlow's."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize("shape", [[3], [1, 3], [], [4, 1, 3]])
def test_gradients_of_repeated_variables_are_reshaped_sums(shape: list[int]):
    """As in TensorFlow 1.15, where the gradient of a bias is Reshape(Sum(gradient of the sum))."""
    x = tf.constant(
        np.arange(6.0, dtype=np.float32).reshape(2, 3) if len(shape) < 3 else np.ones([4, 2, 3], np.float32)
    )
    bias = tf.Variable(tf.zeros(shape))
    total = x + bias
    (by_total,) = tf.gradients(tf.reduce_sum(total * total), total, name="outer")
    (grad,) = tf.gradients(total, bias, grad_ys=by_total)
    assert grad.op.type == "Reshape"
    assert grad.shape.as_list() == shape
    summed = grad.op.inputs[0].op
    assert summed.type == "Sum"
    assert summed.inputs[0] is by_total
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = 2 * session.run(x)
        kept = tuple(
            i for i in range(values.ndim) if (shape[i - values.ndim] if values.ndim - i <= len(shape) else 1) == 1
        )
        np.testing.assert_allclose(session.run(grad), values.sum(kept).reshape(shape))
