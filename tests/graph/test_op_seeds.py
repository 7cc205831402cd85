"""Random ops without a seed of their own draw TensorFlow 1.15's numbers in a graph that has one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.scopes import seed_count
from tools.make_op_seeds import op_seeds

PROGRAMS = json.loads((Path(__file__).parent.parent / "data" / "op_seeds.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS)
def test_op_seeds_are_those_that_tensorflow_gives(program: str) -> None:
    assert op_seeds(PROGRAMS[program]["statements"], tf) == PROGRAMS[program]["seeds"]


def test_draws_after_and_in_loops_conditionals_assertions_and_products_have_tensorflows_seeds() -> None:
    """TensorFlow 1.15.5's seeds for the same program."""

    def draw() -> tf.Tensor:
        return tf.random_uniform([2])

    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        x, n, p = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.bool, [])
        tf.map_fn(lambda a: a + draw(), x)
        tf.map_fn(lambda a: a + draw(), n)
        tf.scan(lambda a, b: a + draw(), x)
        tf.foldl(lambda a, b: a + draw(), n)
        tf.foldr(lambda a, b: a + draw(), x, initializer=tf.zeros([2]))
        tf.cond(p, draw, lambda: x[0])
        draw()
        tf.assert_equal(tf.shape(n)[0], 3)
        tf.assert_positive(x)
        tf.Assert(p, ["no", n])
        draw()
        x[tf.constant(1), 0]
        draw()
        tf.tensordot(n, tf.ones([2, 4]), 1)
        draw()
        tf.tensordot(tf.zeros([2, 3, 4]), tf.zeros([5, 4]), [[2], [1]])
        draw()
        tf.TensorArray(tf.float32, 3).unstack(x).stack()
        draw()
        tf.case([(p, lambda: x), (tf.logical_not(p), lambda: x + 1)], default=lambda: x * 2, exclusive=True)
        draw()
        seeds = [op.get_attr("seed2") for op in graph.get_operations() if op.type == "RandomUniform"]
    assert seeds == [45, 108, 178, 244, 300, 318, 331, 388, 404, 437, 457, 480, 526]


@pytest.mark.parametrize(
    ("build", "nodes"),
    [
        (lambda t, x: tf.layers.batch_normalization(x, training=t), 72),
        (lambda t, x: tf.layers.batch_normalization(x, training=t, renorm=True), 159),
        (lambda t, x: tf.contrib.layers.batch_norm(x, is_training=t), 58),
        (lambda t, x: tf.contrib.layers.batch_norm(x, is_training=t, updates_collections=None), 58),
        (lambda t, x: tf.contrib.layers.batch_norm(x, is_training=t, fused=False), 67),
    ],
)
def test_batch_normalization_that_may_train_counts_as_tensorflows(build: Any, nodes: int) -> None:
    with tf.Graph().as_default():
        training, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None, 8])
        before = seed_count()
        build(training, x)
        assert seed_count() - before == nodes


def test_a_seed_and_other_integers_may_be_floats_which_are_rounded_towards_zero() -> None:
    """As programs give `seed=time.time()` and quotients. The numbers are TensorFlow 1.15's for a seed of 5."""
    with tf.Graph().as_default(), tf.Session() as session:
        drawn = tf.random_uniform([2], seed=5.7)
        np.testing.assert_allclose(session.run(drawn), [0.38831127, 0.6636828], rtol=1e-6)
        assert tf.one_hot([1], 3, axis=-1.0).shape == (1, 3)
        assert tf.squeeze(tf.zeros([2, 1]), [1.0]).shape == (2,)
        assert session.run(tf.nn.lrn(tf.zeros([1, 4, 4, 1]), depth_radius=4 / 2)).shape == (1, 4, 4, 1)
        with pytest.raises(TypeError, match="expected an int"):
            tf.one_hot([1], 3, axis="1")


IMAGE_SHAPES = [[8, 8, 3], [8, 8, None], [None, 8, 3], [None, None, 3], [2, 8, 8, 3], [None, 8, 8, 3], [None] * 3 + [3]]
IMAGES: dict[Any, list[int]] = {
    tf.image.flip_up_down: [3, 25, 25, 25, 3, 25, 25],
    tf.image.transpose_image: [3, 25, 25, 25, 3, 25, 25],
    tf.image.rot90: [63, 85, 85, 85, 63, 85, 85],
    tf.image.rgb_to_grayscale: [16, 30, 30, 30, 16, 30, 30],
    tf.image.per_image_standardization: [23, 45, 45, 45, 23, 45, 45],
    lambda x: tf.image.central_crop(x, 0.5): [4, 26, 45, 58, 4, 26, 60],
    lambda x: tf.image.pad_to_bounding_box(x, 1, 1, 12, 12): [8, 32, 46, 52, 5, 29, 49],
    lambda x: tf.image.crop_to_bounding_box(x, 1, 1, 4, 4): [7, 31, 36, 41, 4, 28, 38],
    lambda x: tf.image.resize_image_with_crop_or_pad(x, 6, 10): [14, 88, 139, 176, 11, 85, 175],
}


@pytest.mark.parametrize(
    ("build", "nodes"),
    [
        (lambda: tf.layers.flatten(tf.placeholder(tf.float32, [2, 3, 3])), 2),
        (lambda: tf.contrib.layers.flatten(tf.placeholder(tf.float32, [None, 3, 3])), 8),
        (lambda: tf.contrib.layers.flatten(tf.placeholder(tf.float32, [2, None])), 2),
        (lambda: tf.assert_rank(tf.placeholder(tf.float32, [None]), 1), 4),
        (lambda: tf.assert_rank_at_least(tf.placeholder(tf.float32), 1), 12),
        (lambda: tf.assert_rank_in(tf.placeholder(tf.float32, [None]), [1, 2]), 6),
        (lambda: tf.assert_rank_in(tf.placeholder(tf.float32), [1, 2]), 16),
        *[
            (lambda f=function, dims=dims: f(tf.placeholder(tf.float32, dims)), nodes)
            for function, counts in IMAGES.items()
            for dims, nodes in zip(IMAGE_SHAPES, counts, strict=True)
        ],
    ],
)
def test_what_is_composed_of_several_nodes_counts_as_tensorflows(build: Any, nodes: int) -> None:
    """Counts of TensorFlow 1.15.5, with one more for each placeholder."""
    with tf.Graph().as_default() as graph:
        before = seed_count()
        build()
        placeholders = sum(op.type == "Placeholder" for op in graph.get_operations())
        assert seed_count() - before == nodes + placeholders


@pytest.mark.parametrize(
    ("dims", "flips", "after"),
    [
        ([8, 8, 3], [5, 24], [28, 70]),
        ([None, None, 3], [27, 68], [72, 158]),
        (None, [27, 68], [72, 158]),
        ([None, 8, 8, 3], [32, 80], [77, 170]),
    ],
)
def test_random_flips_draw_with_tensorflows_seeds(dims: Any, flips: list[int], after: list[int]) -> None:
    """TensorFlow 1.15.5's, of two flips, and of two that follow a standardization each."""

    def flip(x: tf.Tensor) -> tf.Tensor:
        return tf.image.random_flip_left_right(x)

    for build, seeds in (flip, flips), (lambda x: flip(tf.image.per_image_standardization(x)), after):
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, dims)
            build(x)
            build(x)
            assert [op.get_attr("seed2") for op in graph.get_operations() if op.type == "RandomUniform"] == seeds
