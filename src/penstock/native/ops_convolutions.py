"""Small convolutions of images [n, h, w, c]: a product for each row of the result and each place in the filter.

Torch takes longer to begin one than these take; larger ones are its own.
"""

from __future__ import annotations

import math

from penstock.native.emit import Shape, Site, Value, emits
from penstock.native.ops_tools import BYTES, STACK, block, copy, fill, row_major
from penstock.ops.nn.spatial import Window, window_of

MOST_PRODUCTS, MOST_ROWS = 1 << 20, 1 << 10
"""Multiplications, and products of a row, up to which the preparations of torch's kernels take longer."""


@emits("Conv2D", "_ConvBias")
def convolution(s: Site) -> str | None:
    x, w, *bias = s.inputs
    (y,) = s.outputs
    inner, outer = w.shape[-2:]
    call = (
        f"product_{y.ctype}(end - begin, {outer}, {inner}, 1, {x.at(f'from * {inner}')}, stride * {inner}, 1, "
        f"{w.at(f'tap * {inner * outer}')}, {outer}, 1, 1, {y.at(f'to * {outer}')}, {outer});"
    )
    if bias and bias[0].shape != (outer,):
        return None
    start = copy(y, row_major((y.size // outer, outer)), bias[0], [0, 1], [y.size // outer, outer]) if bias else fill(y)
    return _taps(s, x.shape, w, y.shape, start, call)


@emits("Conv2DBackpropInput")
def backprop_input(s: Site) -> str | None:
    """With the filter's matrices turned around once, before all products."""
    (_, w, g), (y,) = s.inputs, s.outputs
    *_, inner, outer = w.shape
    if w.size * BYTES[w.ctype] > STACK:
        return None
    turned = Value("turned", w.ctype, w.shape)
    taps = w.size // (inner * outer)
    turn = copy(turned, [inner * outer, 1, inner], w, [inner * outer, outer, 1], [taps, inner, outer])
    call = (
        f"product_{y.ctype}(end - begin, {inner}, {outer}, 1, {g.at(f'to * {outer}')}, {outer}, 1, "
        f"{turned.at(f'tap * {inner * outer}')}, {inner}, 1, 1, {y.at(f'from * {inner}')}, stride * {inner});"
    )
    start = "\n".join([f"{w.ctype} turned[{w.size}] ALIGNED;", turn, fill(y)])
    return _taps(s, y.shape, w, g.shape, start, call)


@emits("Conv2DBackpropFilter")
def backprop_filter(s: Site) -> str | None:
    (x, _, g), (y,) = s.inputs, s.outputs
    *_, inner, outer = y.shape
    call = (
        f"product_{y.ctype}({inner}, {outer}, end - begin, 1, {x.at(f'from * {inner}')}, 1, stride * {inner}, "
        f"{g.at(f'to * {outer}')}, {outer}, 1, 1, {y.at(f'tap * {inner * outer}')}, {outer});"
    )
    return _taps(s, x.shape, y, g.shape, fill(y), call)


def _taps(s: Site, image: Shape, w: Value, result: Shape, start: str, call: str) -> str | None:
    """`call` for each row of the result and each place of the filter.

    The pixels from `begin` to `end` of the row, of which `to` is the first, see those from `from` on, `stride` pixels
    apart, through the place `tap`. None for a window that is not known here.
    """
    win = window_of(s.node.attrs)
    if not w.is_float or not is_plain(win, image) or image[-1] != w.shape[-2] or not w.size:
        return None
    if math.prod(result) * math.prod(w.shape[:-1]) > MOST_PRODUCTS:
        return None
    if math.prod(result[:2]) * math.prod(w.shape[:2]) > MOST_ROWS:
        return None
    (height, width), (rows, columns), (taps, across) = image[1:3], result[1:3], w.shape[:2]
    extents = win.extents(image[1:3], w.shape[:2])
    if [e.out for e in extents] != [rows, columns] or result[-1] != w.shape[-1]:
        return None
    (down, right), (dilated, beside) = win.strides, win.dilations
    return block(
        start,
        f"const i64 stride = {right};",
        f"for (i64 n = 0; n < {result[0]}; n++) for (i64 r = 0; r < {rows}; r++) for (i64 p = 0; p < {taps}; p++) {{",
        f"const i64 row = r * {down} + p * {dilated} - {extents[0].before};",
        f"if ((u64)row < {height}) for (i64 q = 0; q < {across}; q++) {{",
        f"const i64 shift = q * {beside} - {extents[1].before}, room = {width - 1} - shift;",
        "const i64 begin = shift < 0 ? (stride - 1 - shift) / stride : 0, last = room < 0 ? 0 : room / stride + 1;",
        f"const i64 end = last < {columns} ? last : {columns}, tap = p * {across} + q;",
        f"const i64 from = (n * {height} + row) * {width} + begin * stride + shift;",
        f"const i64 to = (n * {rows} + r) * {columns} + begin;",
        f"if (begin < end) {call}",
        "} }",
    )


def is_plain(win: Window, image: Shape) -> bool:
    """Whether a window slides over the pixels of [n, h, w, c] images alone."""
    return win.channels_last and win.rank == 2 and len(image) == 4 and all(size == 1 for size in win.whole)
