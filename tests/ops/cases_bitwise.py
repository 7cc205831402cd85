"""Operations on bits."""

from __future__ import annotations

import numpy as np

from tests.ops.harness import OpCase

X = np.array([[0, 1, -1, 127], [-128, 12, 5, 100]], np.int8)
Y = np.array([3, -2, 127, 1], np.int8)
BIG = np.array([2**63 + 5, 2**64 - 1, 0], np.uint64)
SMALL = np.array([1, 65535, 40000], np.uint16)
BITS = np.array([0, 1, 7, 6], np.int8)
TOO_FAR = np.array([-1, -100, 8, 100], np.int8)

CASES = [
    *(
        OpCase(op, pair, ref=ref)
        for op, ref in [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)]
        for pair in ([X, X[::-1]], [X, Y], [X, np.int8(6)], [BIG, BIG[::-1]], [SMALL, SMALL[::-1]], [X[:0], Y])
    ),
    OpCase("BitwiseAnd", [X, np.array([1, 2], np.int8)], raises=ValueError, match="Incompatible shapes"),
    *(OpCase("Invert", [x], ref=np.invert) for x in (X, X[0, 1], BIG, SMALL)),
    *(
        OpCase(op, pair, ref=ref)
        for op, ref in [("LeftShift", np.left_shift), ("RightShift", np.right_shift)]
        for pair in (
            [X, BITS],
            [X, np.int8(2)],
            [BIG, np.array([1, 63, 0], np.uint64)],
            [SMALL, np.array([15, 1, 3], np.uint16)],
        )
    ),
    OpCase("LeftShift", [X, TOO_FAR], ref=np.left_shift(X, np.array([0, 0, 7, 7], np.int8)), note="as far as bits go"),
    OpCase("RightShift", [X, TOO_FAR], ref=np.right_shift(X, np.array([0, 0, 7, 7], np.int8)), note="likewise"),
]
