"""Reductions along constant axes.

Neighbouring axes that are both reduced or both kept are merged. If the innermost are reduced, each run of elements
becomes one number; otherwise rows are combined into one. Both keep many partial results, so that processors need not
wait for a sum, and so that rounding errors are as small as in torch's kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

from penstock.emit.registry import supports
from penstock.emit.site import Value, local
from penstock.emit.tools import block, copy_all, fill, loop, nest, normal_axis, offset, row_major


@dataclass(frozen=True, slots=True)
class Reduction:
    """`combine` combines partial results, which start as `first`; `element` is the contribution of x. @ stands for the
    type."""

    name: str
    types: tuple[str, ...]
    first: str
    combine: str
    element: str = "(x)"


FLOATS, INTS = ("f32", "f64"), ("i32", "i64")
SUM = Reduction("sum", FLOATS + INTS, "0", "(({a}) + ({b}))")
SQUARES = Reduction("squares", FLOATS, "0", "(({a}) + ({b}))", "((x) * (x))")
PRODUCT = Reduction("product_of", FLOATS + INTS, "1", "(({a}) * ({b}))")
MAX = Reduction("max", FLOATS, "(-INF_@)", "maximum_@({a}, {b})")
MIN = Reduction("min", FLOATS, "INF_@", "minimum_@({a}, {b})")
INT_MAX = Reduction("max", INTS, "(@)((u64)1 << (8 * sizeof(@) - 1))", "(({a}) > ({b}) ? ({a}) : ({b}))")
INT_MIN = Reduction("min", INTS, "(@)~((u64)1 << (8 * sizeof(@) - 1))", "(({a}) < ({b}) ? ({a}) : ({b}))")
ALL = Reduction("all", ("u8",), "1", "(({a}) & ({b}))")
ANY = Reduction("any", ("u8",), "0", "(({a}) | ({b}))")

_TEXT = r"""
#define FIRST <first>
#define COMBINE(a, b) <combine>
#define ELEMENT(x) <element>
APART @ <name>_@(const @ *x, i64 n) {
  if (n > 4096) {
    const i64 half = n / 32 * 16;
    const @ left = <name>_@(x, half), right = <name>_@(x + half, n - half);
    return COMBINE(left, right);
  }
  @ total = FIRST;
  i64 i = 0;
  if (n >= 16) {
    @ lanes[16] ALIGNED;
    for (int j = 0; j < 16; j++) lanes[j] = FIRST;
    for (; i + 16 <= n; i += 16) {
      VECTOR for (int j = 0; j < 16; j++) lanes[j] = COMBINE(lanes[j], ELEMENT(x[i + j]));
    }
    VECTOR for (int j = 0; j < 8; j++) lanes[j] = COMBINE(lanes[j], lanes[j + 8]);
    VECTOR for (int j = 0; j < 4; j++) lanes[j] = COMBINE(lanes[j], lanes[j + 4]);
    for (int j = 0; j < 4; j++) total = COMBINE(total, lanes[j]);
  }
  for (; i < n; i++) total = COMBINE(total, ELEMENT(x[i]));
  return total;
}
#define COLUMNS(W) for (; j + W <= n; j += W) { \
    @ lanes[W] ALIGNED; \
    for (int l = 0; l < W; l++) lanes[l] = FIRST; \
    for (i64 r = begin; r < end; r++) { \
      VECTOR for (int l = 0; l < W; l++) lanes[l] = COMBINE(lanes[l], ELEMENT(x[r * down + j + l])); \
    } \
    VECTOR for (int l = 0; l < W; l++) y[j + l] = COMBINE(y[j + l], lanes[l]); \
  }
APART void <name>_rows_@(const @ *x, i64 rows, i64 down, i64 n, @ *y) {
  for (i64 begin = 0; begin < rows; begin += 256) {
    const i64 end = rows - begin < 256 ? rows : begin + 256;
    i64 j = 0;
    COLUMNS(32) COLUMNS(8) COLUMNS(1)
  }
}
#undef COLUMNS
#undef FIRST
#undef COMBINE
#undef ELEMENT
"""
for _reduction in (SUM, SQUARES, PRODUCT, MAX, MIN, INT_MAX, INT_MIN, ALL, ANY):
    _text = _TEXT.replace("<name>", _reduction.name).replace("<first>", _reduction.first)
    _text = _text.replace("<combine>", _reduction.combine.format(a="a", b="b"))
    supports("reductions", _text.replace("<element>", _reduction.element), *_reduction.types)


def reduce(x: Value, axes: list[int], y: Value, how: Reduction) -> str | None:
    """Statements for y = x reduced along `axes`; None for other types, and for duplicate or missing axes."""
    rank = len(x.shape)
    found = [normal_axis(axis, rank) for axis in axes]
    if x.ctype not in how.types or y.ctype != x.ctype or None in found or len(set(found)) < len(found):
        return None
    if not x.size:
        return fill(y, how.first.replace("@", y.ctype))
    if x.size == 1:
        return f"{y.element(0)} = {how.name}_{x.ctype}({x.pointer}, 1);"
    groups = _groups(x, found)
    if all(group.kept for group in groups):
        return copy_all(y, x)
    return (_rows if groups[-1].kept else _runs)(x, y, groups, how)


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring axes that are all kept or all reduced: their number of elements and their stride."""

    kept: bool
    size: int
    step: int


def _groups(x: Value, reduced: list[int | None]) -> list[_Group]:
    axes = [axis for axis, d in enumerate(x.shape) if d != 1]
    found = []
    for kept, part in groupby(axes, lambda axis: axis not in reduced):
        members = list(part)
        found.append(_Group(kept, math.prod(x.shape[a] for a in members), row_major(x.shape)[members[-1]]))
    return found


def _runs(x: Value, y: Value, groups: list[_Group], how: Reduction) -> str:
    """The innermost group is reduced."""
    *others, run = [g for g in groups if not g.kept]
    outer = [g for g in groups if g.kept]
    to = row_major([g.size for g in outer])

    def one(indices: list[str]) -> str:
        start, place = offset(indices, [g.step for g in outer]), y.element(offset(indices, to))

        def part(inner: list[str]) -> str:
            return f"{how.name}_{x.ctype}({x.at(offset(inner, [g.step for g in others], start))}, {run.size})"

        if not others:
            return f"{place} = {part([])};"
        total, one = local("total"), local("one")
        combined = how.combine.format(a=total, b=one).replace("@", x.ctype)
        step = nest(
            [g.size for g in others],
            lambda r: block(f"const {x.ctype} {one} = {part(r)};", f"{total} = {combined};"),
            "r",
        )
        return block(f"{x.ctype} {total} = {how.first.replace('@', x.ctype)};", step, f"{place} = {total};")

    return nest([g.size for g in outer], one)


def _rows(x: Value, y: Value, groups: list[_Group], how: Reduction) -> str:
    """The innermost group is kept: its rows are combined."""
    *outer, row = [g for g in groups if g.kept]
    *others, rows = [g for g in groups if not g.kept]
    to = [row.size * step for step in row_major([g.size for g in outer])]

    def one(indices: list[str]) -> str:
        source = offset(indices, [g.step for g in (*outer, *others)])
        place = offset(indices[: len(outer)], to)
        return f"{how.name}_rows_{x.ctype}({x.at(source)}, {rows.size}, {rows.step}, {row.size}, {y.at(place)});"

    first = fill(y, how.first.replace("@", y.ctype))
    return "\n".join([first, nest([g.size for g in (*outer, *others)], one)])


def scaled(y: Value, scale: str) -> str:
    """Statements that update each element of y with `scale`, an operator and its operand."""
    i = local("i")
    return loop(i, y.size, f"{y.element(i)} = {y.element(i)} {scale};") if y.size else ""
