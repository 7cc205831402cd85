"""Boxes: the best of those that overlap each other, and crops of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import First, Site, lowers
from penstock.tensor.dtypes import float32


@lowers("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5")
def non_max_suppression(s: Site) -> Any:
    """ONNX's is of batches and classes: it gets one of each."""
    if s.count > 5 and s.known(5, "soft_nms_sigma") > 0:
        raise LookupError("ONNX has no suppression that lowers scores (soft_nms_sigma)")
    boxes = s.op("Unsqueeze", [_float32(s, 0), s.ints(0)])
    scores = s.op("Unsqueeze", [_float32(s, 1), s.ints(0, 1)])
    most = s.vector(2)
    overlap = _threshold(s, 3) if s.count > 3 else s.constant([s["iou_threshold"]], float32)
    limits = [most, overlap, _threshold(s, 4)] if s.count > 4 else [most, overlap]
    found = s.op("NonMaxSuppression", [boxes, scores, *limits])
    indices = s.op("Squeeze", [s.op("Slice", [found, s.ints(2), s.ints(3), s.ints(1)]), s.ints(1)])
    count = s.op("Squeeze", [s.op("Shape", [indices]), s.ints(0)])
    scores = s.op("Gather", [s.input(1), indices], axis=0)
    if s.node.attrs.get("pad_to_max_output_size"):
        missing = s.op("Sub", [most, s.op("Shape", [indices])])
        pads = s.op("Concat", [s.ints(0), missing], axis=0)
        indices = s.op("Pad", [indices, pads, s.lowering.constant(np.array(0, np.int64))])
        scores = s.op("Pad", [scores, pads, s.constant(0, 1)])
    outputs = len(s.node.dtypes)
    if outputs == 1:
        return s.result(indices)
    return [s.result(indices), *([scores] if outputs == 3 else []), s.result(count, outputs - 1)]


def _float32(s: Site, index: int) -> str:
    return s.input(index) if s.dtype(index) == float32 else s.cast(s.input(index), float32)


def _threshold(s: Site, index: int) -> str:
    return str(s.op("Reshape", [_float32(s, index), s.ints(1)]))


@lowers("CropAndResize")
def crop_and_resize(s: Site) -> Any:
    """Samples at places between -1 and 1, which stand for the centres of an image's first and last pixels."""
    if s["method"] != "bilinear":
        raise LookupError(f"ONNX has no crops by {s['method']}")
    rows, columns = s.known(3, "the size of crops").tolist()
    boxes = s.input(1)
    corners = [s.op("Slice", [boxes, s.ints(i), s.ints(i + 1), s.ints(1)]) for i in range(4)]
    y, x = _places(s, corners[0], corners[2], rows), _places(s, corners[1], corners[3], columns)
    shape = s.op(
        "Concat", [s.op("Slice", [s.op("Shape", [boxes]), s.ints(0), s.ints(1)]), s.ints(rows, columns)], axis=0
    )
    y = s.op("Expand", [s.op("Unsqueeze", [y, s.ints(2)]), shape])
    x = s.op("Expand", [s.op("Unsqueeze", [x, s.ints(1)]), shape])
    grid = s.op("Concat", [s.op("Unsqueeze", [x, s.ints(-1)]), s.op("Unsqueeze", [y, s.ints(-1)])], axis=-1)
    image = s.first(0) if s.dtype(0) == float32 else s.cast(s.first(0), float32)
    images = s.op("Gather", [image, s.input(2)], axis=0)
    found = s.op("GridSample", [images, grid], align_corners=1, mode="bilinear", padding_mode="border")
    far = s.op("ReduceMax", [s.op("Abs", [grid]), s.ints(-1)], keepdims=0)
    outside = s.op("Unsqueeze", [s.op("Greater", [far, s.constant(1, float32)]), s.ints(1)])
    return First(s.op("Where", [outside, s.constant(s["extrapolation_value"], float32), found]))


def _places(s: Site, low: str, high: str, count: int) -> str:
    """[boxes, count]: `count` places from `low` to `high`, in the middle if it is one; both are 0 to 1."""
    steps = np.arange(count) / (count - 1) if count > 1 else np.array([0.5])
    along = s.op("Mul", [s.op("Sub", [high, low]), s.constant(2 * steps[None], float32)])
    start = s.op("Sub", [s.op("Mul", [low, s.constant(2, float32)]), s.constant(1, float32)])
    return str(s.op("Add", [start, along]))
