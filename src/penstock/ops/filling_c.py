"""Fill and OneHot in C."""

from __future__ import annotations

from penstock.emit.indices import INDEX_TYPES
from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import block, fill, loop, normal_axis, split_at


@emits("Fill")
def fill_with(s: Site) -> str:
    return fill(s.outputs[0], s.inputs[1].element(0))


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
