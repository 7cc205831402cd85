"""Small convolutions of images [n, h, w, c]: a product for each row of the result and each position in the filter.

torch's overhead is longer than these take; it computes larger ones.
"""

from __future__ import annotations

import math

from penstock.emit.registry import emits
from penstock.emit.site import Shape, Site, Value, local
from penstock.emit.tools import BYTES, STACK, block, copy, fill, loop, row_major
from penstock.ops.nn.spatial import Window, window_of

MOST_PRODUCTS, MOST_ROWS = 1 << 20, 1 << 10
"""The number of multiplications, and of products per row, up to which the overhead of torch's kernels is longer."""


@emits("Conv2D", "_ConvBias")
def convolution(s: Site) -> str | None:
    x, w, *bias = s.inputs
    (y,), at = s.outputs, _Place()
    inner, outer = w.shape[-2:]
    call = (
        f"product_{y.ctype}({at.count}, {outer}, {inner}, 1, {x.at(f'{at.start} * {inner}')}, {at.stride} * {inner}, "
        f"1, {w.at(f'{at.tap} * {inner * outer}')}, {outer}, 1, 1, {y.at(f'{at.to} * {outer}')}, {outer});"
    )
    if not outer or (bias and bias[0].shape != (outer,)):
        return None
    start = copy(y, row_major((y.size // outer, outer)), bias[0], [0, 1], [y.size // outer, outer]) if bias else fill(y)
    return _taps(s, at, x.shape, w, y.shape, start, call)


@emits("Conv2DBackpropInput")
def backprop_input(s: Site) -> str | None:
    """Transposes the filter's matrices once, before all products."""
    (_, w, g), (y,), at = s.inputs, s.outputs, _Place()
    *_, inner, outer = w.shape
    if not w.size or w.size * BYTES[w.ctype] > STACK:
        return None
    turned = Value(local("turned"), w.ctype, w.shape)
    taps = w.size // (inner * outer)
    turn = copy(turned, [inner * outer, 1, inner], w, [inner * outer, outer, 1], [taps, inner, outer])
    call = (
        f"product_{y.ctype}({at.count}, {inner}, {outer}, 1, {g.at(f'{at.to} * {outer}')}, {outer}, 1, "
        f"{turned.at(f'{at.tap} * {inner * outer}')}, {inner}, 1, 1, {y.at(f'{at.start} * {inner}')}, "
        f"{at.stride} * {inner});"
    )
    start = "\n".join([f"{w.ctype} {turned.pointer}[{w.size}] ALIGNED;", turn, fill(y)])
    return _taps(s, at, y.shape, w, g.shape, start, call)


@emits("Conv2DBackpropFilter")
def backprop_filter(s: Site) -> str | None:
    (x, _, g), (y,), at = s.inputs, s.outputs, _Place()
    *_, inner, outer = y.shape
    call = (
        f"product_{y.ctype}({inner}, {outer}, {at.count}, 1, {x.at(f'{at.start} * {inner}')}, 1, "
        f"{at.stride} * {inner}, {g.at(f'{at.to} * {outer}')}, {outer}, 1, 1, "
        f"{y.at(f'{at.tap} * {inner * outer}')}, {outer});"
    )
    return _taps(s, at, x.shape, y, g.shape, fill(y), call)


class _Place:
    """C names for one product: `count` pixels of a row of the result from `to` on use input pixels from `start` on,
    `stride` pixels apart, with the filter position `tap`."""

    def __init__(self) -> None:
        self.count, self.to, self.start, self.stride, self.tap = map(local, ("count", "to", "start", "stride", "tap"))


def _taps(s: Site, at: _Place, image: Shape, w: Value, result: Shape, start: str, call: str) -> str | None:
    """`call` for each row of the result and each position of the filter. None for unsupported windows."""
    win = window_of(s.node.attrs)
    if not w.is_float or not is_plain(win, image) or image[-1] != w.shape[-2] or not w.size:
        return None
    if math.prod(result) * math.prod(w.shape[:-1]) > MOST_PRODUCTS:
        return None
    if math.prod(result[:2]) * math.prod(w.shape[:2]) > MOST_ROWS:
        return None
    (height, width), (rows, columns), (taps, across) = image[1:3], result[1:3], w.shape[:2]
    try:
        extents = win.extents(image[1:3], w.shape[:2])
    except ValueError:  # the filter is larger than the image, which the kernel says
        return None
    if [e.out for e in extents] != [rows, columns] or (image[0], w.shape[-1]) != (result[0], result[-1]):
        return None
    (down, right), (dilated, beside) = win.strides, win.dilations
    n, r, p, q, row, shift, room, begin, last = map(
        local, ("n", "r", "p", "q", "row", "shift", "room", "begin", "last")
    )
    one = block(
        f"const i64 {shift} = {q} * {beside} - {extents[1].before}, {room} = {width - 1} - {shift};",
        f"const i64 {begin} = {shift} < 0 ? ({at.stride} - 1 - {shift}) / {at.stride} : 0;",
        f"const i64 {last} = {room} < 0 ? 0 : {room} / {at.stride} + 1;",
        f"const i64 {at.count} = ({last} < {columns} ? {last} : {columns}) - {begin}, {at.tap} = {p} * {across} + {q};",
        f"const i64 {at.start} = ({n} * {height} + {row}) * {width} + {begin} * {at.stride} + {shift};",
        f"const i64 {at.to} = ({n} * {rows} + {r}) * {columns} + {begin};",
        f"if ({at.count} > 0) {call}",
    )
    line = block(
        f"const i64 {row} = {r} * {down} + {p} * {dilated} - {extents[0].before};",
        f"if ((u64){row} < {height}) {loop(q, across, one)}",
    )
    return block(start, f"const i64 {at.stride} = {right};", loop(n, result[0], loop(r, rows, loop(p, taps, line))))


def is_plain(win: Window, image: Shape) -> bool:
    """Whether a window slides only over the pixels of [n, h, w, c] images."""
    return win.channels_last and win.rank == 2 and len(image) == 4 and all(size == 1 for size in win.whole)
