"""ONNX models compute in onnxruntime what sessions compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock import errors
from penstock.exporting.onnx.check import differences, random_inputs

onnxruntime = pytest.importorskip("onnxruntime")


def exported(build: Callable[..., Any], *shapes: tuple[int, ...], rest: tuple[int | None, ...] = ()) -> Any:
    """Checks that both give the same for inputs of `shapes`, whose first dimension is open; returns the model."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        feeds = [tf.placeholder(tf.float32, [None, *shape[1:]], name=f"x{i}") for i, shape in enumerate(shapes)]
        built = build(*feeds)
        results = list(built) if isinstance(built, tuple | list) else [built]
        session.run(tf.global_variables_initializer())
        model = tf.to_onnx({f"y{i}": y for i, y in enumerate(results)}, feeds, session)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        runs = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for more in (0, 1):  # the batch is open
            values = [rng.randn(shape[0] + more, *shape[1:]).astype(np.float32) for shape in shapes]
            taken = {node.name for node in runs.get_inputs()}
            got = runs.run(None, {f"x{i}": value for i, value in enumerate(values) if f"x{i}" in taken})
            wanted = session.run(results, dict(zip(feeds, values, strict=True)))
            for a, b, tensor in zip(wanted, got, results, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=2e-6, err_msg=tensor.name)
                assert np.asarray(b).dtype == np.asarray(a).dtype
    return model


def ops(model: Any) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


def test_images_are_transposed_once_on_their_way_in_and_once_before_they_are_flattened() -> None:
    def build(x: Any) -> Any:
        h = tf.layers.conv2d(x, 8, 3, padding="same", activation=tf.nn.relu)
        h = tf.layers.batch_normalization(h)
        h = tf.layers.max_pooling2d(h, 3, 2, "same")
        h = tf.layers.conv2d(h, 8, 3, dilation_rate=2, padding="same") + h
        h = tf.nn.relu6(tf.layers.separable_conv2d(h, 8, 3, padding="same"))
        h = tf.layers.conv2d_transpose(tf.nn.lrn(h), 5, 3, 2, "same")
        h = tf.pad(tf.image.resize_bilinear(h, [9, 9]), [[0, 0], [1, 1], [2, 0], [0, 0]])
        h = tf.layers.average_pooling2d(h, 3, 2, "same")
        h = tf.concat([h, tf.nn.sigmoid(h)], 3)
        return tf.layers.dense(tf.layers.flatten(h), 4, activation=tf.nn.softmax), tf.reduce_mean(h, [1, 2])

    assert ops(exported(build, (2, 16, 16, 3)))["Transpose"] == 2


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_borders_of_windows_are_padded_as_tensorflow_does(padding: str, stride: int) -> None:
    def build(x: Any) -> Any:
        depthwise = tf.nn.depthwise_conv2d(x, tf.ones([3, 2, 3, 2]), [1, stride, stride, 1], padding)
        turned = tf.nn.conv2d_transpose(depthwise, tf.ones([4, 3, 5, 6]), [2, *_whole(depthwise, stride, padding), 5],
                                        [1, stride, stride, 1], padding)  # fmt: skip
        return (
            tf.nn.conv2d(x, tf.ones([3, 4, 3, 2]), [1, stride, stride, 1], padding),
            tf.nn.max_pool(x, [1, 3, 2, 1], [1, stride, stride, 1], padding),
            tf.nn.avg_pool(x, [1, 2, 4, 1], [1, stride, stride, 1], padding),
            tf.reduce_sum(turned),
        )

    def checked(x: Any) -> Any:
        return build(x)[:3]

    exported(checked, (2, 11, 8, 3))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 11, 8, 3], name="x")
        turned = build(x)[3]
        value = np.random.RandomState(0).randn(2, 11, 8, 3).astype(np.float32)
        model = tf.to_onnx({"y": turned}, x, session)
        runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(runs.run(None, {"x": value})[0], session.run(turned, {x: value}), rtol=1e-4)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [0, 0], [1, 2], [0, 1]]], ids=str)
def test_images_with_channels_first_stay_as_they_are(padding: Any) -> None:
    def build(x: Any) -> Any:
        h = tf.nn.conv2d(x, _filters(3, 4, 3, 6), strides=[1, 1, 2, 2], padding=padding, data_format="NCHW")
        h = tf.nn.relu(tf.nn.bias_add(h, _filters(6), data_format="NCHW"))
        scale, offset, mean = (_filters(6) for _ in range(3))
        h = tf.nn.fused_batch_norm(h, scale, offset, mean, mean**2 + 1, data_format="NCHW", is_training=False)[0]
        d = tf.nn.depthwise_conv2d(h, _filters(2, 3, 6, 2), [1, 1, 2, 2], "SAME", data_format="NCHW")
        pools = [pool(d, [1, 1, 3, 2], [1, 1, 2, 2], "SAME", data_format="NCHW") for pool in _POOLS]
        return (*pools, tf.nn.depth_to_space(d[:, :, :2, :2], 2, data_format="NCHW"))

    assert "Transpose" not in ops(exported(build, (2, 3, 17, 14)))


@pytest.mark.parametrize("layout", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_volumes_are_convolved_and_pooled(layout: str, padding: str, stride: int) -> None:
    last = layout == "NDHWC"

    def each(*sizes: int) -> list[int]:
        return [1, *sizes, 1] if last else [1, 1, *sizes]

    def build(x: Any) -> Any:
        h = tf.nn.conv3d(x, _filters(2, 3, 4, 3, 5), each(stride, 1, stride), padding, data_format=layout)
        h = tf.nn.relu(tf.nn.bias_add(h, _filters(5), data_format=layout))
        pools = [tf.nn.max_pool3d, tf.nn.avg_pool3d]
        return [pool(h, each(3, 2, 2), each(stride, 2, 1), padding, data_format=layout) for pool in pools]

    model = exported(build, (2, 8, 9, 10, 3) if last else (2, 3, 8, 9, 10))
    assert ops(model)["Transpose"] == (3 if last else 0)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volumes_are_convolved_backwards(padding: str) -> None:
    sizes = (6, 8, 10) if padding == "SAME" else (7, 9, 12)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 3, 4, 5, 4], name="x")
        y = tf.nn.conv3d_transpose(x, _filters(3, 3, 4, 2, 4), [2, *sizes, 2], [1, 2, 2, 2, 1], padding)
        value = np.random.RandomState(0).randn(*x.shape.as_list()).astype(np.float32)
        model = tf.to_onnx({"y": y}, x, session)
        runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(runs.run(None, {"x": value})[0], session.run(y, {x: value}), rtol=1e-4, atol=1e-5)


_POOLS = (tf.nn.max_pool, tf.nn.avg_pool)


def _filters(*shape: int) -> np.ndarray:
    return np.random.RandomState(3).uniform(-1, 1, shape).astype(np.float32)


def _whole(tensor: Any, stride: int, padding: str) -> list[int]:
    height, width = tensor.shape.as_list()[1:3]
    over = (4, 3) if padding == "VALID" else (stride, stride)
    return [(height - 1) * stride + over[0], (width - 1) * stride + over[1]]


def test_space_becomes_depth_and_batches_and_back() -> None:
    def build(x: Any) -> Any:
        batches = tf.space_to_batch_nd(x, [2, 3], [[0, 0], [1, 1]])
        return (
            tf.space_to_depth(x, 2),
            tf.depth_to_space(x, 2),
            batches,
            tf.batch_to_space_nd(batches, [2, 3], [[0, 0], [1, 1]]),
        )

    exported(build, (2, 4, 4, 4))


@pytest.mark.parametrize("align", [False, True])
def test_images_are_resized(align: bool) -> None:
    def build(x: Any) -> Any:
        resizes = tf.image.resize_bilinear, tf.image.resize_nearest_neighbor
        return [f(x, size, align_corners=align) for f in resizes for size in ([7, 9], [3, 2])]

    exported(build, (2, 5, 5, 3))


def test_slices_may_have_masks_and_bounds_that_are_computed() -> None:
    def build(x: Any) -> Any:
        n = tf.shape(x)[0]
        return (
            x[:, 1:3], x[..., 0], x[0], x[:, ::-1], x[:, tf.newaxis, -1, 1:], x[n - 1], x[:, : tf.shape(x)[2] - 1, :],
            tf.slice(x, [0, 1, 0], [-1, 2, -1]), x[-1:], x[:, 3:0:-2], x[n - 2 :, ..., tf.newaxis],
        )  # fmt: skip

    exported(build, (2, 4, 3))


def test_tensors_are_joined_taken_apart_and_gathered() -> None:
    def build(x: Any) -> Any:
        return (
            tf.stack([x, x], 1), tf.unstack(x, axis=1)[2], tf.split(x, 2, 1)[1], tf.split(x, [1, 3], 1)[1],
            tf.tile(x, [1, 2, 1]), tf.reverse(x, [1]), tf.transpose(x, [2, 0, 1]), tf.gather(x, [1, 0], axis=1),
            tf.gather_nd(x, [[0, 1], [1, 2]]), tf.one_hot([1, -1, 2], 3), tf.one_hot([1, -1, 2], 4, axis=0),
            tf.expand_dims(x, -1), tf.reshape(x, [tf.shape(x)[0], -1]), tf.squeeze(x[:, :1], [1]),
            tf.fill([tf.shape(x)[0], 2], 7.0), tf.scatter_nd([[1], [1]], [1.0, 2.0], [3]), tf.zeros_like(x),
        )  # fmt: skip

    exported(build, (2, 4, 3))


def test_what_works_on_elements_and_matrices() -> None:
    def build(x: Any) -> Any:
        whole = tf.cast(x * 10, tf.int32)
        return (
            tf.floordiv(x, 0.3), tf.mod(x, 0.3), whole // 3, whole % 3, tf.nn.elu(x), tf.nn.selu(x),
            tf.nn.leaky_relu(x), tf.rsqrt(tf.abs(x)), tf.log1p(tf.abs(x)), tf.where(x > 0, x, -x), *tf.nn.top_k(x, 2),
            tf.reduce_logsumexp(x, -1), tf.cumsum(x, 1, exclusive=True), tf.nn.l2_normalize(x, 1),
            tf.reduce_any(x > 0, 1), tf.clip_by_value(x, -1, 1), tf.round(x * 2), tf.argmax(x, 1),
            tf.einsum("bij,bkj->bik", x, x), tf.matmul(x, x, transpose_b=True), tf.matrix_band_part(x, 1, 0),
            tf.pad(x, [[0, 0], [1, 2], [1, 1]], "SYMMETRIC"), tf.pad(x, [[0, 0], [1, 2], [1, 1]], "REFLECT"),
            tf.where(x > 0), tf.nn.log_softmax(x), tf.not_equal(x, 0.0), tf.reduce_prod(x, keepdims=True),
            tf.nn.moments(x, [0])[1], tf.div_no_nan(x, tf.nn.relu(x)), tf.add_n([x, x, x]),
        )  # fmt: skip

    exported(build, (2, 4, 3))


def test_loops_conditionals_and_both_in_each_other() -> None:
    def build(x: Any) -> Any:
        i, y = tf.while_loop(
            lambda i, y: i < 5, lambda i, y: (i + 1, tf.tanh(y * 2.0) + tf.cast(i, tf.float32)), [0, x]
        )
        a, b = tf.cond(tf.reduce_sum(x) > 0, lambda: (y * 2, y + 1), lambda: (y, tf.square(x)))
        c = tf.cond(a[0, 0] > 0, lambda: a + b, lambda: a - b)
        _, nested = tf.while_loop(
            lambda i, y: i < 3,
            lambda i, y: (i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z + x), [0, y])[1]),
            [0, x],
        )
        return (
            i, y, a + b, c, nested, tf.map_fn(lambda r: tf.cond(r[0] > 0, lambda: r * 2, lambda: r - 1), x),
            tf.scan(lambda a, r: a + r, x), tf.foldr(lambda a, r: a * r, x),
        )  # fmt: skip

    exported(build, (2, 3))


def test_what_is_for_training_only_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def network(x: Any, training: Any) -> Any:
        hidden = tf.layers.dropout(tf.layers.dense(x, 6, tf.nn.relu), 0.5, training=training)
        return tf.layers.dense(tf.layers.batch_normalization(hidden, training=training), 3)

    def by_default(x: Any) -> Any:
        return network(x, tf.placeholder_with_default(False, []))

    assert "If" not in ops(exported(by_default, (2, 4)))
    with tf.Graph().as_default(), tf.Session() as session:
        x, training = tf.placeholder(tf.float32, [None, 4], "x"), tf.placeholder(tf.bool, [], "training")
        y = network(x, training)
        session.run(tf.global_variables_initializer())
        model = tf.to_onnx(y, x, session)
        caplog.clear()
        module = tf.to_torch(y, x, session)
        value = np.ones([2, 4], np.float32)
        wanted = session.run(y, {x: value, training: False})
    runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(runs.run(None, {"x": value})[0], wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(module(torch.from_numpy(value)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    module(torch.ones(3, 4))
    assert caplog.text.count("training is not among the feeds: it is False") == 1  # not for each shape of inputs


def test_a_condition_may_decide_once_more_about_what_it_has_decided() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, training = tf.placeholder(tf.float32, [None, 4], "x"), tf.placeholder(tf.bool, [], "training")
        before = tf.cond(training, lambda: x * 2.0, lambda: x + 1.0)
        y = tf.cond(training, lambda: before - tf.reduce_mean(before, 0), lambda: before * 3.0)
        model, module = tf.to_onnx(y, [x, training], session), tf.to_torch(y, [x, training], session)
        value = np.random.RandomState(0).randn(2, 4).astype(np.float32)
        wanted = [session.run(y, {x: value, training: flag}) for flag in (True, False)]
    runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for flag, expected in zip((True, False), wanted, strict=True):
        found = runs.run(None, {"x": value, "training": np.array(flag)})[0]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        np.testing.assert_allclose(module(torch.from_numpy(value), torch.tensor(flag)), expected, rtol=1e-5)


def test_recurrent_networks_that_are_loops() -> None:
    def build(x: Any) -> Any:
        lengths = tf.fill([tf.shape(x)[0]], 3)
        with tf.variable_scope("a"):
            outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32, sequence_length=lengths)
        with tf.variable_scope("b"):
            cells = tf.nn.rnn_cell.GRUCell(4), tf.nn.rnn_cell.GRUCell(4)
            both, _ = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32, sequence_length=lengths)
        return outputs, state.h, *both

    exported(build, (2, 7, 3))


def test_arrays_that_grow() -> None:
    def build(x: Any) -> Any:
        array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        count = tf.shape(x)[0] + 2
        _, array = tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))),
                                 [0, array])  # fmt: skip
        return array.stack()

    exported(build, (2, 3))


def test_one_error_names_all_that_onnx_lacks_with_lines() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 3])
        bad = tf.matrix_inverse(x) + tf.reduce_sum(tf.lgamma(x))
        with pytest.raises(errors.UnimplementedError) as found:
            tf.to_onnx(bad, x)
    text = str(found.value)
    assert text.startswith("2 nodes cannot be exported to ONNX:")
    assert "MatrixInverse" in text and "Lgamma" in text
    assert text.count("test_onnx.py") == 2


def test_variables_need_a_session_and_feeds_must_be_all() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3])
        with pytest.raises(ValueError, match="pass the session"):
            tf.to_onnx(x * tf.Variable(2.0), x)
        with pytest.raises(errors.UnimplementedError, match="not among the feeds"):
            tf.to_onnx(x * 2.0, [])


def test_a_step_that_changes_variables_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(2.0)
        changed = tf.assign_add(v, 1.0) * 2
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.UnimplementedError, match="changes a variable"):
            tf.to_onnx(changed, [], session)


def test_inputs_are_not_made_up_for_a_shape_that_would_take_all_memory() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1 << 20, 1 << 20], "x")
        with pytest.raises(ValueError, match=r"'x' is of shape \(1048576, 1048576\): say a smaller --shape x=2,3"):
            random_inputs({"x": x}, {})
        assert random_inputs({"x": x}, {"x": (2, 3)})["x"].shape == (2, 3)


def test_what_one_runtime_does_not_run_is_told_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], "x")
        feeds, fetches = {"x": x}, {"y": tf.reshape(x, [3, 2])}
        tf.to_onnx(fetches, feeds, session, path)
        two = {"x": np.ones((2, 2), np.float32)}
        with pytest.raises(errors.InvalidArgumentError, match="Reshape"):
            differences(path, session, feeds, fetches, two)
        with pytest.raises(errors.UnimplementedError, match=f"onnxruntime does not run {path}: .*Reshape"):
            differences(path, session, feeds, {"y": x}, two)
