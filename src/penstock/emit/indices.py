"""Indexing tensors by the values of others: checks, reads and writes."""

from __future__ import annotations

import math

from penstock.emit.site import Site, Value, local
from penstock.emit.tools import BYTES, block, loop, row_major

INDEX_TYPES = ("i32", "i64")


def move_row(to: Value, to_place: str, source: Value, place: str, size: int) -> str:
    """One row of `size` elements."""
    if size == 1:
        return f"{to.element(to_place)} = {source.element(place)};"
    return f"memcpy({to.at(to_place)}, {source.at(place)}, {size * BYTES[to.ctype]});"


def nd_place(indices: Value, shape: tuple[int, ...], i: str) -> tuple[int, int, str, str]:
    """For `indices` [..., depth] into `shape`: their number, the elements of a slice, C for the first element of slice
    number `i`, and C for the condition that its index is outside `shape`."""
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
    """Whether `indices` index into `shape`, without a default value for those out of range."""
    policy = s.node.attrs.get("bad_indices_policy", b"")
    return (
        indices.ctype in INDEX_TYPES and policy != b"IGNORE" and bool(indices.shape) and indices.shape[-1] <= len(shape)
    )


def add_row(to: Value, to_place: str, source: Value, place: str, size: int, operator: str = "+=") -> str:
    j, row, more = local("j"), local("row"), local("more")
    return block(
        f"{to.ctype} *const {row} = {to.at(to_place)};",
        f"const {to.ctype} *const {more} = {source.at(place)};",
        loop(j, size, f"{row}[{j}] {operator} {more}[{j}];", vector=True),
    )
