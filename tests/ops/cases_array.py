"""Shapes, reshaping, filling, joining and stacking."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from penstock import errors
from tests.ops.harness import OpCase

I4, I8, F4 = np.int32, np.int64, np.float32


def i4(*values: int) -> np.ndarray:
    return np.array(values, I4)


def randn(*dims: int) -> np.ndarray:
    return np.random.RandomState(sum(dims) + len(dims)).randn(*dims).astype(F4)


def words(*values: str) -> np.ndarray:
    return np.array([v.encode() for v in values], object)


DTYPES = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float64,
    np.complex64,
    np.complex128,
    object,
]


def some(dtype: type, *dims: int) -> np.ndarray:
    """A few small numbers, or strings, of `dtype`."""
    numbers = np.arange(np.prod(dims)).reshape(dims) % 5
    if dtype is object:
        return np.array([b"w%d" % n for n in numbers.reshape(-1)], object).reshape(dims)
    return numbers.astype(dtype)


CASES = [
    # Shape and its kin
    OpCase("Shape", [randn(2, 0, 3)], ref=i4(2, 0, 3)),
    OpCase("Shape", [randn(2, 3)], {"out_type": "int64"}, ref=np.array([2, 3])),
    OpCase("Shape", [1.0], ref=np.zeros(0, I4)),
    OpCase("Shape", [words("a", "b")], ref=i4(2)),
    OpCase("ShapeN", [[randn(2, 3), randn(4)]], ref=(i4(2, 3), i4(4))),
    OpCase("Size", [randn(2, 3)], ref=np.array(6, I4)),
    OpCase("Size", [words("a", "b")], {"out_type": "int64"}, ref=np.array(2)),
    OpCase("Rank", [randn(2, 3, 1)], ref=np.array(3, I4)),
    OpCase("Rank", [5], ref=np.array(0, I4)),
    # Reshape
    OpCase("Reshape", [randn(2, 6), i4(3, 4)], ref=lambda x, s: x.reshape(3, 4)),
    OpCase("Reshape", [randn(2, 6), i4(-1, 3)], ref=lambda x, s: x.reshape(4, 3)),
    OpCase("Reshape", [randn(2, 6), np.array([12])], ref=lambda x, s: x.reshape(12), note="int64 shape"),
    OpCase("Reshape", [randn(1, 1), np.zeros(0, I4)], ref=lambda x, s: x.reshape(())),
    OpCase("Reshape", [randn(0, 3), i4(-1, 3, 1)], ref=np.zeros((0, 3, 1), F4)),
    OpCase("Reshape", [randn(0, 6), i4(0, -1, 3)], ref=np.zeros((0, 2, 3), F4)),
    OpCase("Reshape", [words("a", "b", "c", "d"), i4(2, -1)], ref=lambda x, s: x.reshape(2, 2)),
    OpCase("Reshape", [randn(2, 3), i4(4, 2)], raises=ValueError, match="Cannot reshape a tensor with 6 elements"),
    OpCase("Reshape", [randn(2, 3), i4(4, -1)], raises=ValueError, match="Cannot reshape a tensor with 6 elements"),
    OpCase("Reshape", [randn(2, 3), i4(-1, -1)], raises=ValueError, match="Only one size may be -1"),
    # ExpandDims, Squeeze
    *[
        OpCase("ExpandDims", [randn(2, 3), np.array(axis, I4)], ref=lambda x, a: np.expand_dims(x, int(a)))
        for axis in (0, 2, -1, -3)
    ],
    OpCase("ExpandDims", [words("a", "b"), np.array(-1, I4)], ref=lambda x, a: x[:, None]),
    OpCase("ExpandDims", [randn(2), np.array(2, I4)], raises=ValueError, match=r"axis 2 is not in \[-2, 2\)"),
    OpCase("Squeeze", [randn(1, 3, 1)], ref=lambda x: x.reshape(3)),
    OpCase("Squeeze", [randn(1, 3, 1)], {"squeeze_dims": [-1]}, ref=lambda x: x.reshape(1, 3)),
    OpCase("Squeeze", [randn(1, 3, 1, 1)], {"squeeze_dims": [0, 2]}, ref=lambda x: x.reshape(3, 1)),
    OpCase("Squeeze", [np.array([[b"a"]], object)], ref=np.array(b"a", object)),
    OpCase("Squeeze", [randn(2, 3)], {"squeeze_dims": [0]}, raises=ValueError, match="Can not squeeze dim"),
    # Ops that pass on
    OpCase("EnsureShape", [randn(2, 3)], {"shape": [None, 3]}, ref=lambda x: x),
    OpCase("EnsureShape", [randn(2, 3)], {"shape": [3, 3]}, raises=ValueError, match="not compatible"),
    OpCase("IdentityN", [[randn(2), i4(1, 2)]], ref=(randn(2), i4(1, 2))),
    OpCase("StopGradient", [randn(2)], ref=lambda x: x, grad=False),
    OpCase("PreventGradient", [randn(2)], {"message": "no"}, ref=lambda x: x, grad=False),
    OpCase("Snapshot", [randn(2)], ref=lambda x: x),
    OpCase("CheckNumerics", [randn(2)], {"message": "here"}, ref=lambda x: x),
    OpCase(
        "CheckNumerics",
        [np.array([1, np.nan], F4)],
        {"message": "here"},
        raises=errors.InvalidArgumentError,
        match="here : Tensor had NaN values",
    ),
    OpCase(
        "CheckNumerics",
        [np.array([np.inf, np.nan])],
        {"message": "here"},
        raises=errors.InvalidArgumentError,
        match="here : Tensor had Inf and NaN values",
    ),
    OpCase("Bitcast", [randn(2, 3)], {"type": "int32"}, ref=lambda x: x.view(I4)),
    OpCase("Bitcast", [randn(2, 3)], {"type": "uint8"}, ref=lambda x: x.view(np.uint8).reshape(2, 3, 4)),
    OpCase(
        "Bitcast",
        [np.arange(16, dtype=np.uint8).reshape(2, 8)],
        {"type": "double"},
        ref=lambda x: x.view(np.float64).reshape(2),
    ),
    OpCase("Bitcast", [np.array(1.5, F4)], {"type": "uint16"}, ref=lambda x: x.reshape(1).view(np.uint16)),
    OpCase("Bitcast", [np.array([[1, 2]], F4)], {"type": "complex64"}, ref=np.array([1 + 2j], np.complex64)),
    OpCase("Bitcast", [randn(3)], {"type": "double"}, raises=ValueError, match="Cannot bitcast"),
    # Fill and its kin
    OpCase("Fill", [i4(2, 3), np.array(1.5, F4)], ref=np.full((2, 3), 1.5, F4)),
    OpCase("Fill", [np.array([2]), np.array(7, np.uint64)], ref=np.full(2, 7, np.uint64)),
    OpCase("Fill", [np.zeros(0, I4), np.array(True)], ref=np.array(True)),
    OpCase("Fill", [i4(2, 0), np.array(1 + 2j)], ref=np.zeros((2, 0), complex)),
    OpCase("Fill", [i4(2), np.array(b"x", object)], ref=words("x", "x")),
    *[OpCase("Fill", [i4(2), some(dtype)], ref=lambda d, v: np.full(2, v, v.dtype)) for dtype in DTYPES[:-1]],
    OpCase("ZerosLike", [randn(2, 3)], ref=np.zeros((2, 3), F4), grad=False),
    OpCase("ZerosLike", [words("a", "b")], ref=words("", "")),
    *[OpCase("ZerosLike", [some(dtype, 3)], ref=np.zeros_like) for dtype in DTYPES[:-1]],
    *[OpCase("OnesLike", [some(dtype, 3)], ref=np.ones_like, grad=False) for dtype in DTYPES[:-1]],
    OpCase(
        "OneHot",
        [np.array([0, 2, -1, 3]), np.array(3, I4), np.array(1, F4), np.array(0, F4)],
        ref=np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], F4),
        note="out of range",
    ),
    OpCase(
        "OneHot",
        [i4(0, 1), np.array(3, I4), np.array(5.0), np.array(-1.0)],
        {"axis": 0},
        ref=np.array([[5.0, -1], [-1, 5], [-1, -1]]),
    ),
    OpCase(
        "OneHot",
        [np.array([[0], [1]], np.uint8), np.array(2, I4), np.array(True), np.array(False)],
        {"axis": 1},
        ref=np.array([[[True], [False]], [[False], [True]]]),
    ),
    OpCase(
        "OneHot",
        [np.array(1), np.array(3, I4), np.array(b"on", object), np.array(b"off", object)],
        ref=words("off", "on", "off"),
    ),
    OpCase(
        "OneHot",
        [np.array([1], np.int8), np.array(0, I4), np.array(1, np.uint32), np.array(0, np.uint32)],
        ref=np.zeros((1, 0), np.uint32),
    ),
    OpCase("BroadcastTo", [randn(3), i4(2, 3)], ref=lambda x, s: np.broadcast_to(x, s)),
    OpCase("BroadcastTo", [randn(2, 1, 3), i4(4, 2, 5, 3)], ref=lambda x, s: np.broadcast_to(x, s)),
    OpCase("BroadcastTo", [np.array(2.0), np.array([2, 2])], ref=np.full((2, 2), 2.0)),
    OpCase("BroadcastTo", [words("a"), i4(2, 2)], ref=lambda x, s: np.broadcast_to(x, s)),
    OpCase("BroadcastTo", [randn(1), i4(0)], ref=np.zeros(0, F4)),
    OpCase("BroadcastTo", [randn(3), i4(2)], raises=ValueError, match="Incompatible"),
    OpCase("BroadcastTo", [randn(2, 3), i4(3)], raises=ValueError, match="Rank of input"),
    OpCase("BroadcastArgs", [i4(2, 1), i4(3, 1, 5)], ref=i4(3, 2, 5)),
    OpCase("BroadcastArgs", [np.zeros(0, I8), np.array([2])], ref=np.array([2])),
    OpCase("BroadcastArgs", [i4(2), i4(3)], raises=errors.InvalidArgumentError, match="broadcast"),
    # Concat
    *[
        OpCase(
            "ConcatV2",
            [[randn(2, 3, 2), randn(2, 3, 2)], np.array(axis, I4)],
            ref=lambda xs, a: np.concatenate(xs, int(a)),
        )
        for axis in (0, 1, -1)
    ],
    OpCase(
        "ConcatV2",
        [[randn(1, 2), randn(0, 2), randn(3, 2)], np.array(0)],
        ref=lambda xs, a: np.concatenate(xs),
    ),
    *[
        OpCase(
            "ConcatV2",
            [[some(dtype, 2, 2), some(dtype, 2, 1)], np.array(1, I4)],
            ref=lambda xs, a: np.concatenate(xs, 1),
            grad=False,
        )
        for dtype in DTYPES
    ],
    OpCase("ConcatV2", [[randn(2, 3), randn(2, 4)], np.array(0, I4)], raises=ValueError, match="3 and 4"),
    OpCase("ConcatV2", [[randn(2), randn(2)], np.array(1, I4)], raises=ValueError, match="axis 1"),
    OpCase("Concat", [np.array(1, I4), [randn(2, 3), randn(2, 1)]], ref=lambda a, xs: np.concatenate(xs, 1)),
    OpCase("Concat", [np.array(0, I4), [words("a"), words("b")]], ref=words("a", "b")),
    OpCase(
        "ConcatOffset",
        [np.array(1, I4), [i4(2, 3, 5), i4(2, 7, 5), i4(2, 1, 5)]],
        ref=(i4(0, 0, 0), i4(0, 3, 0), i4(0, 10, 0)),
    ),
    # Split
    OpCase("Split", [np.array(1, I4), randn(2, 6)], {"num_split": 3}, ref=lambda a, x: tuple(np.split(x, 3, 1))),
    OpCase("Split", [np.array(-2, I4), randn(2, 6)], {"num_split": 1}, ref=lambda a, x: (x,)),
    OpCase("Split", [np.array(0, I4), np.zeros((0, 2))], {"num_split": 2}, ref=(np.zeros((0, 2)),) * 2),
    OpCase("Split", [np.array(0, I4), words("a", "b")], {"num_split": 2}, ref=(words("a"), words("b"))),
    OpCase("Split", [np.array(1, I4), randn(2, 5)], {"num_split": 2}, raises=ValueError, match="evenly divide"),
    OpCase(
        "SplitV",
        [randn(5, 2), i4(1, 4), np.array(0, I4)],
        {"num_split": 2},
        ref=lambda x, s, a: (x[:1], x[1:]),
    ),
    OpCase(
        "SplitV",
        [randn(2, 5), np.array([2, -1, 0]), np.array(-1, I4)],
        {"num_split": 3},
        ref=lambda x, s, a: (x[:, :2], x[:, 2:], x[:, 5:]),
    ),
    OpCase(
        "SplitV",
        [words("a", "b", "c"), i4(2, 1), np.array(0, I4)],
        {"num_split": 2},
        ref=(words("a", "b"), words("c")),
    ),
    OpCase("SplitV", [randn(5), i4(1, 3), np.array(0, I4)], {"num_split": 2}, raises=ValueError, match="add up"),
    # Pack, Unpack
    *[
        OpCase("Pack", [[randn(2, 3), -randn(2, 3)]], {"axis": axis}, ref=lambda xs, a=axis: np.stack(xs, a))
        for axis in (0, 1, -1)
    ],
    OpCase("Pack", [[np.array(3, I4), np.array(4, I4)]], ref=i4(3, 4)),
    OpCase("Pack", [[randn(2)]], ref=lambda xs: xs[0][None]),
    *[OpCase("Pack", [[some(dtype, 2), some(dtype, 2)]], ref=np.stack, grad=False) for dtype in DTYPES],
    OpCase("Pack", [[randn(2), randn(3)]], raises=ValueError, match="not compatible"),
    OpCase("Unpack", [randn(2, 3)], {"num": 2}, ref=lambda x: (x[0], x[1])),
    OpCase("Unpack", [randn(2, 3)], {"num": 3, "axis": -1}, ref=lambda x: (x[:, 0], x[:, 1], x[:, 2])),
    OpCase("Unpack", [words("a", "b")], {"num": 2}, ref=(np.array(b"a", object), np.array(b"b", object))),
    OpCase("Unpack", [randn(2, 3)], {"num": 3}, raises=ValueError, match="2 and 3"),
]
