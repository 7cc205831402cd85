"""Cases of the older and rarer ops on arrays, and of pools and morphology."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from penstock import errors
from penstock.tensor.dtypes import int64
from penstock.tensor.shapes import TensorShape
from tests.ops.harness import OpCase

F32 = np.float32
rng = np.random.default_rng(7)


def real(*shape: int) -> np.ndarray:
    """Distinct numbers, well apart, so that a small step changes no maximum."""
    return (rng.permutation(int(np.prod(shape))).reshape(shape) * 0.5 - 3).astype(F32)


def texts(*values: Any) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = values
    return found


STRINGS = np.array([[b"a", b"b"], [b"c", b"d"]], object)
INVALID = errors.InvalidArgumentError

# --- movements ------------------------------------------------------------------------------------------

X34 = real(3, 4)
REVERSED = [
    OpCase("Reverse", [X34, [True, False]], ref=X34[::-1]),
    OpCase("Reverse", [X34, [True, True]], ref=X34[::-1, ::-1]),
    OpCase("Reverse", [np.arange(6, dtype=np.uint32).reshape(2, 3), [False, True]], ref=lambda x, d: x[:, ::-1]),
    OpCase("Reverse", [F32(3), np.zeros(0, bool)], ref=F32(3)),
    OpCase("Reverse", [STRINGS, [False, True]], ref=STRINGS[:, ::-1]),
    OpCase("Reverse", [X34, [True]], raises=ValueError),
    OpCase("Roll", [X34, 1, 0], ref=np.roll(X34, 1, 0)),
    OpCase("Roll", [X34, [1, -6], [0, -1]], ref=np.roll(X34, (1, -6), (0, 1)), note="two axes"),
    OpCase("Roll", [X34, np.int64([1, 2]), [1, 1]], ref=np.roll(X34, 3, 1), note="one axis twice"),
    OpCase("Roll", [np.arange(5, dtype=np.uint64), 2, 0], ref=np.uint64([3, 4, 0, 1, 2])),
    OpCase("Roll", [STRINGS, 1, 1], ref=STRINGS[:, ::-1]),
    OpCase("Roll", [np.zeros([0, 2], F32), 1, 0], ref=np.zeros([0, 2], F32)),
    OpCase("Roll", [X34, np.zeros(0, np.int32), np.zeros(0, np.int32)], ref=X34),
    OpCase("Roll", [X34, [1], [2]], raises=INVALID, match="axis 2 is out of range"),
    OpCase("Roll", [X34, [1, 2], [0]], raises=ValueError),
    OpCase("Roll", [F32(1), 1, 0], raises=ValueError, match="rank"),
]

IMAGE = real(2, 4, 6, 3)
PAIRS = np.int32([[0, 0], [0, 0]])


def to_batch(x: np.ndarray, pads: Any, size: int) -> np.ndarray:
    x = np.pad(x, [(0, 0), *map(tuple, pads), (0, 0)])
    return np.concatenate([x[:, i::size, j::size] for i in range(size) for j in range(size)])


def to_space(x: np.ndarray, crops: Any, size: int) -> np.ndarray:
    count, h, w, d = len(x) // size**2, *x.shape[1:]
    whole = np.zeros([count, h * size, w * size, d], x.dtype)
    for part in range(size**2):
        whole[:, part // size :: size, part % size :: size] = x[part * count : (part + 1) * count]
    (top, bottom), (left, right) = crops
    return whole[:, top : h * size - bottom, left : w * size - right]


BLOCKS = [
    OpCase("SpaceToBatch", [IMAGE, PAIRS], {"block_size": 2}, ref=lambda x, p: to_batch(x, p, 2)),
    OpCase("SpaceToBatch", [IMAGE, [[1, 1], [2, 1]]], {"block_size": 3}, ref=lambda x, p: to_batch(x, p, 3)),
    OpCase("SpaceToBatch", [IMAGE.astype(int), [[0, 0], [0, 2]]], {"block_size": 4},
           ref=lambda x, p: to_batch(x, p, 4)),
    OpCase("SpaceToBatch", [IMAGE, PAIRS], {"block_size": 5}, raises=ValueError),
    OpCase("BatchToSpace", [real(4, 2, 3, 2), PAIRS], {"block_size": 2}, ref=lambda x, c: to_space(x, c, 2)),
    OpCase("BatchToSpace", [real(8, 2, 3, 1), [[1, 0], [2, 1]]], {"block_size": 2}, ref=lambda x, c: to_space(x, c, 2)),
    OpCase("BatchToSpace", [real(3, 2, 2, 1), PAIRS], {"block_size": 2}, raises=ValueError),
]  # fmt: skip

JOINED = [
    # Its inputs must have known shapes, which fed ones have not here: see tests/ops/test_array_more.py.
    OpCase("ParallelConcat", [[real(2, 3)]], {"shape": TensorShape([2, 3])}, raises=ValueError),
    OpCase("ParallelDynamicStitch", [[[0, 2], [[1], [3]]], [real(2, 2), real(2, 1, 2)]],
           ref=lambda i, d: np.stack([d[0][0], d[1][0, 0], d[0][1], d[1][1, 0]])),
    OpCase("ParallelDynamicStitch", [[[0], [1]], [texts(b"a"), texts(b"b")]], ref=texts(b"a", b"b")),
    OpCase("GuaranteeConst", [X34], ref=X34),
]  # fmt: skip
# --- searches -------------------------------------------------------------------------------------------

NONE = np.zeros(0, np.int64)
UNIQUE = [
    OpCase("UniqueV2", [[[1, 2], [1, 2], [0, 1]], [0]], ref=(np.int32([[1, 2], [0, 1]]), np.int32([0, 0, 1]))),
    OpCase("UniqueV2", [F32([[1, 1, 2], [3, 3, 4]]), [1]], ref=(F32([[1, 2], [3, 4]]), np.int32([0, 0, 1]))),
    OpCase("UniqueV2", [F32([[1, 1, 2], [3, 3, 4]]), [-1]], ref=(F32([[1, 2], [3, 4]]), np.int32([0, 0, 1]))),
    OpCase("UniqueV2", [[3, 1, 3], NONE], {"out_idx": int64}, ref=(np.int32([3, 1]), np.int64([0, 1, 0]))),
    OpCase("UniqueV2", [[3, 1, 3], np.int32([0])], ref=(np.int32([3, 1]), np.int32([0, 1, 0]))),
    OpCase("UniqueV2", [np.uint16([[[5], [6]], [[4], [6]], [[5], [6]]]), [0]],
           ref=(np.uint16([[[5], [6]], [[4], [6]]]), np.int32([0, 1, 0]))),
    OpCase("UniqueV2", [np.zeros([0, 2], F32), [0]], ref=(np.zeros([0, 2], F32), np.zeros(0, np.int32))),
    OpCase("UniqueV2", [np.zeros([2, 0], F32), [0]], ref=(np.zeros([1, 0], F32), np.int32([0, 0]))),
    OpCase("UniqueV2", [np.array([[b"a", b"b", b"a"]], object), [1]],
           ref=(np.array([[b"a", b"b"]], object), np.int32([0, 1, 0]))),
    OpCase("UniqueV2", [[[1, 2]], NONE], raises=ValueError),
    OpCase("UniqueV2", [[[1, 2]], [2]], raises=ValueError),
    OpCase("UniqueV2", [[[1, 2]], [0, 1]], raises=ValueError),
    OpCase("UniqueWithCountsV2", [[[1, 2], [1, 2], [0, 1]], [0]],
           ref=(np.int32([[1, 2], [0, 1]]), np.int32([0, 0, 1]), np.int32([2, 1]))),
    OpCase("UniqueWithCountsV2", [F32([3, 1, 3]), NONE], ref=(F32([3, 1]), np.int32([0, 1, 0]), np.int32([2, 1]))),
    OpCase("UniqueWithCountsV2", [np.array([b"x", b"x"], object), NONE],
           ref=(texts(b"x"), np.int32([0, 0]), np.int32([2]))),
]  # fmt: skip

ROWS, WANTED = np.array([[1, 3, 3, 5], [0, 0, 0, 1]]), np.array([[0, 3, 6], [0, 1, 2]])
BOUNDS = [
    *(OpCase("LowerBound", [ROWS.astype(t), WANTED.astype(t)], ref=np.int32([[0, 1, 4], [0, 3, 4]]))
      for t in ("f4", "f8", "f2", "i4", "i8", "i2", "i1", "u1", "u2", "u4", "u8")),
    *(OpCase("UpperBound", [ROWS.astype(t), WANTED.astype(t)], ref=np.int32([[0, 3, 4], [3, 4, 4]]))
      for t in ("f4", "f8", "i4", "i8", "u2")),
    OpCase("UpperBound", [ROWS, WANTED], {"out_type": int64}, ref=np.int64([[0, 3, 4], [3, 4, 4]])),
    OpCase("LowerBound", [np.zeros([1, 0], F32), F32([[1, 2]])], ref=np.int32([[0, 0]])),
    OpCase("LowerBound", [F32([[1, 2]]), np.zeros([1, 0], F32)], ref=np.zeros([1, 0], np.int32)),
    OpCase("LowerBound", [F32([[1], [2]]), F32([[1]])], raises=INVALID, match="Leading dim_size"),
    OpCase("LowerBound", [F32([1]), F32([1])], raises=ValueError),
]  # fmt: skip

# --- windows --------------------------------------------------------------------------------------------


def extents(size: int, k: int, stride: int, rate: int, padding: str) -> tuple[int, int]:
    """How many windows, and where the first starts."""
    reach = (k - 1) * rate + 1
    if padding == "VALID":
        return (size - reach) // stride + 1, 0
    out = -(-size // stride)
    return out, -(max((out - 1) * stride + reach - size, 0) // 2)


def windows(x: np.ndarray, size: tuple[int, int], stride: tuple[int, int], padding: str, rate: Any = (1, 1)) -> Any:
    """For each window its place and, in row-major order, the places of its elements inside the image."""
    (rows, top), (columns, left) = (extents(x.shape[1 + a], size[a], stride[a], rate[a], padding) for a in (0, 1))
    for i in range(rows):
        for j in range(columns):
            inside = []
            for k in range(size[0]):
                for m in range(size[1]):
                    row, column = i * stride[0] + top + k * rate[0], j * stride[1] + left + m * rate[1]
                    if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                        inside.append((row, column, k, m))
            yield i, j, (rows, columns), inside


def dilated(x: np.ndarray, f: np.ndarray, stride: Any, rate: Any, padding: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest sums, [n, h', w', c], and the element of each: (row, column, filter row, filter column)."""
    found: Any = None
    for i, j, shape, inside in windows(x, f.shape[:2], stride, padding, rate):
        if found is None:
            found = np.zeros([len(x), *shape, x.shape[3]], x.dtype), np.zeros([len(x), *shape, x.shape[3], 4], int)
        for b in range(len(x)):
            for d in range(x.shape[3]):
                sums = [x[b, r, c, d] + f[k, m, d] for r, c, k, m in inside]
                best = int(np.argmax(sums))
                found[0][b, i, j, d], found[1][b, i, j, d] = sums[best], inside[best]
    return found


def back_to_input(x: np.ndarray, f: np.ndarray, g: np.ndarray, *window: Any) -> np.ndarray:
    found, at = np.zeros_like(x), dilated(x, f, *window)[1]
    for b, i, j, d in np.ndindex(*g.shape):
        row, column = at[b, i, j, d, :2]
        found[b, row, column, d] += g[b, i, j, d]
    return found


def back_to_filter(x: np.ndarray, f: np.ndarray, g: np.ndarray, *window: Any) -> np.ndarray:
    found, at = np.zeros_like(f), dilated(x, f, *window)[1]
    for b, i, j, d in np.ndindex(*g.shape):
        row, column = at[b, i, j, d, 2:]
        found[row, column, d] += g[b, i, j, d]
    return found


def dilation_cases() -> list[OpCase]:
    found = []
    for stride, rate, padding in [
        ((1, 1), (1, 1), "SAME"),
        ((2, 1), (1, 2), "SAME"),
        ((2, 2), (1, 1), "VALID"),
        ((1, 3), (2, 1), "VALID"),
    ]:
        attrs = {"strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding}
        window = (stride, rate, padding)
        x, f = real(2, 5, 6, 2), (real(2, 3, 2) * 0.37).astype(F32)
        y = dilated(x, f, *window)[0]
        g = real(*y.shape)
        found += [
            OpCase("Dilation2D", [x, f], attrs, ref=y),
            OpCase("Dilation2DBackpropInput", [x, f, g], attrs, ref=back_to_input(x, f, g, *window)),
            OpCase("Dilation2DBackpropFilter", [x, f, g], attrs, ref=back_to_filter(x, f, g, *window)),
        ]
    return found


ONES = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
SMALL = np.arange(18).reshape(1, 3, 3, 2)
DILATION = [
    *dilation_cases(),
    *(
        OpCase(
            "Dilation2D",
            [SMALL.astype(t), np.ones([2, 2, 2]).astype(t)],
            ONES,
            ref=dilated(SMALL, np.ones([2, 2, 2], int), (1, 1), (1, 1), "SAME")[0].astype(t),
        )
        for t in ("f8", "f2", "i4", "i8", "u1", "i1", "i2", "u2", "u4", "u8")
    ),
    OpCase(
        "Dilation2DBackpropInput",
        [np.ones([1, 2, 2, 1], np.uint32), np.ones([1, 2, 1], np.uint32), np.uint32([[[[1], [2]], [[3], [4]]]])],
        ONES,
        ref=np.uint32([[[[1], [2]], [[3], [4]]]]),
        note="the first of equal sums",
    ),
    OpCase("Dilation2D", [np.zeros([0, 3, 3, 2], F32), np.ones([2, 2, 2], F32)], ONES, ref=np.zeros([0, 3, 3, 2], F32)),
    OpCase("Dilation2D", [real(1, 3, 3, 2), real(2, 2, 3)], ONES, raises=ValueError, match="depth"),
    OpCase("Dilation2D", [real(1, 3, 3, 2), real(2, 2, 2)], {**ONES, "strides": [2, 1, 1, 1]}, raises=ValueError),
    OpCase("Dilation2D", [real(1, 1, 1, 2), real(2, 2, 2)], {**ONES, "padding": "VALID", "rates": [1, 3, 1, 1]},
           raises=ValueError, match="negative"),
    OpCase("Dilation2DBackpropInput", [real(1, 3, 3, 2), real(2, 2, 2), real(1, 2, 2, 2)], ONES, raises=INVALID),
]  # fmt: skip


def pooled(x: np.ndarray, size: Any, stride: Any, padding: str) -> np.ndarray:
    return dilated(x, np.zeros([*size, x.shape[3]], x.dtype), stride, (1, 1), padding)[0]


KSIZE, STRIDES = np.int32([1, 2, 3, 1]), np.int32([1, 2, 1, 1])
POOLS = []
for _padding in ("SAME", "VALID"):
    _x = real(2, 5, 4, 2)
    _y = pooled(_x, (2, 3), (2, 1), _padding)
    _g, _zero = real(*_y.shape), np.zeros([2, 3, 2], F32)
    _window = ((2, 1), (1, 1), _padding)
    _at = dilated(_x, _zero, *_window)[1]
    _g2 = real(*_x.shape)
    _taken = np.zeros_like(_y)
    for _b, _i, _j, _d in np.ndindex(*_y.shape):
        _taken[_b, _i, _j, _d] = _g2[_b, _at[_b, _i, _j, _d, 0], _at[_b, _i, _j, _d, 1], _d]
    POOLS += [
        OpCase("MaxPoolV2", [_x, KSIZE, STRIDES], {"padding": _padding}, ref=_y),
        OpCase(
            "MaxPoolGradV2",
            [_x, _y, _g, KSIZE, STRIDES],
            {"padding": _padding},
            ref=back_to_input(_x, _zero, _g, *_window),
        ),
        OpCase("MaxPoolGradGradV2", [_x, _y, _g2, KSIZE, STRIDES], {"padding": _padding}, ref=_taken),
    ]
_x = np.arange(24).reshape(1, 4, 3, 2)
POOLS += [
    OpCase("MaxPoolV2", [_x.astype(t), [1, 2, 2, 1], [1, 2, 2, 1]], {"padding": "VALID"},
           ref=pooled(_x, (2, 2), (2, 2), "VALID").astype(t))
    for t in ("i4", "i8", "u1", "i1", "i2", "u2", "f2", "f8")
]  # fmt: skip
POOLS += [
    OpCase("MaxPoolV2", [_x.astype(F32).transpose(0, 3, 1, 2), [1, 1, 2, 2], [1, 1, 1, 1]],
           {"padding": "SAME", "data_format": "NCHW"},
           ref=pooled(_x.astype(F32), (2, 2), (1, 1), "SAME").transpose(0, 3, 1, 2)),
    OpCase("MaxPoolV2", [_x, [2, 2], [1, 1, 1, 1]], {"padding": "SAME"}, raises=ValueError),
    OpCase("MaxPoolV2", [_x, [1, 0, 1, 1], [1, 1, 1, 1]], {"padding": "SAME"}, raises=ValueError),
]  # fmt: skip

# --- fractional pools -----------------------------------------------------------------------------------


def ranges(sequence: Any, size: int, overlapping: bool) -> list[slice]:
    return [slice(a, min(b + overlapping, size)) for a, b in pairwise(sequence)]


def fractional(x: np.ndarray, rows: Any, columns: Any, overlapping: bool, reduce: Any) -> np.ndarray:
    return np.stack(
        [
            np.stack([reduce(x[:, a, b]) for b in ranges(columns, x.shape[2], overlapping)], 1)
            for a in ranges(rows, x.shape[1], overlapping)
        ],
        1,
    )


def largest(x: np.ndarray) -> np.ndarray:
    return x.max((1, 2))


def mean(x: np.ndarray) -> np.ndarray:
    total = x.sum((1, 2))
    return (total / x[0, ..., 0].size).astype(x.dtype) if x.dtype.kind == "f" else total // x[0, ..., 0].size


def fractional_check(reduce: Any, ratio: tuple[float, float], overlapping: bool) -> Any:
    """The windows are of two sizes, and the output follows from them."""

    def check(x: np.ndarray, y: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        for sequence, size, factor in ((rows, x.shape[1], ratio[0]), (columns, x.shape[2], ratio[1])):
            out = int(size / factor)
            assert (sequence[0], sequence[-1], len(sequence)) == (0, size, out + 1)
            assert set(np.diff(sequence)) <= {size // out, size // out + 1}
        np.testing.assert_allclose(y, fractional(x, rows, columns, overlapping, reduce), rtol=1e-5)

    return check


def fractional_cases() -> list[OpCase]:
    found = []
    for name, reduce in (("FractionalMaxPool", largest), ("FractionalAvgPool", mean)):
        for overlapping in (False, True):
            for pseudo_random in (False, True):
                attrs = {
                    "pooling_ratio": [1.0, 1.44, 1.73, 1.0],
                    "overlapping": overlapping,
                    "pseudo_random": pseudo_random,
                    "deterministic": True,
                    "seed": 3,
                }
                check = fractional_check(reduce, (1.44, 1.73), overlapping)
                found.append(OpCase(name, [real(2, 9, 7, 2)], attrs, check=check))
            exact = real(1, 4, 6, 2)
            sequences = [0, 2, 4], [0, 2, 4, 6]
            found.append(
                OpCase(
                    name,
                    [exact],
                    {"pooling_ratio": [1.0, 2.0, 2.0, 1.0], "overlapping": overlapping, "deterministic": True},
                    ref=(fractional(exact, *sequences, overlapping, reduce), *map(np.int64, sequences)),
                )
            )
        whole = np.arange(48).reshape(1, 4, 6, 2)
        for dtype in ("i4", "i8"):
            found.append(
                OpCase(
                    name,
                    [whole.astype(dtype)],
                    {"pooling_ratio": [1.0, 2.0, 2.0, 1.0]},
                    ref=(fractional(whole.astype(dtype), *sequences, False, reduce), *map(np.int64, sequences)),
                )
            )
        ratios = {"pooling_ratio": [1.0, 0.5, 1.0, 1.0]}
        found.append(OpCase(name, [real(1, 4, 4, 1)], ratios, raises=ValueError, match="cannot be smaller than 1"))
        ratios = {"pooling_ratio": [1.0, 2.0, 2.0, 2.0]}
        found.append(OpCase(name, [real(1, 4, 4, 2)], ratios, raises=errors.UnimplementedError))
    return found


def fractional_grad_cases() -> list[OpCase]:
    found = []
    rows, columns = np.int64([0, 2, 3, 5]), np.int64([0, 1, 3])
    for overlapping in (False, True):
        x = real(2, 5, 3, 2)
        y, g = fractional(x, rows, columns, overlapping, largest), real(2, 3, 2, 2)
        to_largest, shared = np.zeros_like(x), np.zeros_like(x)
        for i, a in enumerate(ranges(rows, 5, overlapping)):
            for j, b in enumerate(ranges(columns, 3, overlapping)):
                to_largest[:, a, b] += (x[:, a, b] == y[:, i, j][:, None, None]) * g[:, i, j][:, None, None]
                shared[:, a, b] += g[:, i, j][:, None, None] / x[0, a, b, 0].size
        attrs = {"overlapping": overlapping}
        found += [
            OpCase("FractionalMaxPoolGrad", [x, y, g, rows, columns], attrs, ref=to_largest),
            OpCase("FractionalAvgPoolGrad", [np.int64(x.shape), g, rows, columns], attrs, ref=shared),
        ]
    equal, g = np.ones([1, 2, 2, 1]), np.array([[[[5.0]]]])
    ends = np.int64([0, 2])
    found += [
        OpCase("FractionalMaxPoolGrad", [equal, equal[:, :1, :1], g, ends, ends],
               ref=np.array([[[[5.0], [0]], [[0], [0]]]])),
        OpCase("FractionalAvgPoolGrad", [np.int64([1, 2, 2, 1]), np.int32([[[[6]]]]), ends, ends],
               ref=np.ones([1, 2, 2, 1], np.int32)),
        OpCase("FractionalMaxPoolGrad", [equal, equal, equal, ends, ends], raises=INVALID),
        OpCase("FractionalAvgPoolGrad", [np.int64([1, 2, 2, 1]), equal, ends, ends], raises=INVALID),
    ]  # fmt: skip
    return found


CASES = [
    *REVERSED, *BLOCKS, *JOINED, *UNIQUE, *BOUNDS, *DILATION, *POOLS, *fractional_cases(), *fractional_grad_cases(),
    OpCase("Fact", [], ref=np.array(b"0! == 1", object)),
]  # fmt: skip
