"""tf.contrib.layers against NumPy, with TensorFlow's names of variables, nodes and collections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

layers = tf.contrib.layers
arg_scope = tf.contrib.framework.arg_scope


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


X = np.random.RandomState(0).uniform(-1, 1, (4, 6, 6, 3)).astype(np.float32)
V = X[0, 0]


def names(collection: str = tf.GraphKeys.GLOBAL_VARIABLES) -> list[str]:
    return [v.op.name for v in tf.get_collection(collection)]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# --- dense ----------------------------------------------------------------------------------------------


def test_fully_connected_is_a_relu_of_a_product_and_biases() -> None:
    x = tf.placeholder(tf.float32, [None, 6, 3])
    y = layers.fully_connected(x, 4, biases_initializer=tf.constant_initializer(0.1))
    assert (y.op.name, y.shape.as_list()) == ("fully_connected/Relu", [None, 6, 4])
    got, weights = run([y, tf.trainable_variables()[0]], {x: X[0]})
    np.testing.assert_allclose(got, np.maximum(X[0] @ weights + 0.1, 0), rtol=1e-5, atol=1e-6)
    assert names() == names(tf.GraphKeys.MODEL_VARIABLES) == ["fully_connected/weights", "fully_connected/biases"]
    layers.linear(tf.constant(V), 2)
    layers.relu6(tf.constant(V), 2, scope="top", biases_initializer=None)
    assert names()[2:] == ["fully_connected_1/weights", "fully_connected_1/biases", "top/weights"]


def test_variables_are_shared_by_scope_and_reuse() -> None:
    x = tf.constant(V)
    layers.fully_connected(x, 2, scope="head")
    layers.fully_connected(x, 2, scope="head", reuse=True)
    with tf.variable_scope("outer", reuse=tf.AUTO_REUSE):
        layers.fully_connected(x, 2, scope="in", normalizer_fn=layers.batch_norm)
        layers.fully_connected(x, 2, scope="in", normalizer_fn=layers.batch_norm)
    assert len(names()) == 2 + 4
    with pytest.raises(ValueError, match="head/weights already exists"):
        layers.fully_connected(x, 2, scope="head")
    with pytest.raises(ValueError, match="integer"):
        layers.fully_connected(x, 2.5)


def test_collections_regularizers_and_trainable_reach_the_variables() -> None:
    y = layers.conv2d(
        tf.constant(X), 2, 3, weights_regularizer=layers.l2_regularizer(0.5), trainable=False,
        variables_collections={"weights": ["kernels"], "biases": ["offsets"]}, outputs_collections=["ends", "all"],
    )  # fmt: skip
    assert (names("kernels"), names("offsets"), tf.trainable_variables()) == (["Conv/weights"], ["Conv/biases"], [])
    assert tf.get_collection("ends") == tf.get_collection("all") == [y]
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    value, weights = run([loss, tf.global_variables()[0]])
    assert value == pytest.approx(0.25 * (weights**2).sum(), rel=1e-5)


def test_arg_scope_reaches_layers() -> None:
    ones = tf.ones_initializer()
    with arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=ones, activation_fn=None):  # noqa: SIM117
        with arg_scope([layers.conv2d], stride=2, padding="VALID"):
            y, z = layers.conv2d(tf.constant(X), 1, 2), layers.fully_connected(tf.constant(V), 1)
    assert y.shape.as_list() == [4, 3, 3, 1]
    got = run([y, z])
    windows = X.sum(-1).reshape(4, 3, 2, 3, 2).sum((2, 4))
    np.testing.assert_allclose(got[0][..., 0], windows, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got[1][:, 0], V.sum(1), rtol=1e-4, atol=1e-5)


# --- convolutions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer, x, rank", [("conv1d", X[:, 0], 1), ("conv2d", X, 2), ("conv3d", X[..., None], 3)])
def test_convolutions_of_each_rank_have_weights_of_it(layer: str, x: np.ndarray, rank: int) -> None:
    y = getattr(layers, layer)(tf.constant(x), 5, 3, normalizer_fn=layers.batch_norm)
    assert y.shape.as_list() == [*x.shape[:-1], 5]
    assert tf.global_variables()[0].shape.as_list() == [3] * rank + [x.shape[-1], 5]
    assert names()[0] == "Conv/weights" and "Conv/biases" not in names() and "Conv/BatchNorm/beta" in names()
    with pytest.raises(ValueError, match="rank"):
        getattr(layers, layer)(tf.constant(V), 5, 3)


def test_dilation_stride_and_layout_are_those_of_tf_nn() -> None:
    first = np.ascontiguousarray(X.transpose(0, 3, 1, 2))
    y = layers.conv2d(tf.constant(X), 4, 3, rate=2, activation_fn=None, scope="c")
    z = layers.conv2d(tf.constant(first), 4, 3, rate=2, activation_fn=None, scope="c", reuse=True, data_format="NCHW")
    weights = tf.global_variables()[0]
    want = tf.nn.convolution(X, weights, "SAME", dilation_rate=[2, 2])
    got, other, reference = run([y, z, want])
    np.testing.assert_allclose(got, reference, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.transpose(0, 2, 3, 1), reference, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="dilation"):
        layers.conv2d(tf.constant(X), 4, 3, rate=2, stride=2)
    with pytest.raises(ValueError, match="Invalid data_format"):
        layers.conv2d(tf.constant(X), 4, 3, data_format="HWCN")


def test_transposed_convolutions_grow_by_the_stride() -> None:
    y = layers.conv2d_transpose(tf.constant(X), 5, [3, 2], stride=[2, 1])
    z = layers.conv3d_transpose(tf.constant(X[..., None]), 2, 2, stride=2)
    assert (y.shape.as_list(), z.shape.as_list()) == ([4, 12, 6, 5], [4, 12, 12, 6, 2])
    assert names() == [f"Conv{d}d_transpose/{v}" for d in (2, 3) for v in ("weights", "biases")]
    assert tf.global_variables()[0].shape.as_list() == [3, 2, 5, 3]


def test_separable_conv2d_without_outputs_is_depthwise_only() -> None:
    y = layers.separable_conv2d(tf.constant(X), 7, 3, depth_multiplier=2)
    assert names() == [f"SeparableConv2d/{v}" for v in ("depthwise_weights", "pointwise_weights", "biases")]
    z = layers.separable_conv2d(tf.constant(X), None, 3, depth_multiplier=2, stride=2, activation_fn=None)
    assert (y.shape.as_list(), z.shape.as_list()) == ([4, 6, 6, 7], [4, 3, 3, 6])
    assert names()[3:] == ["SeparableConv2d_1/depthwise_weights", "SeparableConv2d_1/biases"]
    got, weights = run([z, tf.global_variables()[3]])
    # padded at the end only: the first window begins at the first pixel
    first = np.einsum("nhwc,hwcm->ncm", X[:, :3, :3], weights).reshape(4, 6)
    np.testing.assert_allclose(got[:, 0, 0], first, rtol=1e-4, atol=1e-5)


def test_conv2d_in_plane_uses_one_filter_for_all_channels() -> None:
    y = layers.conv2d_in_plane(tf.constant(X), 2, padding="VALID", activation_fn=None)
    got, weights = run([y, tf.global_variables()[0]])
    want = sum(X[:, i : i + 5, j : j + 5] * weights[i, j] for i in range(2) for j in range(2))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


# --- normalization --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fused", [None, False])
@pytest.mark.parametrize("value", [V, X, X[0]], ids=["matrix", "images", "rank 3"])
@pytest.mark.parametrize("training", ["bool", "tensor"])
@pytest.mark.parametrize("collections", [tf.GraphKeys.UPDATE_OPS, None, "own"])
def test_batch_norm_moves_its_averages_where_it_is_told_to(
    fused: bool | None, value: np.ndarray, training: str, collections: Any
) -> None:
    flag = tf.placeholder(tf.bool, []) if training == "tensor" else True
    feeds = {flag: True} if training == "tensor" else {}
    x = tf.constant(value)
    y = layers.batch_norm(x, decay=0.9, scale=True, is_training=flag, fused=fused, updates_collections=collections)
    assert names() == [f"BatchNorm/{v}" for v in ("beta", "gamma", "moving_mean", "moving_variance")]
    updates = tf.get_collection(collections) if collections else []
    assert len(updates) == (2 if collections else 0)
    axes = tuple(range(value.ndim - 1))
    mean, variance = value.mean(axes), value.var(axes)
    by_op = fused is None and value.ndim in (2, 4)
    kept = value.var(axes, ddof=1) if by_op else variance
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, *_ = session.run([y, *updates], feeds)
        np.testing.assert_allclose(got, (value - mean) / np.sqrt(variance + 1e-3), rtol=1e-3, atol=1e-4)
        moved = session.run(tf.global_variables()[2:])
        np.testing.assert_allclose(moved[0], 0.1 * mean, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(moved[1], 0.9 + 0.1 * kept, rtol=1e-5)
        if training == "tensor":
            got, *_ = session.run([y, *updates], {flag: False})
            np.testing.assert_allclose(got, (value - moved[0]) / np.sqrt(moved[1] + 1e-3), rtol=1e-3, atol=1e-4)
            np.testing.assert_array_equal(session.run(tf.global_variables()[2]), moved[0])


def test_batch_norm_outside_training_moves_nothing() -> None:
    y = layers.batch_norm(tf.constant(X), is_training=False, activation_fn=tf.nn.relu)
    assert tf.get_collection(tf.GraphKeys.UPDATE_OPS) == []
    np.testing.assert_allclose(run(y), np.maximum(X / np.sqrt(1.001), 0), rtol=1e-4, atol=1e-6)


def test_batch_norm_takes_layouts_weights_and_initial_values() -> None:
    first = np.ascontiguousarray(X.transpose(0, 3, 1, 2))
    y = layers.batch_norm(tf.constant(first), data_format="NCHW", center=False, fused=False)
    z = layers.batch_norm(tf.constant(V), batch_weights=tf.constant([1.0, 2, 0, 1, 1, 3]), center=False)
    w = layers.batch_norm(
        tf.constant(V), is_training=False, center=False,
        param_initializers={"moving_mean": tf.constant_initializer(2.0)},
    )  # fmt: skip
    got = run([y, z, w])
    want = (X - X.mean((0, 1, 2))) / np.sqrt(X.var((0, 1, 2)) + 1e-3)
    np.testing.assert_allclose(got[0].transpose(0, 2, 3, 1), want, rtol=1e-3, atol=1e-4)
    counted = np.repeat(V, [1, 2, 0, 1, 1, 3], axis=0)
    np.testing.assert_allclose(got[1], (V - counted.mean(0)) / np.sqrt(counted.var(0) + 1e-3), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got[2], (V - 2) / np.sqrt(1.001), rtol=1e-4)


def test_batch_norm_can_correct_the_average_that_began_at_zero() -> None:
    layers.batch_norm(tf.constant(V), zero_debias_moving_mean=True)
    moving_mean = tf.global_variables()[1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        np.testing.assert_allclose(session.run(moving_mean), V.mean(0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("fused", [None, False])
def test_what_corrects_the_average_is_a_model_variable_where_no_op_normalizes(fused: bool | None) -> None:
    layers.batch_norm(tf.constant(X), zero_debias_moving_mean=True, fused=fused)
    correcting = ["BatchNorm/BatchNorm/moving_mean/biased", "BatchNorm/BatchNorm/moving_mean/local_step"]
    own = ["BatchNorm/beta", "BatchNorm/moving_mean", "BatchNorm/moving_variance"]
    assert names() == [*own, *correcting]
    assert names(tf.GraphKeys.MODEL_VARIABLES) == ([*own, *correcting] if fused is False else own)
    updates = [update.name for update in tf.get_collection(tf.GraphKeys.UPDATE_OPS)]
    assert updates == ["BatchNorm/AssignMovingAvg:0", "BatchNorm/AssignMovingAvg_1:0"]


def test_batch_norm_says_what_it_cannot_do() -> None:
    with pytest.raises(NotImplementedError, match="adjustment"):
        layers.batch_norm(tf.constant(X), adjustment=lambda shape: (1.0, 0.0))
    with pytest.raises(ValueError, match="rank"):
        layers.batch_norm(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="known"):
        layers.batch_norm(tf.placeholder(tf.float32, [2, None]))
    with pytest.raises(ValueError, match="NCHW"):
        layers.batch_norm(tf.constant(X), data_format="CHWN")


def test_layer_norm_normalizes_each_example() -> None:
    y = layers.layer_norm(tf.constant(X))
    z = layers.layer_norm(tf.constant(X), begin_norm_axis=-1, begin_params_axis=2, center=False)
    assert [(v.op.name, v.shape.as_list()) for v in tf.global_variables()] == [
        ("LayerNorm/beta", [3]), ("LayerNorm/gamma", [3]), ("LayerNorm_1/gamma", [6, 3]),
    ]  # fmt: skip
    got = run([y, z])
    for found, axes in zip(got, [(1, 2, 3), (3,)], strict=True):
        want = (X - X.mean(axes, keepdims=True)) / X.std(axes, keepdims=True)
        np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="begin_norm_axis"):
        layers.layer_norm(tf.constant(X), begin_norm_axis=4)


def test_instance_norm_normalizes_each_channel_of_each_example() -> None:
    y = layers.instance_norm(tf.constant(X))
    want = (X - X.mean((1, 2), keepdims=True)) / np.sqrt(X.var((1, 2), keepdims=True) + 1e-6)
    np.testing.assert_allclose(run(y), want, rtol=1e-3, atol=1e-4)
    assert names() == ["InstanceNorm/beta", "InstanceNorm/gamma"]


@pytest.mark.parametrize("mean_close_to_zero", [False, True])
@pytest.mark.parametrize("channels_first", [False, True])
def test_group_norm_normalizes_groups_of_channels(channels_first: bool, mean_close_to_zero: bool) -> None:
    x = np.random.RandomState(1).uniform(-1, 1, (3, 5, 4, 6)).astype(np.float32)
    order: Any = {"channels_axis": -3, "reduction_axes": [-2, -1]} if channels_first else {}
    fed = tf.placeholder(tf.float32, [None, *x.shape[1:]])
    axis, rest = (1, (3, 4)) if channels_first else (3, (1, 2))
    groups = 5 if channels_first else 3
    kinds = {"gamma": tf.constant_initializer(2.0)}
    y = layers.group_norm(fed, groups, param_initializers=kinds, mean_close_to_zero=mean_close_to_zero, **order)
    parts = x.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])
    axes = (axis + 1, *rest)
    moved = parts - parts.mean(axes, keepdims=True)
    expected = (2 * moved / np.sqrt(parts.var(axes, keepdims=True) + 1e-6)).reshape(x.shape)
    assert y.shape.as_list() == [None, *x.shape[1:]]
    assert names() == ["GroupNorm/beta", "GroupNorm/gamma"] == names(tf.GraphKeys.MODEL_VARIABLES)
    np.testing.assert_allclose(run(y, {fed: x}), expected, rtol=1e-4, atol=1e-5)


def test_group_norm_has_the_gradients_of_its_formula() -> None:
    x = tf.constant(np.random.RandomState(2).uniform(-1, 1, (2, 3, 3, 4)))
    y = layers.group_norm(x, 2, scale=False) ** 3
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert tf.test.compute_gradient_error(x, [2, 3, 3, 4], y, [2, 3, 3, 4], delta=1e-5) < 1e-5


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        (None, {}, "undefined rank"),
        ([2, 3, 3, None], {}, "undefined dimension 3"),
        ([2, None, 3, 4], {"groups": 2}, "undefined dimension 1"),
        ([2, 3, 3, 4], {"groups": 3}, "4 channels cannot be divided into 3 equal groups"),
        ([2, 3, 3, 4], {"groups": 8}, "4 channels cannot be divided into 8 equal groups"),
        ([2, 3, 3, 4], {"channels_axis": 4}, "out of bounds"),
        ([2, 3, 3, 4], {"groups": 2, "reduction_axes": [1, 7]}, "out of bounds"),
        ([2, 3, 3, 4], {"groups": 2, "reduction_axes": [2, 3]}, "must not be one of reduction_axes"),
    ],
)
def test_group_norm_refuses_what_it_cannot_divide(shape: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layers.group_norm(tf.placeholder(tf.float32, shape), **arguments)


# --- without variables ----------------------------------------------------------------------------------


def test_pools_take_the_shape_of_their_input_as_a_window() -> None:
    x = tf.constant(X)
    whole = layers.avg_pool2d(x, x.get_shape()[1:3])
    most = layers.max_pool2d(x, [3, 2], stride=1, padding="SAME", scope="pool1")
    first = layers.max_pool2d(tf.constant(np.ascontiguousarray(X.transpose(0, 3, 1, 2))), 2, data_format="NCHW")
    assert (whole.op.name, most.op.name) == ("AvgPool2D/AvgPool", "pool1/MaxPool")
    got = run([whole, most, first, layers.pool(x, 3, "AVG", stride=3)])
    np.testing.assert_allclose(got[0][:, 0, 0], X.mean((1, 2)), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(got[1][:, 1, 0], X[:, 0:3, 0:2].max((1, 2)))
    np.testing.assert_array_equal(got[2][:, :, 0, 0], X[:, :2, :2].max((1, 2)))
    np.testing.assert_allclose(got[3][:, 1, 1], X[:, 3:, 3:].mean((1, 2)), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="NHWC, NCHW"):
        layers.max_pool2d(x, 2, data_format="NWC")


def test_dropout_acts_in_training_only() -> None:
    training = tf.placeholder(tf.bool, [])
    y = layers.dropout(tf.ones([1000]), 0.25, is_training=training)
    np.testing.assert_array_equal(run(y, {training: False}), np.ones(1000))
    assert set(np.unique(run(y, {training: True}))) == {0, 4}


def test_repeat_and_stack_number_the_scopes_of_their_layers() -> None:
    layers.repeat(tf.constant(X), 2, layers.conv2d, 4, [3, 3], scope="conv1")
    layers.stack(tf.constant(V), layers.fully_connected, [5, 6], scope="fc")
    layers.repeat(tf.constant(V), 1, layers.fully_connected, 3)
    layers.stack(tf.constant(X), layers.conv2d, [(4, 3), (5, [1, 1])], biases_initializer=None)
    weights = [name for name in names() if name.endswith("weights")]
    assert weights == [
        "conv1/conv1_1/weights", "conv1/conv1_2/weights", "fc/fc_1/weights", "fc/fc_2/weights",
        "Repeat/fully_connected_1/weights", "Stack/convolution2d_1/weights", "Stack/convolution2d_2/weights",
    ]  # fmt: skip


def test_small_layers_are_their_formulas() -> None:
    x = tf.constant(X)
    flat = layers.flatten(tf.placeholder_with_default(X, [None, 6, 6, 3]))
    assert flat.shape.as_list() == [None, 108]
    got = run([
        flat,
        layers.softmax(x),
        layers.unit_norm(x, 3),
        layers.maxout(tf.constant(V.reshape(3, 6)), 2),
        layers.one_hot_encoding([2, 0], 3, on_value=5.0),
        layers.bias_add(x, initializer=tf.constant_initializer(1.5)),
    ])  # fmt: skip
    np.testing.assert_array_equal(got[0], X.reshape(4, -1))
    e = np.exp(X)
    np.testing.assert_allclose(got[1], e / e.sum(-1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(got[2], X / np.sqrt((X**2).sum(3, keepdims=True) + 1e-7), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(got[3], V.reshape(3, 2, 3).max(-1))
    np.testing.assert_array_equal(got[4], [[0, 0, 5], [5, 0, 0]])
    np.testing.assert_allclose(got[5], X + 1.5, rtol=1e-6)


def test_spatial_softmax_finds_the_brightest_place() -> None:
    image = np.zeros((1, 5, 9, 2), np.float32)
    image[0, 4, 0, 0] = image[0, 2, 8, 1] = 100
    np.testing.assert_allclose(run(layers.spatial_softmax(tf.constant(image))), [[1, -1, 0, 1]], atol=1e-5)


def test_dense_to_sparse_leaves_the_end_tokens_out() -> None:
    sparse = run(layers.dense_to_sparse(tf.constant([[1, 0, 2], [0, 0, 3]])))
    assert sparse.indices.tolist() == [[0, 0], [0, 2], [1, 2]]
    assert (sparse.values.tolist(), sparse.dense_shape.tolist()) == ([1, 2, 3], [2, 3])


def test_embed_sequence_looks_rows_up_in_one_table() -> None:
    ids = np.array([[3, 1, 3], [0, 1, 1]])
    y = layers.embed_sequence(ids, 5, 2, scope="words")
    z = layers.embed_sequence(ids, 5, 2, unique=True, scope="words", reuse=True)
    assert names() == ["words/embeddings"]
    first, second, table = run([y, z, tf.global_variables()[0]])
    np.testing.assert_array_equal(first, table[ids])
    np.testing.assert_array_equal(second, table[ids])
    with pytest.raises(ValueError, match="vocab size"):
        layers.embed_sequence(ids)


# --- initializers, regularizers, names of outputs -------------------------------------------------------


@pytest.mark.parametrize("mode, n", [("FAN_IN", 50), ("FAN_OUT", 200), ("FAN_AVG", 125)])
@pytest.mark.parametrize("uniform", [False, True])
def test_variance_scaling_divides_by_the_connections_it_counts(mode: str, n: float, uniform: bool) -> None:
    initializer = layers.variance_scaling_initializer(3.0, mode, uniform, seed=1)
    values = run(initializer([5, 10, 40], tf.float32))
    if mode != "FAN_OUT":  # too few numbers for a close look at the others
        assert values.var() == pytest.approx(3 / n, rel=0.1)
    limit = np.sqrt(9 / n) if uniform else 2 * np.sqrt(3.9 / n)
    assert 0.9 * limit < np.abs(values).max() <= limit
    with pytest.raises(TypeError, match="mode"):
        layers.variance_scaling_initializer(mode="FAN")
    with pytest.raises(TypeError, match="int32"):
        layers.xavier_initializer(dtype=tf.int32)


def test_regularizers_are_their_sums_and_nothing_for_a_scale_of_0() -> None:
    w = tf.constant([1.0, -2.0, 3.0])
    l1, l2 = layers.l1_regularizer(0.5), layers.l2_regularizer(0.1)
    both = layers.l1_l2_regularizer(0.5, 0.1)
    total = layers.sum_regularizer([l1, None, l2])
    assert np.allclose(run([l1(w), l2(w), both(w), total(w)]), [3, 0.7, 3.7, 3.7])
    assert both(w).op.name.startswith("l1_l2_regularizer")
    assert layers.l2_regularizer(0.0)(w) is None and layers.sum_regularizer([None]) is None
    assert run(layers.l1_l2_regularizer(0.0, 0.1)(w)) == pytest.approx(0.7)
    for wrong in (1, -0.1):
        with pytest.raises(ValueError, match="scale"):
            layers.l1_regularizer(wrong)
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, w)
    penalty = layers.apply_regularization(l2)
    assert tf.losses.get_regularization_losses() == [penalty] and run(penalty) == pytest.approx(0.7)


def test_outputs_are_collected_under_the_names_of_their_scopes() -> None:
    with tf.variable_scope("net"), arg_scope([layers.conv2d, layers.max_pool2d], outputs_collections="ends"):
        y = layers.conv2d(tf.constant(X), 2, 3, scope="conv1")
        z = layers.max_pool2d(y, 2, scope="pool1")
    points = layers.utils.convert_collection_to_dict("ends", clear_collection=True)
    assert dict(points) == {"net/conv1": y, "net/pool1": z}
    assert tf.get_collection("ends") == []
    assert layers.utils.get_tensor_aliases(tf.constant(1, name="c")) == ["c"]
    assert layers.utils.gather_tensors_aliases([y, z]) == ["net/conv1", "net/pool1"]


def test_shape_helpers_check_what_they_are_given() -> None:
    utils = layers.utils
    assert (utils.two_element_tuple(3), utils.two_element_tuple([1, 2])) == ((3, 3), (1, 2))
    assert utils.two_element_tuple(tf.TensorShape([4, 5])) == (4, 5)
    assert utils.last_dimension(tf.TensorShape([None, 7]), min_rank=2) == 7
    with pytest.raises(ValueError, match="at least 2"):
        utils.last_dimension(tf.TensorShape([7]), min_rank=2)
    with pytest.raises(ValueError, match="must be known"):
        utils.last_dimension(tf.TensorShape([None]))
    for wrong in ("ab", [1, 2, 3], 1.5):
        with pytest.raises(ValueError, match="integer"):
            utils.two_element_tuple(wrong)
    with pytest.raises(ValueError, match="positive"):
        utils.n_positive_integers(2, 0)
    assert utils.smart_cond(tf.constant(False), lambda: 1, lambda: 2) == 2


def test_activations_are_summarized_with_what_they_cut_off() -> None:
    y = tf.nn.relu6(tf.constant([-1.0, 2.0, 3.0, 9.0]), name="act")
    layers.summarize_activation(y)
    assert layers.summarize_tensor(tf.constant("text")) is None
    layers.summarize_tensors([tf.constant(1.0, name="one"), y])
    texts = run(tf.get_collection(tf.GraphKeys.SUMMARIES))
    found = {v.tag: v for text in texts for v in tf.summary.Summary.FromString(text).value}
    assert sorted(found) == ["act/activation", "act/sixes", "act/zeros", "act_summary", "one_summary"]
    assert (found["act/zeros"].simple_value, found["act/sixes"].simple_value) == (0.25, 0.25)
