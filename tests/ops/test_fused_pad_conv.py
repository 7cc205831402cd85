"""Convolutions with padding and resizing in one op; values are TensorFlow 1.15's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf

IMAGE = (np.arange(24).reshape(1, 4, 3, 2) % 7 - 3).astype(np.float32)
FILTER = (np.arange(24).reshape(2, 3, 2, 2) % 5 - 2).astype(np.float32)
PADDINGS = [[0, 0], [1, 2], [2, 1], [0, 0]]
PADDED = {
    ("REFLECT", "VALID", 1): [
        [
            [[17.0, 12.0], [16.0, -12.0], [-16.0, -1.0], [6.0, 2.0]],
            [[-6.0, -11.0], [-7.0, 0.0], [-4.0, 11.0], [4.0, 0.0]],
            [[3.0, 10.0], [16.0, 0.0], [-2.0, -10.0], [6.0, 0.0]],
            [[-16.0, 3.0], [-3.0, 0.0], [-7.0, -3.0], [-6.0, 0.0]],
            [[7.0, -9.0], [6.0, 9.0], [16.0, -15.0], [3.0, 9.0]],
            [[-9.0, -2.0], [4.0, -12.0], [-14.0, 13.0], [8.0, 2.0]],
        ]
    ],
    ("SYMMETRIC", "SAME", 2): [
        [
            [[6.0, -1.0], [-4.0, 5.0], [3.0, 0.0]],
            [[15.0, 12.0], [-2.0, -10.0], [0.0, 0.0]],
            [[-16.0, 6.0], [9.0, -16.0], [0.0, 3.0]],
            [[3.0, -2.0], [-9.0, 5.0], [0.0, 3.0]],
        ]
    ],
}
RESIZED = {
    False: [
        [
            [[-6.66667, -5.53333], [0.26667, 3.93333], [3.93333, 2.66667]],
            [[-2.93333, -13.33333], [-0.66667, 5.0], [-2.33333, 0.0]],
        ]
    ],
    True: [[[[-4.75, -6.0], [0.0, 4.5], [3.5, 3.0]], [[-8.25, -16.0], [-3.5, 8.5], [-6.0, 0.0]]]],
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches)


@pytest.mark.parametrize(("mode", "padding", "stride"), PADDED)
def test_mirrored_padding_is_taken_into_the_convolution(mode: str, padding: str, stride: int) -> None:
    fused = tf.raw_ops.FusedPadConv2D(
        input=IMAGE, paddings=PADDINGS, filter=FILTER, mode=mode, strides=[1, stride, stride, 1], padding=padding
    )
    assert fused.shape.as_list() == [1, None, None, 2]
    np.testing.assert_allclose(run(fused), PADDED[mode, padding, stride], atol=1e-4)


@pytest.mark.parametrize("corners", RESIZED)
def test_resizing_is_taken_into_the_convolution(corners: bool) -> None:
    fused = tf.raw_ops.FusedResizeAndPadConv2D(
        input=IMAGE,
        size=[3, 5],
        paddings=[[0, 0], [1, 0], [0, 1], [0, 0]],
        filter=FILTER,
        mode="REFLECT",
        strides=[1, 2, 2, 1],
        padding="SAME",
        resize_align_corners=corners,
    )
    np.testing.assert_allclose(run(fused), RESIZED[corners], atol=1e-4)


def test_paddings_that_cannot_be_mirrored_are_refused() -> None:
    for paddings in ([[0, 0], [4, 0], [0, 0], [0, 0]], [[1, 0], [0, 0], [0, 0], [0, 0]]):
        fused = tf.raw_ops.FusedPadConv2D(
            input=IMAGE, paddings=paddings, filter=FILTER, mode="REFLECT", strides=[1, 1, 1, 1], padding="SAME"
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="paddings"):
            run(fused)
