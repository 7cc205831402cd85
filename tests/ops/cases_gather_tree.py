"""GatherTree: beams traced back by hand."""

from __future__ import annotations

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase

END = np.int32(10)


def ints(value: object) -> np.ndarray:
    return np.array(value, np.int32)


# [time, batch, beam]: one row, three beams. The last step's parents do not matter to the row's own order.
STEPS = ints([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[-1, -1, -1]]])
PARENTS = ints([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]])
TWO_STEPS = ints([[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 9], [9, 9]]])
TWO_PARENTS = ints([[[0, 0], [0, 0]], [[1, 0], [1, 1]], [[1, 1], [0, 1]]])


def traced(steps: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: np.int32) -> np.ndarray:
    time, batch, width = steps.shape
    beams = np.full_like(steps, end)
    for row in range(batch):
        for column in range(width):
            found: list[int] = []
            beam = column
            for step in range(min(int(lengths[row]), time) - 1, -1, -1):
                found.insert(0, int(steps[step, row, beam]))
                beam = parents[step, row, beam]
            found = found[: found.index(int(end))] if int(end) in found else found
            beams[: len(found), row, column] = found
    return beams


CASES = [
    OpCase(
        "GatherTree",
        [STEPS, PARENTS, ints([3]), END],
        ref=ints([[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]], [[10, 10, 10]]]),
    ),
    OpCase("GatherTree", [TWO_STEPS, TWO_PARENTS, ints([3, 2]), END], ref=traced, note="rows of two lengths"),
    OpCase("GatherTree", [TWO_STEPS, TWO_PARENTS, ints([3, 3]), np.int32(6)], ref=traced, note="an end midway"),
    OpCase("GatherTree", [TWO_STEPS, TWO_PARENTS, ints([0, 1]), END], ref=traced, note="a row of length 0"),
    OpCase("GatherTree", [TWO_STEPS, TWO_PARENTS, ints([7, 3]), END], ref=traced, note="longer than there are steps"),
    OpCase("GatherTree", [ints(np.zeros((0, 2, 3))), ints(np.zeros((0, 2, 3))), ints([1, 1]), END], ref=traced),
    OpCase(
        "GatherTree",
        [TWO_STEPS, TWO_PARENTS + 1, ints([3, 3]), END],
        raises=errors.InvalidArgumentError,
        match=r"invalid parent id 2 at \(batch, time, beam\) == \(0, 2, 0\)",
    ),
    OpCase("GatherTree", [TWO_STEPS, TWO_PARENTS[:1], ints([3, 3]), END], raises=ValueError),
]
