"""Pools of small images [n, h, w, c], and their gradients. Padding counts nowhere."""

from __future__ import annotations

from penstock.native.emit import Shape, Site, Value, emits
from penstock.native.ops_convolutions import is_plain
from penstock.native.ops_tools import block, fill
from penstock.ops.nn.spatial import window_of

MOST_STEPS = 1 << 18
"""Elements that all windows see together, up to which the preparations of torch's kernels take longer."""


@emits("MaxPool")
def max_pool(s: Site) -> str | None:
    (x,), (y,) = s.inputs, s.outputs
    each = f"VECTOR for (i64 c = 0; c < {x.shape[-1]}; c++) out[c] = maximum_{x.ctype}(out[c], in[c]);"
    return _windows(s, x, y.shape, [_part("out", y, "to"), _first("out", y, f"-INF_{y.ctype}")], each, [])


@emits("AvgPool")
def avg_pool(s: Site) -> str | None:
    (x,), (y,) = s.inputs, s.outputs
    each = f"VECTOR for (i64 c = 0; c < {x.shape[-1]}; c++) out[c] += in[c];"
    mean = f"VECTOR for (i64 c = 0; c < {x.shape[-1]}; c++) out[c] /= count;"
    return _windows(s, x, y.shape, [_part("out", y, "to"), _first("out", y, "0")], each, [mean])


@emits("AvgPoolGrad")
def avg_pool_grad(s: Site) -> str | None:
    (_, g), (y,) = s.inputs, s.outputs
    each = f"VECTOR for (i64 c = 0; c < {g.shape[-1]}; c++) in[c] += out[c] / count;"
    text = _windows(s, y, g.shape, [_part("out", g, "to")], each, [])
    return None if text is None else "\n".join([fill(y), text])


@emits("MaxPoolGrad")
def max_pool_grad(s: Site) -> str | None:
    """To the first maximum of each window."""
    (x, _, g), (y,) = s.inputs, s.outputs
    channels = x.shape[-1]
    best = [
        f"{x.ctype} best[{channels}]; i64 at[{channels}];",
        _part("out", g, "to"),
        _first("best", x, f"-INF_{x.ctype}"),
    ]
    best.append(f"for (i64 c = 0; c < {channels}; c++) at[c] = -1;")
    better = "at[c] < 0 || in[c] > best[c] || in[c] != in[c]"
    each = f"for (i64 c = 0; c < {channels}; c++) if ({better}) best[c] = in[c], at[c] = from + c;"
    put = f"for (i64 c = 0; c < {channels}; c++) if (at[c] >= 0) {y.element('at[c]')} += out[c];"
    if channels > 256 or x.shape != y.shape:
        return None
    text = _windows(s, x, g.shape, best, each, [put])
    return None if text is None else "\n".join([fill(y), text])


def _part(name: str, value: Value, place: str) -> str:
    return f"{value.ctype} *const {name} = {value.at(place)};"


def _first(name: str, like: Value, text: str) -> str:
    return f"for (i64 c = 0; c < {like.shape[-1]}; c++) {name}[c] = {text};"


def _windows(s: Site, x: Value, result: Shape, before: list[str], each: str, after: list[str]) -> str | None:
    """For each window, which has `count` pixels: `before`, `each` for a pixel `in`, `after`.

    The elements of the window's result begin at `to`, those of the pixel at `from`. None for a window not known here.
    """
    win = window_of(s.node.attrs)
    if not x.is_float or not is_plain(win, x.shape) or win.ksize is None or win.dilations != (1, 1):
        return None
    extents = win.extents(x.shape[1:3], win.ksize)
    (height, width), (rows, columns), channels = x.shape[1:3], result[1:3], x.shape[3]
    if result != (x.shape[0], extents[0].out, extents[1].out, channels) or not x.size:
        return None
    if result[0] * rows * columns * channels * win.ksize[0] * win.ksize[1] > MOST_STEPS:
        return None
    bounds = []
    for name, index, size, stride, k, extent in (
        ("top", "r", height, win.strides[0], win.ksize[0], extents[0]),
        ("left", "q", width, win.strides[1], win.ksize[1], extents[1]),
    ):
        bounds.append(f"const i64 {name}_at = {index} * {stride} - {extent.before}, {name}_to = {name}_at + {k};")
        bounds.append(f"const i64 {name} = {name}_at < 0 ? 0 : {name}_at;")
        bounds.append(f"const i64 {name}_end = {name}_to < {size} ? {name}_to : {size};")
    return block(
        f"for (i64 n = 0; n < {result[0]}; n++)",
        f"for (i64 r = 0; r < {rows}; r++) for (i64 q = 0; q < {columns}; q++) {{",
        *bounds,
        f"const i64 to = ((n * {rows} + r) * {columns} + q) * {channels}, count = (top_end - top) * (left_end - left);",
        *before,
        "for (i64 y = top; y < top_end; y++) for (i64 x = left; x < left_end; x++) {",
        f"const i64 from = ((n * {height} + y) * {width} + x) * {channels};",
        _part("in", x, "from"),
        each,
        "}",
        *after,
        "}",
    )
