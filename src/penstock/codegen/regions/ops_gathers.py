"""Ops that read or write at places that other values name."""

from __future__ import annotations

import math

from penstock.codegen.regions.emit import Site, Value, emits, local
from penstock.codegen.regions.ops_tools import (
    BYTES,
    block,
    check_indices,
    copy,
    fill,
    loop,
    normal_axis,
    row_major,
    split_at,
)

INDEX_TYPES = ("i32", "i64")


def move_row(to: Value, to_place: str, source: Value, place: str, size: int) -> str:
    """One row of `size` elements."""
    if size == 1:
        return f"{to.element(to_place)} = {source.element(place)};"
    return f"memcpy({to.at(to_place)}, {source.at(place)}, {size * BYTES[to.ctype]});"


# --- Gather and its kin -------------------------------------------------------------------------------------


@emits("Gather", "GatherV2", "ResourceGather")
def gather(s: Site) -> str | None:
    params, indices = s.inputs[:2]
    (y,), batch = s.outputs, s.node.attrs.get("batch_dims", 0)
    if s.node.op.name == "GatherV2":
        found = s.numbers(2)
        axis = normal_axis(found[0], len(params.shape)) if found else None
        batch += len(indices.shape) * (batch < 0)
    else:
        axis = batch
    if axis is None or not batch <= axis < len(params.shape) or indices.ctype not in INDEX_TYPES:
        return None
    if params.shape[:batch] != indices.shape[:batch]:
        return None
    _, limit, rest = split_at(params.shape, axis)
    lead, middle = math.prod(params.shape[:batch]), math.prod(params.shape[batch:axis])
    each = math.prod(indices.shape[batch:])
    if not y.size:
        return check_indices(s, indices, limit)
    b, m, i = local("b"), local("m"), local("i")
    source = f"(({b} * {middle} + {m}) * {limit} + {indices.element(f'{b} * {each} + {i}')}) * {rest}"
    target = f"(({b} * {middle} + {m}) * {each} + {i}) * {rest}"
    move = move_row(y, target, params, source, rest)
    return block(check_indices(s, indices, limit), loop(b, lead, loop(m, middle, loop(i, each, move))))


def nd_place(indices: Value, shape: tuple[int, ...], i: str) -> tuple[int, int, str, str]:
    """Of `indices` [..., depth] into `shape`: how many there are, the elements of a slice, C text of the first
    element of the slice number `i`, and of a condition that its index is not in `shape`."""
    depth = indices.shape[-1]
    count = math.prod(indices.shape[:-1])
    steps = row_major(shape)[:depth]
    parts = [indices.element(f"{i} * {depth} + {axis}") for axis in range(depth)]
    place = " + ".join(f"(i64){part} * {step}" for part, step in zip(parts, steps, strict=True)) or "0"
    bad = " | ".join(f"((u64){part} >= {d})" for part, d in zip(parts, shape, strict=False)) or "0"
    return count, math.prod(shape[depth:]), place, bad


def check_nd(s: Site, indices: Value, shape: tuple[int, ...]) -> str:
    i, bad = local("i"), local("bad")
    count, _, _, test = nd_place(indices, shape, i)
    return block(f"int {bad} = 0;", loop(i, count, f"{bad} |= {test};"), f"if ({bad}) {s.failed}")


def is_nd(s: Site, indices: Value, shape: tuple[int, ...]) -> bool:
    """Whether `indices` index into `shape`, with no value of its own for those that do not."""
    policy = s.node.attrs.get("bad_indices_policy", b"")
    return (
        indices.ctype in INDEX_TYPES and policy != b"IGNORE" and bool(indices.shape) and indices.shape[-1] <= len(shape)
    )


@emits("GatherNd", "ResourceGatherNd")
def gather_nd(s: Site) -> str | None:
    (params, indices), (y,) = s.inputs, s.outputs
    if (
        not is_nd(s, indices, params.shape) or 0 in params.shape
    ):  # which the kernel refuses, if anything is wanted of it
        return None
    i = local("i")
    count, size, place, _ = nd_place(indices, params.shape, i)
    moves = loop(i, count, move_row(y, f"{i} * {size}", params, place, size)) if size else ""
    return block(check_nd(s, indices, params.shape), moves)


# --- sums by index ------------------------------------------------------------------------------------------


def add_row(to: Value, to_place: str, source: Value, place: str, size: int, operator: str = "+=") -> str:
    j, row, more = local("j"), local("row"), local("more")
    return block(
        f"{to.ctype} *const {row} = {to.at(to_place)};",
        f"const {to.ctype} *const {more} = {source.at(place)};",
        loop(j, size, f"{row}[{j}] {operator} {more}[{j}];", vector=True),
    )


@emits("UnsortedSegmentSum")
def unsorted_segment_sum(s: Site) -> str | None:
    """Rows of negative segments count nowhere."""
    (data, ids, _), (y,) = s.inputs, s.outputs
    if data.shape[: len(ids.shape)] != ids.shape or ids.ctype not in INDEX_TYPES or data.ctype == "u8":
        return None
    size = math.prod(data.shape[len(ids.shape) :])
    i = local("i")
    add = add_row(y, f"{ids.element(i)} * {size}", data, f"{i} * {size}", size)
    return block(
        check_indices(s, ids, y.shape[0], skip_negative=True),
        fill(y),
        loop(i, ids.size, f"if ({ids.element(i)} >= 0) {add}"),
    )


@emits("ScatterNd")
def scatter_nd(s: Site) -> str | None:
    (indices, updates, _), (y,) = s.inputs, s.outputs
    if not is_nd(s, indices, y.shape) or y.ctype == "u8":
        return None
    i = local("i")
    count, size, place, _ = nd_place(indices, y.shape, i)
    if updates.shape != (*indices.shape[:-1], *y.shape[indices.shape[-1] :]):
        return None
    add = add_row(y, place, updates, f"{i} * {size}", size)
    return block(check_nd(s, indices, y.shape), fill(y), loop(i, count, add))


# --- others -------------------------------------------------------------------------------------------------


@emits("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(s: Site) -> str | None:
    """Of several rows for one place the last counts; constant indices say how many places there are."""
    half = len(s.inputs) // 2
    indices, data, (y,) = s.inputs[:half], s.inputs[half:], s.outputs
    tail = data[0].shape[len(indices[0].shape) :]
    if any(s.const(i) is None for i in range(half)):
        return None
    if any(v.shape != i.shape + tail or i.ctype != "i32" for i, v in zip(indices, data, strict=True)):
        return None
    size, lines = math.prod(tail), []
    for index, values in zip(indices, data, strict=True):
        i = local("i")
        move = move_row(y, f"{index.element(i)} * {size}", values, f"{i} * {size}", size)
        lines += [check_indices(s, index, y.shape[0]), loop(i, index.size, move)]
    return block(fill(y), *lines)


@emits("OneHot")
def one_hot(s: Site) -> str | None:
    (indices, _, on, off), (y,) = s.inputs, s.outputs
    axis = normal_axis(s.node.attrs["axis"], len(y.shape))
    if axis is None or indices.ctype not in INDEX_TYPES:
        return None
    _, depth, inner = split_at(y.shape, axis)
    i, at = local("i"), local("at")
    place = f"({i} / {inner} * {depth} + {at}) * {inner} + {i} % {inner}" if inner > 1 else f"{i} * {depth} + {at}"
    put = f"if ((u64){at} < {depth}) {y.element(place)} = {on.element(0)};"
    return block(fill(y, off.element(0)), loop(i, indices.size, f"const i64 {at} = {indices.element(i)};", put))


@emits("InvertPermutation")
def invert_permutation(s: Site) -> str:
    """An index that appears twice leaves a place without one."""
    (x,), (y,) = s.inputs, s.outputs
    i, j = local("i"), local("j")
    return block(
        check_indices(s, x, x.size),
        fill(y, "-1"),
        loop(i, x.size, f"{y.element(x.element(i))} = {i};"),
        loop(j, x.size, f"if ({y.element(j)} < 0) {s.failed}"),
    )


@emits("Roll")
def roll(s: Site) -> str | None:
    """Each axis that moves is two parts: what stays in front of the other, and what comes round."""
    x, (y,), shifts, axes = s.inputs[0], s.outputs, s.numbers(1), s.numbers(2)
    if shifts is None or axes is None or not x.size:
        return None
    found = [normal_axis(axis, len(x.shape)) for axis in axes]
    if None in found:
        return None
    moves = [0] * len(x.shape)
    for axis, shift in zip(found, shifts, strict=True):
        moves[axis] = (moves[axis] + shift) % x.shape[axis]  # type: ignore[index]
    return _rolled(y, x, moves)


def _rolled(y: Value, x: Value, moves: list[int]) -> str:
    steps = row_major(x.shape)
    parts: list[tuple[list[int], int, int]] = [([], 0, 0)]  # sizes, and where each part goes and comes from
    for dim, move, step in zip(x.shape, moves, steps, strict=True):
        halves = [(dim - move, move, 0), (move, 0, dim - move)]
        parts = [
            ([*dims, size], to + there * step, start + here * step)
            for dims, to, start in parts
            for size, there, here in halves
            if size
        ]
    return "\n".join(copy(y, steps, x, steps, dims, to, start) for dims, to, start in parts)
