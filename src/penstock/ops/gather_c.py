"""Gather and related ops in C."""

from __future__ import annotations

import math

from penstock.emit.indices import INDEX_TYPES, move_row
from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import block, check_indices, loop, normal_axis, split_at


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
