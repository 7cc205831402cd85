"""A convolution that is described once and applied to several filters (ops.nn_ops.Convolution)."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import penstock as tf


@pytest.mark.parametrize(("padding", "strides", "dilation"), [("SAME", (2, 1), None), ("VALID", None, (2, 2))])
def test_a_held_convolution_is_that_of_its_settings(padding: str, strides: object, dilation: object) -> None:
    nn_ops = importlib.import_module("penstock.python.ops.nn_ops")
    rng = np.random.RandomState(0)
    x, kernels = rng.rand(2, 7, 6, 3).astype(np.float32), rng.rand(2, 3, 3, 3, 4).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        held = nn_ops.Convolution([None, 7, 6, 3], tf.TensorShape([3, 3, 3, 4]), padding, strides, dilation)
        for kernel in kernels:
            wanted = tf.nn.convolution(x, kernel, padding, strides, dilation)
            found = held(tf.constant(x), kernel)
            assert found.shape.as_list() == wanted.shape.as_list()
            np.testing.assert_allclose(*session.run([found, wanted]), rtol=1e-6)


def test_ranks_that_do_not_fit_are_refused() -> None:
    nn_ops = importlib.import_module("penstock.python.ops.nn_ops")
    with pytest.raises(ValueError, match="rank 4, not 3"):
        nn_ops.Convolution([None, 7, 3], [3, 3, 3, 4], "SAME")
    with pytest.raises(ValueError, match="must be known"):
        nn_ops.Convolution(None, [3, 3, 3, 4], "SAME")
