"""Bilinear resizing in C: the formula in float64, TensorFlow's operations bit for bit, any number of threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock.codegen.tuned import resizing
from tests.codegen import steps

f32 = np.float32


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _run(x: np.ndarray, size: tuple[int, int], mode: str = "on", **centers: bool) -> np.ndarray:
    images = tf.placeholder(x.dtype, [None, *x.shape[1:]])
    (found,) = steps.run([tf.image.resize_bilinear(images, size, **centers)], {images: x}, mode)
    return found


def _neighbours(size: int, wanted: int, align: bool, half: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """TensorFlow's positions, in float32."""
    scale = f32(size - 1) / f32(wanted - 1) if align and wanted > 1 else f32(size) / f32(wanted)
    out = np.arange(wanted, dtype=f32)
    at = (out + f32(0.5)) * scale - f32(0.5) if half else out * scale
    low = np.floor(at)
    return np.maximum(low, 0).astype(int), np.minimum(np.ceil(at), size - 1).astype(int), at - low


def _resized(x: np.ndarray, size: tuple[int, int], align: bool = False, half: bool = False) -> np.ndarray:
    """TensorFlow's operations in their order, each rounded to float32."""
    x = x.astype(f32)
    top, bottom, down = _neighbours(x.shape[1], size[0], align, half)
    left, right, across = _neighbours(x.shape[2], size[1], align, half)
    down, across = down[:, None, None], across[:, None]
    rows = [x[:, row][:, :, left] + (x[:, row][:, :, right] - x[:, row][:, :, left]) * across for row in (top, bottom)]
    return rows[0] + (rows[1] - rows[0]) * down


def _random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, shape).astype(np.uint8) if dtype == "uint8" else rng.normal(size=shape).astype(f32)


CASES: list[tuple[tuple[int, int, int, int], tuple[int, int]]] = [
    ((1, 16, 16, 3), (8, 8)),
    ((2, 7, 9, 3), (12, 5)),
    ((1, 1, 1, 3), (4, 4)),
    ((3, 5, 6, 1), (10, 3)),
    ((2, 4, 3, 4), (9, 9)),
    ((2, 6, 5, 19), (4, 11)),
    ((1, 30, 2, 2), (1, 1)),
]


@pytest.mark.parametrize("centers", [{}, {"align_corners": True}, {"half_pixel_centers": True}], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(("shape", "size"), CASES, ids=str)
def test_a_pixel_is_interpolated_as_tensorflow_does_bit_for_bit(
    shape: tuple[int, int, int, int], size: tuple[int, int], dtype: str, centers: dict[str, bool]
) -> None:
    x = _random(shape, dtype)
    expected = _resized(x, size, centers.get("align_corners", False), centers.get("half_pixel_centers", False))
    np.testing.assert_array_equal(_run(x, size, **centers), expected)
    np.testing.assert_allclose(_run(x, size, "off", **centers), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_rows_are_shared_out_between_threads_without_a_difference(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resizing, "NUMBERS_OF_A_THREAD", 16)
    x = _random((3, 11, 13, 3), dtype)
    with steps.threads(4):
        found = _run(x, (7, 21))
    np.testing.assert_array_equal(found, _resized(x, (7, 21)))


def test_memory_in_another_order_is_read_in_its_own() -> None:
    x = _random((2, 9, 8, 3), "uint8")
    found = _run(np.asfortranarray(x), (5, 5))
    np.testing.assert_array_equal(found, _resized(x, (5, 5)))


@pytest.mark.parametrize("mode", ["on", "off"])
def test_images_without_pixels_and_sizes_of_nothing_are_refused_as_without_a_compiler(mode: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-zero size"):
        _run(np.zeros((1, 0, 4, 3), f32), (2, 2), mode)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        _run(np.zeros((1, 4, 4, 3), f32), (0, 2), mode)
