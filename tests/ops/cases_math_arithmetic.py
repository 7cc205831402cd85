"""Arithmetic, division, comparison, choosing and clipping."""

from __future__ import annotations

import numpy as np

from penstock.errors import InvalidArgumentError
from tests.ops.harness import OpCase

NAN, INF = np.nan, np.inf


def f(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def i(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


def c(*values: object) -> np.ndarray:
    return np.array(values, np.complex64)


X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], np.float32)
Y = np.array([[2.0, 0.5, -1.25], [0.75, 4.0, -3.0]], np.float32)
ROW = f(2.2, -0.6, 1.25)
COLUMN = np.array([[1.1], [-0.7]], np.float32)
EMPTY = np.zeros((0, 3), np.float32)
BIG = np.array([2**63 + 5, 7], np.uint64)


def _everywhere(op: str, ref: object, **more: object) -> list[OpCase]:
    """Equal shapes, broadcasting both ways, scalars, empties."""
    pairs = [
        (X, Y),
        (X, ROW),
        (ROW, X),
        (X, COLUMN),
        (COLUMN, ROW),
        (X, np.float32(2.5)),
        (np.float32(2.5), X),
    ]
    return [OpCase(op, list(pair), ref=ref, **more) for pair in [*pairs, (EMPTY, ROW)]]  # type: ignore[arg-type]


SUMS = [
    *_everywhere("Add", np.add),
    *_everywhere("AddV2", np.add),
    *_everywhere("Sub", np.subtract),
    *_everywhere("Mul", np.multiply),
    OpCase("Add", [np.array([b"a", b"b"], object), np.array(b"c", object)], ref=np.array([b"ac", b"bc"], object)),
    OpCase("Add", [np.array(b"a", object), np.array(b"c", object)], ref=np.array(b"ac", object)),
    OpCase("AddV2", [i(2**31 - 1), i(1)], ref=i(-(2**31)), note="wraps"),
    OpCase("AddV2", [BIG, BIG], ref=np.array([10, 14], np.uint64)),
    OpCase("AddV2", [c(1 + 2j), c(3j)], ref=np.add),
    OpCase("AddV2", [X, f(1, 2)], raises=ValueError, match="Incompatible shapes"),
    OpCase("Sub", [np.array([3], np.uint8), np.array([5], np.uint8)], ref=np.array([254], np.uint8)),
    OpCase("Mul", [c(1 + 2j), c(3j)], ref=np.multiply),
    OpCase("AddN", [[X]], ref=lambda x: x[0]),
    OpCase("AddN", [[X, Y]], ref=sum),
    OpCase("AddN", [[X, Y, X]], ref=sum),
    OpCase("AddN", [[BIG, BIG]], ref=np.array([10, 14], np.uint64)),
    OpCase("AddN", [[X, ROW]], raises=ValueError, match="rank|compatible"),
    OpCase("AccumulateNV2", [[X, Y, Y]], {"shape": [2, 3]}, ref=sum),
    OpCase("AccumulateNV2", [[X, Y]], {"shape": [3, 3]}, raises=ValueError, match="compatible"),
    *_everywhere("SquaredDifference", lambda x, y: (x - y) ** 2),
    OpCase("SquaredDifference", [c(1 + 2j), c(3j)], ref=c(2)),
    OpCase("SquaredDifference", [i(3), i(-2)], ref=i(25)),
]

POSITIVE = np.abs(X) + np.float32(0.1)

POWERS = [
    *_everywhere("Maximum", np.maximum),
    *_everywhere("Minimum", np.minimum),
    OpCase("Maximum", [f(NAN, 1, INF), f(1, NAN, 3)], ref=f(NAN, NAN, INF), grad=False),
    OpCase("Minimum", [f(NAN, 1, -INF), f(1, NAN, 3)], ref=f(NAN, NAN, -INF), grad=False),
    OpCase("Maximum", [BIG, BIG[::-1]], ref=np.maximum),
    OpCase("Pow", [POSITIVE, Y], ref=np.power),
    OpCase("Pow", [POSITIVE, ROW], ref=np.power),
    OpCase("Pow", [np.float32(2.0), Y], ref=np.power),
    OpCase("Pow", [f(-2, -2, 0, 0, NAN, 1), f(0.5, 2, 0, -1, 0, NAN)], ref=f(NAN, 4, 1, INF, 1, 1), grad=False),
    OpCase("Pow", [i(2, 3, -2, 0), i(3, 0, 3, 0)], ref=i(8, 1, -8, 1)),
    OpCase("Pow", [np.array([2], np.int8), np.array([9], np.int8)], ref=np.array([0], np.int8), note="wraps"),
    OpCase("Pow", [i(2, 1), i(-1, 2)], raises=InvalidArgumentError, match="negative integer powers"),
    OpCase("Pow", [c(1 + 1j), c(2)], ref=c(2j), atol=1e-5),
    *_everywhere("Atan2", np.arctan2),
]

DIVIDED, DIVISORS = i(7, -7, 7, -7, 0, -(2**31)), i(2, 2, -2, -2, 5, -1)
FLOAT_DIVIDED, FLOAT_DIVISORS = f(7, -7, 7, -7, 1, 1, -1, INF), f(2, 2, -2, -2, 0.1, INF, INF, 2)
LEAST = np.array([-(2**63)], np.int64)


def _divides_integers(op: str, seven: list[int], zero: bool = True) -> list[OpCase]:
    """`seven`: 7 by 2, -7 by 2, 7 by -2, -7 by -2."""
    by_one = 0 if "Mod" in op else 1
    return [
        OpCase(op, [DIVIDED, DIVISORS], ref=i(*seven, 0, by_one * -(2**31))),
        OpCase(op, [LEAST, np.array([-1])], ref=by_one * LEAST),
        OpCase(op, [i(7, 1), i(2, 0)], raises=InvalidArgumentError, match="division by zero"),
        OpCase(op, [np.zeros((0, 2), np.int32), i(0, 0)], ref=np.zeros((0, 2), np.int32), note="of nothing"),
    ]


def _divides_unsigned(op: str, ref: list[int]) -> OpCase:
    return OpCase(op, [BIG, np.array([2, 4], np.uint64)], ref=np.array(ref, np.uint64))


DIVISIONS = [
    *_everywhere("RealDiv", np.divide),
    *_everywhere("Div", np.divide),
    *_everywhere("DivNoNan", np.divide),
    OpCase("RealDiv", [f(1, -1, 0), f(0, 0, 0)], ref=f(INF, -INF, NAN), grad=False),
    OpCase("RealDiv", [c(1 + 2j), c(3j)], ref=np.divide),
    OpCase("DivNoNan", [f(1, 0, NAN, 3), f(0, 0, 0, 2)], ref=f(0, 0, 0, 1.5), grad=False),
    *_divides_integers("Div", [3, -3, -3, 3]),
    *_divides_integers("TruncateDiv", [3, -3, -3, 3]),
    *_divides_integers("FloorDiv", [3, -4, -4, 3]),
    *_divides_integers("FloorMod", [1, 1, -1, -1]),
    *_divides_integers("Mod", [1, -1, 1, -1]),
    *_divides_integers("TruncateMod", [1, -1, 1, -1]),
    _divides_unsigned("Div", [2**62 + 2, 1]),
    _divides_unsigned("TruncateDiv", [2**62 + 2, 1]),
    _divides_unsigned("FloorDiv", [2**62 + 2, 1]),
    _divides_unsigned("FloorMod", [1, 3]),
    OpCase("FloorDiv", [FLOAT_DIVIDED, FLOAT_DIVISORS], ref=f(3, -4, -4, 3, 10, 0, -0.0, INF), grad=False),
    OpCase("TruncateDiv", [FLOAT_DIVIDED, FLOAT_DIVISORS], ref=f(3, -3, -3, 3, 10, 0, 0, INF), grad=False),
    OpCase("FloorMod", [FLOAT_DIVIDED[:-1], FLOAT_DIVISORS[:-1]], ref=f(1, 1, -1, -1, 0.1, 1, INF), grad=False),
    OpCase("FloorMod", [f(1, INF), f(0, 2)], ref=f(NAN, NAN), grad=False),
    OpCase("FloorMod", [f(7.3, -7.3, 5.3), f(2, 2, -1.7)], ref=np.mod),
    OpCase("FloorMod", [X, f(0.7, 0.6, 0.8)], ref=np.mod),
    OpCase("Mod", [FLOAT_DIVIDED[:-1], FLOAT_DIVISORS[:-1]], ref=np.fmod),
    OpCase("TruncateMod", [FLOAT_DIVIDED[:-1], FLOAT_DIVISORS[:-1]], ref=np.fmod),
]

TIES = [
    OpCase("BroadcastGradientArgs", [i(2, 3, 1), i(1, 1)], ref=(i(2), i(0, 1, 2))),
    OpCase("BroadcastGradientArgs", [i(1, 1), i(1)], ref=(i(0, 1), i(0, 1))),
    OpCase("BroadcastGradientArgs", [i(2, 3), i(2, 3)], ref=(i(), i())),
    OpCase("BroadcastGradientArgs", [i(), np.array([1, 3], np.int32)], ref=(i(0, 1), i(0))),
    OpCase("BroadcastGradientArgs", [i(2, 3), i(4)], raises=InvalidArgumentError, match="Incompatible shapes"),
]

WITH_NAN = [f(NAN, 1, 2, 3), f(NAN, 1, 3, 2)]
A_B, C_D = np.array([b"a", b"b"], object), np.array([b"c", b"d"], object)

COMPARISONS = [
    OpCase("Less", WITH_NAN, ref=np.less),
    OpCase("LessEqual", WITH_NAN, ref=np.less_equal),
    OpCase("Greater", WITH_NAN, ref=np.greater),
    OpCase("GreaterEqual", WITH_NAN, ref=np.greater_equal),
    OpCase("Less", [X, ROW], ref=np.less),
    OpCase("Less", [BIG, BIG[::-1]], ref=np.less),
    OpCase("GreaterEqual", [i(1, 2, 3), np.int32(2)], ref=np.greater_equal),
    OpCase("Equal", WITH_NAN, ref=np.equal),
    OpCase("NotEqual", WITH_NAN, ref=np.not_equal),
    OpCase("Equal", [c(1j, 2), c(1j)], ref=np.equal),
    OpCase("Equal", [np.array([True, False]), np.array(True)], ref=np.equal),
    OpCase("Equal", [BIG, BIG[::-1]], ref=np.equal),
    OpCase("Equal", [A_B, np.array(b"a", object)], ref=np.array([True, False])),
    OpCase("NotEqual", [A_B, np.array(b"a", object)], ref=np.array([False, True])),
    OpCase("Equal", [f(1, 2), f(1, 2, 3)], raises=ValueError, match="Incompatible shapes"),
    OpCase("Equal", [f(1, 2), f(1, 2, 3)], {"incompatible_shape_error": False}, ref=np.array(False)),
    OpCase("NotEqual", [f(1, 2), f(1, 2, 3)], {"incompatible_shape_error": False}, ref=np.array(True)),
    OpCase("Equal", [f(1, 2), f(1)], {"incompatible_shape_error": False}, ref=np.equal),
    OpCase("ApproximateEqual", [f(1, 1, NAN), f(1.000001, 1.1, NAN)], ref=np.array([True, False, False])),
    OpCase("ApproximateEqual", [i(1, 5, 1), i(4, 5, 5)], {"tolerance": 3.0}, ref=np.array([True, True, False])),
    OpCase("ApproximateEqual", [f(1, 1), np.float32(1)], raises=ValueError, match="compatible"),
    OpCase("LogicalAnd", [np.array([[True], [False]]), np.array([True, False])], ref=np.logical_and),
    OpCase("LogicalOr", [np.array([[True], [False]]), np.array([True, False])], ref=np.logical_or),
    OpCase("LogicalNot", [np.array([True, False])], ref=np.logical_not),
]

MASK = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([True, False])

CHOICES = [
    OpCase("Select", [MASK, X, Y], ref=np.where),
    OpCase("Select", [ROWS, X, Y], ref=lambda m, x, y: np.where(m[:, None], x, y)),
    OpCase("Select", [np.array(False), X, Y], ref=Y),
    OpCase("Select", [ROWS, A_B, C_D], ref=np.array([b"a", b"d"], object)),
    OpCase("Select", [ROWS, BIG, BIG[::-1]], ref=np.where),
    OpCase("Select", [np.array([True, False, True]), X, Y], raises=ValueError, match="compatible"),
    OpCase("Select", [ROWS, X, ROW], raises=ValueError, match="rank|compatible"),
    OpCase("SelectV2", [MASK, X, Y], ref=np.where),
    OpCase("SelectV2", [MASK, ROW, np.float32(2)], ref=np.where),
    OpCase("SelectV2", [np.array([[True], [False]]), ROW, X], ref=np.where),
    OpCase("SelectV2", [ROWS, A_B, np.array(b"z", object)], ref=np.array([b"a", b"z"], object)),
    OpCase("ClipByValue", [X, np.float32(-1), np.float32(1)], ref=np.clip),
    OpCase("ClipByValue", [f(1, 5, 3), f(2, 2, 4), f(3, 3.5, 3)], ref=f(2, 3.5, 4)),
    OpCase("ClipByValue", [f(1, 5, 3), np.float32(2), f(3, 3.5, 4)], ref=f(2, 3.5, 3)),
    OpCase("ClipByValue", [f(1, NAN, INF), np.float32(2), np.float32(4)], ref=f(2, NAN, 4), grad=False),
    OpCase("ClipByValue", [f(1, 5, 3), np.float32(4), np.float32(2)], ref=f(4, 4, 4), grad=False, note="crossed"),
    OpCase("ClipByValue", [BIG, np.uint64(8), np.uint64(2**63)], ref=np.array([2**63, 8], np.uint64)),
    OpCase("ClipByValue", [X, ROW, ROW], raises=ValueError, match="rank|compatible"),
]

CASES = SUMS + POWERS + DIVISIONS + TIES + COMPARISONS + CHOICES
