"""What goes along an axis: the place of an extremum, running sums and products, the k largest elements."""

from __future__ import annotations

from penstock.codegen.regions.emit import Site, emits, local, supports
from penstock.codegen.regions.ops_tools import block, loop, normal_axis, split_at

MOST_STEPS = 1 << 22
"""Of the comparisons that TopK may need: each element may be put into a list of k."""


@emits("ArgMax", "ArgMin")
def arg_reduction(s: Site) -> str | None:
    """The first of equals. No NaN is chosen but where there is nothing else; then it is the first element."""
    (x, _), (y,), axes = s.inputs, s.outputs, s.numbers(1)
    axis = normal_axis(axes[0], len(x.shape)) if axes else None
    if axis is None or not x.shape[axis] or y.ctype not in ("i32", "i64"):
        return None
    outer, size, inner = split_at(x.shape, axis)
    greatest = s.node.op.name == "ArgMax"
    worst = f"({'-' * greatest}INF_{x.ctype})"
    o, i, r, row, best, at = map(local, ("o", "i", "r", "row", "best", "at"))
    first, element = f"{row}[0]", f"{row}[{r} * {inner}]"
    one = block(
        f"const {x.ctype} *const {row} = {x.at(f'{o} * {size * inner} + {i}')};",
        f"{x.ctype} {best} = {f'{first} == {first} ? {first} : {worst}' if x.is_float else first};",
        f"i64 {at} = 0;",
        f"for (i64 {r} = 1; {r} < {size}; {r}++)",
        f"if ({element} {'>' if greatest else '<'} {best}) {best} = {element}, {at} = {r};",
        f"{y.element(f'{o} * {inner} + {i}')} = {at};",
    )
    return loop(o, outer, loop(i, inner, one))


@emits("Cumsum", "Cumprod")
def scan(s: Site) -> str | None:
    """Floats are added up in float64, as in torch."""
    (x, _), (y,), given = s.inputs, s.outputs, s.number(1)
    axis = normal_axis(given, len(x.shape)) if given is not None else None
    if axis is None or x.ctype == "u8":
        return None
    outer, size, inner = split_at(x.shape, axis)
    first, operator = ("0", "+") if s.node.op.name == "Cumsum" else ("1", "*")
    o, i, r, at, start, total = map(local, ("o", "i", "r", "at", "start", "total"))
    put, step = f"{y.element(at)} = ({y.ctype}){total};", f"{total} = {total} {operator} {x.element(at)};"
    place = f"({size - 1} - {r})" if s.node.attrs["reverse"] else r
    one = block(
        f"const i64 {start} = {o} * {size * inner} + {i};",
        f"{'f64' if x.is_float else x.ctype} {total} = {first};",
        loop(
            r,
            size,
            f"const i64 {at} = {start} + {place} * {inner};",
            *((put, step) if s.node.attrs["exclusive"] else (step, put)),
        ),
    )
    return loop(o, outer, loop(i, inner, one))


# The list of the largest is in order; of equal elements the first stays before. NaN counts as the largest.
_TOP = r"""
FN int beats_@1(@1 a, @1 b) { return a > b || (a != a && b == b); }
APART void top_@1_@2(const @1 *x, i64 n, i64 k, @1 *values, @2 *indices) {
  i64 count = 0;
  for (i64 i = 0; i < n; i++) {
    const @1 value = x[i];
    if (count == k && !beats_@1(value, values[k - 1])) continue;
    i64 at = count < k ? count++ : k - 1;
    for (; at && beats_@1(value, values[at - 1]); at--) values[at] = values[at - 1], indices[at] = indices[at - 1];
    values[at] = value;
    indices[at] = (@2)i;
  }
}
"""
for _value in ("f32", "f64", "i32", "i64"):
    _beats, _list = _TOP.split("APART")
    supports(_beats.replace("@1", _value))
    supports(f"APART{_list.replace('@1', _value).replace('@2', '@')}", "i32", "i64")


@emits("TopK", "TopKV2")
def top_k(s: Site) -> str | None:
    x, (values, indices) = s.inputs[0], s.outputs
    wanted = [s.node.attrs["k"]] if s.node.op.name == "TopK" else s.numbers(1)
    if wanted is None or not x.shape or x.ctype == "u8" or indices.ctype not in ("i32", "i64"):
        return None
    (k,), n = wanted, x.shape[-1]
    if not 0 <= k <= n or k * n > MOST_STEPS:
        return None
    if not k or not x.size:
        return ""
    call = f"top_{x.ctype}_{indices.ctype}"
    r = local("r")
    row = f"{x.at(f'{r} * {n}')}, {n}, {k}, {values.at(f'{r} * {k}')}, {indices.at(f'{r} * {k}')}"
    return loop(r, x.size // n, f"{call}({row});")
