"""An image of unknown rank, as decode_image returns it, counts as one image of rank 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (tf.image.flip_left_right, PIXELS[:, ::-1]),
        (tf.image.flip_up_down, PIXELS[::-1]),
        (tf.image.transpose_image, PIXELS.transpose(1, 0, 2)),
        (tf.image.rot90, np.rot90(PIXELS)),
    ],
)
def test_it_is_turned_as_one_image(turn: Callable[..., Any], expected: np.ndarray) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.uint8)
        turned = turn(image)
        assert turned.shape.ndims == 3
        np.testing.assert_array_equal(session.run(turned, {image: PIXELS}), expected)


@pytest.mark.parametrize("flip", [tf.image.random_flip_left_right, tf.image.random_flip_up_down])
def test_random_flips_of_it_have_a_rank(flip: Callable[..., Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.uint8)
        flipped = flip(image, seed=1)
        assert flipped.shape.ndims == 3
        assert sorted(session.run(flipped, {image: PIXELS}).ravel()) == sorted(PIXELS.ravel())
        larger = tf.image.resize_images(flipped, [4, 8])
        assert session.run(larger, {image: PIXELS}).shape == (4, 8, 3)
