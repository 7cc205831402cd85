"""Image ops against loops over pixels and Python's colorsys."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase
from tests.ops.image_reference import FILTERS, area, bicubic, bilinear, crops, hsv, nearest, patches, rgb, scaled
from tests.ops.nn_reference import randn

X = randn(2, 4, 5, 2)
BAD = errors.InvalidArgumentError


def _size(height: int, width: int) -> np.ndarray:
    return np.array([height, width], np.int32)


def _resizes() -> list[OpCase]:
    found = []
    for height, width in ((3, 7), (8, 10), (1, 1), (4, 5)):
        for centers in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            flags = ("align_corners" in centers, "half_pixel_centers" in centers)
            for op, ref in (
                ("ResizeBilinear", bilinear),
                ("ResizeBicubic", bicubic),
                ("ResizeNearestNeighbor", nearest),
            ):
                want = ref(X, height, width, *flags)
                found.append(OpCase(op, [X, _size(height, width)], dict(centers), want, rtol=1e-4, atol=1e-5))
    found.append(OpCase("ResizeArea", [X, _size(3, 7)], {}, area(X, 3, 7), rtol=1e-4))
    found.append(OpCase("ResizeArea", [X, _size(2, 2)], {}, area(X, 2, 2), rtol=1e-4))
    for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        found.append(OpCase(op, [X, _size(0, 2)], raises=BAD, match="positive"))
        found.append(OpCase(op, [(X * 10).astype(np.uint8), _size(2, 3)], check=lambda x, size, y: None, grad=False))
    return found


def _adjoint(op: str, ref: Any, types: tuple[Any, ...] = (np.float32,)) -> list[OpCase]:
    """The gradient op is the transposed matrix of the resize: found by resizing unit images."""
    found = []
    for flags in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
        g = randn(1, 6, 3, 1, seed=4)
        want = np.zeros((1, 4, 5, 1))
        for i, j in np.ndindex(4, 5):
            unit = np.zeros((1, 4, 5, 1), np.float32)
            unit[0, i, j, 0] = 1
            want[0, i, j, 0] = (ref(unit, 6, 3, "align_corners" in flags, "half_pixel_centers" in flags) * g).sum()
        for dtype in types:
            other = np.zeros((1, 4, 5, 1), dtype) if op != "ResizeNearestNeighborGrad" else _size(4, 5)
            kind = np.float32 if op == "ResizeNearestNeighborGrad" else dtype
            found.append(OpCase(op, [g, other], dict(flags), want.astype(kind), rtol=1e-4, atol=1e-5))
    return found


def _scaled() -> list[OpCase]:
    found = []
    for kind in FILTERS:
        for size, scale, move in (((3, 7), (0.7, 1.3), (0.0, 0.25)), ((6, 2), (1.6, 0.45), (-1.5, 1.0))):
            given = [X, _size(*size), np.array(scale, np.float32), np.array(move, np.float32)]
            for antialias in (True, False):
                want = scaled(X.astype(np.float64), size, scale, move, kind, antialias).astype(np.float32)
                attrs = {"kernel_type": kind, "antialias": antialias}
                found.append(OpCase("ScaleAndTranslate", given, attrs, want, grad=False, rtol=1e-4, atol=1e-5))
    unit, move = np.float32([0.6, 1.5]), np.float32([0.5, -0.25])
    g, original = randn(1, 3, 6, 1, seed=4), np.zeros((1, 4, 5, 1), np.float32)
    want = np.zeros((1, 4, 5, 1))
    for i, j in np.ndindex(4, 5):
        one = original.astype(np.float64)
        one[0, i, j, 0] = 1
        want[0, i, j, 0] = (scaled(one, (3, 6), unit.astype(float), move, "triangle", True) * g).sum()
    settings = {"kernel_type": "triangle"}
    found.append(OpCase("ScaleAndTranslateGrad", [g, original, unit, move], settings, want.astype("f"), rtol=1e-4))
    bytes_ = [(X * 10).astype(np.uint8), _size(2, 3), unit, move]
    found.append(OpCase("ScaleAndTranslate", bytes_, check=lambda *values: None, grad=False))
    for scale, kind, match in ((unit * 0, "box", "greater than zero"), (unit, "square", "kernel type")):
        given = [X, _size(2, 2), scale, move]
        found.append(OpCase("ScaleAndTranslate", given, {"kernel_type": kind}, raises=BAD, match=match))
    return found


_BOXES = np.array([[0.1, 0.2, 0.9, 0.7], [0.8, 0.9, 0.2, 0.1], [-0.3, 0.1, 1.2, 0.6]], np.float32)
_WHICH = np.array([0, 1, 1], np.int32)


def _crop_cases() -> list[OpCase]:
    inputs = [X, _BOXES, _WHICH, _size(3, 4)]
    g = randn(3, 3, 4, 2, seed=5)
    by_image = np.zeros(X.shape)
    for index in np.ndindex(*X.shape):
        unit = np.zeros_like(X)
        unit[index] = 1
        by_image[index] = (crops(unit, _BOXES, _WHICH, (3, 4)) * g).sum()
    step = 1e-3
    by_boxes = np.zeros(_BOXES.shape)
    smooth = np.add.outer(np.arange(4.0) ** 2, np.arange(5.0))[None, :, :, None].repeat(2, 3).repeat(2, 0)
    for index in np.ndindex(*_BOXES.shape):
        ends = []
        for sign in (1, -1):
            moved = _BOXES.astype(float)
            moved[index] += sign * step
            ends.append((crops(smooth, moved, _WHICH, (3, 4)).astype(float) * g).sum())
        by_boxes[index] = (ends[0] - ends[1]) / (2 * step)
    sizes = np.array(X.shape, np.int32)
    return [
        OpCase("CropAndResize", inputs, {}, crops(X, _BOXES, _WHICH, (3, 4)), rtol=1e-4, atol=1e-5),
        OpCase(
            "CropAndResize",
            [X, _BOXES, _WHICH, _size(1, 2)],
            {"extrapolation_value": 9.0},
            crops(X, _BOXES, _WHICH, (1, 2), 9.0),
            rtol=1e-4,
            atol=1e-5,
        ),
        OpCase(
            "CropAndResize",
            [X, _BOXES[:1], _WHICH[:1], _size(2, 2)],
            {"method": "nearest"},
            X[:1][:, [0, 3]][:, :, [1, 3]],
            grad=False,
        ),
        OpCase(
            "CropAndResize",
            [X, _BOXES, np.array([0, 1, 2], np.int32), _size(2, 2)],
            raises=errors.OutOfRangeError,
            match="box_ind",
        ),
        OpCase(
            "CropAndResizeGradImage",
            [g, _BOXES, _WHICH, sizes],
            {"T": "float32"},
            by_image.astype(np.float32),
            rtol=1e-4,
            atol=1e-5,
        ),
        OpCase(
            "CropAndResizeGradImage",
            [np.ones((1, 2, 2, 2), np.float32), _BOXES[:1], _WHICH[:1], sizes],
            {"T": "float32", "method": "nearest"},
            _ones_at((0, 3), (1, 3)),
            grad=False,
        ),
        OpCase(
            "CropAndResizeGradBoxes",
            [g, smooth.astype(np.float32), _BOXES, _WHICH],
            {},
            by_boxes.astype(np.float32),
            rtol=3e-2,
            atol=3e-2,
        ),
    ]


def _ones_at(rows: Any, columns: Any) -> np.ndarray:
    found = np.zeros(X.shape, np.float32)
    for r in rows:
        for c in columns:
            found[0, r, c] = 1
    return found


def _patch_cases() -> list[OpCase]:
    found = []
    for k, s, r in (((2, 2), (1, 2), (1, 1)), ((3, 2), (2, 1), (1, 2)), ((1, 1), (2, 2), (1, 1))):
        for padding in ("SAME", "VALID"):
            attrs = {"ksizes": [1, *k, 1], "strides": [1, *s, 1], "rates": [1, *r, 1], "padding": padding}
            found.append(OpCase("ExtractImagePatches", [X], attrs, patches(X, k, s, r, padding == "SAME")))
    return found


_COLORS = np.abs(randn(3, 4, 3)) / 4 + np.array([0.1, 0.2, 0.3], np.float32)
_COLORS = np.clip(_COLORS, 0, 1).astype(np.float32)
_SOME = np.array([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0.2], [0.1, 0, 1], [1, 0.5, 1]], np.float32)


def _color_cases() -> list[OpCase]:
    turned = hsv(_COLORS)
    turned[..., 0] = (turned[..., 0] + 0.3) % 1
    vivid = hsv(_COLORS)
    vivid[..., 1] = np.clip(vivid[..., 1] * 1.5, 0, 1)
    mean = _COLORS.mean((0, 1), keepdims=True)
    tolerance: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}
    return [
        OpCase("RGBToHSV", [_COLORS.astype(np.float64)], {}, hsv(_COLORS.astype(np.float64)), **tolerance),
        OpCase("RGBToHSV", [_SOME], {}, hsv(_SOME), grad=False, **tolerance),
        OpCase("HSVToRGB", [hsv(_COLORS)], {}, _COLORS, **tolerance),
        OpCase("HSVToRGB", [hsv(_SOME)], {}, rgb(hsv(_SOME)), **tolerance),
        OpCase("RGBToHSV", [X], raises=ValueError),
        OpCase("AdjustHue", [_COLORS, np.float32(0.3)], {}, rgb(turned), **tolerance),
        OpCase("AdjustHue", [_COLORS, np.float32(-0.7)], {}, rgb(turned), **tolerance),
        OpCase("AdjustSaturation", [_COLORS, np.float32(1.5)], {}, rgb(vivid), **tolerance),
        OpCase("AdjustContrastv2", [_COLORS, np.float32(2)], {}, (_COLORS - mean) * 2 + mean, **tolerance),
    ]


def _box_cases() -> list[OpCase]:
    one = np.float32(0.5)
    drawn = np.zeros((1, 4, 5, 3), np.float32)
    drawn[0, 0, 0:3] = drawn[0, 3, 0:3] = drawn[0, :, 0] = drawn[0, :, 2] = [1, 1, 0]
    return [
        OpCase(
            "DrawBoundingBoxes",
            [np.zeros((1, 4, 5, 3), np.float32), np.array([[[0, 0, 1, 0.5]]], np.float32)],
            {},
            drawn,
        ),
        OpCase(
            "DrawBoundingBoxesV2",
            [
                np.zeros((1, 4, 5, 3), np.float32),
                np.array([[[0, 0, 1, 0.5]]], np.float32),
                np.array([[1, 1, 0]], np.float32),
            ],
            {},
            drawn,
        ),
        OpCase(
            "SampleDistortedBoundingBox",
            [np.array([40, 60, 3], np.int32), np.array([[[0.2, 0.2, 0.8, 0.8]]], np.float32)],
            {"min_object_covered": 0.5, "seed": 3},
            check=_covers_half,
        ),
        OpCase(
            "SampleDistortedBoundingBoxV2",
            [np.array([40, 60, 3], np.int32), np.array([[[0.2, 0.2, 0.8, 0.8]]], np.float32), one],
            {"seed": 3},
            check=lambda size, box, _, *found: _covers_half(size, box, *found),
        ),
        OpCase(
            "SampleDistortedBoundingBox",
            [np.array([40, 60, 3], np.int32), np.zeros((1, 0, 4), np.float32)],
            raises=BAD,
            match="use_image_if_no_bounding_boxes",
        ),
        OpCase(
            "ImageProjectiveTransformV2",
            [X, np.array([[-1, 0, 4, 0, -1, 3, 0, 0]], np.float32), _size(4, 5)],
            {"interpolation": "NEAREST"},
            X[:, ::-1, ::-1],
        ),
        OpCase(
            "ImageProjectiveTransformV2",
            [X, np.array([[1, 0, 0.5, 0, 1, 0, 0, 0]], np.float32), _size(4, 4)],
            {"interpolation": "BILINEAR"},
            (X[:, :, 1:] + X[:, :, :-1]) / 2,
            grad=False,  # it is that under the inverse map, as in TensorFlow: exact where pixels only move
        ),
        OpCase(
            "ImageProjectiveTransformV2",
            [X, np.zeros((2, 7), np.float32), _size(4, 5)],
            {"interpolation": "NEAREST"},
            raises=ValueError,
            match="Dimensions 7 and 8",
        ),
        OpCase(
            "ExtractGlimpse",
            [X[:1], _size(2, 2), np.array([[0, 0]], np.float32)],
            {"centered": False, "normalized": False, "noise": "zero"},
            _corner(),
        ),
        OpCase(
            "ExtractGlimpse",
            [X[:, :, :4], _size(2, 2), np.array([[0, 0], [0.5, 0.5]], np.float32)],
            {},
            np.stack([X[0, 1:3, 1:3], X[1, 2:4, 2:4]]),
        ),
    ]


def _corner() -> np.ndarray:
    """The first pixel at the lower right of a glimpse whose middle is at the image's corner."""
    found = np.zeros((1, 2, 2, 2), np.float32)
    found[0, 1, 1] = X[0, 0, 0]
    return found


def _covers_half(size: Any, box: Any, begin: Any, extent: Any, found: Any) -> None:
    y, x = begin[:2]
    tall, wide = extent[:2]
    assert y >= 0 and y + tall <= 40 and x >= 0 and x + wide <= 60 and begin[2] == 0 and extent[2] == -1
    assert 0.75 - 0.05 <= wide / tall <= 1.33 + 0.05 and tall * wide >= 0.05 * 2400
    shared = max(0, min(y + tall, 32) - max(y, 8)) * max(0, min(x + wide, 48) - max(x, 12))
    assert shared >= 0.5 * 24 * 36
    np.testing.assert_allclose(found[0, 0], [y / 40, x / 60, (y + tall) / 40, (x + wide) / 60], rtol=1e-6)


CASES = [
    *_resizes(),
    *_scaled(),
    *_adjoint("ResizeBilinearGrad", bilinear, (np.float32, np.float64)),
    *_adjoint("ResizeBicubicGrad", bicubic),
    *_adjoint("ResizeNearestNeighborGrad", nearest),
    *_crop_cases(),
    *_patch_cases(),
    *_color_cases(),
    *_box_cases(),
]
