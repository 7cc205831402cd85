"""The functions of `penstock.nn`: names of nodes, arguments, and what is composed of several ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors, nn
from tests.ops.nn_reference import (
    batch_norm_grad,
    conv,
    conv_input_grad,
    first,
    log_softmax,
    lrn,
    max_pool_grad,
    pool,
    randn,
    softmax,
)


def run(build: Callable[[], Any], feed: Callable[[], Any] | None = None) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# --- names ----------------------------------------------------------------------------------------------

X2, X4, W4 = randn(2, 3), randn(1, 4, 4, 3), randn(3, 3, 3, 5)
V3 = np.ones(3, np.float32)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: nn.relu(X2), "Relu:0"),
        (lambda: nn.relu6(X2), "Relu6:0"),
        (lambda: nn.leaky_relu(X2), "LeakyRelu:0"),
        (lambda: nn.crelu(X2), "CRelu/Relu:0"),
        (lambda: nn.elu(X2), "Elu:0"),
        (lambda: nn.softplus(X2), "Softplus:0"),
        (lambda: nn.softmax(X2), "Softmax:0"),
        (lambda: nn.log_softmax(X2, name="mine"), "mine:0"),
        (lambda: nn.softmax_cross_entropy_with_logits_v2(X2, X2), "softmax_cross_entropy_with_logits/Reshape_2:0"),
        (
            lambda: nn.softmax_cross_entropy_with_logits(labels=X2, logits=X2),
            "softmax_cross_entropy_with_logits_sg/Reshape_2:0",
        ),
        (
            lambda: nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=X2),
            "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits:0",
        ),
        (lambda: nn.sigmoid_cross_entropy_with_logits(labels=X2, logits=X2), "logistic_loss:0"),
        (lambda: nn.weighted_cross_entropy_with_logits(X2, X2, 2.0), "logistic_loss:0"),
        (lambda: nn.l2_loss(X2), "L2Loss:0"),
        (lambda: nn.l2_normalize(X2, 1), "l2_normalize:0"),
        (lambda: nn.bias_add(X2, V3), "BiasAdd:0"),
        (lambda: nn.xw_plus_b(X2, np.eye(3, dtype="f"), V3), "xw_plus_b:0"),
        (lambda: nn.relu_layer(X2, np.eye(3, dtype="f"), V3), "relu_layer:0"),
        (lambda: nn.conv2d(X4, W4, [1, 1, 1, 1], "SAME"), "Conv2D:0"),
        (lambda: nn.conv2d_transpose(X4, randn(3, 3, 5, 3), [1, 4, 4, 5], 1), "conv2d_transpose:0"),
        (lambda: nn.depthwise_conv2d(X4, randn(3, 3, 3, 2), [1, 1, 1, 1], "SAME"), "depthwise:0"),
        (
            lambda: nn.separable_conv2d(X4, randn(3, 3, 3, 2), randn(1, 1, 6, 4), [1, 1, 1, 1], "SAME"),
            "separable_conv2d:0",
        ),
        (lambda: nn.conv1d(randn(2, 7, 3), randn(3, 3, 5), 2, "SAME"), "conv1d/Squeeze:0"),
        (lambda: nn.convolution(X4, W4, "SAME"), "convolution:0"),
        (lambda: nn.conv3d(randn(1, 3, 3, 3, 2), randn(2, 2, 2, 2, 1), 1, "SAME"), "Conv3D:0"),
        (lambda: nn.max_pool(X4, 2, 2, "SAME"), "MaxPool:0"),
        (lambda: nn.avg_pool(X4, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), "AvgPool:0"),
        (lambda: nn.max_pool_with_argmax(X4, 2, 2, "SAME")[1], "MaxPoolWithArgmax:1"),
        (lambda: nn.pool(X4, [2, 2], "MAX", "SAME"), "max_pool:0"),
        (lambda: nn.moments(X4, [0, 1, 2])[1], "moments/Squeeze_1:0"),
        (lambda: nn.moments(X4, [0], keep_dims=True)[0], "moments/mean:0"),
        (lambda: nn.batch_normalization(X4, V3, V3, V3, V3, 1e-3), "batchnorm/add_1:0"),
        (lambda: nn.fused_batch_norm(X4, V3, V3)[0], "FusedBatchNormV3:0"),
        (lambda: nn.lrn(X4), "LRN:0"),
        (lambda: nn.zero_fraction(X4), "zero_fraction/fraction:0"),
        (lambda: nn.in_top_k(X2, [0, 1], 1), "in_top_k/InTopKV2:0"),
        (lambda: nn.log_poisson_loss(X2, X2, True), "log_poisson_loss/add_1:0"),
        (lambda: nn.embedding_lookup(tf.constant(X2), [1]), "embedding_lookup/Identity:0"),
    ],
)
def test_nodes_have_the_names_of_tensorflow(build: Any, name: str) -> None:
    with tf.Graph().as_default():
        assert build().name == name


# --- activations ----------------------------------------------------------------------------------------


def test_crelu_joins_both_signs() -> None:
    x = np.array([[1.0, -2.0]], np.float32)
    np.testing.assert_array_equal(run(lambda: nn.crelu(x)), [[1, 0, 0, 2]])
    np.testing.assert_array_equal(run(lambda: nn.crelu(x, axis=0)), [[1, 0], [0, 2]])


def test_leaky_relu_takes_integers_and_a_tensor_as_slope() -> None:
    np.testing.assert_allclose(run(lambda: nn.leaky_relu([-10, 5])), [-2, 5])
    np.testing.assert_allclose(run(lambda: nn.leaky_relu([-10.0, 5.0], tf.constant(0.5))), [-5, 5])


# --- softmax and cross entropy --------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, -1, 2, 0, 1, -3])
def test_softmax_runs_along_any_axis(axis: int | None) -> None:
    x = randn(2, 3, 4)
    expected = softmax(x, -1 if axis is None else axis)
    np.testing.assert_allclose(run(lambda: nn.softmax(x, axis)), expected, rtol=1e-5)
    np.testing.assert_allclose(run(lambda: nn.log_softmax(x, dim=axis)), np.log(expected), rtol=1e-4)


def test_softmax_refuses_an_axis_that_is_not_there() -> None:
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"range \[-2, 2\) but was 2"):
            nn.softmax(X2, 2)
        with pytest.raises(ValueError, match="Cannot specify both"):
            nn.softmax(X2, axis=1, dim=1)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_cross_entropy_takes_any_rank_and_axis(axis: int) -> None:
    logits, labels = randn(2, 3, 4), softmax(randn(2, 3, 4, seed=1), axis)
    expected = -(labels * log_softmax(logits, axis)).sum(axis)
    found = run(lambda: nn.softmax_cross_entropy_with_logits_v2(labels, logits, axis=axis))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_softmax_cross_entropy_of_unknown_shapes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        loss = nn.softmax_cross_entropy_with_logits_v2(labels, logits)
        x, y = randn(2, 3, 4), softmax(randn(2, 3, 4, seed=1))
        expected = -(y * log_softmax(x)).sum(-1)
        np.testing.assert_allclose(session.run(loss, {logits: x, labels: y}), expected, rtol=1e-5)
        np.testing.assert_allclose(session.run(loss, {logits: x[0], labels: y[0]}), expected[0], rtol=1e-5)


def test_labels_may_have_more_dimensions_than_logits_if_their_rows_are_as_many() -> None:
    logits, labels = randn(3, 4), softmax(randn(3, 4, seed=1))
    found = run(lambda: nn.softmax_cross_entropy_with_logits_v2(labels[None], logits))
    np.testing.assert_allclose(found, -(labels * log_softmax(logits)).sum(-1), rtol=1e-5)


def test_only_the_second_version_passes_a_gradient_to_the_labels() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        logits, labels = tf.constant(X2), tf.constant(softmax(X2))
        first_loss = nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        second_loss = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        assert tf.gradients(first_loss, labels) == [None]
        by_logits, by_labels = session.run(tf.gradients(second_loss, [logits, labels]))
        np.testing.assert_allclose(by_logits, 0, atol=1e-6)
        np.testing.assert_allclose(by_labels, -log_softmax(X2), rtol=1e-5)


def test_the_hessian_of_softmax_cross_entropy() -> None:
    logits = np.array([[0.5, -1.0, 2.0]], np.float32)
    p = softmax(logits)[0]
    for sparse in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(logits)
            if sparse:
                loss = nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=x)
            else:
                loss = nn.softmax_cross_entropy_with_logits(labels=[[0.0, 1.0, 0.0]], logits=x)
            (slope,) = tf.gradients(loss, x)
            rows = [tf.gradients(slope[0, i], x)[0][0] for i in range(3)]
            np.testing.assert_allclose(session.run(rows), np.diag(p) - np.outer(p, p), rtol=1e-4, atol=1e-6)


def test_sparse_softmax_cross_entropy_takes_higher_ranks() -> None:
    logits, labels = randn(2, 3, 4), np.array([[0, 1, 2], [3, 0, 1]])
    expected = -np.take_along_axis(log_softmax(logits), labels[..., None], 2)[..., 0]
    found = run(lambda: nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Rank mismatch"):
        nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits[0])


def test_cross_entropies_take_named_arguments_only() -> None:
    with tf.Graph().as_default():
        for function in (
            nn.softmax_cross_entropy_with_logits,
            nn.sparse_softmax_cross_entropy_with_logits,
            nn.sigmoid_cross_entropy_with_logits,
        ):
            with pytest.raises(ValueError, match="named arguments"):
                function(X2, X2)
            with pytest.raises(ValueError, match="must be provided"):
                function(labels=X2)


def test_half_precision_losses_are_computed_in_float32() -> None:
    logits = np.array([[10.0, -10.0]], np.float16)
    loss = run(lambda: nn.softmax_cross_entropy_with_logits(labels=[[0.5, 0.5]], logits=logits))
    assert loss.dtype == np.float16
    assert loss == [10.0]


def test_sigmoid_cross_entropy_and_its_gradient_even_at_zero() -> None:
    logits, labels = np.array([-80.0, -1, 0, 2, 80]), np.array([0.0, 1, 0.25, 0.5, 1])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(logits)
        loss = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)
        value, slope = session.run([loss, tf.gradients(loss, x)[0]])
    expected = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-abs(logits)))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope, sigmoid(logits) - labels, rtol=1e-12, atol=1e-30)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must have the same shape"):
        nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits[:2])


def test_weighted_cross_entropy() -> None:
    x, y = np.array([-2.0, 0.5, 3]), np.array([0.0, 1, 0.5])
    expected = -3 * y * np.log(sigmoid(x)) - (1 - y) * np.log(1 - sigmoid(x))
    np.testing.assert_allclose(run(lambda: nn.weighted_cross_entropy_with_logits(y, x, 3.0)), expected)
    np.testing.assert_allclose(
        run(lambda: nn.weighted_cross_entropy_with_logits(targets=y, logits=x, pos_weight=3.0)), expected
    )


def test_log_poisson_loss_adds_stirlings_part_above_one() -> None:
    x, z = np.array([0.5, 1, -1]), np.array([0.0, 1, 4])
    plain = np.exp(x) - x * z
    np.testing.assert_allclose(run(lambda: nn.log_poisson_loss(z, x)), plain)
    stirling = 4 * np.log(4) - 4 + 0.5 * np.log(2 * np.pi * 4)
    np.testing.assert_allclose(run(lambda: nn.log_poisson_loss(z, x, True)), plain + np.array([0, 0, stirling]))


# --- convolutions ---------------------------------------------------------------------------------------


def test_conv2d_takes_strides_in_several_forms() -> None:
    expected = conv(X4, W4, (2, 2), "SAME")
    for strides in ([1, 2, 2, 1], [2, 2], [2], 2):
        found = run(lambda s=strides: nn.conv2d(X4, W4, s, "SAME"))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="length 1, 2 or 4"):
        nn.conv2d(X4, W4, [1, 2, 1], "SAME")


def test_conv2d_takes_explicit_paddings_and_channels_first() -> None:
    pairs = [[0, 0], [1, 0], [2, 1], [0, 0]]
    expected = conv(X4, W4, (1, 1), ((1, 0), (2, 1)))
    np.testing.assert_allclose(run(lambda: nn.conv2d(X4, W4, 1, pairs)), expected, rtol=1e-4, atol=1e-5)
    turned = [pairs[0], pairs[3], pairs[1], pairs[2]]
    found = run(lambda: nn.conv2d(first(X4), filters=W4, strides=1, padding=turned, data_format="NCHW"))
    np.testing.assert_allclose(found, first(expected), rtol=1e-4, atol=1e-5)


def test_conv2d_infers_what_it_can_of_its_shape() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, None, 8, 3])
        assert nn.conv2d(x, W4, [1, 2, 2, 1], "SAME").shape.as_list() == [None, None, 4, 5]
        assert nn.conv2d(x, tf.placeholder(tf.float32), 1, "VALID").shape.as_list() == [None] * 4
        assert nn.conv2d(tf.placeholder(tf.float32), W4, 1, "SAME").shape.as_list() == [None, None, None, 5]


def test_conv2d_of_a_batch_size_known_only_in_the_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, None, 3])
        w = tf.constant(W4)
        y = nn.conv2d(x, w, 2, "SAME")
        by_x, by_w = tf.gradients(y, [x, w])
        for dims in ((1, 4, 4, 3), (2, 5, 4, 3), (1, 4, 4, 3)):
            value = randn(*dims)
            found, gx, gw = session.run([y, by_x, by_w], {x: value})
            np.testing.assert_allclose(found, conv(value, W4, (2, 2), "SAME"), rtol=1e-4, atol=1e-5)
            expected = conv_input_grad(dims, W4, np.ones_like(found), (2, 2), "SAME")
            np.testing.assert_allclose(gx, expected, rtol=1e-4, atol=1e-5)
            assert gw.shape == W4.shape


def test_conv2d_transpose_undoes_the_shape_of_conv2d() -> None:
    value, filters = randn(2, 2, 3, 5), randn(3, 3, 4, 5)
    expected = conv_input_grad((2, 4, 5, 4), filters, value, (2, 2), "SAME")
    found = run(lambda: nn.conv2d_transpose(value, filters, [2, 4, 5, 4], [1, 2, 2, 1]))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2, 3, 5])
        y = nn.conv2d_transpose(x, filters, tf.stack([tf.shape(x)[0], 4, 5, 4]), 2)
        assert y.shape.as_list() == [None, 4, 5, 4]
        np.testing.assert_allclose(session.run(y, {x: value}), expected, rtol=1e-4, atol=1e-5)
        with pytest.raises(ValueError, match="not compatible"):
            nn.conv2d_transpose(x, randn(3, 3, 4, 6), [2, 4, 5, 4], 2)


def test_conv2d_backprop_functions_are_the_gradients() -> None:
    g = randn(1, 2, 2, 5)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(X4), tf.constant(W4)
        by_x, by_w = tf.gradients(nn.conv2d(x, w, 2, "SAME"), [x, w], [tf.constant(g)])
        same_x = nn.conv2d_backprop_input([1, 4, 4, 3], w, g, 2, "SAME")
        same_w = nn.conv2d_backprop_filter(x, [3, 3, 3, 5], g, 2, "SAME")
        found = session.run([by_x, same_x, by_w, same_w])
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[2], found[3])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_atrous_convolution_spaces_the_filter(padding: str) -> None:
    x, w = randn(1, 7, 6, 2), randn(2, 3, 2, 2)
    expected = conv(x, w, (1, 1), padding, (2, 2))
    found = run(lambda: nn.atrous_conv2d(x, w, 2, padding))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    back = run(lambda: nn.atrous_conv2d_transpose(expected, w, [1, 7, 6, 2], 2, padding))
    again = conv_input_grad(x.shape, w, expected, (1, 1), padding, (2, 2))
    np.testing.assert_allclose(back, again, rtol=1e-4, atol=1e-4)


def test_convolution_in_one_two_and_three_dims() -> None:
    for dims, filters, strides in (
        ((2, 7, 3), (3, 3, 2), (2,)),
        ((1, 5, 4, 2), (2, 3, 2, 2), (1, 2)),
        ((1, 3, 4, 3, 2), (2, 2, 2, 2, 1), (1, 2, 1)),
    ):
        x, w = randn(*dims), randn(*filters)
        expected = conv(x, w, strides, "SAME")
        found = run(lambda x=x, w=w, s=strides: nn.convolution(x, w, "SAME", s))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        layout = {3: "NCW", 4: "NCHW", 5: "NCDHW"}[x.ndim]
        found = run(lambda x=x, w=w, s=strides, f=layout: nn.convolution(first(x), w, "SAME", s, data_format=f))
        np.testing.assert_allclose(found, first(expected), rtol=1e-4, atol=1e-5)


def test_convolution_refuses_strides_with_dilation_and_unfit_ranks() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="in conjunction with dilation_rate"):
            nn.convolution(X4, W4, "SAME", [2, 2], [2, 2])
        with pytest.raises(ValueError, match="in conjunction with dilation_rate"):
            nn.depthwise_conv2d(X4, W4, [1, 2, 2, 1], "SAME", [2, 2])
        with pytest.raises(ValueError, match="must be rank"):
            nn.convolution(X4, randn(3, 3, 5), "SAME")


@pytest.mark.parametrize("data_format", ["NWC", "NCW", None])
def test_conv1d(data_format: str | None) -> None:
    x, w = randn(2, 7, 3), randn(3, 3, 5)
    expected = conv(x, w, (2,), "VALID")
    if data_format == "NCW":
        x, expected = first(x), first(expected)
    found = run(lambda: nn.conv1d(x, w, 2, "VALID", data_format=data_format))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_separable_convolution_is_depthwise_then_pointwise() -> None:
    depthwise, pointwise = randn(3, 3, 3, 2), randn(1, 1, 6, 4)
    wide = conv(X4, depthwise.reshape(3, 3, 1, 6), (1, 1), "SAME", (2, 2))
    expected = conv(wide, pointwise, (1, 1), "VALID")
    found = run(lambda: nn.separable_conv2d(X4, depthwise, pointwise, 1, "SAME", [2, 2]))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_conv3d_transpose() -> None:
    value, filters = randn(1, 2, 2, 2, 3), randn(2, 2, 2, 1, 3)
    expected = conv_input_grad((1, 4, 4, 4, 1), filters, value, (2, 2, 2), "SAME")
    found = run(lambda: nn.conv3d_transpose(value, filters, [1, 4, 4, 4, 1], 2))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


# --- pools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
def test_pool_in_one_two_and_three_dims(kind: str) -> None:
    for dims, window in (((2, 7, 3), (3,)), ((1, 5, 4, 2), (2, 3)), ((1, 3, 4, 3, 2), (2, 2, 2))):
        x = randn(*dims)
        strides = [2] * len(window)
        expected = pool(kind, x, window, strides, "SAME")
        found = run(lambda x=x, w=window, s=strides: nn.pool(x, w, kind, "SAME", strides=s))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_pools_of_volumes() -> None:
    x = randn(1, 4, 4, 4, 2)
    for function, kind in ((nn.max_pool3d, "MAX"), (nn.avg_pool3d, "AVG")):
        expected = pool(kind, x, (2, 2, 2), (2, 2, 2), "VALID")
        np.testing.assert_allclose(run(lambda f=function: f(x, 2, 2, "VALID")), expected, rtol=1e-5)


def test_the_gradients_of_max_pool3d() -> None:
    x, window = randn(1, 4, 3, 4, 2), ((2, 2, 2), (1, 1, 1), "SAME")
    y = pool("MAX", x, *window)
    g = randn(*y.shape, seed=1)
    with tf.Graph().as_default(), tf.Session() as session:
        value, slope = tf.constant(x), tf.constant(g)
        (by_x,) = tf.gradients(nn.max_pool3d(value, 2, 1, "SAME"), value, [slope])
        (by_g,) = tf.gradients(by_x, slope, [tf.constant(x)])
        (again,) = tf.gradients(by_g, by_g.op.inputs[2], [slope])
        found = session.run([by_x, by_g, again])
    expected = max_pool_grad(x, g, *window)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    np.testing.assert_allclose(found[1], y, rtol=1e-5)  # the maxima, which stand where the gradient went
    np.testing.assert_allclose(found[2], expected, rtol=1e-5)


# --- normalization --------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [False, True])
def test_moments(keep: bool) -> None:
    found = run(lambda: nn.moments(X4, [0, 1, 2], keep_dims=keep))
    np.testing.assert_allclose(found[0], X4.mean((0, 1, 2), keepdims=keep), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[1], X4.var((0, 1, 2), keepdims=keep), rtol=1e-5)


def test_moments_of_halves_are_summed_in_float32() -> None:
    mean, variance = run(lambda: nn.moments(np.full(5000, 3.0, np.float16), [0]))
    assert mean.dtype == np.float16
    assert (mean, variance) == (3, 0)


def test_the_gradient_of_moments() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X2)
        _, variance = nn.moments(x, [0, 1])
        found = session.run(tf.gradients(variance, x)[0])
    np.testing.assert_allclose(found, 2 * (X2 - X2.mean()) / X2.size, rtol=1e-4, atol=1e-6)


def test_sufficient_statistics_give_the_moments() -> None:
    for shift in (None, 0.5):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 3])
            statistics = nn.sufficient_statistics(x, [0], shift)
            mean, variance = session.run(nn.normalize_moments(*statistics), {x: X2})
        np.testing.assert_allclose(mean, X2.mean(0), rtol=1e-4)
        np.testing.assert_allclose(variance, X2.var(0), rtol=1e-4)


def test_weighted_moments_count_elements_by_weight() -> None:
    weights = np.array([[1.0], [3.0]], np.float32)
    mean, variance = run(lambda: nn.weighted_moments(X2, [0], weights))
    repeated = np.repeat(X2, [1, 3], 0)
    np.testing.assert_allclose(mean, repeated.mean(0), rtol=1e-5)
    np.testing.assert_allclose(variance, repeated.var(0), rtol=1e-5)


def test_batch_normalization_with_and_without_scale_and_offset() -> None:
    mean, variance = X4.mean((0, 1, 2)), X4.var((0, 1, 2))
    plain = (X4 - mean) / np.sqrt(variance + 0.001)
    scale, offset = np.array([1, 2, 3], np.float32), np.array([3, 2, 1], np.float32)
    found = run(lambda: nn.batch_normalization(X4, mean, variance, None, None, 0.001))
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-5)
    found = run(lambda: nn.batch_normalization(X4, mean, variance, offset, scale, 0.001))
    np.testing.assert_allclose(found, plain * scale + offset, rtol=1e-4, atol=1e-5)
    found = run(lambda: nn.batch_norm_with_global_normalization(X4, mean, variance, offset, scale, 0.001, False))
    np.testing.assert_allclose(found, plain + offset, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("training", [True, False])
def test_the_gradients_of_fused_batch_norm_are_those_of_batch_normalization(data_format: str, training: bool) -> None:
    """First and second derivatives, against the same computation in simple ops."""
    x = randn(2, 3, 2, 3)
    g, weights = randn(2, 3, 2, 3, seed=1), randn(2, 3, 2, 3, seed=2)
    scale, offset = np.array([1, 2, 3], np.float32), np.array([3, 2, 1], np.float32)
    mean, variance = np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 0.5], np.float32)
    if data_format == "NCHW":
        x, g, weights = first(x), first(g), first(weights)
    found = []
    for fused in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            xs = [tf.constant(x), tf.constant(scale), tf.constant(offset)]
            if fused:
                stats = () if training else (mean, variance)
                y, *_ = nn.fused_batch_norm(*xs, *stats, epsilon=0.01, data_format=data_format, is_training=training)
            else:
                y = _in_simple_ops(*xs, mean, variance, data_format, training)
            slopes = tf.gradients(y, xs, [tf.constant(g)])
            seconds = tf.gradients(slopes[0], xs[:2], [tf.constant(weights)], unconnected_gradients="zero")
            found.append(session.run([y, *slopes, *seconds]))
    for have, want in zip(*found, strict=True):
        np.testing.assert_allclose(have, want, rtol=2e-3, atol=2e-4)
    if training and data_format == "NHWC":
        for have, want in zip(found[0][1:4], batch_norm_grad(g, x, scale, 0.01), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)


def _in_simple_ops(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, layout: str, training: bool) -> Any:
    axes, dims = ([0, 1, 2], [1, 1, 1, -1]) if layout == "NHWC" else ([0, 2, 3], [1, -1, 1, 1])

    def wide(vector: Any) -> Any:
        return tf.reshape(vector, dims)

    if training:
        mean = tf.reduce_mean(x, axes, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axes, keepdims=True)
    return (x - wide(mean)) * tf.rsqrt(wide(variance) + 0.01) * wide(scale) + wide(offset)


def test_fused_batch_norm_needs_statistics_outside_training() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="`mean` and `variance`"):
        nn.fused_batch_norm(X4, V3, V3, is_training=False)


def test_the_gradient_of_local_response_normalization() -> None:
    x, g = randn(1, 1, 2, 5).astype(np.float64), randn(1, 1, 2, 5, seed=1)
    settings: tuple[Any, ...] = (2, 1.5, 0.3, 0.75)
    expected = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[at] = 1e-6
        expected[at] = (g * (lrn(x + step, *settings) - lrn(x - step, *settings))).sum() / 2e-6
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.constant(x, tf.float32)
        found = session.run(tf.gradients(nn.lrn(value, *settings), value, [tf.constant(g)])[0])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_l2_normalize_over_one_axis_several_or_all() -> None:
    for axis in (0, 1, [0, 1], None):
        over = tuple(axis) if isinstance(axis, list) else axis
        expected = X2 / np.sqrt((X2**2).sum(over, keepdims=True))
        np.testing.assert_allclose(run(lambda a=axis: nn.l2_normalize(X2, a)), expected, rtol=1e-5)
    np.testing.assert_array_equal(run(lambda: nn.l2_normalize(np.zeros(3, "f"), dim=0)), np.zeros(3))


def test_zero_fraction() -> None:
    assert run(lambda: nn.zero_fraction([0, 1, 0, 0])) == 0.75


# --- dropout --------------------------------------------------------------------------------------------


def test_dropout_keeps_the_expectation() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        y = nn.dropout(tf.ones([200, 200]), 0.25)
        value = session.run(y)
        again = session.run(y)
    assert set(np.unique(value)) == {0, 4}
    assert abs(value.mean() - 1) < 0.05
    assert (value != again).any()


def test_dropout_drops_whole_rows_by_noise_shape() -> None:
    for shape in ([-1, 1], [None, 1], (8, 1)):
        value = run(lambda s=shape: nn.dropout(tf.ones([8, 50]), rate=0.5, noise_shape=s, seed=3))
        assert {tuple(set(row)) for row in value} == {(0.0,), (2.0,)}


def test_dropout_takes_a_noise_shape_with_sizes_that_are_tensors() -> None:
    value = run(lambda: nn.dropout(tf.ones([8, 50]), 0.5, noise_shape=[tf.shape(tf.ones([8]))[0], 1], seed=3))
    assert {tuple(set(row)) for row in value} == {(0.0,), (2.0,)}


def test_dropout_takes_its_probability_as_a_tensor_too() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        keep = tf.placeholder(tf.float32, [])
        x = tf.placeholder(tf.float32, [None, 100])
        y = nn.dropout(x, keep)
        assert y.shape.as_list() == [None, 100]
        ones = np.ones((20, 100), np.float32)
        np.testing.assert_array_equal(session.run(y, {x: ones, keep: 1.0}), ones)
        assert set(np.unique(session.run(y, {x: ones, keep: 0.5}))) == {0, 2}


def test_dropout_that_keeps_all_is_its_input() -> None:
    with tf.Graph().as_default():
        x = tf.constant(X2)
        assert nn.dropout(x, 1.0) is x
        assert nn.dropout(x, rate=0) is x
        assert nn.dropout(x, tf.constant(1.0)) is x


def test_dropout_refuses_what_makes_no_sense() -> None:
    with tf.Graph().as_default():
        for keep in (0.0, -0.1, 1.1):
            with pytest.raises(ValueError, match="rate"):
                nn.dropout(X2, keep)
        with pytest.raises(ValueError, match="both"):
            nn.dropout(X2, 0.5, rate=0.5)
        with pytest.raises(ValueError, match="must provide"):
            nn.dropout(X2)
        with pytest.raises(ValueError, match="floating point"):
            nn.dropout([1, 2], 0.5)


def test_alpha_dropout_keeps_mean_and_variance_and_drops_to_selus_lowest() -> None:
    x = np.random.RandomState(0).normal(size=(200, 300)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.contrib.nn.alpha_dropout(x, 0.8, seed=1)
        value, dropped = session.run([y, tf.contrib.nn.alpha_dropout(tf.ones([8, 50]), 0.5, [8, 1], seed=3)])
    scale = (0.8 + 0.8 * 0.2 * 1.7580993408473766**2) ** -0.5
    lowest = scale * -1.7580993408473766 * (1 - 0.2)
    kept = ~np.isclose(value, lowest, rtol=1e-5)
    assert abs(kept.mean() - 0.8) < 0.01
    np.testing.assert_allclose(value[kept], (scale * (x + 0.2 * 1.7580993408473766))[kept], rtol=1e-4, atol=1e-5)
    assert abs(value.mean()) < 0.02
    assert abs(value.std() - 1) < 0.02
    assert {len(set(row)) for row in dropped} == {1} and len(set(dropped[:, 0])) == 2


def test_alpha_dropout_draws_tensorflows_numbers_and_so_does_what_follows() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        y = tf.contrib.nn.alpha_dropout(tf.constant(np.ones((2, 8), np.float32)), 0.7)
        value, after = session.run([y, tf.random_uniform([3])])
    # TensorFlow 1.15.5, in a graph of the same nodes.
    assert (value > 0).astype(int).tolist() == [[1, 0, 1, 1, 1, 0, 0, 1], [1, 1, 1, 0, 1, 1, 1, 0]]
    np.testing.assert_allclose(after, [0.999943733, 0.452064395, 0.852769732], rtol=1e-6)


def test_alpha_dropout_takes_its_probability_as_a_tensor_and_has_a_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, keep = tf.constant(X2), tf.placeholder(tf.float32, [])
        y = tf.contrib.nn.alpha_dropout(x, keep, seed=2)
        assert tf.contrib.nn.alpha_dropout(x, 1.0) is x
        np.testing.assert_allclose(session.run(y, {keep: 1.0}), X2)
        slope = session.run(tf.gradients(y, x)[0], {keep: 0.5})
        scale = (0.5 + 0.25 * 1.7580993408473766**2) ** -0.5
        assert set(np.round(np.unique(slope), 5)) <= {0, np.float32(round(scale, 5))}
        for wrong in (0.0, 1.5):
            with pytest.raises(ValueError, match=r"in the range \(0, 1\]"):
                tf.contrib.nn.alpha_dropout(x, wrong)


def test_the_gradient_of_dropout_passes_where_it_kept() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ones([50])
        y = nn.dropout(x, 0.5)
        value, slope = session.run([y, tf.gradients(y, x)[0]])
    np.testing.assert_array_equal(value, slope)


# --- embeddings and top k -------------------------------------------------------------------------------

TABLE = np.arange(21, dtype=np.float32).reshape(7, 3)
IDS = np.array([[6, 0], [3, 3], [5, 1]])


def test_embedding_lookup_in_one_table() -> None:
    for ids in (IDS, IDS.astype(np.int32)):
        np.testing.assert_array_equal(run(lambda i=ids: nn.embedding_lookup(TABLE, i)), TABLE[IDS])
    with pytest.raises(errors.InvalidArgumentError, match="7"):
        run(lambda: nn.embedding_lookup(TABLE, [7]))


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_embedding_lookup_in_parts_of_a_table(strategy: str) -> None:
    parts = [TABLE[i::3] for i in range(3)] if strategy == "mod" else [TABLE[:3], TABLE[3:5], TABLE[5:]]
    for ids in (IDS, IDS.astype(np.int32)):
        found = run(lambda i=ids: nn.embedding_lookup(parts, i, strategy))
        np.testing.assert_array_equal(found, TABLE[IDS])


@pytest.mark.parametrize("use_resource", [False, True])
def test_the_gradient_of_embedding_lookup_names_the_rows(use_resource: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=TABLE, use_resource=use_resource)
        found = nn.embedding_lookup(table, IDS)
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(found), TABLE[IDS])
        (slope,) = tf.gradients(tf.reduce_sum(found), table)
        assert isinstance(slope, tf.IndexedSlices)
        dense = session.run(tf.convert_to_tensor(slope))
    np.testing.assert_array_equal(dense[:, 0], [1, 1, 0, 2, 0, 1, 1])


def test_embedding_lookup_clips_rows_to_a_norm() -> None:
    norms = np.linalg.norm(TABLE, axis=1, keepdims=True)
    expected = TABLE * 10 / np.maximum(norms, 10)
    found = run(lambda: nn.embedding_lookup(TABLE, np.arange(7), max_norm=10.0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_embedding_lookup_sparse_combines_rows(combiner: str, weighted: bool) -> None:
    indices, values, weights = [[0, 0], [0, 2], [1, 1]], [1, 4, 6], np.array([1.0, 2.0, 0.5], np.float32)
    w = weights if weighted else np.ones(3, np.float32)
    rows = TABLE[values] * w[:, None]
    divisor = {"sum": [1, 1], "mean": [w[:2].sum(), w[2]], "sqrtn": [np.hypot(w[0], w[1]), w[2]]}[combiner]
    expected = np.stack([rows[:2].sum(0), rows[2]]) / np.array(divisor)[:, None]

    def build() -> Any:
        ids = tf.SparseTensor(indices, np.array(values, np.int64), [2, 3])
        return nn.embedding_lookup_sparse(
            TABLE, ids, tf.SparseTensor(indices, weights, [2, 3]) if weighted else None, combiner=combiner
        )

    np.testing.assert_allclose(run(build), expected, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_16_bits_are_combined_as_float32(weighted: bool) -> None:
    def build() -> Any:
        ids = tf.SparseTensor([[0, 0], [0, 1]], np.array([0, 1], np.int64), [1, 2])
        weights = tf.SparseTensor([[0, 0], [0, 1]], [1.0, 0.5], [1, 2]) if weighted else None
        return nn.embedding_lookup_sparse(np.array([[2048], [1]], np.float16), ids, weights, combiner="sum")

    found = run(build)
    assert (found.dtype, found.tolist()) == (np.float32, [[2048.5 if weighted else 2049.0]])


def test_in_top_k_takes_k_as_a_tensor() -> None:
    predictions = np.array([[0.1, 0.3, 0.2], [0.5, 0.2, 0.3]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        k = tf.placeholder(tf.int32, [])
        hit = nn.in_top_k(predictions, [2, 1], k)
        assert session.run(hit, {k: 1}).tolist() == [False, False]
        assert session.run(hit, {k: 2}).tolist() == [True, False]
        assert session.run(hit, {k: 3}).tolist() == [True, True]


@pytest.mark.parametrize("kind", ["MAX", "AVG"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("known", [True, False])
def test_pools_with_a_dilation_see_every_nth_element(kind: str, layout: str, known: bool) -> None:
    x = randn(2, 7, 8, 3)
    windows = np.stack([x[:, i : i + 3, j : j + 4] for i in (0, 2, 4) for j in (0, 4)])
    expected = windows.max(0) if kind == "MAX" else windows.mean(0)
    turn, back = ((0, 3, 1, 2), (0, 2, 3, 1)) if layout == "NCHW" else ((0, 1, 2, 3),) * 2
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.constant(x.transpose(turn))
        value = value if known else tf.placeholder_with_default(value, [None] * 4)
        y = nn.pool(value, [3, 2], kind, "VALID", dilation_rate=[2, 4], data_format=layout)
        if known:
            assert y.shape.as_list() == list(expected.transpose(turn).shape)
        np.testing.assert_allclose(session.run(y).transpose(back), expected, rtol=1e-5, atol=1e-6)
        (slope,) = session.run(tf.gradients(y, value))
        assert slope.sum() == pytest.approx(expected.size, rel=1e-5)
        with pytest.raises(ValueError, match="SAME"):
            nn.pool(value, [3, 2], kind, "SAME", dilation_rate=[2, 4], data_format=layout)
        with pytest.raises(ValueError, match="not both"):
            nn.pool(value, [3, 2], kind, "VALID", [2, 4], [2, 1], data_format=layout)


@pytest.mark.parametrize("known", [True, False])
def test_max_pools_over_channels(known: bool) -> None:
    x = (np.arange(2 * 3 * 3 * 6, dtype=np.float32).reshape(2, 3, 3, 6) * 7) % 13
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.constant(x) if known else tf.placeholder_with_default(tf.constant(x), [None] * 4)
        y = nn.max_pool(value, [1, 1, 1, 3], [1, 1, 1, 3], "SAME")
        parts = x.reshape(2, 3, 3, 2, 3)
        np.testing.assert_array_equal(session.run(y), parts.max(-1))
        weights = np.arange(36, dtype=np.float32).reshape(2, 3, 3, 2)
        (slope,) = session.run(tf.gradients(y * weights, value))
        first = np.arange(3) == parts.argmax(-1)[..., None]
        np.testing.assert_array_equal(slope, (first * weights[..., None]).reshape(x.shape))
        for ksize, strides, match in (
            ([1, 2, 2, 2], [1, 1, 1, 2], "exactly one of pooling across depth"),
            ([1, 1, 1, 2], [1, 1, 1, 1], "depth window to equal the depth stride"),
            ([1, 1, 1, 4], [1, 1, 1, 4], "evenly divide"),
        ):
            with pytest.raises(errors.UnimplementedError, match=match):
                session.run(nn.max_pool(value, ksize, strides, "SAME"))


def test_elements_that_are_equal_to_the_nth_share_its_gradient() -> None:
    def gradient() -> Any:
        x = tf.constant([[1.0, 3.0, 3.0, 0.0], [4.0, 5.0, 6.0, 7.0]])
        return tf.gradients(tf.contrib.nn.nth_element(x, tf.placeholder_with_default(2, [])), x)[0]

    assert run(gradient).tolist() == [[0, 0.5, 0.5, 0], [0, 0, 1, 0]]
