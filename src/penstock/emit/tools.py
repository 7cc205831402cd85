"""What emitters share: loops over static shapes, and copies between strided parts of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from penstock.emit.site import Shape, Site, Value, local

BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "u8": 1}
STACK = 16384
"""Bytes of stack memory that an emitter may use: threads other than the first have little."""
_SHORT = 32
"""Bytes up to which a loop copies faster than memcpy."""


def row_major(shape: Sequence[int]) -> list[int]:
    """The row-major stride of each axis."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def block(*lines: str) -> str:
    return "\n".join(["{", *(line for line in lines if line), "}"])


def loop(i: str, count: int | str, *body: str, vector: bool = False) -> str:
    """`body` for each i from 0 to count; vector: iterations are independent."""
    inner = body[0] if len(body) == 1 else block(*body)
    return f"{'VECTOR ' * vector}for (i64 {i} = 0; {i} < {count}; {i}++) {inner}"


def nest(dims: Sequence[int], body: Callable[[list[str]], str], name: str = "i") -> str:
    """Loops over `dims` around the text that `body` makes from the indices; an axis of size 1 has index "0"."""
    if 0 in dims:
        return ""
    indices = ["0" if d == 1 else local(name) for d in dims]
    heads = [loop(i, d, "") for i, d in zip(indices, dims, strict=True) if d != 1]
    return "\n".join([*heads, body(indices)])


def offset(indices: Sequence[str], strides: Sequence[int], start: int | str = 0) -> str:
    """The offset of an element: start + the sum of indices times strides."""
    terms = [f"{i} * {s}" if s != 1 else i for i, s in zip(indices, strides, strict=True) if i != "0" and s]
    return " + ".join([*terms, str(start)] if start != 0 or not terms else terms)


def merged(dims: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The same elements with as few axes as possible: without axes of size 1, and with contiguous neighbours merged."""
    rows = [(d, s) for d, *s in zip(dims, *strides, strict=True) if d != 1]
    found: list[tuple[int, list[int]]] = []
    for d, s in rows:
        if found and all(outer == inner * d for outer, inner in zip(found[-1][1], s, strict=True)):
            found[-1] = (found[-1][0] * d, s)
        else:
            found.append((d, s))
    return [d for d, _ in found], [[s[i] for _, s in found] for i in range(len(strides))]


def copy(
    to: Value,
    to_strides: Sequence[int],
    source: Value,
    strides: Sequence[int],
    dims: Sequence[int],
    to_start: int | str = 0,
    start: int | str = 0,
) -> str:
    """Copy `dims` elements from a part of `source` to one of `to`. Strides may be 0 or negative."""
    if 0 in dims:
        return ""
    dims, (there, here) = merged(dims, to_strides, strides)
    size = BYTES[to.ctype]
    if not dims:
        return f"{to.element(to_start)} = {source.element(start)};"
    if there[-1] == here[-1] == 1 and dims[-1] * size > _SHORT:
        return nest(
            dims[:-1],
            lambda i: (
                f"memcpy({to.at(offset(i, there[:-1], to_start))}, "
                f"{source.at(offset(i, here[:-1], start))}, {dims[-1] * size});"
            ),
        )

    def inner(i: list[str]) -> str:
        j = local("j")
        places = offset([*i, j], there, to_start), offset([*i, j], here, start)
        return block(loop(j, dims[-1], f"{to.element(places[0])} = {source.element(places[1])};", vector=True))

    return nest(dims[:-1], inner)


def fill(value: Value, text: str = "0") -> str:
    """Set all elements of `value` to one expression."""
    if not value.size:
        return ""
    if text == "0":
        return f"memset({value.pointer}, 0, {value.size * BYTES[value.ctype]});"
    i, filler = local("i"), local("filler")
    return block(
        f"const {value.ctype} {filler} = {text};",
        loop(i, value.size, f"{value.element(i)} = {filler};", vector=True),
    )


def copy_all(to: Value, source: Value) -> str:
    return copy(to, [1], source, [1], [source.size])


def normal_axis(axis: int, rank: int) -> int | None:
    """The axis counted from the front; None if it does not exist."""
    return axis % rank if -rank <= axis < rank else None


def split_at(shape: Shape, axis: int) -> tuple[int, int, int]:
    """The number of elements before an axis, along it, and after it."""
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def written(s: Site, index: int = 0) -> Value | None:
    """The variable of input `index`, if no other input shows its memory."""
    found = s.inputs[index]
    others = [v for i, v in enumerate(s.inputs) if i != index]
    return None if any(v.pointer == found.pointer for v in others) else found


def check_indices(s: Site, indices: Value, limit: int, skip_negative: bool = False) -> str:
    """Statements that fail unless all `indices` are in [0, limit), or negative if that is allowed."""
    i, at, bad = local("i"), local("at"), local("bad")
    test = f"{at} >= {limit}" if skip_negative else f"(u64){at} >= {limit}"
    return block(
        f"int {bad} = 0;",
        loop(i, indices.size, f"const i64 {at} = {indices.element(i)};", f"{bad} |= {test};"),
        f"if ({bad}) {s.failed}",
    )


def constants(value: Value, numbers: Sequence[int]) -> str:
    """Set the elements of a small tensor one by one."""
    return block(*(f"{value.element(i)} = {n};" for i, n in enumerate(numbers)))
