"""Ops that put elements elsewhere, at places that are known when the code is written."""

from __future__ import annotations

import math

from penstock.codegen.regions.emit import Shape, Site, Value, emits, local
from penstock.codegen.regions.ops_tools import (
    block,
    constants,
    copy,
    copy_all,
    fill,
    loop,
    nest,
    normal_axis,
    offset,
    row_major,
)
from penstock.ops.elementwise import reduced_axes

# --- whole tensors ----------------------------------------------------------------------------------------


@emits("Transpose", "ConjugateTranspose")
def transpose(s: Site) -> str | None:
    (x, _), (y,), perm = s.inputs, s.outputs, s.numbers(1)
    if perm is None:
        return None
    strides = row_major(x.shape)
    return copy(y, row_major(y.shape), x, [strides[axis % len(perm)] for axis in perm], y.shape)


@emits("BroadcastTo")
def broadcast_to(s: Site) -> str | None:
    x, y = s.inputs[0], s.outputs[0]
    lead = (1,) * (len(y.shape) - len(x.shape)) + x.shape
    if any(d not in (1, wanted) for d, wanted in zip(lead, y.shape, strict=True)):
        return None
    strides = [0 if d == 1 else step for d, step in zip(lead, row_major(lead), strict=True)]
    return copy(y, row_major(y.shape), x, strides, y.shape)


@emits("Tile")
def tile(s: Site) -> str | None:
    """Each axis becomes two, the first of which counts the repetitions."""
    x, y = s.inputs[0], s.outputs[0]
    dims, there, here = [], [], []
    for d, whole, to, step in zip(x.shape, y.shape, row_major(y.shape), row_major(x.shape), strict=True):
        dims += [whole // d if d else 0, d]
        there += [d * to, to]
        here += [0, step]
    return copy(y, there, x, here, dims)


@emits("ReverseV2", "Reverse")
def reverse(s: Site) -> str | None:
    (x, _), (y,), given = s.inputs, s.outputs, s.numbers(1)
    if given is None:
        return None
    rank = len(x.shape)
    axes = [a for a, marked in enumerate(given) if marked] if s.node.op.name == "Reverse" else [a % rank for a in given]
    steps = row_major(x.shape)
    start = sum((x.shape[a] - 1) * steps[a] for a in axes)
    return copy(y, steps, x, [-t if a in axes else t for a, t in enumerate(steps)], x.shape, start=start)


@emits("Fill")
def fill_with(s: Site) -> str:
    return fill(s.outputs[0], s.inputs[1].element(0))


@emits("Range")
def range_of(s: Site) -> str | None:
    """In float64 where numbers are floats, as the kernel does."""
    start, _, delta = (s.const(i) for i in range(3))
    (y,) = s.outputs
    if start is None or delta is None or s.const(1) is None:
        return None
    exact = "f64" if y.is_float else "i64"
    first, step = (float(v).hex() if y.is_float else f"{int(v)}LL" for v in (start, delta))
    i = local("i")
    return loop(i, y.size, f"{y.element(i)} = ({y.ctype})(({exact}){i} * {step} + {first});")


# --- joining and cutting ------------------------------------------------------------------------------------


@emits("ConcatV2", "Concat")
def concat(s: Site) -> str | None:
    v2, (y,) = s.node.op.name == "ConcatV2", s.outputs
    found, values = s.numbers(-1 if v2 else 0), s.inputs[:-1] if v2 else s.inputs[1:]
    axis = normal_axis(found[0], len(y.shape)) if found else None
    return None if axis is None else _joined(y, values, axis)


def _joined(y: Value, values: list[Value], axis: int) -> str:
    steps, start, found = row_major(y.shape), 0, []
    for x in values:
        found.append(copy(y, steps, x, row_major(x.shape), x.shape, to_start=start * steps[axis]))
        start += x.shape[axis]
    return "\n".join(found)


def _cut(x: Value, parts: list[Value], axis: int) -> str:
    steps, start, found = row_major(x.shape), 0, []
    for y in parts:
        found.append(copy(y, row_major(y.shape), x, steps, y.shape, start=start * steps[axis]))
        start += y.shape[axis]
    return "\n".join(found)


@emits("Split", "SplitV")
def split(s: Site) -> str | None:
    even = s.node.op.name == "Split"
    x, found = s.inputs[1 if even else 0], s.numbers(0 if even else 2)
    axis = normal_axis(found[0], len(x.shape)) if found else None
    if axis is None or sum(y.shape[axis] for y in s.outputs) != x.shape[axis]:
        return None
    return _cut(x, s.outputs, axis)


def _with_axis(value: Value, axis: int) -> Value:
    return Value(value.pointer, value.ctype, (*value.shape[:axis], 1, *value.shape[axis:]))


@emits("Pack")
def pack(s: Site) -> str | None:
    (y,) = s.outputs
    axis = normal_axis(s.node.attrs["axis"], len(y.shape))
    return None if axis is None else _joined(y, [_with_axis(x, axis) for x in s.inputs], axis)


@emits("Unpack")
def unpack(s: Site) -> str | None:
    (x,) = s.inputs
    axis = normal_axis(s.node.attrs["axis"], len(x.shape))
    if axis is None or x.shape[axis] != len(s.outputs):
        return None
    return _cut(x, [_with_axis(y, axis) for y in s.outputs], axis)


# --- padding ------------------------------------------------------------------------------------------------


def _paddings(s: Site) -> list[tuple[int, int]] | None:
    found = s.numbers(1)
    if found is None or any(p < 0 for p in found):
        return None
    return list(zip(found[::2], found[1::2], strict=True))


@emits("Pad", "PadV2")
def pad(s: Site) -> str | None:
    x, (y,), paddings = s.inputs[0], s.outputs, _paddings(s)
    if paddings is None:
        return None
    steps = row_major(y.shape)
    start = sum(before * step for (before, _), step in zip(paddings, steps, strict=True))
    background = fill(y, s.inputs[2].element(0) if len(s.inputs) > 2 else "0")
    return "\n".join([background, copy(y, steps, x, row_major(x.shape), x.shape, to_start=start)])


@emits("MirrorPad")
def mirror_pad(s: Site) -> str | None:
    (x, _), (y,), paddings = s.inputs, s.outputs, _paddings(s)
    if paddings is None or not x.size:
        return None
    edge = 0 if s.node.attrs["mode"] == b"SYMMETRIC" else 1
    if any(max(pair) > d - edge for pair, d in zip(paddings, x.shape, strict=True)):
        return None

    def one(indices: list[str]) -> str:
        lines, places = [], []
        for i, (before, _), d in zip(indices, paddings, x.shape, strict=True):
            p = local("p")
            lines.append(f"i64 {p} = {i} - {before};")
            lines.append(f"{p} = {p} < 0 ? {edge - 1} - {p} : {p};")
            lines.append(f"{p} = {p} >= {d} ? {2 * d - 1 - edge} - {p} : {p};")
            places.append(p)
        value = x.element(offset(places, row_major(x.shape)))
        return block(*lines, f"{y.element(offset(indices, row_major(y.shape)))} = {value};")

    return nest(y.shape, one)


# --- diagonals ----------------------------------------------------------------------------------------------


def _diagonal(shape: Shape) -> tuple[list[int], list[int]]:
    """The dimensions of the main diagonals of matrices, and how far their elements are apart."""
    rows, columns = shape[-2:]
    batch = math.prod(shape[:-2])
    return [batch, min(rows, columns)], [rows * columns, columns + 1]


@emits("MatrixDiag", "Diag")
def matrix_diag(s: Site) -> str:
    (x,), (y,) = s.inputs, s.outputs
    dims, steps = _diagonal((x.size, x.size) if s.node.op.name == "Diag" else y.shape)
    return "\n".join([fill(y), copy(y, steps, x, row_major(dims), dims)])


@emits("MatrixDiagPart", "DiagPart")
def matrix_diag_part(s: Site) -> str | None:
    (x,), (y,) = s.inputs, s.outputs
    if s.node.op.name == "DiagPart" and x.shape != y.shape * 2:
        return None
    dims, steps = _diagonal((y.size, y.size) if s.node.op.name == "DiagPart" else x.shape)
    return copy(y, row_major(dims), x, steps, dims)


@emits("MatrixSetDiag")
def matrix_set_diag(s: Site) -> str | None:
    (x, diagonal), (y,) = s.inputs, s.outputs
    dims, steps = _diagonal(x.shape)
    if diagonal.shape != (*x.shape[:-2], dims[1]):
        return None
    return "\n".join([copy_all(y, x), copy(y, steps, diagonal, row_major(dims), dims)])


@emits("MatrixBandPart")
def matrix_band_part(s: Site) -> str | None:
    (x, *_), (y,), lower, upper = s.inputs, s.outputs, s.numbers(1), s.numbers(2)
    if lower is None or upper is None or len(x.shape) < 2:
        return None
    rows, columns = x.shape[-2:]
    if lower[0] > rows or upper[0] > columns:
        return None
    b, r, c = local("b"), local("r"), local("c")
    below = f"{r} - {c} <= {lower[0]}" if lower[0] >= 0 else "1"
    above = f"{c} - {r} <= {upper[0]}" if upper[0] >= 0 else "1"
    place = f"({b} * {rows} + {r}) * {columns} + {c}"
    one = f"{y.element(place)} = {below} && {above} ? {x.element(place)} : 0;"
    return loop(b, math.prod(x.shape[:-2]), loop(r, rows, loop(c, columns, one)))


# --- shapes: known here, hence constants --------------------------------------------------------------------


@emits("Shape", "ShapeN")
def shape_of(s: Site) -> str:
    return "\n".join(constants(y, x.shape) for x, y in zip(s.inputs, s.outputs, strict=True))


@emits("Size")
def size_of(s: Site) -> str:
    return constants(s.outputs[0], [s.inputs[0].size])


@emits("Rank")
def rank_of(s: Site) -> str:
    return constants(s.outputs[0], [len(s.inputs[0].shape)])


@emits("VariableShape")
def variable_shape(s: Site) -> str:
    return constants(s.outputs[0], s.inputs[0].shape)


@emits("BroadcastGradientArgs")
def broadcast_gradient_args(s: Site) -> str | None:
    first, second = s.numbers(0), s.numbers(1)
    if first is None or second is None:
        return None
    return "\n".join(constants(y, axes) for y, axes in zip(s.outputs, reduced_axes(first, second), strict=True))
