"""Transposes, repeats, reversals, paddings, diagonals, blocks, partitions and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from tests.ops.cases_array import DTYPES, F4, I4, I8, i4, randn, some, words
from tests.ops.harness import OpCase

INVALID = errors.InvalidArgumentError
A = randn(3, 4)
B = randn(2, 3, 4)

ORDERS = [
    *[
        OpCase("Transpose", [B, np.array(perm, I4)], ref=lambda x, p: x.transpose(p))
        for perm in ([2, 0, 1], [0, 2, 1], [0, 1, 2])
    ],
    OpCase("Transpose", [np.array(1.0), np.zeros(0, I4)], ref=np.array(1.0)),
    OpCase("Transpose", [some(object, 2, 3), np.array([1, 0])], ref=lambda x, p: x.T),
    *[OpCase("Transpose", [some(d, 2, 3), i4(1, 0)], ref=lambda x, p: x.T, grad=False) for d in DTYPES],
    OpCase("Transpose", [A, i4(0, 0)], raises=INVALID, match="1 is missing from {0,0}"),
    OpCase("ConjugateTranspose", [np.array([[1 + 2j, 3]], np.complex64), i4(1, 0)], ref=lambda x, p: x.T.conj()),
    OpCase("ConjugateTranspose", [A, i4(1, 0)], ref=lambda x, p: x.T),
    OpCase("InvertPermutation", [i4(2, 0, 1)], ref=i4(1, 2, 0)),
    OpCase("InvertPermutation", [np.zeros(0, I8)], ref=np.zeros(0, I8)),
    OpCase("InvertPermutation", [i4(0, 0)], raises=INVALID, match="0 is duplicated in the input"),
    OpCase("InvertPermutation", [i4(0, 2)], raises=INVALID, match="2 is not between 0 and 2"),
    OpCase("Tile", [A, i4(2, 3)], ref=np.tile),
    OpCase("Tile", [B, np.array([1, 2, 0])], ref=np.tile),
    OpCase("Tile", [np.array(1.0), np.zeros(0, I4)], ref=np.array(1.0)),
    *[OpCase("Tile", [some(d, 2), i4(2)], ref=np.tile, grad=False) for d in DTYPES],
    OpCase("ReverseV2", [B, i4(0)], ref=lambda x, a: x[::-1]),
    OpCase("ReverseV2", [B, np.array([-1, 1])], ref=lambda x, a: x[:, ::-1, ::-1]),
    OpCase("ReverseV2", [A, np.zeros(0, I4)], ref=lambda x, a: x),
    *[OpCase("ReverseV2", [some(d, 3), i4(0)], ref=lambda x, a: x[::-1], grad=False) for d in DTYPES],
    OpCase("ReverseV2", [A, i4(0, -2)], raises=ValueError, match="more than once"),
    OpCase(
        "ReverseSequence",
        [A, np.array([2, 0, 4])],
        {"seq_dim": 1},
        ref=lambda x, n: np.array([[*x[0, 1::-1], *x[0, 2:]], x[1], x[2, ::-1]]),
    ),
    OpCase(
        "ReverseSequence",
        [B, i4(1, 2, 2, 0)],
        {"seq_dim": 0, "batch_dim": 2},
        ref=lambda x, n: np.stack([x[..., 0], x[::-1, :, 1], x[::-1, :, 2], x[..., 3]], -1),
    ),
    OpCase(
        "ReverseSequence",
        [some(object, 2, 3), i4(2, 3)],
        {"seq_dim": 1},
        ref=lambda x, n: np.array([x[0, [1, 0, 2]], x[1, ::-1]], object),
    ),
    OpCase(
        "ReverseSequence",
        [some(np.uint32, 2, 3), i4(2, 3)],
        {"seq_dim": 1},
        ref=lambda x, n: np.array([x[0, [1, 0, 2]], x[1, ::-1]]),
    ),
    OpCase("ReverseSequence", [A, i4(5, 0, 0)], {"seq_dim": 1}, raises=INVALID, match=r"not all in \[0, 4\]"),
]


def padded(mode: str) -> Any:
    return lambda x, paddings: np.pad(x, paddings, mode)


def folded(dy: np.ndarray, paddings: np.ndarray, mode: str) -> np.ndarray:
    """The transpose of `np.pad`: each element of `dy` is added where padding took it from."""
    dims = np.array(dy.shape) - paddings.sum(1)
    places = np.pad(np.arange(dims.prod()).reshape(dims), paddings, mode)
    found = np.zeros(dims.prod(), dy.dtype)
    np.add.at(found, places.reshape(-1), dy.reshape(-1))
    return found.reshape(dims)


PADS = [(1, 2), (0, 1)]
PADDINGS = [
    OpCase("Pad", [A, np.array(PADS, I4)], ref=padded("constant")),
    OpCase("Pad", [B, np.array([(0, 0), (2, 0), (0, 3)])], ref=padded("constant")),
    OpCase("Pad", [np.array(1.0), np.zeros((0, 2), I4)], ref=np.array(1.0)),
    OpCase("Pad", [words("a"), np.array([(1, 0)], I4)], ref=words("", "a")),
    *[OpCase("Pad", [some(d, 3), np.array([(1, 1)], I4)], ref=padded("constant"), grad=False) for d in DTYPES[:-1]],
    OpCase("Pad", [A, np.array([(1, -1), (0, 0)], I4)], raises=ValueError, match="non-negative"),
    OpCase("PadV2", [A, np.array(PADS, I4), np.array(7, F4)], ref=lambda x, p, v: np.pad(x, p, constant_values=v)),
    OpCase("PadV2", [i4(1), np.array([(1, 1)]), np.array(-1, I4)], ref=i4(-1, 1, -1)),
    OpCase("PadV2", [np.array([1j]), np.array([(1, 0)], I4), np.array(2 + 1j)], ref=np.array([2 + 1j, 1j])),
    OpCase("PadV2", [words("a"), np.array([(1, 0)], I4), np.array(b"x", object)], ref=words("x", "a")),
    *[
        case
        for mode, numpy_mode in (("REFLECT", "reflect"), ("SYMMETRIC", "symmetric"))
        for case in (
            OpCase("MirrorPad", [A, np.array([(2, 1), (0, 3)], I4)], {"mode": mode}, ref=padded(numpy_mode)),
            OpCase("MirrorPad", [B, np.array([(0, 0), (1, 0), (0, 0)])], {"mode": mode}, ref=padded(numpy_mode)),
            OpCase("MirrorPad", [some(np.uint16, 3), np.array([(2, 2)])], {"mode": mode}, ref=padded(numpy_mode)),
            OpCase("MirrorPad", [some(object, 3), np.array([(2, 2)])], {"mode": mode}, ref=padded(numpy_mode)),
            OpCase(
                "MirrorPadGrad",
                [randn(6, 5), np.array([(2, 1), (0, 2)], I4)],
                {"mode": mode},
                ref=lambda dy, p, m=numpy_mode: folded(dy, p, m),
            ),
            OpCase("MirrorPadGrad", [A, np.zeros((2, 2), I4)], {"mode": mode}, ref=lambda dy, p: dy),
        )
    ],
    OpCase(
        "MirrorPad",
        [A, np.array([(3, 0), (0, 0)], I4)],
        {"mode": "REFLECT"},
        raises=ValueError,
        match="no greater than 2",
    ),
    OpCase(
        "MirrorPad",
        [A, np.array([(3, 0), (0, 0)], I4)],
        {"mode": "SYMMETRIC"},
        ref=padded("symmetric"),
        note="all of it",
    ),
]


def band(x: np.ndarray, lower: int, upper: int) -> np.ndarray:
    i, j = np.indices(x.shape[-2:])
    return np.where(((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper)), x, np.zeros((), x.dtype))


def set_diagonal(x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    found = x.copy()
    for i in range(diagonal.shape[-1]):
        found[..., i, i] = diagonal[..., i]
    return found


DIAGONALS = [
    OpCase("Diag", [randn(3)], ref=np.diag),
    OpCase("Diag", [randn(2, 3)], ref=lambda x: np.diag(x.reshape(-1)).reshape(2, 3, 2, 3)),
    OpCase("Diag", [np.array([1j, 2])], ref=np.diag),
    OpCase("DiagPart", [randn(3, 3)], ref=np.diag),
    OpCase("DiagPart", [randn(2, 3, 2, 3)], ref=lambda x: np.diag(x.reshape(6, 6)).reshape(2, 3)),
    OpCase("DiagPart", [A], raises=ValueError, match="not compatible"),
    OpCase("DiagPart", [randn(3)], raises=ValueError, match="even and non-zero rank"),
    OpCase("MatrixDiag", [A], ref=lambda x: np.einsum("ij,jk->ijk", x, np.eye(4, dtype=F4))),
    *[OpCase("MatrixDiag", [some(d, 2)], ref=np.diag, grad=False) for d in DTYPES[:-1]],
    OpCase("MatrixDiagPart", [B], ref=lambda x: np.diagonal(x, 0, -2, -1)),
    OpCase("MatrixDiagPart", [randn(2, 4, 4)], ref=lambda x: np.diagonal(x, 0, -2, -1)),
    OpCase("MatrixDiagPart", [randn(4, 2)], ref=np.diag),
    OpCase("MatrixSetDiag", [B, randn(2, 3)], ref=set_diagonal),
    OpCase("MatrixSetDiag", [some(np.uint16, 3, 2), some(np.uint16, 2)], ref=set_diagonal),
    OpCase("MatrixSetDiag", [A, randn(4)], raises=ValueError, match="incompatible"),
    *[
        OpCase(
            "MatrixBandPart",
            [B, np.array(low), np.array(up)],
            ref=lambda x, lower, upper: band(x, lower, upper),
        )
        for low, up in ((0, -1), (-1, 1), (1, 0), (-1, -1))
    ],
    *[
        OpCase("MatrixBandPart", [np.ones((3, 3), d), np.array(1, I4), np.array(0, I4)], ref=band, grad=False)
        for d in DTYPES[:-1]
    ],
    OpCase("MatrixBandPart", [A, np.array(4), np.array(0)], raises=INVALID, match="must not exceed 3 and 4"),
]


def depth_to_space(x: np.ndarray, s: int) -> np.ndarray:
    b, h, w, d = x.shape
    found = np.zeros((b, h * s, w * s, d // s**2), x.dtype)
    for i in range(s):
        for j in range(s):
            found[:, i::s, j::s] = np.split(x, s * s, -1)[i * s + j]
    return found


def space_to_depth(x: np.ndarray, s: int) -> np.ndarray:
    return np.concatenate([x[:, i::s, j::s] for i in range(s) for j in range(s)], -1)


def space_to_batch(x: np.ndarray, block: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    x = np.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - 1 - len(block))])
    starts = np.ndindex(*block)
    return np.concatenate(
        [x[(slice(None), *(slice(i, None, b) for i, b in zip(at, block, strict=True)))] for at in starts]
    )


def batch_to_space(x: np.ndarray, block: np.ndarray, crops: np.ndarray) -> np.ndarray:
    parts = np.split(x, int(np.prod(block)))
    dims = [d * b for d, b in zip(x.shape[1:], block, strict=False)]
    found = np.zeros((len(parts[0]), *dims, *x.shape[1 + len(block) :]), x.dtype)
    for part, at in zip(parts, np.ndindex(*block), strict=True):
        found[(slice(None), *(slice(i, None, b) for i, b in zip(at, block, strict=True)))] = part
    return found[(slice(None), *(slice(a, d - b) for d, (a, b) in zip(dims, crops, strict=True)))]


def channels_first(fn: Any) -> Any:
    return lambda x: np.moveaxis(fn(np.moveaxis(x, 1, -1), 2), -1, 1)


BLOCKS = [
    OpCase("DepthToSpace", [randn(2, 2, 3, 8)], {"block_size": 2}, ref=lambda x: depth_to_space(x, 2)),
    OpCase("DepthToSpace", [some(np.uint16, 1, 1, 1, 9)], {"block_size": 3}, ref=lambda x: depth_to_space(x, 3)),
    OpCase(
        "DepthToSpace",
        [randn(2, 8, 2, 3)],
        {"block_size": 2, "data_format": "NCHW"},
        ref=channels_first(depth_to_space),
    ),
    OpCase("DepthToSpace", [randn(1, 1, 1, 6)], {"block_size": 2}, raises=ValueError, match="divisible by 4"),
    OpCase("SpaceToDepth", [randn(2, 4, 2, 3)], {"block_size": 2}, ref=lambda x: space_to_depth(x, 2)),
    OpCase(
        "SpaceToDepth",
        [randn(2, 3, 4, 2)],
        {"block_size": 2, "data_format": "NCHW"},
        ref=channels_first(space_to_depth),
    ),
    OpCase("SpaceToDepth", [randn(1, 3, 2, 1)], {"block_size": 2}, raises=ValueError, match="divisible by 2"),
    OpCase("SpaceToBatchND", [randn(1, 4, 4, 2), i4(2, 2), np.zeros((2, 2), I4)], ref=space_to_batch),
    OpCase("SpaceToBatchND", [randn(2, 3, 5), i4(2, 3), np.array([(0, 1), (1, 0)])], ref=space_to_batch),
    OpCase("SpaceToBatchND", [randn(2, 4, 3), i4(2), np.array([(1, 1)])], ref=space_to_batch),
    OpCase("SpaceToBatchND", [randn(1, 3), i4(2), np.array([(0, 0)])], raises=ValueError, match="divisible by 2"),
    OpCase("BatchToSpaceND", [randn(4, 2, 2, 2), i4(2, 2), np.zeros((2, 2), I4)], ref=batch_to_space),
    OpCase("BatchToSpaceND", [randn(12, 2, 2), i4(2, 3), np.array([(0, 1), (2, 1)])], ref=batch_to_space),
    OpCase("BatchToSpaceND", [randn(4, 2, 3), np.array([2]), np.array([(1, 0)], I4)], ref=batch_to_space),
    OpCase("BatchToSpaceND", [randn(3, 2), i4(2), np.array([(0, 0)])], raises=ValueError, match="divisible by 2"),
]

PARTITIONS = [
    OpCase("Where", [np.array([[True, False], [True, True]])], ref=lambda x: np.argwhere(x)),
    OpCase("Where", [np.array([0.0, np.nan, -0.0, 2.0], F4)], ref=np.array([[1], [3]])),
    OpCase("Where", [np.array(True)], ref=np.zeros((1, 0), I8)),
    OpCase("Where", [np.array(False)], ref=np.zeros((0, 0), I8)),
    *[OpCase("Where", [some(d, 3, 2)], ref=lambda x: np.argwhere(x != 0)) for d in DTYPES[:-1]],
    OpCase(
        "DynamicPartition",
        [A, i4(1, 0, 1)],
        {"num_partitions": 3},
        ref=lambda x, p: (x[[1]], x[[0, 2]], x[:0]),
    ),
    OpCase(
        "DynamicPartition",
        [A, np.array([[1, 0, 0, 1]] * 3, I4)],
        {"num_partitions": 2},
        ref=lambda x, p: (x[p == 0], x[p == 1]),
    ),
    OpCase("DynamicPartition", [np.array(2.0), np.array(0, I4)], {"num_partitions": 1}, ref=(np.array([2.0]),)),
    *[
        OpCase(
            "DynamicPartition",
            [some(d, 3), i4(1, 0, 1)],
            {"num_partitions": 2},
            ref=lambda x, p: (x[[1]], x[[0, 2]]),
            grad=False,
        )
        for d in DTYPES
    ],
    OpCase(
        "DynamicPartition",
        [A, i4(0, 2, 0)],
        {"num_partitions": 2},
        raises=INVALID,
        match=r"partitions\[1\] = 2 is not in",
    ),
    OpCase("DynamicPartition", [A, i4(0, 1)], {"num_partitions": 2}, raises=ValueError, match="incompatible"),
    OpCase(
        "DynamicStitch",
        [[i4(2, 0), i4(1)], [randn(2, 3), randn(1, 3)]],
        ref=lambda i, x: np.stack([x[0][1], x[1][0], x[0][0]]),
    ),
    OpCase(
        "DynamicStitch",
        [[i4(0, 1), np.array(1, I4)], [randn(2), np.array(5, F4)]],
        ref=lambda i, x: np.array([x[0][0], 5], F4),
        grad=False,
        note="the last of two wins",
    ),
    OpCase("DynamicStitch", [[i4(2), i4(0)], [i4(7), i4(5)]], ref=i4(5, 0, 7), note="no value for 1"),
    OpCase("DynamicStitch", [[i4(0, 1, 0)], [i4(7, 8, 9)]], ref=i4(9, 8)),
    OpCase("DynamicStitch", [[np.zeros(0, I4)], [np.zeros((0, 2), F4)]], ref=np.zeros((0, 2), F4)),
    *[
        OpCase(
            "DynamicStitch",
            [[i4(1), i4(0)], [some(d, 1), some(d, 1)]],
            ref=lambda i, x: np.concatenate(x[::-1]),
            grad=False,
        )
        for d in DTYPES
    ],
    OpCase("DynamicStitch", [[i4(2), i4(0)], [words("b"), words("a")]], ref=words("a", "", "b")),
    OpCase("DynamicStitch", [[i4(0, 1)], [randn(3)]], raises=ValueError, match="incompatible"),
]


def top(k: int) -> Any:
    """The k largest; of equal ones the first, which a stable sort of the negated gives."""

    def reference(x: np.ndarray, *_: Any) -> Any:
        order = np.argsort(-x.astype(float), -1, kind="stable")[..., :k].astype(I4)
        return np.take_along_axis(x, order, -1), order

    return reference


SORTS = [
    OpCase("TopKV2", [B, np.array(2, I4)], ref=top(2)),
    OpCase("TopKV2", [randn(3), np.array(3, I8)], {"sorted": False}, ref=top(3)),
    OpCase("TopKV2", [np.array([1, 3, 3, 0, 3], F4), np.array(2, I4)], ref=top(2), grad=False, note="ties"),
    OpCase("TopKV2", [np.tile(i4(1, 5, 2), 30), np.array(3, I4)], ref=top(3), note="ties among many"),
    OpCase("TopKV2", [randn(2, 100), np.array(3, I4)], ref=top(3), grad=False, note="few of many"),
    OpCase("TopKV2", [A, np.array(0, I4)], ref=top(0), note="none"),
    OpCase("TopKV2", [randn(0, 3), np.array(2, I4)], ref=top(2)),
    OpCase(
        "TopKV2",
        [A, np.array(2, I4)],
        {"index_type": "int64"},
        ref=lambda x, k: (top(2)(x)[0], top(2)(x)[1] + I8(0)),
    ),
    *[OpCase("TopKV2", [some(d, 2, 5), np.array(3, np.int16)], ref=top(3), grad=False) for d in DTYPES[1:12]],
    OpCase("TopKV2", [A, np.array(5, I4)], raises=ValueError, match="last dimension >= k = 5"),
    OpCase("TopK", [A], {"k": 2}, ref=top(2)),
    OpCase("NthElement", [B, np.array(1, I4)], ref=lambda x, n: np.sort(x, -1)[..., 1]),
    OpCase("NthElement", [A, np.array(1, I4)], {"reverse": True}, ref=lambda x, n: np.sort(x, -1)[..., -2]),
    OpCase("NthElement", [i4(3, 1, 3, 2), np.array(2, I4)], ref=np.array(3, I4), note="ties"),
    *[
        OpCase("NthElement", [some(d, 2, 5), np.array(3, I4)], ref=lambda x, n: np.sort(x, -1)[..., 3], grad=False)
        for d in DTYPES[1:12]
    ],
    OpCase("NthElement", [A, np.array(4, I4)], raises=ValueError, match="last dimension > n = 4"),
    OpCase("NthElement", [A, np.array(-1, I4)], raises=ValueError, match="n >= 0"),
    OpCase("Unique", [i4(3, 1, 3, 2, 1)], ref=(i4(3, 1, 2), i4(0, 1, 0, 2, 1))),
    OpCase("Unique", [words("b", "a", "b")], {"out_idx": "int64"}, ref=(words("b", "a"), np.array([0, 1, 0]))),
    OpCase("Unique", [np.zeros(0, F4)], ref=(np.zeros(0, F4), np.zeros(0, I4))),
    *[
        OpCase("Unique", [some(d, 7)[::-1]], ref=lambda x: (x[:5], i4(0, 1, 2, 3, 4, 0, 1)), grad=False)
        for d in DTYPES[1:12]
    ],
    OpCase("Unique", [A], raises=ValueError, match="must be rank 1"),
    OpCase("UniqueWithCounts", [i4(3, 1, 3, 2, 1)], ref=(i4(3, 1, 2), i4(0, 1, 0, 2, 1), i4(2, 2, 1))),
    OpCase("UniqueWithCounts", [words("b", "a", "b")], ref=(words("b", "a"), i4(0, 1, 0), i4(2, 1))),
    OpCase("ListDiff", [i4(1, 2, 3, 4, 2), i4(2, 4)], ref=(i4(1, 3), i4(0, 2))),
    OpCase(
        "ListDiff",
        [words("a", "b", "a"), words("b")],
        {"out_idx": "int64"},
        ref=(words("a", "a"), np.array([0, 2])),
    ),
    OpCase(
        "ListDiff",
        [np.array([1, np.nan], F4), np.array([np.nan], F4)],
        ref=(np.array([1, np.nan], F4), i4(0, 1)),
    ),
    *[OpCase("ListDiff", [some(d, 4), some(d, 2)], ref=lambda x, y: (x[2:], i4(2, 3))) for d in DTYPES[1:12]],
]

CASES = ORDERS + PADDINGS + DIAGONALS + BLOCKS + PARTITIONS + SORTS
