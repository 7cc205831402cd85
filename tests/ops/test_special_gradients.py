"""Gradients that a row of samples cannot check: of float32-only ops, of random ones, of ops that stop them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from tests.ops.test_nn_functions import _in_simple_ops

RANDOM = np.random.RandomState(3)


def slope(function: Any, x: np.ndarray, weights: np.ndarray, eps: float) -> np.ndarray:
    """d(sum(weights * function(x)))/dx by central differences."""
    found = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += eps
        down[index] -= eps
        found[index] = ((function(up).astype(float) - function(down)) * weights).sum() / (2 * eps)
    return found


@pytest.mark.parametrize("version", ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])
def test_all_versions_of_fused_batch_norm_have_the_gradients_of_simple_ops(version: str) -> None:
    """First order, and second order through FusedBatchNormGrad, FusedBatchNormGradV2 and FusedBatchNormGradV3."""
    x, g, w = (RANDOM.randn(2, 3, 2, 3).astype(np.float32) for _ in range(3))
    found = []
    for fused in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            xs = [tf.constant(x), tf.constant([1.0, 2.0, 3.0]), tf.constant([3.0, 2.0, 1.0])]
            empty = tf.zeros([0])
            if fused:
                y = get_op(version)(*xs, empty, empty, epsilon=0.01, is_training=True)[0]
            else:
                y = _in_simple_ops(*xs, None, None, "NHWC", True)
            slopes = tf.gradients(y, xs, [tf.constant(g)])
            second = tf.gradients(slopes[0], xs[:2], [tf.constant(w)])
            found.append(session.run([*slopes, *second]))
            if fused:
                used = {op.type for op in tf.get_default_graph().get_operations()}
                assert version.replace("Norm", "NormGrad") in used
    for have, want in zip(*found, strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-3, atol=2e-4)


def test_max_pool_3d_and_its_gradients_match_finite_differences() -> None:
    """MaxPool3D, MaxPool3DGrad and MaxPool3DGradGrad are linear between ties, so float32 differences are exact."""
    window: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": "SAME"}
    x = RANDOM.permutation(24).reshape(1, 2, 3, 4, 1).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.float32, x.shape)
        y = get_op("MaxPool3D")(image, **window)
        g = tf.placeholder(tf.float32, y.shape)
        (dx,) = tf.gradients(y, image, g)
        weights = RANDOM.randn(*y.shape.as_list()).astype(np.float32)
        analytic = session.run(dx, {image: x, g: weights})
        np.testing.assert_allclose(analytic, slope(lambda v: session.run(y, {image: v}), x, weights, 0.25), atol=1e-4)
        u = RANDOM.randn(*x.shape).astype(np.float32)
        (dg,) = tf.gradients(dx, g, tf.constant(u))  # of MaxPool3DGrad: a MaxPool3DGradGrad
        want = slope(lambda v: session.run(dx, {image: x, g: v}), weights, u, 0.25)
        np.testing.assert_allclose(session.run(dg, {image: x, g: weights}), want, atol=1e-4)
        assert "MaxPool3DGradGrad" in {op.type for op in tf.get_default_graph().get_operations()}
        v = tf.placeholder(tf.float32, x.shape)
        gg = get_op("MaxPool3DGradGrad")(image, y, v, **window)
        (dv,) = tf.gradients(gg, v, tf.constant(weights))
        want = slope(lambda a: session.run(gg, {image: x, v: a}), u, weights, 0.25)
        np.testing.assert_allclose(session.run(dv, {image: x, v: u}), want, atol=1e-4)


def test_gamma_draws_follow_their_shape_parameter() -> None:
    """RandomGamma is reparametrised: the mean of the draws grows by one with alpha, so the mean slope is one."""
    with tf.Graph().as_default(), tf.Session() as session:
        alpha = tf.constant([2.0, 5.0])
        draws = tf.random_gamma([40000], alpha, seed=1)
        assert "RandomGamma" in {op.type for op in tf.get_default_graph().get_operations()}
        (grad,) = tf.gradients(tf.reduce_mean(draws, 0), alpha)
        np.testing.assert_allclose(session.run(grad), [1.0, 1.0], atol=0.03)


def test_the_gradient_of_polygamma_is_the_next_polygamma() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [3])
        y = get_op("Polygamma")(tf.constant([1.0, 1.0, 2.0], tf.float64), x)
        (dx,) = tf.gradients(y, x)
        at = np.array([0.7, 2.0, 3.5])
        want = slope(lambda v: session.run(y, {x: v}), at, np.ones(3), 1e-5)
        np.testing.assert_allclose(session.run(dx, {x: at}), want, rtol=1e-5)


def test_a_placeholder_with_default_and_a_print_pass_gradients_on() -> None:
    """PlaceholderWithDefault and Print are identities to the backward walk."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        y = tf.placeholder_with_default(x * x, [2])
        z = tf.Print(y, [], "")
        assert session.run(tf.gradients(z, x))[0].tolist() == [2, 4]


def test_prevent_gradient_refuses_to_be_differentiated() -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        y = get_op("PreventGradient")(x, message="not this way")
        with pytest.raises(LookupError, match="not this way"):
            tf.gradients(y, x)
