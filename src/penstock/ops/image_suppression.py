"""Non-maximum suppression: the best of boxes that overlap each other."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, int32
from penstock.tensor.shapes import TensorShape

Overlaps = Callable[[int, np.ndarray], np.ndarray]
"""How much a box overlaps others: of its index and theirs."""


def _ratios(boxes: np.ndarray) -> Overlaps:
    """Intersection over union of boxes [n, (y1, x1, y2, x2)], whose corners may come in any order."""
    boxes = boxes.astype(np.float32)
    top, bottom = np.sort(boxes[:, 0::2], 1).T.copy()  # columns: products of rows of two are slow
    left, right = np.sort(boxes[:, 1::2], 1).T.copy()
    area = (bottom - top) * (right - left)

    def overlaps(first: int, others: np.ndarray) -> np.ndarray:
        height = np.minimum(bottom[first], bottom[others]) - np.maximum(top[first], top[others])
        width = np.minimum(right[first], right[others]) - np.maximum(left[first], left[others])
        shared = np.maximum(height, 0) * np.maximum(width, 0)
        areas = area[others]
        with np.errstate(all="ignore"):
            ratio = shared / (area[first] + areas - shared)
        return np.where((area[first] > 0) & (areas > 0), ratio, 0)

    return overlaps


_FIRST = 256
"""How many of the best boxes are looked at first: the others only if these do not give enough."""


def _best(overlaps: Overlaps, scores: np.ndarray, most: int, most_overlap: float, lowest: float) -> np.ndarray:
    """Indices of boxes by descending score, except those that overlap an earlier one too much."""
    order = np.argsort(-scores.astype(np.float32), kind="stable")
    order = order[scores[order] > lowest]
    kept: list[int] = []
    limit = np.float32(most_overlap)
    start, size = 0, max(_FIRST, 2 * most)
    while start < len(order) and len(kept) < most:
        waiting = order[start : start + size]
        for first in kept:
            waiting = waiting[~(overlaps(first, waiting) > limit)]
        while len(waiting) and len(kept) < most:
            first, waiting = int(waiting[0]), waiting[1:]
            kept.append(first)
            waiting = waiting[~(overlaps(first, waiting) > limit)]
        start, size = start + size, 2 * size
    return np.array(kept, np.int32)


def _best_softly(
    overlaps: Overlaps, scores: np.ndarray, most: int, most_overlap: float, lowest: float, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Like `_best`, with scores: those of boxes that overlap earlier ones sink, instead of the boxes being left out
    (Bodla et al., 2017)."""
    waiting = [(-float(score), i, 0) for i, score in enumerate(scores) if score > lowest]
    heapq.heapify(waiting)
    kept: list[int] = []
    found: list[float] = []
    while waiting and len(kept) < most:
        score, i, seen = heapq.heappop(waiting)
        before = now = np.float32(-score)
        for ratio in overlaps(i, np.array(kept[seen:], int))[::-1].astype(np.float32):
            now *= np.exp(np.float32(-0.5 / sigma) * ratio * ratio) if ratio <= most_overlap else np.float32(0)
            if now <= lowest:
                break
        if now == before:
            kept.append(i)
            found.append(float(now))
        elif now > lowest:
            heapq.heappush(waiting, (-float(now), i, len(kept)))
    return np.array(kept, np.int32), np.array(found, scores.dtype)


def _checked(boxes: np.ndarray, scores: np.ndarray, most: Any, most_overlap: Any) -> tuple[Overlaps, int, float]:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid(f"boxes must be [num_boxes, 4], not {list(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise invalid(f"scores has incompatible shape: {list(scores.shape)} for {boxes.shape[0]} boxes")
    return _ratios(boxes), *_limits(most, most_overlap)


def _limits(most: Any, most_overlap: Any) -> tuple[int, float]:
    if np.ndim(most) or int(most) < 0:
        raise invalid(f"max_output_size must be a scalar of at least 0, not {np.asarray(most).tolist()}")
    if not 0 <= float(most_overlap) <= 1:
        raise invalid(f"iou_threshold must be in [0, 1], not {float(most_overlap)}")
    return int(most), float(most_overlap)


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([values, np.zeros((size - len(values), *values.shape[1:]), values.dtype)])


# --- ops ------------------------------------------------------------------------------------------------


def _suppression_op(name: str, inputs: str, outputs: str, attrs: list[str], find: Callable[..., Any]) -> OpDef:
    """find: `find(node, *inputs)`, of NumPy arrays."""
    op = define_op(name, inputs, outputs, attrs=attrs, work=SERIAL)
    op.not_differentiable()

    @op.shape
    def suppression_shape(c: ShapeContext, boxes: TensorShape, scores: TensorShape, *_: TensorShape) -> Any:
        rows = boxes.with_rank(2)
        if name != "NonMaxSuppressionWithOverlaps":
            rows[1].assert_is_compatible_with(4)
        rows[0].merge_with(scores.with_rank(1)[0])
        most = c.constant("max_output_size") if c.attrs.get("pad_to_max_output_size") else None
        indices = TensorShape([None if most is None else int(most)])
        return {1: indices, 2: (indices, TensorShape([])), 3: (indices, indices, TensorShape([]))}[len(op.outputs)]

    @op.kernel("CPU")
    def suppression_kernel(ctx: KernelContext) -> Kernel:
        dtypes: Any = {1: [int32], 2: [int32, int32], 3: [int32, ctx.node.attrs.get("T"), int32]}[len(op.outputs)]
        return via_numpy(functools.partial(find, ctx), *dtypes)

    return op


def _indices(n: Any, boxes: Any, scores: Any, most: Any, most_overlap: Any = None, lowest: Any = -np.inf) -> Any:
    overlaps, most, limit = _checked(boxes, scores, most, n["iou_threshold"] if most_overlap is None else most_overlap)
    found = _best(overlaps, scores, most, limit, lowest)
    if "pad_to_max_output_size" not in n.node.attrs:
        return found
    return _padded(found, most) if n["pad_to_max_output_size"] else found, np.int32(len(found))


def _softly(n: Any, boxes: Any, scores: Any, most: Any, most_overlap: Any, lowest: Any, sigma: Any) -> Any:
    overlaps, most, limit = _checked(boxes, scores, most, most_overlap)
    if sigma < 0:
        raise invalid(f"soft_nms_sigma must be at least 0, not {float(sigma)}")
    if sigma > 0:
        found, values = _best_softly(overlaps, scores, most, limit, lowest, float(sigma))
    else:
        found = _best(overlaps, scores, most, limit, lowest)
        values = scores[found]
    count = np.int32(len(found))
    if n["pad_to_max_output_size"]:
        found, values = _padded(found, most), _padded(values, most)
    return found, values, count


def _by_overlaps(n: Any, overlaps: Any, scores: Any, most: Any, most_overlap: Any, lowest: Any) -> Any:
    if overlaps.ndim != 2 or overlaps.shape != (len(scores), len(scores)):
        raise invalid(f"overlaps must be [{len(scores)}, {len(scores)}] for these scores, not {list(overlaps.shape)}")
    return _best(lambda i, others: overlaps[i, others], scores, *_limits(most, min(max(most_overlap, 0), 1)), lowest)


_THRESHOLDS = ["T: {half, float} = float", "T_threshold: {half, float} = float"]
_PAD = "pad_to_max_output_size: bool = false"
_V2 = "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold"
_V3 = f"{_V2}, score_threshold: T_threshold"
_SELECTED = "selected_indices: int32"
NON_MAX_SUPPRESSION = _suppression_op(
    "NonMaxSuppression",
    "boxes: float, scores: float, max_output_size: int32",
    _SELECTED,
    ["iou_threshold: float = 0.5"],
    _indices,
)
NON_MAX_SUPPRESSION_V2 = _suppression_op("NonMaxSuppressionV2", _V2, _SELECTED, _THRESHOLDS, _indices)
NON_MAX_SUPPRESSION_V3 = _suppression_op("NonMaxSuppressionV3", _V3, _SELECTED, _THRESHOLDS, _indices)
NON_MAX_SUPPRESSION_V4 = _suppression_op(
    "NonMaxSuppressionV4", _V3, f"{_SELECTED}, valid_outputs: int32", [*_THRESHOLDS, _PAD], _indices
)
NON_MAX_SUPPRESSION_V5 = _suppression_op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T",
    f"{_SELECTED}, selected_scores: T, valid_outputs: int32",
    ["T: {half, float} = float", _PAD],
    _softly,
)
NON_MAX_SUPPRESSION_WITH_OVERLAPS = _suppression_op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, score_threshold: float",
    _SELECTED,
    [],
    _by_overlaps,
)

COMBINED_NON_MAX_SUPPRESSION = define_op(
    "CombinedNonMaxSuppression",
    "boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float, "
    "score_threshold: float",
    "nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, valid_detections: int32",
    attrs=["pad_per_class: bool = false", "clip_boxes: bool = true"],
    work=SERIAL,
)
COMBINED_NON_MAX_SUPPRESSION.not_differentiable()


@COMBINED_NON_MAX_SUPPRESSION.shape
def combined_shape(c: ShapeContext, boxes: TensorShape, scores: TensorShape, *_: TensorShape) -> Any:
    batch = boxes.with_rank(4)[0].merge_with(scores.with_rank(3)[0])
    boxes[1].merge_with(scores[1])
    boxes[3].assert_is_compatible_with(4)
    total, each, classes = c.constant("max_total_size"), c.constant("max_output_size_per_class"), scores[2].value
    size = None if total is None else int(total)
    if c.attrs["pad_per_class"] and size is not None:
        size = None if each is None or classes is None else min(size, int(each) * classes)
    row = TensorShape([batch, size])
    return row.concatenate([4]), row, row, TensorShape([batch])


@COMBINED_NON_MAX_SUPPRESSION.kernel("CPU")
def combined_kernel(ctx: KernelContext) -> Kernel:
    by_class, clips = ctx["pad_per_class"], ctx["clip_boxes"]

    def find(boxes: Any, scores: Any, each: Any, total: Any, most_overlap: Any, lowest: Any) -> Any:
        """For each image the best boxes of all classes, each of which is suppressed on its own."""
        if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[2] not in (1, scores.shape[2]) or boxes.shape[3] != 4:
            raise invalid(
                f"boxes must be [batch, n, 1 or classes, 4] and scores [batch, n, classes], not {list(boxes.shape)} "
                f"and {list(scores.shape)}"
            )
        classes = scores.shape[2]
        size = min(int(total), int(each) * classes) if by_class else int(total)
        if size < 0:
            raise invalid(f"max_total_size must be at least 0, not {size}")
        rows = []
        for of_image, marks in zip(boxes, scores, strict=True):
            places = of_image.shape[1]
            parts = []
            for label in range(classes):
                candidates = of_image[:, label % places]
                overlaps, most, limit = _checked(candidates, marks[:, label], each, most_overlap)
                kept = _best(overlaps, marks[:, label], most, limit, lowest)
                parts.append((candidates[kept], marks[kept, label], np.full(len(kept), label, np.float32)))
            found, values, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
            order = np.argsort(-values, kind="stable")[:size]
            chosen = np.clip(found, 0, 1) if clips else found
            padded = [_padded(column[order], size) for column in (chosen, values, labels)]
            rows.append((*padded, np.int32(len(order))))
        if not rows:
            empty = np.zeros((0, size), np.float32)
            return np.zeros((0, size, 4), np.float32), empty, empty, np.zeros(0, np.int32)
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    return via_numpy(find, float32, float32, float32, int32)


# --- public functions -----------------------------------------------------------------------------------


def _converted(boxes: Any, scores: Any, most: Any, *thresholds: Any) -> list[Tensor]:
    boxes = convert_to_tensor(boxes)
    limits = [convert_to_tensor(value, dtype=boxes.dtype) for value in thresholds]
    return [boxes, convert_to_tensor(scores), convert_to_tensor(most, dtype=int32), *limits]


_LOWEST = float("-inf")


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Indices [m] int32, best score first, of boxes [n, 4] none of which overlaps a better one by more than
    `iou_threshold` (intersection over union); at most `max_output_size`. TF: tf.image.non_max_suppression."""
    given = _converted(boxes, scores, max_output_size, iou_threshold, score_threshold)
    return NON_MAX_SUPPRESSION_V3(*given, name=name)


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Like `non_max_suppression`, also for indices that are followed by zeros up to `max_output_size`, and their
    number without these. TF: tf.image.non_max_suppression_padded, without its arguments for sorted boxes."""
    given = _converted(boxes, scores, max_output_size, iou_threshold, score_threshold)
    found: tuple[Tensor, Tensor] = NON_MAX_SUPPRESSION_V4(
        *given, pad_to_max_output_size=pad_to_max_output_size, name=name
    )
    return found


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Like `non_max_suppression`, and the scores [m]: with a sigma above 0, those of boxes that overlap better ones
    are lower (soft suppression). TF: tf.image.non_max_suppression_with_scores."""
    given = _converted(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)
    indices, values, _ = NON_MAX_SUPPRESSION_V5(*given, name=name)
    return indices, values


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    name: str | None = None,
) -> Tensor:
    """Like `non_max_suppression`, of boxes that overlap by `overlaps` [n, n].
    TF: tf.image.non_max_suppression_overlaps."""
    given = _converted(overlaps, scores, max_output_size, overlap_threshold, score_threshold)
    return NON_MAX_SUPPRESSION_WITH_OVERLAPS(*given, name=name)


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LOWEST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best boxes [batch, m, 4] of all classes, their scores and classes [batch, m], and how many there are [batch];
    zeros follow them. Boxes are [batch, n, 1 or classes, 4], scores [batch, n, classes]; each class is suppressed on
    its own. TF: tf.image.combined_non_max_suppression."""
    boxes, scores = convert_to_tensor(boxes), convert_to_tensor(scores)
    sizes = [convert_to_tensor(value, dtype=int32) for value in (max_output_size_per_class, max_total_size)]
    limits = [convert_to_tensor(value, dtype=float32) for value in (iou_threshold, score_threshold)]
    found: tuple[Tensor, Tensor, Tensor, Tensor] = COMBINED_NON_MAX_SUPPRESSION(
        boxes, scores, *sizes, *limits, pad_per_class=pad_per_class, clip_boxes=clip_boxes, name=name
    )
    return found
