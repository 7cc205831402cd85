"""Matrix products and segment reductions."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from penstock.errors import InvalidArgumentError
from tests.ops.harness import OpCase

INF = np.inf
RANDOM = np.random.RandomState(0)


def f(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def i(*values: object) -> np.ndarray:
    return np.array(values, np.int32)


def draw(*shape: int, dtype: object = np.float32) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        return RANDOM.randint(0, 9, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (RANDOM.randn(*shape) + 1j * RANDOM.randn(*shape)).astype(dtype)
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


def _turn(x: np.ndarray, turned: bool) -> np.ndarray:
    return np.swapaxes(x, -1, -2) if turned else x


MATMUL_TYPES = [
    *("float64", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("complex64", "complex128"),
]
PRODUCTS = [
    *[
        OpCase(
            "MatMul",
            [_turn(draw(2, 3), ta), _turn(draw(3, 4), tb)],
            {"transpose_a": ta, "transpose_b": tb},
            ref=lambda a, b, ta=ta, tb=tb: _turn(a, ta) @ _turn(b, tb),
        )
        for ta in (False, True)
        for tb in (False, True)
    ],
    *[
        OpCase("MatMul", [draw(2, 3, dtype=t), draw(3, 4, dtype=t)], ref=np.matmul, rtol=1e-4, note=t)
        for t in MATMUL_TYPES
    ],
    OpCase("MatMul", [draw(2, 3).astype(np.float16), draw(3, 4).astype(np.float16)], ref=np.matmul),
    OpCase(
        "MatMul",
        [f([1, 2]).astype(ml_dtypes.bfloat16), f([3], [4]).astype(ml_dtypes.bfloat16)],
        ref=f([11]).astype(ml_dtypes.bfloat16),
    ),
    OpCase("MatMul", [np.array([[1j]]), np.array([[1 + 0j]])], {"transpose_a": True}, ref=np.array([[1j]])),
    OpCase("MatMul", [np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)], ref=np.zeros((2, 3))),
    OpCase("MatMul", [np.zeros((0, 2), np.float32), draw(2, 3)], ref=np.zeros((0, 3))),
    OpCase("MatMul", [draw(2, 3), draw(4, 5)], raises=ValueError, match="dimensions of a and b are 3 and 4"),
    OpCase("MatMul", [draw(3), draw(3, 5)], raises=ValueError, match="rank 2"),
    OpCase("BatchMatMul", [draw(5, 2, 3), draw(5, 3, 4)], ref=np.matmul),
    OpCase("BatchMatMul", [draw(2, 3), draw(3, 4)], ref=np.matmul),
    OpCase("BatchMatMul", [draw(5, 2, 3), draw(1, 3, 4)], raises=ValueError, match="compatible"),
    OpCase("BatchMatMulV2", [draw(5, 2, 3), draw(3, 4)], ref=np.matmul),
    OpCase("BatchMatMulV2", [draw(1, 2, 3), draw(5, 3, 4)], ref=np.matmul),
    OpCase("BatchMatMulV2", [draw(4, 1, 2, 3), draw(5, 3, 1)], ref=np.matmul),
    OpCase("BatchMatMulV2", [draw(2, 2, 3), draw(2, 4, 3)], raises=ValueError, match="inner dimensions"),
    OpCase("BatchMatMulV2", [draw(3), draw(3, 4)], raises=ValueError, match="at least rank 2"),
    OpCase("BatchMatMulV2", [draw(2, 2, 3, dtype=np.uint32), draw(2, 3, 2, dtype=np.uint32)], ref=np.matmul),
    OpCase("BatchMatMulV2", [draw(2, 2, 3, dtype=np.int16), draw(2, 3, 2, dtype=np.int16)], ref=np.matmul),
    *[
        OpCase(
            op,
            [_turn(draw(2, 2, 3, dtype=t), ax), _turn(draw(2, 3, 4, dtype=t), ay)],
            {"adj_x": ax, "adj_y": ay},
            ref=lambda x, y, ax=ax, ay=ay: _turn(np.conj(x), ax) @ _turn(np.conj(y), ay) if ax and ay
            else _turn(np.conj(x), ax) @ y if ax else x @ _turn(np.conj(y), ay) if ay else x @ y,
            rtol=1e-4,
            note=np.dtype(t).name,
        )
        for op in ("BatchMatMul", "BatchMatMulV2")
        for t in (np.float32, np.complex64)
        for ax in (False, True)
        for ay in (False, True)
    ],
]  # fmt: skip

DATA = np.array([[1, 2], [3, -4], [5, 6], [7, 8.5]], np.float32)
IDS = i(0, 0, 2, 3)
GAP: dict[str, float] = {
    "SegmentSum": 0,
    "SegmentMean": 0,
    "SegmentProd": 1,
    "SegmentMax": 0,
    "SegmentMin": 0,
}
FOLD = {
    "SegmentSum": np.sum,
    "SegmentMean": np.mean,
    "SegmentProd": np.prod,
    "SegmentMax": np.max,
    "SegmentMin": np.min,
}


def _sorted_ref(op: str) -> object:
    def ref(data: np.ndarray, ids: np.ndarray) -> np.ndarray:
        count = int(ids[-1]) + 1 if len(ids) else 0
        rows = [
            FOLD[op](data[ids == k], axis=0) if (ids == k).any() else np.full(data.shape[1:], GAP[op])
            for k in range(count)
        ]
        return np.array(rows).reshape(count, *data.shape[1:]).astype(data.dtype)

    return ref


SORTED = [
    case
    for op in GAP
    for case in (
        OpCase(op, [DATA, IDS], ref=_sorted_ref(op)),
        OpCase(op, [DATA, np.array([1, 1, 3, 3])], ref=_sorted_ref(op)),
        OpCase(op, [DATA[:, 0], IDS], ref=_sorted_ref(op)),
        OpCase(op, [draw(5, 2, 3), i(0, 0, 0, 1, 4)], ref=_sorted_ref(op)),
        OpCase(op, [i(-1, -2, -4, 5), i(0, 0, 1, 3)], ref=_sorted_ref(op), note="int32"),
        OpCase(op, [np.array([1, 2, 4, 5], np.uint32), i(0, 0, 1, 3)], ref=_sorted_ref(op), note="uint32"),
        OpCase(op, [np.zeros((0, 2), np.float32), i()], ref=np.zeros((0, 2), np.float32)),
        OpCase(op, [DATA, i(0, 2, 1, 3)], raises=InvalidArgumentError, match=r"segment_ids\[2\] = 1 after 2"),
        OpCase(op, [DATA, i(-1, 0, 1, 3)], raises=InvalidArgumentError, match="must be >= 0"),
        OpCase(op, [DATA, i(0, 1)], raises=InvalidArgumentError, match="same size as dimension 0"),
    )
] + [
    OpCase("SegmentSum", [draw(3, dtype=np.complex64), i(0, 0, 1)], ref=_sorted_ref("SegmentSum")),
    OpCase("SegmentProd", [f(0, 2, 0, 0, 5), i(0, 0, 1, 1, 2)], ref=f(0, 0, 5), note="zeros"),
]

UNSORTED = {
    "UnsortedSegmentSum": np.sum,
    "UnsortedSegmentProd": np.prod,
    "UnsortedSegmentMax": np.max,
    "UnsortedSegmentMin": np.min,
}


def _unsorted_ref(op: str) -> object:
    fold = UNSORTED[op]

    def ref(data: np.ndarray, ids: np.ndarray, count: np.ndarray) -> np.ndarray:
        flat, rows = ids.reshape(-1), data.reshape(ids.size, *data.shape[ids.ndim :])
        limits = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
        gap = {"Sum": 0, "Prod": 1, "Max": limits.min, "Min": limits.max}[op.removeprefix("UnsortedSegment")]
        found = np.full((int(count), *rows.shape[1:]), gap, data.dtype)
        for k in range(int(count)):
            if (flat == k).any():
                found[k] = fold(rows[flat == k], axis=0)
        return found

    return ref


UNSORTED_CASES = [
    case
    for op in UNSORTED
    for case in (
        OpCase(op, [DATA, i(1, 0, -1, 1), np.int32(2)], ref=_unsorted_ref(op)),
        OpCase(op, [DATA, np.array([[0, 1], [1, 1], [0, 0], [0, -1]]), np.int32(2)], ref=_unsorted_ref(op)),
        OpCase(op, [DATA, np.int32(0), np.int32(1)], ref=_unsorted_ref(op), note="one id"),
        # Finite differences drown in the 1e308 that an empty segment of Max or Min gives.
        OpCase(op, [DATA, i(2, 0, -1, 2), np.int32(4)], ref=_unsorted_ref(op), grad=False),
        OpCase(
            op,
            [DATA, np.array([[0, 1], [1, 1], [0, 0], [0, 1]]), np.int32(3)],
            ref=_unsorted_ref(op),
            grad=False,
        ),
        OpCase(op, [DATA, np.int32(1), np.int32(2)], ref=_unsorted_ref(op), grad=False, note="one id"),
        OpCase(op, [i(3, 4), i(0, 0), np.int64(2)], ref=_unsorted_ref(op), note="int32"),
        OpCase(op, [np.array([3, 4], np.uint64), i(0, 0), np.int32(2)], ref=_unsorted_ref(op), note="uint64"),
        OpCase(op, [np.zeros((0, 2), np.float32), i(), np.int32(2)], ref=_unsorted_ref(op), grad=False),
        OpCase(
            op,
            [DATA, i(2, 0, -1, 7), np.int32(3)],
            raises=InvalidArgumentError,
            match=r"segment_ids\[3\] = 7 is out of range \[0, 3\)",
        ),
        OpCase(op, [DATA, i(2, 0), np.int32(3)], raises=ValueError, match="compatible"),
        OpCase(op, [DATA, i(0, 0, 0, 0), np.int32(-1)], raises=ValueError, match="negative"),
    )
] + [
    OpCase(
        "UnsortedSegmentProd",
        [f(0, 2, 0, 0, 5), i(0, 0, 1, 1, -1), np.int32(3)],
        ref=f(0, 0, 1),
        note="zeros",
    ),
    OpCase(
        "UnsortedSegmentSum",
        [DATA, np.array([2, 0, -1, 2], np.int16), np.int32(4)],
        ref=_unsorted_ref("UnsortedSegmentSum"),
        note="int16",
    ),
]

CASES = PRODUCTS + SORTED + UNSORTED_CASES
