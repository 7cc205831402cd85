"""Reductions in C."""

from __future__ import annotations

from penstock.emit.reductions import ALL, ANY, INT_MAX, INT_MIN, INTS, MAX, MIN, PRODUCT, SUM, reduce, scaled
from penstock.emit.registry import emits
from penstock.emit.site import Site, Value, local
from penstock.emit.tools import block, copy_all, fill, nest, normal_axis, offset, row_major

_OPS = {
    "Sum": (SUM, SUM), "Prod": (PRODUCT, PRODUCT), "Max": (MAX, INT_MAX), "Min": (MIN, INT_MIN), "All": (ALL, ALL),
    "Any": (ANY, ANY), "Mean": (SUM, SUM),
}  # fmt: skip
"""How floats and how other types are reduced."""


@emits(*_OPS)
def reduction(s: Site) -> str | None:
    (x, _), (y,), axes = s.inputs, s.outputs, s.numbers(1)
    if axes is None:
        return None
    if not axes:
        return copy_all(y, x)
    mean = s.node.op.name == "Mean"
    if mean and not x.is_float:
        return _mean_of_ints(x, axes, y)
    text = reduce(x, axes, y, _OPS[s.node.op.name][not x.is_float])
    if text is None or not mean:
        return text
    return "\n".join([text, scaled(y, f"/ ({y.ctype}){x.size // max(y.size, 1)}")])


def _mean_of_ints(x: Value, axes: list[int], y: Value) -> str | None:
    """From 64-bit sums, rounded towards zero; 0 for no elements."""
    found = [normal_axis(axis, len(x.shape)) for axis in axes]
    if x.ctype not in INTS or None in found or len(set(found)) < len(found):
        return None
    if not x.size:
        return fill(y)
    steps, kept = row_major(x.shape), [axis for axis in range(len(x.shape)) if axis not in found]
    to = row_major([x.shape[a] for a in kept])
    count = x.size // y.size

    def one(indices: list[str]) -> str:
        start = offset(indices, [steps[a] for a in kept])
        inside = [(x.shape[a], steps[a]) for a in range(len(x.shape)) if a not in kept]
        total, strides = local("total"), [step for _, step in inside]
        add = nest([d for d, _ in inside], lambda r: f"{total} += {x.element(offset(r, strides, start))};", "r")
        return block(f"i64 {total} = 0;", add, f"{y.element(offset(indices, to))} = {total} / {count};")

    return nest([x.shape[a] for a in kept], one)
