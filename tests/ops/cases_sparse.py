"""Ops of sparse tensors: what comes out is worked out here by hand, or on the dense arrays that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock.sets
import penstock.sparse  # registers the ops
from penstock import errors
from penstock.graph.codec import tensor_proto
from tests.ops.harness import OpCase

assert penstock.sparse and penstock.sets

BAD = errors.InvalidArgumentError
RANDOM = np.random.RandomState(5)


def i64(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def strings(*values: str) -> np.ndarray:
    return np.array([value.encode() for value in values], object)


def rows(*values: tuple[int, ...]) -> np.ndarray:
    return np.array(values, np.int64)


def none(rank: int) -> np.ndarray:
    return np.zeros((0, rank), np.int64)


def dense(indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> np.ndarray:
    found = np.zeros(shape, values.dtype)
    np.add.at(found, tuple(indices.T), values)
    return found


# A: [[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, -4]]
A = rows((0, 1), (0, 3), (2, 0), (2, 3))
A_VALUES = f32(1, 2, 3, -4)
# B: [[0, -1, 7, 0], [5, 0, 0, 0], [0, 0, 0, 6]]
B = rows((0, 1), (0, 2), (1, 0), (2, 3))
B_VALUES = f32(-1, 7, 5, 6)
SHAPE = i64(3, 4)
NO_FLOATS = np.zeros(0, np.float32)
CUBE = rows((0, 0, 1), (0, 1, 0), (0, 1, 2), (1, 0, 0), (1, 1, 1))
CUBE_VALUES = f32(1, 2, 3, 4, 5)
CUBE_SHAPE = i64(2, 2, 3)
CUBE_DENSE = dense(CUBE, CUBE_VALUES, CUBE_SHAPE)
MATRIX = RANDOM.uniform(0.5, 2, (3, 4)).astype(np.float32)
AT_A, AT_B = MATRIX[tuple(A.T)], MATRIX[tuple(B.T)]

TO_DENSE = [
    OpCase("SparseToDense", [A, SHAPE, A_VALUES, np.float32(0)], {}, dense(A, A_VALUES, SHAPE)),
    OpCase("SparseToDense", [i32(1, 3), i32(5), f32(7, 8), np.float32(-1)], {}, f32(-1, 7, -1, 8, -1), note="vector"),
    OpCase("SparseToDense", [np.int32(2), i32(4), np.float32(1), np.float32(0)], {}, f32(0, 0, 1, 0), note="scalar"),
    OpCase("SparseToDense", [i32(0, 2), i32(3), np.float32(1), np.float32(0)], {}, f32(1, 0, 1), note="one value"),
    OpCase("SparseToDense", [A, SHAPE, strings("a", "b", "c", "d"), np.array(b"-", object)], {},
           np.array([[b"-", b"a", b"-", b"b"], [b"-"] * 4, [b"c", b"-", b"-", b"d"]], object)),
    OpCase("SparseToDense", [none(2), i64(2, 2), NO_FLOATS, np.float32(3)], {}, np.full((2, 2), 3, np.float32)),
    OpCase("SparseToDense", [rows((1,), (0,)), i64(2), f32(5, 6), np.float32(0)], {"validate_indices": False},
           f32(6, 5), note="unsorted"),
    OpCase("SparseToDense", [rows((1,), (0,)), i64(2), f32(5, 6), np.float32(0)], raises=BAD, match="out of order"),
    OpCase("SparseToDense", [rows((1,), (1,)), i64(2), f32(5, 6), np.float32(0)], raises=BAD, match="repeated"),
    OpCase("SparseToDense", [rows((1,), (2,)), i64(2), f32(5, 6), np.float32(0)], raises=BAD, match="out of bounds"),
    OpCase("SparseToDense", [rows((1,)), i64(2), f32(5, 6), np.float32(0)], raises=BAD, match="sparse_values"),
    OpCase("SparseToDense", [rows((1,)), i64(2, 2), f32(5), np.float32(0)], raises=BAD, match="number of elements"),
    OpCase("SparseTensorDenseAdd", [A, A_VALUES, SHAPE, MATRIX], {}, MATRIX + dense(A, A_VALUES, SHAPE)),
    OpCase("SparseTensorDenseAdd", [i32((0, 0)).reshape(1, 2), f32(5), i32(1, 2), f32([1, 2])], {}, f32([6, 2])),
    OpCase("SparseTensorDenseAdd", [A, A_VALUES, SHAPE, MATRIX[:, :3]], raises=BAD, match="No broadcasting"),
    OpCase("SparseTensorDenseAdd", [rows((3, 0)), f32(1), SHAPE, MATRIX], raises=BAD, match="out of bounds"),
]  # fmt: skip

ARITHMETIC = [
    OpCase("SparseAdd", [A, A_VALUES, SHAPE, B, B_VALUES, SHAPE, np.float32(0)], {},
           (rows((0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 3)), f32(0, 7, 2, 5, 3, 2), SHAPE), grad=False),
    OpCase("SparseAdd", [A, A_VALUES, SHAPE, B, B_VALUES, SHAPE, np.float32(2.5)], {},
           (rows((0, 2), (0, 3), (1, 0), (2, 0)), f32(7, 2, 5, 3), SHAPE), note="threshold"),
    OpCase("SparseAdd", [none(2), NO_FLOATS, SHAPE, B, B_VALUES, SHAPE, np.float32(0)], {}, (B, B_VALUES, SHAPE)),
    OpCase("SparseAdd", [rows((2**40, 5)), f32(1), i64(2**41, 2**41), rows((2**40, 2**40)), f32(2), i64(2**41, 2**41),
                         np.float32(0)], {}, (rows((2**40, 5), (2**40, 2**40)), f32(1, 2), i64(2**41, 2**41)),
           note="huge"),
    OpCase("SparseAdd", [A, A_VALUES, SHAPE, B, B_VALUES, i64(3, 5), np.float32(0)], raises=BAD, match="shapes"),
    OpCase("SparseAddGrad", [f32(1, 2, 3), A, B, rows((0, 1), (0, 2), (2, 0))], {}, (f32(1, 0, 3, 0), f32(1, 2, 0, 0))),
    OpCase("SparseDenseCwiseAdd", [A, A_VALUES, SHAPE, MATRIX], {}, A_VALUES + AT_A),
    OpCase("SparseDenseCwiseMul", [A, A_VALUES, SHAPE, MATRIX], {}, A_VALUES * AT_A),
    OpCase("SparseDenseCwiseDiv", [A, A_VALUES, SHAPE, MATRIX], {}, A_VALUES / AT_A),
    OpCase("SparseDenseCwiseAdd", [A, A_VALUES, SHAPE, f32(10, 20, 30, 40)], {}, f32(21, 42, 13, 36)),
    OpCase("SparseDenseCwiseMul", [A, A_VALUES, SHAPE, f32([2], [3], [4])], {}, f32(2, 4, 12, -16)),
    OpCase("SparseDenseCwiseMul", [A, A_VALUES, SHAPE, np.float32(2)], {}, f32(2, 4, 6, -8)),
    OpCase("SparseDenseCwiseDiv", [A, i32(7, -7, 9, -9), SHAPE, np.int32(2)], {}, i32(3, -3, 4, -4)),
    OpCase("SparseDenseCwiseMul", [none(2), NO_FLOATS, SHAPE, MATRIX], {}, NO_FLOATS, grad=False),
    OpCase("SparseDenseCwiseMul", [A, A_VALUES, SHAPE, f32(1, 2, 3)], raises=BAD, match="incompatible shapes"),
    OpCase("SparseDenseCwiseMul", [A[:1], f32(1), i64(1, 4), MATRIX], raises=BAD, match="incompatible shapes"),
    OpCase("SparseSparseMaximum", [A, A_VALUES, SHAPE, B, B_VALUES, SHAPE], {},
           (rows((0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 3)), f32(1, 7, 2, 5, 3, 6))),
    OpCase("SparseSparseMinimum", [A, A_VALUES, SHAPE, B, B_VALUES, SHAPE], {},
           (rows((0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 3)), f32(-1, 0, 0, 0, 0, -4))),
    OpCase("SparseSparseMaximum", [A, A_VALUES, SHAPE, B, B_VALUES, i64(4, 4)], raises=BAD, match="do not match"),
]  # fmt: skip

MIXED = np.array([3, 1, 2, 0])
LAYOUT = [
    OpCase("SparseReorder", [A[MIXED], A_VALUES[MIXED], SHAPE], {}, (A, A_VALUES)),
    OpCase("SparseReorder", [A, A_VALUES, SHAPE], {}, (A, A_VALUES), note="in order"),
    OpCase("SparseReorder", [rows((2**40, 1), (3, 2**40)), strings("a", "b"), i64(2**41, 2**41)], {},
           (rows((3, 2**40), (2**40, 1)), strings("b", "a")), note="huge"),
    OpCase("SparseReorder", [none(2), NO_FLOATS, SHAPE], {}, (none(2), NO_FLOATS)),
    OpCase("SparseReshape", [A, SHAPE, i64(2, 6)], {}, (rows((0, 1), (0, 3), (1, 2), (1, 5)), i64(2, 6))),
    OpCase("SparseReshape", [A, SHAPE, i64(2, -1, 2)], {},
           (rows((0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 2, 1)), i64(2, 3, 2))),
    OpCase("SparseReshape", [A, SHAPE, i64(12)], {}, (rows((1,), (3,), (8,), (11,)), i64(12))),
    OpCase("SparseReshape", [A, SHAPE, SHAPE], {}, (A, SHAPE), note="the same"),
    OpCase("SparseReshape", [none(2), i64(0, 4), i64(2, 0)], {}, (none(2), i64(2, 0))),
    OpCase("SparseReshape", [A, SHAPE, i64(5, 2)], raises=BAD, match="12 dense values"),
    OpCase("SparseReshape", [A, SHAPE, i64(-1, -1)], raises=BAD, match="only one"),
    OpCase("SparseReshape", [A, SHAPE, i64(5, -1)], raises=BAD, match="multiple of 5"),
    OpCase("SparseSlice", [A, A_VALUES, SHAPE, i64(0, 1), i64(2, 9)], {}, (rows((0, 0), (0, 2)), f32(1, 2), i64(2, 3))),
    OpCase("SparseSlice", [A, strings("a", "b", "c", "d"), SHAPE, i64(2, 0), i64(1, 1)], {},
           (rows((0, 0)), strings("c"), i64(1, 1))),
    OpCase("SparseSlice", [A, A_VALUES, SHAPE, i64(5, 0), i64(1, 1)], {}, (none(2), NO_FLOATS, i64(0, 1)), grad=False),
    OpCase("SparseSlice", [A, A_VALUES, SHAPE, i64(5), i64(1)], raises=BAD, match="start"),
    OpCase("SparseSliceGrad", [f32(5, 6), A, i64(0, 1), rows((0, 0), (0, 2))], {}, f32(5, 6, 0, 0)),
    OpCase("SparseConcat", [[A, B], [A_VALUES, B_VALUES], [SHAPE, SHAPE]], {"concat_dim": 0},
           (np.concatenate([A, B + np.array([3, 0])]), np.concatenate([A_VALUES, B_VALUES]), i64(6, 4))),
    OpCase("SparseConcat", [[A, B], [A_VALUES, B_VALUES], [SHAPE, SHAPE]], {"concat_dim": -1},
           (rows((0, 1), (0, 3), (0, 5), (0, 6), (1, 4), (2, 0), (2, 3), (2, 7)), f32(1, 2, -1, 7, 5, 3, -4, 6),
            i64(3, 8))),
    OpCase("SparseConcat", [[rows((0,)), none(1)], [strings("a"), np.zeros(0, "S1")], [i64(1), i64(2)]],
           {"concat_dim": 0}, (rows((0,)), strings("a"), i64(3))),
    OpCase("SparseConcat", [[A, B], [A_VALUES, B_VALUES], [SHAPE, i64(3, 5)]], {"concat_dim": 0}, raises=BAD,
           match="must match"),
    OpCase("SparseConcat", [[A, B], [A_VALUES, B_VALUES], [SHAPE, SHAPE]], {"concat_dim": 2}, raises=BAD,
           match="in range"),
    OpCase("SparseSplit", [np.int64(1), A, A_VALUES, SHAPE], {"num_split": 3},
           (rows((0, 1), (2, 0)), none(2), rows((0, 0), (2, 0)), f32(1, 3), NO_FLOATS, f32(2, -4), i64(3, 2), i64(3, 1),
            i64(3, 1))),
    OpCase("SparseSplit", [np.int64(0), A, strings("a", "b", "c", "d"), SHAPE], {"num_split": 1},
           (A, strings("a", "b", "c", "d"), SHAPE)),
    OpCase("SparseSplit", [np.int64(0), A, A_VALUES, SHAPE], {"num_split": 4}, raises=BAD, match="num_split"),
    OpCase("SparseSplit", [np.int64(2), A, A_VALUES, SHAPE], {"num_split": 1}, raises=BAD, match="split_dim"),
]  # fmt: skip

FILLED = (rows((0, 1), (0, 3), (1, 0), (2, 0), (2, 3)), f32(1, 2, 9, 3, -4), np.array([False, True, False]))
ROWS = [
    OpCase("SparseFillEmptyRows", [A, A_VALUES, SHAPE, np.float32(9)], {}, (*FILLED, i64(0, 1, 3, 4))),
    OpCase("SparseFillEmptyRows", [A[MIXED], A_VALUES[MIXED], SHAPE, np.float32(9)], {},
           (rows((0, 3), (0, 1), (1, 0), (2, 3), (2, 0)), f32(2, 1, 9, -4, 3), FILLED[2], i64(3, 0, 4, 1)),
           note="unsorted"),
    OpCase("SparseFillEmptyRows", [none(2), np.zeros(0, "S1"), i64(2, 5), np.array(b"x", object)], {},
           (rows((0, 0), (1, 0)), strings("x", "x"), np.array([True, True]), i64()), note="all empty"),
    OpCase("SparseFillEmptyRows", [none(2), NO_FLOATS, i64(0, 5), np.float32(9)], {},
           (none(2), NO_FLOATS, np.zeros(0, bool), i64()), note="no rows", grad=False),
    OpCase("SparseFillEmptyRows", [A, A_VALUES, i64(2, 4), np.float32(9)], raises=BAD, match="invalid: 2 >= 2"),
    OpCase("SparseFillEmptyRows", [A, A_VALUES, i64(0, 4), np.float32(9)], raises=BAD, match="dense_shape.0. = 0"),
    OpCase("SparseFillEmptyRowsGrad", [i64(2, 0), f32(1, 2, 3, 4)], {}, (f32(3, 1), np.float32(6))),
    OpCase("SparseFillEmptyRowsGrad", [i64(4), f32(1, 2, 3, 4)], raises=BAD, match="reverse index"),
]  # fmt: skip

REDUCE = [
    OpCase("SparseReduceSum", [A, A_VALUES, SHAPE, i32(1)], {}, f32(3, 0, -1)),
    OpCase("SparseReduceSum", [A, A_VALUES, SHAPE, np.int32(0)], {"keep_dims": True}, f32([3, 1, 0, -2])),
    OpCase("SparseReduceSum", [A, A_VALUES, SHAPE, i32(0, 1)], {}, np.float32(2)),
    OpCase("SparseReduceSum", [CUBE, CUBE_VALUES, CUBE_SHAPE, i32(-1, 0)], {}, CUBE_DENSE.sum((0, 2))),
    OpCase("SparseReduceSum", [CUBE, CUBE_VALUES, CUBE_SHAPE, i32(1)], {}, CUBE_DENSE.sum(1)),
    OpCase("SparseReduceSum", [none(2), NO_FLOATS, SHAPE, i32(1)], {}, f32(0, 0, 0), grad=False),
    OpCase("SparseReduceSum", [A, A_VALUES, SHAPE, i32(2)], raises=(BAD, ValueError), match="dimension 2"),  # type: ignore[arg-type]
    OpCase("SparseReduceMax", [A, A_VALUES, SHAPE, i32(1)], {}, f32(2, 0, 3)),
    OpCase("SparseReduceMax", [A, A_VALUES, SHAPE, i32(0)], {"keep_dims": True}, f32([3, 1, 0, 2])),
    OpCase("SparseReduceMax", [A, -abs(A_VALUES), SHAPE, i32(1)], {}, f32(-1, 0, -3), note="negative"),
    OpCase("SparseReduceMax", [A, A_VALUES, SHAPE, i32(0, 1)], {}, np.float32(3)),
    OpCase("SparseReduceSumSparse", [A, A_VALUES, SHAPE, i32(1)], {}, (rows((0,), (2,)), f32(3, -1), i64(3))),
    OpCase("SparseReduceSumSparse", [A, A_VALUES, SHAPE, i32(0)], {"keep_dims": True},
           (rows((0, 0), (0, 1), (0, 3)), f32(3, 1, -2), i64(1, 4))),
    OpCase("SparseReduceSumSparse", [CUBE, CUBE_VALUES, CUBE_SHAPE, i32(0, 2)], {},
           (rows((0,), (1,)), f32(5, 10), i64(2))),
    OpCase("SparseReduceMaxSparse", [A, A_VALUES, SHAPE, i32(-1)], {}, (rows((0,), (2,)), f32(2, 3), i64(3))),
    OpCase("SparseReduceMaxSparse", [A, A_VALUES, SHAPE, i32(0, 1)], {"keep_dims": True},
           (rows((0, 0)), f32(3), i64(1, 1))),
    OpCase("SparseSoftmax", [A, A_VALUES, SHAPE], {},
           np.concatenate([np.exp(x) / np.exp(x).sum() for x in (f32(1, 2), f32(3, -4))]).astype(np.float32)),
    OpCase("SparseSoftmax", [CUBE, CUBE_VALUES + 1000, CUBE_SHAPE], {},
           f32(1, 1 / (1 + np.e), np.e / (1 + np.e), 1, 1), note="large", atol=1e-4),
    OpCase("SparseSoftmax", [none(2), NO_FLOATS, SHAPE], {}, NO_FLOATS, grad=False),
    OpCase("SparseSoftmax", [rows((0,)), f32(1), i64(2)], raises=BAD, match="rank >= 2"),
]  # fmt: skip

A_DENSE, FOUR = dense(A, A_VALUES, SHAPE), RANDOM.uniform(-1, 1, (4, 2)).astype(np.float32)
COMPLEX = (A_VALUES + 1j * A_VALUES[::-1]).astype(np.complex64)
PRODUCTS = [
    OpCase("SparseTensorDenseMatMul", [A, A_VALUES, SHAPE, FOUR], {}, A_DENSE @ FOUR),
    OpCase("SparseTensorDenseMatMul", [A.astype(np.int32), A_VALUES, SHAPE, MATRIX], {"adjoint_a": True},
           A_DENSE.T @ MATRIX),
    OpCase("SparseTensorDenseMatMul", [A, A_VALUES, SHAPE, FOUR.T], {"adjoint_b": True}, A_DENSE @ FOUR),
    OpCase("SparseTensorDenseMatMul", [A, A_VALUES, SHAPE, MATRIX.T], {"adjoint_a": True, "adjoint_b": True},
           A_DENSE.T @ MATRIX),
    OpCase("SparseTensorDenseMatMul", [A, COMPLEX, SHAPE, MATRIX * np.complex64(1j)], {"adjoint_a": True},
           dense(A, COMPLEX, SHAPE).conj().T @ (MATRIX * np.complex64(1j))),
    OpCase("SparseTensorDenseMatMul", [rows((0, 0), (0, 0)), f32(1, 2), i64(1, 1), f32([5])], {}, f32([15]),
           note="repeated"),
    OpCase("SparseTensorDenseMatMul", [none(2), NO_FLOATS, SHAPE, FOUR], {}, np.zeros((3, 2), np.float32)),
    OpCase("SparseTensorDenseMatMul", [A, A_VALUES, SHAPE, MATRIX], raises=ValueError, match="inner dimensions"),
    OpCase("SparseTensorDenseMatMul", [rows((0, 4)), f32(1), SHAPE, FOUR], raises=BAD, match="out of bounds"),
    OpCase("SparseMatMul", [A_DENSE, FOUR], {"a_is_sparse": True}, A_DENSE @ FOUR, grad=False),
    OpCase("SparseMatMul", [A_DENSE, MATRIX], {"transpose_a": True}, A_DENSE.T @ MATRIX, grad=False),
    OpCase("SparseMatMul", [A_DENSE, FOUR.T], {"transpose_b": True}, A_DENSE @ FOUR, grad=False),
    OpCase("SparseMatMul", [A_DENSE, MATRIX.T], {"transpose_a": True, "transpose_b": True}, A_DENSE.T @ MATRIX,
           grad=False),
    OpCase("SparseMatMul", [A_DENSE, MATRIX], raises=ValueError, match="inner dimensions"),
]  # fmt: skip

DATA = RANDOM.uniform(-1, 1, (4, 2)).astype(np.float32)
CHOSEN, SEGMENTS = i32(2, 0, 2, 3), i32(0, 0, 0, 2)
TOTALS = np.stack([DATA[[2, 0, 2]].sum(0), [0, 0], DATA[3]]).astype(np.float32)


def _divided(by: Any) -> np.ndarray:
    return (TOTALS / np.array([[by], [1], [1]])).astype(np.float32)


SCALES = {"Sum": 1.0, "Mean": 3.0, "SqrtN": 3**0.5}
UP = f32([1, 10], [2, 20], [4, 40])


def _up(scale: float) -> np.ndarray:
    found = np.zeros((5, 2))
    for index, segment in zip(CHOSEN, SEGMENTS, strict=True):
        found[index] += UP[segment] / (scale if segment == 0 else 1)
    return found.astype(np.float32)


SPARSE_SEGMENTS = [
    case
    for kind, scale in SCALES.items()
    for case in (
        OpCase(f"SparseSegment{kind}", [DATA, CHOSEN, SEGMENTS], {}, _divided(scale)),
        OpCase(f"SparseSegment{kind}", [DATA, CHOSEN.astype(np.int64), SEGMENTS.astype(np.int64)],
               {"sparse_gradient": True}, _divided(scale)),
        OpCase(f"SparseSegment{kind}", [DATA, i32(), i32()], {}, np.zeros((0, 2), np.float32), grad=False),
        OpCase(f"SparseSegment{kind}", [DATA, CHOSEN, i32(0, 1, 0, 2)], raises=BAD, match="not increasing"),
        OpCase(f"SparseSegment{kind}", [DATA, i32(4), i32(0)], raises=BAD, match="out of range"),
        OpCase(f"SparseSegment{kind}WithNumSegments", [DATA, CHOSEN, SEGMENTS, np.int32(4)], {},
               np.concatenate([_divided(scale), np.zeros((1, 2), np.float32)])),
        OpCase(f"SparseSegment{kind}WithNumSegments", [DATA, CHOSEN, SEGMENTS, np.int32(2)], raises=BAD,
               match="num_segments"),
        OpCase(f"SparseSegment{kind}Grad", [UP, CHOSEN, SEGMENTS, np.int32(5)], {}, _up(scale)),
        OpCase(f"SparseSegment{kind}Grad", [UP, CHOSEN, SEGMENTS, np.int32(3)], raises=BAD, match="out of range"),
    )
]  # fmt: skip


def message(array: np.ndarray) -> bytes:
    """Strings are their lengths, then themselves."""
    proto = tensor_proto(array)
    for field in ("int64_val", "float_val", "string_val"):
        proto.ClearField(field)
    if array.dtype == object:
        proto.tensor_content = bytes(map(len, array)) + b"".join(array)
    else:
        proto.tensor_content = array.tobytes()
    return proto.SerializeToString()


def messages(*tensors: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    found = np.empty((len(tensors), 3), object)
    for i, parts in enumerate(tensors):
        found[i] = [message(part) for part in parts]
    return found


WORDS = strings("a", "", "cc", "d")
ONE, TWO = (rows((1,), (3,)), f32(1, 2), i64(4)), (none(1), NO_FLOATS, i64(4))
THREE = (rows((0,), (3,)), f32(3, -4), i64(4))
SERIALIZED = [
    OpCase("SerializeSparse", [A, A_VALUES, SHAPE], {}, messages((A, A_VALUES, SHAPE))[0]),
    OpCase("SerializeSparse", [A, WORDS, SHAPE], {}, messages((A, WORDS, SHAPE))[0]),
    OpCase("SerializeManySparse", [A, A_VALUES, SHAPE], {}, messages(ONE, TWO, THREE)),
    OpCase("SerializeManySparse", [rows((0,)), f32(1), i64(2)], raises=BAD, match="rank"),
    OpCase("DeserializeSparse", [messages((A, WORDS, SHAPE))[0]], {"dtype": "string"}, (A, WORDS, SHAPE)),
    OpCase("DeserializeSparse", [messages(ONE, TWO, THREE)], {"dtype": "float32"}, (A, A_VALUES, SHAPE)),
    OpCase("DeserializeSparse", [messages(ONE, THREE).reshape(2, 1, 3)], {"dtype": "float32"},
           (rows((0, 0, 1), (0, 0, 3), (1, 0, 0), (1, 0, 3)), A_VALUES, i64(2, 1, 4))),
    OpCase("DeserializeManySparse", [messages(ONE, TWO, THREE)], {"dtype": "float32"}, (A, A_VALUES, SHAPE)),
    OpCase("DeserializeManySparse", [messages(ONE, (rows((5,)), f32(8), i64(6)))], {"dtype": "float32"},
           (rows((0, 1), (0, 3), (1, 5)), f32(1, 2, 8), i64(2, 6)), note="the larger shape"),
    OpCase("DeserializeManySparse", [messages(ONE, (A, A_VALUES, SHAPE))], {"dtype": "float32"}, raises=BAD,
           match="Inconsistent rank"),
    OpCase("DeserializeManySparse", [messages(ONE)], {"dtype": "int32"}, raises=BAD, match="type int32"),
    OpCase("DeserializeManySparse", [np.array([[b"x", b"y", b"z"]], object)], {"dtype": "int32"}, raises=BAD,
           match="parse"),
]  # fmt: skip

# --- sets and edit distances ----------------------------------------------------------------------------

LEFT, RIGHT = i32([1, 9, 1], [3, 4, 5]), i32([9, 9], [5, 6])
SET_A = (rows((0, 0), (0, 1), (0, 2), (2, 0)), i64(7, 2, 7, 5), i64(3, 3))
SET_B = (rows((0, 0), (1, 0), (2, 0)), i64(2, 1, 5), i64(3, 2))
NO_INTS = np.zeros(0, np.int32)
SETS = [
    OpCase("SetSize", [*SET_A], {}, i32(2, 0, 1)),
    OpCase("SetSize", [SET_A[0], strings("x", "y", "y", ""), SET_A[2]], {}, i32(2, 0, 1)),
    OpCase("SetSize", [CUBE, i32(1, 1, 2, 3, 3), CUBE_SHAPE], {}, i32([1, 2], [1, 1])),
    OpCase("SetSize", [SET_A[0][::-1], SET_A[1], SET_A[2]], raises=BAD, match="out of order"),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT], {"set_operation": "intersection"},
           (rows((0, 0), (1, 0)), i32(9, 5), i64(2, 1))),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT], {"set_operation": "union"},
           (rows((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)), i32(1, 9, 3, 4, 5, 6), i64(2, 4))),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT], {"set_operation": "a-b"},
           (rows((0, 0), (1, 0), (1, 1)), i32(1, 3, 4), i64(2, 2))),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT], {"set_operation": "b-a"}, (rows((1, 0)), i32(6), i64(2, 1))),
    OpCase("DenseToDenseSetOperation", [LEFT, LEFT], {"set_operation": "a-b"}, (none(2), NO_INTS, i64(2, 0))),
    OpCase("DenseToDenseSetOperation", [np.array([[b"b", b"a"]], object), np.array([[b"c"]], object)],
           {"set_operation": "union"}, (rows((0, 0), (0, 1), (0, 2)), strings("a", "b", "c"), i64(1, 3))),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT], {"set_operation": "xor"}, raises=BAD, match="xor"),
    OpCase("DenseToDenseSetOperation", [LEFT, RIGHT[:1]], {"set_operation": "union"}, raises=ValueError),
    OpCase("DenseToSparseSetOperation", [i64([2, 8], [1, 1], [0, 0]), *SET_A], {"set_operation": "a-b"},
           (rows((0, 0), (1, 0), (2, 0)), i64(8, 1, 0), i64(3, 1))),
    OpCase("DenseToSparseSetOperation", [i64([2, 8], [1, 1], [0, 0]), *SET_A], {"set_operation": "b-a"},
           (rows((0, 0), (2, 0)), i64(7, 5), i64(3, 1))),
    OpCase("SparseToSparseSetOperation", [*SET_A, *SET_B], {"set_operation": "intersection"},
           (rows((0, 0), (2, 0)), i64(2, 5), i64(3, 1))),
    OpCase("SparseToSparseSetOperation", [*SET_A, *SET_B], {"set_operation": "union"},
           (rows((0, 0), (0, 1), (1, 0), (2, 0)), i64(2, 7, 1, 5), i64(3, 2))),
    OpCase("SparseToSparseSetOperation", [SET_A[0][::-1], SET_A[1], SET_A[2], *SET_B], {"set_operation": "union"},
           raises=BAD, match="out of order"),
]  # fmt: skip


def _words(*texts: str) -> list[np.ndarray]:
    indices = [(i, j) for i, text in enumerate(texts) for j in range(len(text))]
    letters = [letter for text in texts for letter in text]
    return [np.array(indices, np.int64).reshape(-1, 2), strings(*letters), i64(len(texts), max(map(len, texts)))]


EDITS = [
    OpCase("EditDistance", [*_words("kitten", "", "flaw", "abc", "a"), *_words("sitting", "", "lawn", "", "bcd")],
           {"normalize": False}, f32(3, 0, 2, 3, 3)),
    OpCase("EditDistance", [*_words("kitten", "", "flaw", "abc", "a"), *_words("sitting", "", "lawn", "", "bcd")], {},
           f32(3 / 7, 0, 0.5, np.inf, 1)),
    OpCase("EditDistance", [*_words("", "abcd"), *_words("xyz", "abd", "")], {}, f32(1, 1 / 3, 0), note="rows"),
    OpCase("EditDistance", [CUBE, i32(1, 2, 3, 4, 5), CUBE_SHAPE, CUBE, i32(1, 3, 2, 4, 6), CUBE_SHAPE],
           {"normalize": False}, f32([0, 2], [0, 1])),
    OpCase("EditDistance", [rows((0,), (1,)), i64(1, 2), i64(2), rows((0,)), i64(2), i64(1)], {"normalize": False},
           np.float32(1), note="one pair"),
    OpCase("EditDistance", [A, i32(1, 2, 3, 4), SHAPE, rows((0,)), i32(1), i64(2)], raises=ValueError,
           match="rank"),
    OpCase("EditDistance", [rows((3, 0)), i32(1), SHAPE, A, i32(1, 2, 3, 4), SHAPE], raises=BAD, match="bounds"),
]  # fmt: skip

# Hashes and strings that TensorFlow 2.21 gave for these.
CROSSED = rows((0, 0), (0, 1), (0, 2), (0, 3), (2, 0), (2, 1), (2, 2), (2, 3))
FIRST, SECOND = rows((0, 0), (0, 1), (2, 0)), rows((0, 0), (1, 0), (2, 0), (2, 2))
TO_CROSS = [
    [FIRST, SECOND], [strings("a", "bb", "ccc"), i64(1, 2, 3, -4)], [i64(3, 2), i64(3, 3)],
    [i64([5, 6], [7, 8], [9, 10]), np.array([[b"x"], [b"y"], [b"z"]], object)],
]  # fmt: skip
CROSS = {"hashed_output": True, "hash_key": 123, "out_type": "int64", "internal_type": "int64"}
AS_TEXT = {"out_type": "string", "hashed_output": False}
CROSSES = [
    OpCase("SparseCross", TO_CROSS, {**CROSS, "num_buckets": 100},
           (CROSSED, i64(21, 89, 91, 34, 43, 42, 13, 67), i64(3, 4))),
    OpCase("SparseCross", TO_CROSS, {**CROSS, "num_buckets": 0},
           (CROSSED, i64(4567155289172409821, 1735872969241490989, 321023807264550784, 1015374900037889234,
                         2949258572923254336, 1953846695791428035, 4271442161561045713, 6919220127494852360),
            i64(3, 4))),
    OpCase("SparseCross", TO_CROSS, {**CROSS, **AS_TEXT, "num_buckets": 0},
           (CROSSED, strings("a_X_1_X_5_X_x", "a_X_1_X_6_X_x", "bb_X_1_X_5_X_x", "bb_X_1_X_6_X_x", "ccc_X_3_X_9_X_z",
                             "ccc_X_3_X_10_X_z", "ccc_X_-4_X_9_X_z", "ccc_X_-4_X_10_X_z"), i64(3, 4))),
    OpCase("SparseCross", [[], [], [], [TO_CROSS[3][1], TO_CROSS[3][1]]],
           {**CROSS, "internal_type": "string", "num_buckets": 0},
           (rows((0, 0), (1, 0), (2, 0)), i64(794273573211676159, 3221365136169701781, 3967372135468704067),
            i64(3, 1))),
    OpCase("SparseCross", [[FIRST], [strings("a", "b", "c")], [i64(4, 2)], [TO_CROSS[3][0]]],
           {**CROSS, "num_buckets": 9}, raises=BAD, match="batch size"),
    OpCase("SparseCross", [[FIRST], [strings("a", "b")], [i64(3, 2)], []], {**CROSS, "num_buckets": 9}, raises=BAD,
           match="size of values"),
    OpCase("SparseCross", [[rows((0, 0), (7, 0))], [strings("a", "b")], [i64(3, 2)], []],
           {**CROSS, "num_buckets": 9}, raises=BAD, match="out of bounds"),
    OpCase("SparseCross", TO_CROSS, {**CROSS, "internal_type": "string", "num_buckets": 9}, raises=BAD,
           match="internal_type"),
    OpCase("SparseCrossV2", [[], [], [], [i64([-1], [2]), np.array([[b"x"], [b"y"]], object)], np.array(b"--", object)],
           {}, (rows((0, 0), (1, 0)), strings("-1--x", "2--y"), i64(2, 1))),
]  # fmt: skip

CASES = [
    *CROSSES,
    *TO_DENSE, *ARITHMETIC, *LAYOUT, *ROWS, *REDUCE, *PRODUCTS, *SPARSE_SEGMENTS, *SERIALIZED, *SETS, *EDITS,
]  # fmt: skip
