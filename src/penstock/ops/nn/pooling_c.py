"""Pools of small images [n, h, w, c], and their gradients. Padding never counts."""

from __future__ import annotations

from penstock.emit.registry import emits
from penstock.emit.site import Shape, Site, Value, local
from penstock.emit.tools import block, fill, loop
from penstock.ops.nn.conv_c import is_plain
from penstock.ops.nn.spatial import window_of

MOST_STEPS = 1 << 18
"""The total number of elements in all windows up to which the overhead of torch's kernels is longer."""


@emits("MaxPool")
def max_pool(s: Site) -> str | None:
    (x,), (y,), at = s.inputs, s.outputs, _Names()
    c = local("c")
    each = loop(c, x.shape[-1], f"{at.out}[{c}] = maximum_{x.ctype}({at.out}[{c}], {at.pixel}[{c}]);", vector=True)
    return _windows(s, at, x, y.shape, [_part(s, at.out, y, at.to), _first(at.out, y, f"-INF_{y.ctype}")], each, [])


@emits("AvgPool")
def avg_pool(s: Site) -> str | None:
    (x,), (y,), at = s.inputs, s.outputs, _Names()
    c, d = local("c"), local("c")
    each = loop(c, x.shape[-1], f"{at.out}[{c}] += {at.pixel}[{c}];", vector=True)
    mean = loop(d, x.shape[-1], f"{at.out}[{d}] /= {at.count};", vector=True)
    return _windows(s, at, x, y.shape, [_part(s, at.out, y, at.to), _first(at.out, y, "0")], each, [mean])


@emits("AvgPoolGrad")
def avg_pool_grad(s: Site) -> str | None:
    (_, g), (y,), at = s.inputs, s.outputs, _Names()
    c = local("c")
    each = loop(c, g.shape[-1], f"{at.pixel}[{c}] += {at.out}[{c}] / {at.count};", vector=True)
    text = _windows(s, at, y, g.shape, [_part(s, at.out, g, at.to)], each, [])
    return None if text is None else "\n".join([fill(y), text])


@emits("MaxPoolGrad")
def max_pool_grad(s: Site) -> str | None:
    """Adds to the first maximum of each window."""
    (x, _, g), (y,), at = s.inputs, s.outputs, _Names()
    channels = x.shape[-1]
    best, place, i, c, d = map(local, ("best", "place", "i", "c", "d"))
    before = [
        f"{x.ctype} {best}[{channels}]; i64 {place}[{channels}];",
        _part(s, at.out, g, at.to),
        _first(best, x, f"-INF_{x.ctype}"),
        loop(i, channels, f"{place}[{i}] = -1;"),
    ]
    new = f"{at.pixel}[{c}]"
    better = f"{place}[{c}] < 0 || {new} > {best}[{c}] || {new} != {new}"
    each = loop(c, channels, f"if ({better}) {best}[{c}] = {new}, {place}[{c}] = {at.start} + {c};")
    put = loop(d, channels, f"if ({place}[{d}] >= 0) {y.element(f'{place}[{d}]')} += {at.out}[{d}];")
    if channels > 256 or x.shape != y.shape:
        return None
    text = _windows(s, at, x, g.shape, before, each, [put])
    return None if text is None else "\n".join([fill(y), text])


class _Names:
    """C names in statements for a window: `count`, the number of its pixels; `to`, the first element of its result
    `out`; `start`, the first element of a pixel `pixel`."""

    def __init__(self) -> None:
        self.count, self.to, self.out, self.start, self.pixel = map(local, ("count", "to", "out", "start", "pixel"))


def _part(s: Site, name: str, value: Value, place: str) -> str:
    kind = value.ctype if value in s.outputs else f"const {value.ctype}"
    return f"{kind} *const {name} = {value.at(place)};"


def _first(name: str, like: Value, text: str) -> str:
    c = local("c")
    return loop(c, like.shape[-1], f"{name}[{c}] = {text};")


def _windows(
    s: Site, at: _Names, x: Value, result: Shape, before: list[str], each: str, after: list[str]
) -> str | None:
    """For each window: `before`, `each` for every pixel, `after`. None for unsupported windows."""
    win = window_of(s.node.attrs)
    if not x.is_float or not is_plain(win, x.shape) or win.ksize is None or win.dilations != (1, 1):
        return None
    extents = win.extents(x.shape[1:3], win.ksize)
    (height, width), (rows, columns), channels = x.shape[1:3], result[1:3], x.shape[3]
    if result != (x.shape[0], extents[0].out, extents[1].out, channels) or not x.size:
        return None
    if result[0] * rows * columns * channels * win.ksize[0] * win.ksize[1] > MOST_STEPS:
        return None
    n, r, q, top, bottom, left, right, row, column = map(
        local, ("n", "r", "q", "top", "bottom", "left", "right", "row", "column")
    )
    bounds = []
    for first, end, index, size, stride, k, extent in (
        (top, bottom, r, height, win.strides[0], win.ksize[0], extents[0]),
        (left, right, q, width, win.strides[1], win.ksize[1], extents[1]),
    ):
        place, past = local("place"), local("past")
        bounds.append(f"const i64 {place} = {index} * {stride} - {extent.before}, {past} = {place} + {k};")
        bounds.append(f"const i64 {first} = {place} < 0 ? 0 : {place}, {end} = {past} < {size} ? {past} : {size};")
    pixel = block(
        f"const i64 {at.start} = (({n} * {height} + {row}) * {width} + {column}) * {channels};",
        _part(s, at.pixel, x, at.start),
        each,
    )
    window = block(
        *bounds,
        f"const i64 {at.to} = (({n} * {rows} + {r}) * {columns} + {q}) * {channels};",
        f"const i64 {at.count} = ({bottom} - {top}) * ({right} - {left});",
        *before,
        f"for (i64 {row} = {top}; {row} < {bottom}; {row}++)",
        f"for (i64 {column} = {left}; {column} < {right}; {column}++) {pixel}",
        *after,
    )
    return loop(n, result[0], loop(r, rows, loop(q, columns, window)))
