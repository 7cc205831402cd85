"""The k largest elements in C."""

from __future__ import annotations

from penstock.emit.registry import emits, supports
from penstock.emit.site import Site, local
from penstock.emit.tools import loop

MOST_STEPS = 1 << 22
"""The work of TopK's comparisons: each element may be inserted into a list of k."""

# The list of the largest is sorted; equal elements keep their order. NaN counts as the largest.
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
    supports("top_k", _beats.replace("@1", _value))
    supports("top_k", f"APART{_list.replace('@1', _value).replace('@2', '@')}", "i32", "i64")


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
