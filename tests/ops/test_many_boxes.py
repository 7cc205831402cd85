"""Non-maximum suppression of more boxes than are looked at first."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


def _greedy(boxes: np.ndarray, scores: np.ndarray, most: int, limit: float) -> list[int]:
    """One box after another, compared with all that are kept."""

    def ratio(a: np.ndarray, b: np.ndarray) -> float:
        sides = [max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0) for i in (0, 1)]
        areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
        return float(sides[0] * sides[1] / (areas[0] + areas[1] - sides[0] * sides[1]))

    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(kept) < most and all(ratio(boxes[i], boxes[j]) <= limit for j in kept):
            kept.append(int(i))
    return kept


@pytest.mark.parametrize("most", [3, 40, 2000])
def test_boxes_are_kept_as_if_looked_at_one_by_one(most: int) -> None:
    random = np.random.RandomState(1)
    corners = random.rand(1500, 2)
    boxes = np.concatenate([corners, corners + 0.02 + 0.2 * random.rand(1500, 2)], 1).astype(np.float32)
    scores = random.permutation(1500).astype(np.float32)
    with tf.Session() as sess:
        found = sess.run(tf.image.non_max_suppression(boxes, scores, most, 0.2))
        turned = sess.run(tf.image.non_max_suppression(boxes[:, [2, 1, 0, 3]], scores, most, 0.2))
    assert found.tolist() == turned.tolist() == _greedy(boxes, scores, most, 0.2)
    assert len(found) == most or len(found) > 40
