"""How similar images are at several scales, and images of lower quality; numbers are TensorFlow 1.15.5's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf


def _run(tensor: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensor)


def _pair() -> tuple[np.ndarray, np.ndarray]:
    """Two batches of images of odd sizes, the second one with noise."""
    draws = np.random.RandomState(3)
    first = draws.rand(2, 181, 177, 3).astype(np.float32)
    return first, np.clip(first + draws.normal(0, 0.05, first.shape), 0, 1).astype(np.float32)


def test_similarity_at_several_scales() -> None:
    first, second = _pair()
    found = _run(tf.image.ssim_multiscale(first, second, 1.0))
    np.testing.assert_allclose(found, [0.9877522587776184, 0.9878165125846863], rtol=1e-5)
    found = _run(tf.image.ssim_multiscale(first, first[::-1], 1.0))
    np.testing.assert_allclose(found, [0.10062334686517715] * 2, rtol=1e-4)


def test_scales_and_filters_are_chosen_and_pixels_may_be_bytes() -> None:
    first, second = ((images * 255).astype(np.uint8) for images in _pair())
    found = _run(tf.image.ssim_multiscale(first, second, 255, power_factors=(0.3, 0.7), filter_size=5))
    np.testing.assert_allclose(found, [0.984877347946167, 0.9852547645568848], rtol=1e-5)


def test_similarity_has_gradients() -> None:
    with tf.Graph().as_default():
        first, second = _pair()
        x = tf.constant(first)
        (gradient,) = tf.gradients(tf.image.ssim_multiscale(x, second, 1.0), x)
        assert np.abs(_run(gradient)).sum() == pytest.approx(2.92681503, rel=1e-4)


def _picture() -> np.ndarray:
    ramp = np.add.outer(np.arange(16), np.arange(16))[:, :, None]
    return (ramp * np.array([4, 7, 3])).astype(np.uint8)


def test_a_picture_loses_quality() -> None:
    rough, fine = (_run(tf.image.adjust_jpeg_quality(_picture(), quality)) for quality in (10, 75))
    assert (rough.dtype, rough[3, 5].tolist(), int(rough.astype(int).sum())) == (np.uint8, [13, 60, 40], 53809)
    assert (fine[12, 2].tolist(), int(fine.astype(int).sum())) == ([54, 98, 39], 53289)
    floats = _run(tf.image.adjust_jpeg_quality((_picture() / 255.0).astype(np.float32), tf.constant(30)))
    assert floats.dtype == np.float32
    assert floats.sum() == pytest.approx(211.353, abs=1e-3)


def test_random_quality_is_drawn_with_a_seed() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        assert int(_run(tf.image.random_jpeg_quality(_picture(), 20, 90, seed=4)).astype(int).sum()) == 53319
    with pytest.raises(ValueError, match="less than"):
        tf.image.random_jpeg_quality(_picture(), 50, 20)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(_picture(), -1, 5)
