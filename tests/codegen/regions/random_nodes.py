"""Random nodes, as strategies of hypothesis: shapes, axes, masks and types chosen freely."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.graph.opdef import get_op
from tests.codegen.regions.harness import Sample, sample

KINDS = st.sampled_from([np.float32, np.float64, np.int32, np.int64])
SIZES = st.one_of(st.integers(0, 9), st.sampled_from([1, 2, 3, 15, 16, 17, 33, 40]))


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], kinds: Any = KINDS, special: bool = True) -> np.ndarray:
    """Numbers of one type; now and then a NaN or an infinity among them."""
    kind = np.dtype(draw(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind == "i":
        return rng.integers(-9, 9, shape).astype(kind)
    found = rng.normal(0, 1, shape).astype(kind)
    if special and found.size and draw(st.booleans()):
        found.flat[rng.integers(found.size)] = draw(st.sampled_from([np.nan, np.inf, -np.inf, -0.0]))
    return found


@st.composite
def shapes(draw: Any, least: int = 0, most: int = 4) -> tuple[int, ...]:
    found = tuple(draw(st.lists(SIZES, min_size=least, max_size=most)))
    return found if np.prod(found) <= 20_000 else found[:2]


def _axis(draw: Any, rank: int) -> np.ndarray:
    return np.asarray(draw(st.integers(-rank, rank - 1)), draw(st.sampled_from([np.int32, np.int64])))


@st.composite
def products(draw: Any) -> Sample | None:
    m, k, n = (draw(SIZES) for _ in range(3))
    kind, turns = st.just(draw(KINDS)), (draw(st.booleans()), draw(st.booleans()))
    batch = draw(shapes(0, 2)) if draw(st.booleans()) else ()
    batches = [tuple(draw(st.sampled_from([1, d])) for d in batch) for _ in range(2)]
    batches[1] = batches[1][draw(st.integers(0, len(batch))) :]
    dims = [(k, m) if turns[0] else (m, k), (n, k) if turns[1] else (k, n)]
    a, b = (draw(arrays(lead + d, kind, special=False)) for lead, d in zip(batches, dims, strict=True))
    if batch:
        return sample(get_op("BatchMatMulV2"), [a, b], dict(zip(("adj_x", "adj_y"), turns, strict=True)))
    return sample(get_op("MatMul"), [a, b], dict(zip(("transpose_a", "transpose_b"), turns, strict=True)))


@st.composite
def reductions(draw: Any) -> Sample | None:
    shape = draw(shapes())
    if draw(st.integers(0, 9)) == 0:
        shape = draw(st.sampled_from([(5000,), (3, 700), (700, 3), (600, 40)]))
    name = draw(st.sampled_from(["Sum", "Mean", "Prod", "Max", "Min", "All", "Any"]))
    x = draw(arrays(shape, st.just(bool) if name in ("All", "Any") else KINDS))
    if name == "Prod" and x.dtype.kind == "f":
        x = (1 + x / 100).astype(x.dtype)
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda a: a % len(shape))) if shape else []
    return sample(get_op(name), [x, np.array(axes, np.int32)], {"keep_dims": draw(st.booleans())})


@st.composite
def along(draw: Any) -> Sample | None:
    """What goes along one axis."""
    x = draw(arrays(draw(shapes(1, 3))))
    axis = _axis(draw, x.ndim)
    name = draw(
        st.sampled_from(["ArgMax", "ArgMin", "Cumsum", "Cumprod", "TopKV2", "Softmax", "LogSoftmax", "ReverseV2"])
    )
    if name in ("ArgMax", "ArgMin"):
        return sample(get_op(name), [x, axis.astype(np.int32)], {})
    if name.startswith("Cum"):
        return sample(get_op(name), [x, axis], {"exclusive": draw(st.booleans()), "reverse": draw(st.booleans())})
    if name == "TopKV2":
        return sample(get_op(name), [x, np.int32(draw(st.integers(0, x.shape[-1])))], {})
    if name == "ReverseV2":
        return sample(get_op(name), [x, axis.reshape(1)], {})
    return sample(get_op(name), [x], {})


@st.composite
def moves(draw: Any) -> Sample | None:
    x = draw(arrays(draw(shapes(1, 4)), st.sampled_from([np.float32, np.int64, bool])))
    at = int(_axis(draw, x.ndim))
    match draw(
        st.sampled_from(["Transpose", "ConcatV2", "SplitV", "Pack", "Unpack", "Pad", "MirrorPad", "Tile", "Roll"])
    ):
        case "Transpose":
            return sample(get_op("Transpose"), [x, np.array(draw(st.permutations(range(x.ndim))), np.int32)], {})
        case "ConcatV2":
            parts = [x] + [np.repeat(x, draw(st.integers(0, 2)), at) for _ in range(draw(st.integers(1, 3)))]
            return sample(get_op("ConcatV2"), [parts, np.int32(at)], {})
        case "SplitV":
            first = draw(st.integers(0, x.shape[at]))
            sizes = np.array([first, 0, x.shape[at] - first], np.int64)
            return sample(get_op("SplitV"), [x, sizes, np.int32(at)], {"num_split": 3})
        case "Pack":
            return sample(get_op("Pack"), [[x, x[::-1]]], {"axis": draw(st.integers(-x.ndim - 1, x.ndim))})
        case "Unpack":
            return sample(get_op("Unpack"), [x], {"num": x.shape[at], "axis": at}) if x.shape[at] else None
        case "Pad":
            sizes = draw(st.lists(st.integers(0, 3), min_size=2 * x.ndim, max_size=2 * x.ndim))
            return sample(get_op("Pad"), [x, np.array(sizes, np.int32).reshape(-1, 2)], {})
        case "MirrorPad":
            sizes = [[draw(st.integers(0, max(d - 1, 0))) for _ in range(2)] for d in x.shape]
            mode = draw(st.sampled_from(["REFLECT", "SYMMETRIC"]))
            return sample(get_op("MirrorPad"), [x, np.array(sizes, np.int32)], {"mode": mode})
        case "Tile":
            times = draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim))
            return sample(get_op("Tile"), [x, np.array(times, np.int32)], {})
        case _:
            return sample(get_op("Roll"), [x, np.int32(draw(st.integers(-50, 50))), np.int32(at)], {})


@st.composite
def slices(draw: Any) -> Sample | None:
    """Any spec of a strided slice, or of its gradient, with what it begins at perhaps known in the step only."""
    shape = draw(shapes(1, 3))
    count = draw(st.integers(0, len(shape) + 1))
    bounds = [np.array(draw(st.lists(st.integers(-12, 12), min_size=count, max_size=count)), np.int32) for _ in "be"]
    strides = np.array(draw(st.lists(st.sampled_from([1, 1, 1, 2, -1, -3]), min_size=count, max_size=count)), np.int32)
    masks = {
        m: draw(st.integers(0, 2**count - 1)) for m in ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")
    }
    masks["ellipsis_mask"] = draw(st.sampled_from([0, *(1 << i for i in range(count))]))
    x = draw(arrays(shape))
    found = sample(get_op("StridedSlice"), [x, *bounds, strides], masks)
    if found is None or found.outputs is None:
        return found
    if draw(st.booleans()):
        whole = np.array(shape, np.int32)
        return sample(get_op("StridedSliceGrad"), [whole, *bounds, strides, found.outputs[0]], masks)
    return sample(get_op("StridedSlice"), [x, *bounds, strides], masks, fed={1, 2}) if draw(st.booleans()) else found


@st.composite
def gathers(draw: Any) -> Sample | None:
    x = draw(arrays(draw(shapes(1, 3))))
    kind = draw(st.sampled_from([np.int32, np.int64]))
    at, inside = int(_axis(draw, x.ndim)), draw(st.integers(0, 9)) > 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    lead = draw(shapes(0, 2))
    if draw(st.booleans()):
        depth = draw(st.integers(0, x.ndim))
        limits = [max(d, 1) + (not inside) for d in x.shape[:depth]]
        index = rng.integers(0, limits, (*lead, depth)) if depth else np.zeros((*lead, 0))
        return sample(get_op("GatherNd"), [x, index.astype(kind)], {})
    batch = draw(st.integers(0, at % x.ndim))
    index = rng.integers(0, max(x.shape[at], 1) + (not inside), (*x.shape[:batch], *lead)).astype(kind)
    return sample(get_op("GatherV2"), [x, index, np.int32(at)], {"batch_dims": batch})


@st.composite
def images(draw: Any) -> Sample | None:
    """Convolutions and pools, and their gradients."""
    n, h, w, c, out = (draw(st.integers(1, top)) for top in (2, 7, 7, 4, 18))
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kind = st.just(draw(st.sampled_from([np.float32, np.float64])))
    x = draw(arrays((n, h, w, c), kind, special=False))
    window = {"strides": [1, draw(st.integers(1, 2)), draw(st.integers(1, 2)), 1]}
    window["padding"] = draw(st.sampled_from(["SAME", "VALID"]))  # type: ignore[assignment]
    if draw(st.booleans()):
        pool = draw(st.sampled_from(["MaxPool", "AvgPool"]))
        window["ksize"] = [1, rows, columns, 1]
        found = sample(get_op(pool), [x], window)
        if found is None or not found.outputs or draw(st.booleans()):
            return found
        y, g = found.outputs[0], draw(arrays(found.outputs[0].shape, kind, special=False))
        given = [x, y, g] if pool == "MaxPool" else [np.array(x.shape, np.int32), g]
        return sample(get_op(f"{pool}Grad"), given, window)
    window["dilations"] = [1, draw(st.integers(1, 2)), 1, 1]
    filters = draw(arrays((rows, columns, c, out), kind, special=False))
    found = sample(get_op("Conv2D"), [x, filters], window)
    way = draw(st.sampled_from(["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"]))
    if found is None or not found.outputs or way == "Conv2D":
        return found
    g = draw(arrays(found.outputs[0].shape, kind, special=False))
    sizes = np.array((x if way.endswith("Input") else filters).shape, np.int32)
    return sample(get_op(way), [sizes, filters, g] if way.endswith("Input") else [x, sizes, g], window)


NODES = (products, reductions, along, moves, slices, gathers, images)
