"""Sums of segments in C."""

from __future__ import annotations

import math

from penstock.emit.indices import INDEX_TYPES, add_row
from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import block, check_indices, fill, loop


@emits("UnsortedSegmentSum")
def unsorted_segment_sum(s: Site) -> str | None:
    """Rows with negative ids are ignored."""
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
