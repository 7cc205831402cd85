"""tf.layers against NumPy, with TensorFlow's variable names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


X = np.random.RandomState(0).uniform(-1, 1, (2, 4, 6, 3)).astype(np.float32)


def test_dense_multiplies_along_the_last_axis_and_keeps_the_others() -> None:
    x = tf.placeholder(tf.float32, [None, None, 6, 3])
    y = tf.layers.dense(x, 5, tf.nn.relu, bias_initializer=tf.constant_initializer(0.1))
    assert y.shape.as_list() == [None, None, 6, 5]
    got, kernel = run([y, tf.trainable_variables()[0]], {x: X})
    np.testing.assert_allclose(got, np.maximum(X @ kernel + 0.1, 0), rtol=1e-5, atol=1e-6)
    assert names() == ["dense/kernel", "dense/bias"]


def test_unnamed_layers_are_numbered_and_named_ones_share_with_reuse() -> None:
    x = tf.constant(X[0, 0])
    tf.layers.dense(x, 2)
    tf.layers.dense(x, 2, use_bias=False)
    tf.layers.dense(x, 2, name="head")
    tf.layers.dense(x, 2, name="head", reuse=True)
    assert names() == ["dense/kernel", "dense/bias", "dense_1/kernel", "head/kernel", "head/bias"]
    with pytest.raises(ValueError, match="head/kernel"):
        tf.layers.dense(x, 2, name="head")


def test_unnamed_layers_with_reuse_share_the_first_ones_variables() -> None:
    x = tf.constant(X[0, 0])
    tf.layers.dense(x, 2)
    tf.layers.dense(x, 2, reuse=True)
    tf.layers.dense(x, 2, use_bias=False)
    assert names() == ["dense/kernel", "dense/bias", "dense_1/kernel"]
    with pytest.raises(ValueError, match="batch_normalization/gamma"):
        tf.layers.batch_normalization(x, reuse=True)


def test_a_layer_object_called_twice_has_one_set_of_variables() -> None:
    layer = tf.layers.Dense(2)
    one, two = layer(tf.constant(X[0, 0])), layer(tf.constant(X[0, 1]))
    assert one.shape == two.shape
    assert layer.variables == tf.global_variables()


def test_a_kernel_regularizer_adds_its_loss_to_the_collection() -> None:
    tf.layers.dense(tf.constant(X[0, 0]), 2, kernel_regularizer=lambda w: tf.reduce_sum(w * w))
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    value, kernel = run([loss, tf.trainable_variables()[0]])
    assert value == pytest.approx((kernel**2).sum(), rel=1e-5)


def test_dense_of_an_unknown_width_says_which_axis() -> None:
    with pytest.raises(ValueError, match="axis -1"):
        tf.layers.dense(tf.placeholder(tf.float32, [2, None]), 3)


def test_conv2d_sums_over_windows() -> None:
    y = tf.layers.conv2d(tf.constant(X), 4, (2, 3), strides=(1, 2))
    got, kernel = run([y, tf.trainable_variables()[0]])
    assert kernel.shape == (2, 3, 3, 4)
    want = np.zeros((2, 3, 2, 4), np.float32)
    for i in range(3):
        for j in range(2):
            want[:, i, j] = np.einsum("nhwc,hwco->no", X[:, i : i + 2, 2 * j : 2 * j + 3], kernel)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert names() == ["conv2d/kernel", "conv2d/bias"]


def test_conv1d_is_conv2d_of_height_one() -> None:
    x = tf.constant(X[:, 0])
    wide = tf.layers.conv2d(x[:, None], 2, (1, 3), kernel_initializer=tf.constant_initializer(0.3))
    narrow = tf.layers.conv1d(x, 2, 3, kernel_initializer=tf.constant_initializer(0.3))
    a, b = run([wide, narrow])
    np.testing.assert_allclose(a[:, 0], b, rtol=1e-5)


def test_two_layer_objects_of_one_name_have_variables_of_their_own() -> None:
    x = tf.constant(X)
    tf.layers.Dense(2, use_bias=False, name="d")(x)
    tf.layers.Dense(2, use_bias=False, name="d")(x)
    assert names() == ["d/kernel", "d_1/kernel"]
    tf.layers.Dense(2, use_bias=False, name="d", _reuse=True)(x)
    assert names() == ["d/kernel", "d_1/kernel"]
    with pytest.raises(ValueError, match="d/kernel already exists"):
        tf.layers.dense(x, 2, use_bias=False, name="d")
    with pytest.raises(ValueError, match="d/kernel already exists"):
        tf.layers.conv2d(x, 2, 1, name="d")


@pytest.mark.parametrize(("padding", "size"), [("same", [8, 12]), ("valid", [9, 13])])
def test_conv2d_transpose_spreads_each_input_over_a_window(padding: str, size: list[int]) -> None:
    x = tf.placeholder(tf.float32, [None, 4, 6, 3])
    y = tf.layers.conv2d_transpose(x, 2, 3, strides=2, padding=padding)
    assert y.shape.as_list() == [None, *size, 2]
    got, kernel = run([y, tf.trainable_variables()[0]], {x: X})
    full = np.zeros((2, 9, 13, 2), np.float32)
    for i in range(4):
        for j in range(6):
            full[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += np.einsum("nc,hwoc->nhwo", X[:, i, j], kernel)
    np.testing.assert_allclose(got, full[:, : size[0], : size[1]], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "reduce"), [("max", np.max), ("average", np.mean)])
def test_pooling_reduces_windows(name: str, reduce: Any) -> None:
    y = getattr(tf.layers, f"{name}_pooling2d")(tf.constant(X), 2, 2)
    np.testing.assert_allclose(run(y), reduce(X.reshape(2, 2, 2, 3, 2, 3), axis=(2, 4)), rtol=1e-5)
    flat = getattr(tf.layers, f"{name}_pooling1d")(tf.constant(X[:, 0]), 3, 3)
    np.testing.assert_allclose(run(flat), reduce(X[:, 0].reshape(2, 2, 3, 3), axis=2), rtol=1e-5)
    deep = getattr(tf.layers, f"{name}_pooling3d")(tf.constant(X[..., None]), (2, 3, 3), (2, 3, 3))
    np.testing.assert_allclose(run(deep)[..., 0, 0], reduce(X.reshape(2, 2, 2, 2, 3, 3), axis=(2, 4, 5)), rtol=1e-5)


def test_dropout_acts_in_training_only_and_takes_a_tensor() -> None:
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.dropout(tf.ones([1000]), 0.4, training=training)
    np.testing.assert_array_equal(run(y, {training: False}), np.ones(1000))
    kept = run(y, {training: True})
    assert set(np.round(np.unique(kept), 4)) == {0, np.float32(1.6667)}
    assert 500 < np.count_nonzero(kept) < 700


def test_flatten_keeps_the_batch_unknown() -> None:
    x = tf.placeholder(tf.float32, [None, 4, 6, 3])
    y = tf.layers.flatten(x)
    assert y.shape.as_list() == [None, 72]
    np.testing.assert_array_equal(run(y, {x: X}), X.reshape(2, -1))


def test_flatten_takes_no_inputs_of_an_unknown_rank() -> None:
    with pytest.raises(ValueError, match="known rank"):
        tf.layers.flatten(tf.placeholder(tf.float32))


def test_flatten_of_channels_first_moves_them_to_the_end() -> None:
    layer = tf.layers.Flatten(data_format="channels_first")
    wanted = X.transpose(0, 2, 3, 1).reshape(2, -1)
    np.testing.assert_array_equal(run(layer(tf.constant(X))), wanted)
    np.testing.assert_array_equal(run(tf.layers.flatten(X, data_format="channels_first")), wanted)
    assert (layer.data_format, tf.layers.Flatten().data_format) == ("channels_first", "channels_last")
    with pytest.raises(ValueError, match="data_format"):
        tf.layers.Flatten(data_format="other")


@pytest.mark.parametrize("kind", [tuple, list, tf.TensorShape])
def test_layers_can_be_built_for_a_shape_before_their_first_call(kind: Any) -> None:
    dense, conv = tf.layers.Dense(3), tf.layers.Conv2D(5, 2)
    apart, norm = tf.layers.SeparableConv2D(5, 2), tf.layers.BatchNormalization()
    dense.build(kind((None, 4)))
    for layer in (conv, apart):
        layer.build(kind((None, 8, 8, 3)))
    norm.build(kind((None, tf.Dimension(4))))
    assert dense.kernel.shape == [4, 3] and norm.gamma.shape == [4] and apart.built
    assert conv.kernel.shape == [2, 2, 3, 5]
    built = names()
    assert built[:2] == ["dense/kernel", "dense/bias"]
    dense(tf.zeros([2, 4]))
    assert names() == built


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("fused", [None, False])
def test_batch_normalization_uses_the_batch_in_training_and_moves_its_statistics(
    axis: int, as_tensor: bool, fused: bool | None
) -> None:
    x = tf.placeholder(tf.float32, [None, 4, 6, 3])
    training = tf.placeholder(tf.bool, []) if as_tensor else True
    y = tf.layers.batch_normalization(x, axis=axis, momentum=0.9, training=training, fused=fused)
    feeds = {x: X, training: True} if as_tensor else {x: X}
    others = (0, 1, 2) if axis == -1 else (0, 2, 3)
    mean, variance = X.mean(others, keepdims=True), X.var(others, keepdims=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        got, *_ = session.run([y, *updates], feeds)
        np.testing.assert_allclose(got, (X - mean) / np.sqrt(variance + 1e-3), rtol=1e-3, atol=1e-4)
        gamma, beta, moving_mean, moving_variance = tf.global_variables()
        np.testing.assert_allclose(session.run(moving_mean), 0.1 * mean.ravel(), rtol=1e-3, atol=1e-5)
        # The fused op gives the variance with Bessel's correction.
        corrected = X.var(others, ddof=0 if fused is False else 1)
        np.testing.assert_allclose(session.run(moving_variance), 0.9 + 0.1 * corrected, rtol=1e-5)
        if as_tensor:
            before = session.run(moving_mean)
            got, *_ = session.run([y, *updates], {x: X, training: False})
            np.testing.assert_array_equal(session.run(moving_mean), before)
            shape = [-1 if i == axis % 4 else 1 for i in range(4)]
            moved = session.run([moving_mean, moving_variance])
            want = (X - moved[0].reshape(shape)) / np.sqrt(moved[1].reshape(shape) + 1e-3)
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    assert tf.trainable_variables() == [gamma, beta]
    assert names() == [f"batch_normalization/{v}" for v in ("gamma", "beta", "moving_mean", "moving_variance")]


def test_updates_of_batch_normalization_are_operations_by_tensorflows_names() -> None:
    x = tf.zeros([2, 4, 4, 3])
    tf.layers.batch_normalization(x, training=True)
    tf.layers.batch_normalization(x, training=tf.placeholder(tf.bool), name="ph")
    tf.contrib.layers.batch_norm(x)
    tf.contrib.layers.batch_norm(x, fused=False, scope="own")
    tf.contrib.layers.batch_norm(tf.zeros([2, 3]), scope="matrix")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    moved = ("AssignMovingAvg", "AssignMovingAvg_1")
    wanted = [f"{scope}/{name}" for scope in ("batch_normalization", "ph", "BatchNorm", "own") for name in moved]
    assert [update.name for update in updates] == [*wanted, *(f"matrix/{name}:0" for name in moved)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(updates[:2]) == [None, None]


def test_batch_normalization_outside_training_adds_no_updates() -> None:
    tf.layers.batch_normalization(tf.constant(X))
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []


def test_a_conv_layer_refuses_an_input_of_another_rank() -> None:
    with pytest.raises(ValueError, match="rank 4"):
        tf.layers.conv2d(tf.constant(X[0]), 2, 3)


def op_types() -> set[str]:
    return {op.type for op in tf.get_default_graph().get_operations()}


def test_batch_normalization_is_one_op_for_images_unless_told_otherwise() -> None:
    tf.layers.batch_normalization(tf.constant(X), fused=False)
    tf.layers.batch_normalization(tf.constant(X), axis=2)
    tf.layers.batch_normalization(tf.constant(X[0]))
    assert "FusedBatchNormV3" not in op_types()
    tf.layers.batch_normalization(tf.constant(X), scale=False)
    assert "FusedBatchNormV3" in op_types()
    with pytest.raises(ValueError, match="Unsupported axis"):
        tf.layers.batch_normalization(tf.constant(X), axis=2, fused=True)


def test_the_nodes_of_a_later_call_join_the_name_scope_of_the_first() -> None:
    layer, x = tf.layers.Dense(2), tf.constant(X[0, 0])
    first, second = layer(x), layer(x)
    with tf.name_scope("elsewhere"):
        third = layer(x)
    assert [y.op.name for y in (first, second, third)] == ["dense/BiasAdd", "dense/BiasAdd_1", "dense/BiasAdd_2"]


@pytest.mark.parametrize("data_format", ["channels_last", "channels_first"])
def test_separable_conv2d_convolves_channels_apart_and_then_mixes_them(data_format: str) -> None:
    x = X if data_format == "channels_last" else X.transpose(0, 3, 1, 2)
    y = tf.layers.separable_conv2d(
        tf.constant(x), 5, (2, 3), depth_multiplier=2, data_format=data_format, activation=tf.nn.relu
    )
    names_there = [f"separable_conv2d/{v}" for v in ("depthwise_kernel", "pointwise_kernel", "bias")]
    assert names() == names_there
    got, depthwise, pointwise = run([y, *tf.global_variables()[:2]])
    assert depthwise.shape == (2, 3, 3, 2) and pointwise.shape == (1, 1, 6, 5)
    wide = np.zeros((2, 3, 4, 3, 2), np.float32)
    for i in range(3):
        for j in range(4):
            wide[:, i, j] = np.einsum("nhwc,hwcm->ncm", X[:, i : i + 2, j : j + 3], depthwise)
    want = np.maximum(wide.reshape(2, 3, 4, 6) @ pointwise[0, 0], 0)
    want = want if data_format == "channels_last" else want.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_separable_conv1d_is_that_of_a_picture_of_one_row() -> None:
    y = tf.layers.separable_conv1d(tf.constant(X[:, 0]), 4, 3, strides=2, padding="same", use_bias=False)
    got, depthwise, pointwise = run([y, *tf.global_variables()])
    assert depthwise.shape == (3, 3, 1) and pointwise.shape == (1, 3, 4)
    padded = np.pad(X[:, 0], ((0, 0), (0, 1), (0, 0)))
    wide = np.stack([np.einsum("nwc,wc->nc", padded[:, i : i + 3], depthwise[..., 0]) for i in (0, 2, 4)], 1)
    np.testing.assert_allclose(got, wide @ pointwise[0], rtol=1e-4, atol=1e-5)


def test_conv3d_transpose_spreads_each_voxel_over_a_window() -> None:
    x = tf.placeholder(tf.float32, [None, 2, 2, 2, 1])
    y = tf.layers.conv3d_transpose(x, 1, 2, strides=2, use_bias=False)
    assert y.shape.as_list() == [None, 4, 4, 4, 1]
    value = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2, 1)
    got, kernel = run([y, tf.global_variables()[0]], {x: value})
    assert names() == ["conv3d_transpose/kernel"]
    np.testing.assert_allclose(got[0, ..., 0], np.kron(value[0, ..., 0], kernel[..., 0, 0]), rtol=1e-5)


def test_a_layer_knows_the_losses_of_its_regularizers_and_the_number_of_its_weights() -> None:
    layer = tf.layers.Dense(5, kernel_regularizer=lambda w: tf.reduce_sum(tf.abs(w)), bias_regularizer=tf.nn.l2_loss)
    with pytest.raises(ValueError, match="isn't built"):
        layer.count_params()
    x = tf.constant(X[:, 0, 0])
    layer(x)
    layer(x)  # with the same variables, hence no new losses
    assert [loss.op.name for loss in layer.losses] == ["dense/kernel/Regularizer/Sum", "dense/bias/Regularizer/L2Loss"]
    assert layer.losses == tf.losses.get_regularization_losses()
    assert layer.count_params() == 3 * 5 + 5
    assert tf.layers.Dense(2, name="plain")(x) is not None
    assert len(tf.losses.get_regularization_losses()) == 2


def test_layers_and_cells_take_the_names_of_keras() -> None:
    x = np.array([[[[-2.0], [3.0]]]], np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        dense = tf.layers.dense(tf.constant(x), 2, "relu", kernel_initializer="ones", kernel_regularizer="l2")
        conv = tf.layers.conv2d(tf.constant(x), 1, 1, activation="elu", kernel_initializer="ones")
        cell = tf.nn.rnn_cell.GRUCell(2, activation="relu", kernel_initializer="zeros", bias_initializer="ones")
        _, state = cell(tf.constant([[1.0]]), cell.zero_state(1, tf.float32))
        session.run(tf.global_variables_initializer())
        found, losses = session.run([dense, tf.losses.get_regularization_losses()])
        assert found.tolist() == [[[[0.0, 0.0], [3.0, 3.0]]]]
        assert losses == [pytest.approx(0.02)]
        assert session.run(conv).ravel() == pytest.approx([np.exp(-2.0) - 1, 3.0], rel=1e-5)
        assert session.run(state).ravel() == pytest.approx([1 - 1 / (1 + np.exp(-1.0))] * 2, rel=1e-5)
    with pytest.raises(ValueError, match=r"Unknown activation: rellu\. Did you mean 'relu'"):
        tf.layers.Dense(2, "rellu")


def test_layers_tell_their_windows_in_the_arguments_words() -> None:
    # A layer of a program's own may take another format later, and the layer follows.
    convolution = tf.layers.Conv2D(2, 3, padding="SAME")
    assert (convolution.padding, convolution.data_format) == ("same", "channels_last")
    pool = tf.layers.MaxPooling1D(2, 2)
    assert (pool.padding, pool.data_format) == ("valid", "channels_last")
    convolution.padding, convolution.data_format = "valid", "channels_first"
    assert convolution(tf.ones((1, 5, 3, 3))).shape.as_list() == [1, 2, 1, 1]
    with pytest.raises(ValueError, match="padding must be"):
        tf.layers.Conv2D(2, 3, padding="causal")


def test_causal_convolutions_look_only_back() -> None:
    ones = tf.ones_initializer()
    x = tf.constant(np.arange(4, dtype=np.float32).reshape(1, 4, 1))
    found = [
        tf.layers.Conv1D(1, 2, padding="causal", kernel_initializer=ones)(x),
        tf.layers.SeparableConv1D(
            1, 2, padding="causal", depthwise_initializer=ones, pointwise_initializer=ones
        )(x),
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for values in session.run(found):
            np.testing.assert_array_equal(values[0, :, 0], [0, 1, 3, 5])


def test_default_names_of_layers_count_those_of_tf_layers_and_of_tf_keras_together():
    """As in TensorFlow 1.15: a tf.keras.layers.Dense after two tf.layers.dense without names makes dense_2/kernel."""
    x, image = tf.zeros([2, 4]), tf.zeros([1, 8, 8, 1])
    tf.layers.dense(x, 3)
    tf.layers.dense(x, 3, name="named")
    with tf.variable_scope("scope"):
        tf.layers.dense(x, 3)
    tf.contrib.layers.fully_connected(x, 3)
    head = tf.keras.layers.Dense(5)
    head(x)
    assert [v.name for v in head.weights] == ["dense_2/kernel:0", "dense_2/bias:0"]
    assert tf.layers.Dense(3).name == "dense_4"
    assert tf.keras.layers.Dense(3).name == "dense_4"
    tf.layers.conv2d(image, 2, 3)
    assert [tf.keras.layers.Conv2D(2, 3).name, tf.keras.layers.Flatten().name] == ["conv2d_1", "flatten"]
    assert tf.global_variables()[2].name == "named/kernel:0"


def test_a_layer_of_a_program_takes_any_nest_of_inputs_and_builds_for_the_nest_of_their_shapes():
    class Layer(tf.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.shapes = input_shape
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            return inputs

    x = tf.zeros([2, 3])
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
    layer = Layer()
    found = layer({"x": x, "pair": (x, np.ones(3, np.float32)), "s": sparse})
    assert found["x"] is x and found["s"] is sparse
    assert isinstance(found["pair"], tuple) and isinstance(found["pair"][1], tf.Tensor)
    assert layer.shapes["x"].as_list() == [2, 3] and layer.shapes["pair"][1].as_list() == [3]
    assert layer.shapes["s"].as_list() == [2, 3] and layer.dtype == tf.float32
    layer = Layer()
    assert layer([x, None, "text"])[1:] == [None, "text"] and layer.shapes is None
