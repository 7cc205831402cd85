"""Updates of some rows or elements of variables in C."""

from __future__ import annotations

import math

from penstock.emit.indices import INDEX_TYPES, check_nd, is_nd, nd_place
from penstock.emit.registry import emits
from penstock.emit.site import Site, Value, local
from penstock.emit.tools import block, check_indices, loop, written

_KINDS = {
    "Update": "{1}", "Add": "{0} + {1}", "Sub": "{0} - {1}", "Mul": "{0} * {1}", "Div": "{0} / {1}",
    "Min": "minimum_@({0}, {1})", "Max": "maximum_@({0}, {1})",
}  # fmt: skip
_OF_INTS = {"Min": "{0} < {1} ? {0} : {1}", "Max": "{0} > {1} ? {0} : {1}"}
_ND_KINDS = [kind for kind in _KINDS if kind not in ("Mul", "Div")]


@emits(*(f"{kind}Scatter{way}" for kind in ("", "Resource") for way in _KINDS))
def scatter(s: Site) -> str | None:
    to, (_, indices, updates) = written(s), s.inputs
    if to is None or not to.shape or indices.ctype not in INDEX_TYPES:
        return None
    size = math.prod(to.shape[1:])
    if updates.shape not in ((), (*indices.shape, *to.shape[1:])):
        return None
    i = local("i")
    text = _rows(s, to, i, f"{indices.element(i)} * {size}", indices.size, size, updates)
    return None if text is None else block(check_indices(s, indices, to.shape[0]), text)


@emits(*(f"{kind}ScatterNd{way}" for kind in ("", "Resource") for way in _ND_KINDS))
def scatter_nd(s: Site) -> str | None:
    to, (_, indices, updates) = written(s), s.inputs
    if to is None or not is_nd(s, indices, to.shape):
        return None
    if updates.shape not in ((), (*indices.shape[:-1], *to.shape[indices.shape[-1] :])):
        return None
    i = local("i")
    count, size, place, _ = nd_place(indices, to.shape, i)
    text = _rows(s, to, i, place, count, size, updates)
    return None if text is None else block(check_nd(s, indices, to.shape), text)


def _rows(s: Site, to: Value, i: str, place: str, count: int, size: int, updates: Value) -> str | None:
    """Updates rows one by one; row `i` is at `place`. For duplicate indices both updates are applied, in order. A
    scalar applies to all."""
    kind = s.node.op.name.split("Scatter")[1].removeprefix("Nd")
    if kind != "Update" and to.ctype == "u8":
        return None
    if kind == "Div" and not to.is_float:
        return None
    text = _KINDS[kind] if to.is_float else _OF_INTS.get(kind, _KINDS[kind])
    j, row, more = local("j"), local("row"), local("more")
    here, new = f"{row}[{j}]", f"{more}[{j if updates.shape else 0}]"
    return loop(
        i,
        count,
        f"{to.ctype} *const {row} = {to.at(place)};",
        f"const {to.ctype} *const {more} = {updates.at(f'{i} * {size}') if updates.shape else updates.pointer};",
        loop(j, size, f"{here} = {text.format(here, new).replace('@', to.ctype)};", vector=True),
    )
