"""Samples of the ops of boosted trees that use no state. Their results are those of TensorFlow 1.15."""

from __future__ import annotations

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase

NODES = np.int32([0, 1, 1, 0, 1])
GRADIENTS = np.float32([[0.1], [0.2], [0.3], [-0.4], [0.05]])
HESSIANS = np.float32([[0.2], [0.1], [0.05], [0.3], [0.25]])
FEATURES = [np.int32([0, 1, 2, 2, 0]), np.int32([1, 1, 0, 0, 1])]
SUMS = np.float32(
    [
        [[[0.1, 0.2], [0, 0], [-0.4, 0.3]], [[0.05, 0.25], [0.2, 0.1], [0.3, 0.05]], [[0, 0]] * 3],
        [[[-0.4, 0.3], [0.1, 0.2], [0, 0]], [[0.3, 0.05], [0.25, 0.35], [0, 0]], [[0, 0]] * 3],
    ]
)
NUMBERS = np.float32([3, 1, 1, 2, 5, 4, 4, 9, 8, 7, 6, 0])
WEIGHTS = np.float32([1, 2, 1, 1, 0.5, 0, 1, 1, 1, 1, 3, 1])
OF_NODES = {"max_splits": 3, "num_features": 2}


def column(*values: float) -> np.ndarray:
    return np.float32(values)[:, None]


CASES = [
    OpCase(
        "BoostedTreesMakeStatsSummary",
        [NODES, GRADIENTS, HESSIANS, FEATURES],
        {**OF_NODES, "num_buckets": 3},
        ref=SUMS,
    ),
    OpCase(
        "BoostedTreesMakeStatsSummary",
        [NODES, GRADIENTS, HESSIANS, [np.int32([0, 1])]],
        {"max_splits": 3, "num_features": 1, "num_buckets": 3},
        raises=ValueError,
        note="a feature of fewer examples",
    ),
    OpCase(
        "BoostedTreesCalculateBestGainsPerFeature",
        [np.int32([0, 2]), list(SUMS), *np.float32([0, 0, 0, 0])],
        OF_NODES,
        ref=(
            *np.int32([[0, 1], [0, 1]]),
            *np.float32([[0.4033333, 1.2223213], [0.4033333, 1.2223215]]),
            *np.int32([[0, 1], [0, 0]]),
            column(-0.5, -0.71428573),
            column(1.3333333, -6),
            column(1.3333333, -6),
            column(-0.5, -0.71428573),
        ),
    ),
    OpCase(
        "BoostedTreesCalculateBestGainsPerFeature",
        [np.int32([0, 2]), list(SUMS), *np.float32([0.1, 0.5, 0.01, 0.45])],
        OF_NODES,
        ref=(
            *np.int32([[0], [0]]),
            *np.float32([[0.0625], [0.0625]]),
            *np.int32([[0], [0]]),
            *[column(each) for each in (0, 0.375, 0.375, 0)],
        ),
        note="penalties, and a node that is too light",
    ),
    OpCase(
        "BoostedTreesMakeQuantileSummaries",
        [[NUMBERS, -NUMBERS], WEIGHTS, np.float32(0.2)],
        {"num_features": 2},
        ref=(
            np.float32(
                [[0, 1, 0, 1], [1, 3, 1, 4], [4, 1, 6, 7], [5, 0.5, 7, 7.5], [6, 3, 7.5, 10.5], [9, 1, 12.5, 13.5]]
            ),
            np.float32(
                [
                    [-9, 1, 0, 1],
                    [-7, 1, 2, 3],
                    [-6, 3, 3, 6],
                    [-4, 1, 6.5, 7.5],
                    [-2, 1, 8.5, 9.5],
                    [-1, 3, 9.5, 12.5],
                    [0, 1, 12.5, 13.5],
                ]
            ),
        ),
    ),
    OpCase(
        "BoostedTreesMakeQuantileSummaries",
        [[NUMBERS, 0 * NUMBERS], np.float32([1]), np.float32(0.5)],
        {"num_features": 2},
        ref=(
            np.float32([[0, 1, 0, 1], [3, 1, 4, 5], [5, 1, 7, 8], [7, 1, 9, 10], [9, 1, 11, 12]]),
            np.float32([[0, 12, 0, 12]]),
        ),
        note="one weight for all",
    ),
    OpCase(
        "BoostedTreesMakeQuantileSummaries",
        [[NUMBERS], np.float32([1, 2]), np.float32(0.5)],
        {"num_features": 1},
        raises=errors.InvalidArgumentError,
        match="same size as features",
    ),
    OpCase(
        "BoostedTreesBucketize",
        [[np.float32([1, 2, -5, 100, 3])] * 2, [np.float32([0, 2, 3]), np.float32([])]],
        {"num_features": 2},
        ref=(np.int32([1, 1, 0, 2, 2]), np.zeros(5, np.int32)),
    ),
]
