"""Concatenating and splitting in C."""

from __future__ import annotations

from penstock.emit.registry import emits
from penstock.emit.site import Site, Value
from penstock.emit.tools import copy, normal_axis, row_major


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
