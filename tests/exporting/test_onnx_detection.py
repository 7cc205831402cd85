"""What detectors, decoders and quantised models are made of, in ONNX: onnxruntime computes what sessions compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors

onnxruntime = pytest.importorskip("onnxruntime")
RNG = np.random.RandomState(0)


def same(build: Callable[..., Any], *values: np.ndarray, opened: int = 1) -> None:
    """Checks that both compute the same of `values`, whose first dimensions, `opened` in number, are open."""
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [
            tf.placeholder(v.dtype, [*[None] * min(opened, v.ndim), *v.shape[opened:]], name=f"x{i}")
            for i, v in enumerate(values)
        ]
        results = list(build(*feeds))
        session.run(tf.global_variables_initializer())
        model = tf.to_onnx({f"y{i}": y for i, y in enumerate(results)}, feeds, session)
        wanted = session.run(results, dict(zip(feeds, values, strict=True)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    runs = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    taken = {node.name for node in runs.get_inputs()}
    got = runs.run(None, {f"x{i}": value for i, value in enumerate(values) if f"x{i}" in taken})
    for a, b, tensor in zip(wanted, got, results, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=5e-6, err_msg=tensor.name)
        assert np.asarray(b).dtype == np.asarray(a).dtype


def test_boxes_that_overlap_are_suppressed() -> None:
    def build(boxes: Any, scores: Any) -> Any:
        chosen = tf.image.non_max_suppression(boxes, scores, tf.minimum(5, tf.shape(boxes)[0]))
        yield tf.gather(boxes, chosen)
        yield tf.image.non_max_suppression(boxes, scores, 10, 0.3, 0.4)
        yield from tf.image.non_max_suppression_padded(boxes, scores, 15, 0.3, 0.2, True)
        yield from tf.image.non_max_suppression_with_scores(boxes, scores, 7, 0.5, 0.2)

    same(build, RNG.rand(20, 4).astype(np.float32), RNG.rand(20).astype(np.float32))


def test_a_suppression_that_lowers_scores_is_refused() -> None:
    with tf.Graph().as_default():
        boxes, scores = tf.placeholder(tf.float32, [9, 4], "boxes"), tf.placeholder(tf.float32, [9], "scores")
        found = tf.image.non_max_suppression_with_scores(boxes, scores, 7, 0.5, 0.2, soft_nms_sigma=0.5)
        with pytest.raises(errors.UnimplementedError, match="soft_nms_sigma"):
            tf.to_onnx(found[0], [boxes, scores])


def test_crops_are_resized_with_a_value_for_what_is_outside_the_image() -> None:
    def build(images: Any, boxes: Any) -> Any:
        yield tf.image.crop_and_resize(images, boxes, [0, 1, 1, 0], [4, 5])
        yield tf.image.crop_and_resize(images, boxes, [0, 1, 1, 0], [1, 3], extrapolation_value=-2.0)

    boxes = np.float32([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.6], [-0.3, 0.5, 1.2, 1.1], [0.9, 0.8, 0.1, 0.2]])
    same(build, RNG.randn(2, 9, 11, 3).astype(np.float32), boxes)


def test_numbers_are_rounded_to_those_of_few_bits() -> None:
    def build(x: Any) -> Any:
        yield tf.fake_quant_with_min_max_args(x, -2, 3)
        yield tf.fake_quant_with_min_max_vars(x, tf.Variable(-1.0), tf.Variable(4.0), num_bits=4, narrow_range=True)
        yield tf.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0, -3.0, 0, 0], [1.0, 1.0, 2.0, 3.0, 0.0])

    same(build, (RNG.randn(3, 5) * 3).astype(np.float32))


def test_rows_are_parted_and_put_together_by_numbers() -> None:
    def build(x: Any, parts: Any) -> Any:
        yield from tf.dynamic_partition(x, parts, 3)
        wide = tf.tile(parts[:, None], [1, 5])
        yield tf.dynamic_partition(x, wide, 2)[1]
        yield tf.dynamic_stitch([[0, 2], [1, 4, 3]], [x[:2], x])
        yield tf.dynamic_stitch([[[0], [2]], [1]], [x[:2, None], x[:1]])
        yield tf.unsorted_segment_sum(x, parts, 4)
        yield tf.unsorted_segment_sum(x, parts - 1, 2)
        for strategy in ("mod", "div"):
            tables = [tf.Variable(tf.random_normal([4, 3])) for _ in range(3)]
            yield tf.nn.embedding_lookup(tables, tf.cast(tf.abs(x), tf.int64), partition_strategy=strategy)

    same(build, (RNG.randn(3, 5) * 3).astype(np.float32), np.int32([1, 0, 1]))


def test_beams_are_followed_back() -> None:
    def build(steps: Any, parents: Any, lengths: Any) -> Any:
        yield tf.contrib.seq2seq.gather_tree(steps, parents, lengths, 4)

    steps, parents = (RNG.randint(0, most, (6, 2, 3)).astype(np.int32) for most in (9, 3))
    same(build, steps, parents, np.int32([6, 4]))


def test_convolutions_of_images_of_any_size_with_holes_or_transposed() -> None:
    def build(x: Any) -> Any:
        yield tf.layers.conv1d(x[:, :, 0], 4, 2, dilation_rate=3)
        yield tf.layers.conv1d(x[:, 0], 4, 3, dilation_rate=2, padding="same")
        batch, height, width, _ = tf.unstack(tf.shape(x))
        filters = tf.Variable(tf.random_normal([2, 2, 5, 3]))
        yield tf.nn.conv2d_transpose(x, filters, [batch, height * 2, width * 2, 5], [1, 2, 2, 1], "VALID")
        yield tf.layers.conv2d_transpose(x, 5, 3, 2)

    same(build, RNG.randn(2, 7, 9, 3).astype(np.float32), opened=3)


def test_dropouts_keep_all_if_they_are_told_so_and_draw_masks_otherwise() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, keep = tf.placeholder(tf.float32, [None, 50], "x"), tf.placeholder(tf.float32, [], "keep")
        noise = tf.random_normal(tf.shape(x), 3.0, 0.5)
        model = tf.to_onnx([tf.nn.dropout(x, keep), noise], [x, keep], session)
    runs = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    value = RNG.rand(40, 50).astype(np.float32) + 1
    np.testing.assert_array_equal(runs.run(None, {"x": value, "keep": np.array(1, np.float32)})[0], value)
    masked, noise = runs.run(None, {"x": value, "keep": np.array(0.25, np.float32)})
    kept = masked != 0
    assert abs(kept.mean() - 0.25) < 0.05
    np.testing.assert_allclose(masked[kept], value[kept] * 4, rtol=1e-6)
    assert abs(noise.mean() - 3) < 0.1 and abs(noise.std() - 0.5) < 0.05


def test_truths_and_small_numbers_are_chosen() -> None:
    def build(x: Any) -> Any:
        yield tf.one_hot(tf.cast(x[0], tf.int32), 4, on_value=False, off_value=True)
        for dtype in (tf.int8, tf.float16, tf.bool):
            yield tf.where(x > 0, tf.cast(x, dtype), tf.cast(x + 1, dtype))

    same(build, np.float32([[0, 1, 3], [-1, -3, 2]]))
