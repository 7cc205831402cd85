"""Shape rules and kernels shared by convolutions: 2-D, 3-D and depthwise, forward and both gradients.

A filter is [spatial…, in, out] here and [out, in, spatial…] in torch; a depthwise one [h, w, in, multiplier]
here and [in * multiplier, 1, h, w] in torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops.nn.spatial import Paddings, View, Window, known_but_batch, per_shape, window_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, merge_dim

FLOATS = "half bfloat16 float double"

_FORWARD: dict[int, Any] = {2: torch.conv2d, 3: torch.conv3d}
_TRANSPOSED: dict[int, Any] = {2: torch.conv_transpose2d, 3: torch.conv_transpose3d}
# torch.nn.grad computes weight gradients with the same operator, but with 4 µs more of Python.
_backward = torch.ops.aten.convolution_backward.default

# --- shapes ---------------------------------------------------------------------------------------------


def conv_shape(c: ShapeContext, x: TensorShape, w: TensorShape) -> TensorShape:
    return _out_shape(window_of(c.attrs), x, w, depthwise=False)


def depthwise_shape(c: ShapeContext, x: TensorShape, w: TensorShape) -> TensorShape:
    return _out_shape(window_of(c.attrs), x, w, depthwise=True)


def _out_shape(win: Window, x: TensorShape, w: TensorShape, depthwise: bool) -> TensorShape:
    rank = win.rank + 2
    dims, filters = x.with_rank(rank).as_list(), w.with_rank(rank).as_list()
    channels, inner, outer = dims[win.channel_axis], filters[-2], filters[-1]
    if depthwise:
        inner = merge_dim(channels, inner, "the depths of input and filter")
        outer = None if inner is None or outer is None else inner * outer
    else:
        _check_depths(channels, inner)
    sizes = win.out_sizes(win.spatial(dims), filters[:-2])
    return TensorShape(win.image(dims[0], sizes, outer))


def _check_depths(channels: int | None, inner: int | None) -> None:
    if channels is not None and inner is not None and (inner == 0 or channels % inner):
        raise ValueError(f"input depth must be evenly divisible by filter depth: {channels} vs {inner}")


def backprop_input_shape(c: ShapeContext, sizes: TensorShape, w: TensorShape, grad: TensorShape) -> TensorShape:
    return c.constant_shape("input_sizes").with_rank(len(c.attrs["strides"]))


def backprop_filter_shape(c: ShapeContext, x: TensorShape, sizes: TensorShape, grad: TensorShape) -> TensorShape:
    return c.constant_shape("filter_sizes").with_rank(len(c.attrs["strides"]))


# --- filters --------------------------------------------------------------------------------------------


def filter_view(rank: int, depthwise: bool) -> View:
    if depthwise:
        return lambda w: w.permute(2, 3, 0, 1).reshape(-1, 1, w.shape[0], w.shape[1])
    order = (rank + 1, rank, *range(rank))
    return lambda w: w.permute(order)


def torch_filter_dims(dims: Sequence[int], depthwise: bool) -> tuple[int, ...]:
    *spatial, inner, outer = dims
    return (inner * outer, 1, *spatial) if depthwise else (outer, inner, *spatial)


def _filter_unview(dims: Sequence[int], depthwise: bool) -> View:
    """Converts back to the layout of a filter of `dims`, contiguous, because optimizers read a gradient several
    times."""
    *spatial, inner, outer = dims
    rank = len(spatial)
    if depthwise:
        return lambda w: w.reshape(inner, outer, *spatial).permute(2, 3, 0, 1).contiguous()
    order = (*range(2, rank + 2), 1, 0)
    return lambda w: w.permute(order).contiguous()


def groups_of(channels: int, dims: Sequence[int], depthwise: bool) -> int:
    if depthwise:
        merge_dim(channels, dims[-2], "the depths of input and filter")
        return channels
    _check_depths(channels, dims[-2])
    return channels // dims[-2]


# --- kernels --------------------------------------------------------------------------------------------


def forward_kernel(ctx: KernelContext, depthwise: bool = False) -> Kernel:
    """`kernel(input, filter, bias=None)`: adding a bias [channels of the result] here costs almost nothing."""
    win = window_of(ctx.node.attrs)
    win.check(ctx)
    conv, view = _FORWARD[win.rank], filter_view(win.rank, depthwise)
    first, last = win.views()
    strides, dilations = win.strides, win.dilations

    def build(x_dims: Sequence[int], w_dims: Sequence[int]) -> Kernel:
        """`x_dims` are the input's dims without the batch."""
        dims = (0, *x_dims)
        sizes, groups = win.spatial(dims), groups_of(dims[win.channel_axis], w_dims, depthwise)
        extents = win.extents(sizes, w_dims[:-2])
        outs = [e.out for e in extents]
        channels = torch_filter_dims(w_dims, depthwise)[0]
        if 0 in outs or not channels:
            return lambda x, w, b=None: x.new_zeros(win.image(x.shape[0], outs, channels))
        paddings = Paddings.of(extents, sizes)
        even, pad = paddings.even, paddings.pad()
        if not paddings.uneven:
            return lambda x, w, b=None: last(conv(first(x), view(w), b, strides, even, dilations, groups))
        return lambda x, w, b=None: last(conv(pad(first(x)), view(w), b, strides, even, dilations, groups))

    x_shape, w_shape = ctx.input_shape("input"), ctx.input_shape("filter")
    if known_but_batch(x_shape) and w_shape.is_fully_defined():
        return build(x_shape.tuple[1:], w_shape.tuple)
    find = per_shape(build)
    return lambda x, w, b=None: find(x.shape[1:], w.shape)(x, w, b)


def backprop_input_kernel(ctx: KernelContext, depthwise: bool = False) -> Kernel:
    """The gradient with respect to the input is a transposed convolution of that with respect to the output."""
    win = window_of(ctx.node.attrs)
    win.check(ctx)
    conv, view = _TRANSPOSED[win.rank], filter_view(win.rank, depthwise)
    first, last = win.views()
    strides, dilations = win.strides, win.dilations

    def build(dims: Sequence[int], w_dims: Sequence[int], g_dims: Sequence[int]) -> Kernel:
        """`dims` are the input's dims, `g_dims` those of the gradient, without the batch."""
        sizes, groups = win.spatial(dims), groups_of(dims[win.channel_axis], w_dims, depthwise)
        extents = win.extents(sizes, w_dims[:-2])
        _check_grad(win, extents, g_dims, torch_filter_dims(w_dims, depthwise)[0])
        if any(e.out == 0 for e in extents) or 0 in dims or not w_dims[-1]:
            return lambda w, g: g.new_zeros(dims)
        if groups == 1 and not depthwise and _as_wide(win, sizes, w_dims, extents):
            row = sizes[1] * dims[3]
            of_rows = build((dims[0], sizes[0], 1, row), (w_dims[0], 1, row, w_dims[3]), g_dims)
            return lambda w, g: of_rows(w.reshape(w_dims[0], 1, row, w_dims[3]), g).reshape(-1, *dims[1:])
        paddings = Paddings.of(extents, sizes)
        even, unpad = paddings.even, paddings.unpad()
        covered = [
            (e.out - 1) * s + (k - 1) * d + 1 for e, s, k, d in zip(extents, strides, w_dims, dilations, strict=False)
        ]
        missing = tuple(size + e.before + e.after - c for size, e, c in zip(sizes, extents, covered, strict=True))
        return lambda w, g: last(unpad(conv(first(g), view(w), None, strides, even, missing, groups, dilations)))

    find = per_shape(build)
    known = ctx.const("input_sizes")
    if known is None:
        return lambda sizes, w, g: find(tuple(sizes.tolist()), w.shape, g.shape[1:])(w, g)
    dims = tuple(int(d) for d in known)
    w_shape, g_shape = ctx.input_shape("filter"), ctx.input_shape("out_backprop")
    if w_shape.is_fully_defined() and known_but_batch(g_shape):
        kernel = build(dims, w_shape.tuple, g_shape.tuple[1:])
        return lambda sizes, w, g: kernel(w, g)
    return lambda sizes, w, g: find(dims, w.shape, g.shape[1:])(w, g)


def _as_wide(win: Window, sizes: Sequence[int], w_dims: Sequence[int], extents: Sequence[Any]) -> bool:
    """Whether the filter is as wide as the image, as for sentences of word vectors: each row of it is one pixel of more
    channels then. With few channels, torch's transposed convolution takes 40 times as long."""
    if win.rank != 2 or not win.channels_last or not 1 < sizes[1] == w_dims[1]:
        return False
    width = extents[1]
    return bool(width.out == 1 and width.before == width.after == 0)


def backprop_filter_kernel(ctx: KernelContext, depthwise: bool = False) -> Kernel:
    win = window_of(ctx.node.attrs)
    win.check(ctx)
    first, _ = win.views()
    strides, dilations, zeros = win.strides, win.dilations, (0,) * win.rank
    dtype, device = ctx.torch_dtype(), ctx.device

    def build(x_dims: Sequence[int], w_dims: Sequence[int], g_dims: Sequence[int]) -> Kernel:
        """`x_dims` and `g_dims` are without the batch."""
        dims = (0, *x_dims)
        sizes, groups = win.spatial(dims), groups_of(dims[win.channel_axis], w_dims, depthwise)
        extents = win.extents(sizes, w_dims[:-2])
        torch_dims = torch_filter_dims(w_dims, depthwise)
        _check_grad(win, extents, g_dims, torch_dims[0])
        if any(e.out == 0 for e in extents) or math.prod(w_dims) == 0:
            return lambda x, g: g.new_zeros(w_dims)
        paddings = Paddings.of(extents, sizes)
        even, pad = paddings.even, paddings.pad()
        back = _filter_unview(w_dims, depthwise)
        shape_only = torch.empty((), dtype=dtype, device=device).expand(torch_dims)
        mask = (False, True, False)
        used, steps = pad, strides
        if _of_single_pixels(w_dims, strides, extents):
            pixels = (slice(None), slice(None), *(slice(None, None, step) for step in strides))
            used, steps = (lambda x: x[pixels]), (1,) * win.rank
        return lambda x, g: back(
            _backward(
                first(g),
                used(first(x)),
                shape_only,
                None,
                steps,
                even,
                dilations,
                False,
                zeros,
                groups,
                mask,
            )[1]
        )

    find = per_shape(build)
    known = ctx.const("filter_sizes")
    if known is None:
        return lambda x, sizes, g: find(x.shape[1:], tuple(sizes.tolist()), g.shape[1:])(x, g)
    dims = tuple(int(d) for d in known)
    x_shape, g_shape = ctx.input_shape("input"), ctx.input_shape("out_backprop")
    if known_but_batch(x_shape) and known_but_batch(g_shape):
        kernel = build(x_shape.tuple[1:], dims, g_shape.tuple[1:])
        return lambda x, sizes, g: kernel(x, g)
    return lambda x, sizes, g: find(x.shape[1:], dims, g.shape[1:])(x, g)


def _of_single_pixels(w_dims: Sequence[int], strides: Sequence[int], extents: Sequence[Any]) -> bool:
    """Whether the filter sees single pixels with others between them, which it does not: without those, the gradient is
    the same. With them, oneDNN (of torch 2.13, on AVX2) writes beyond its memory for 8 channels of images of 56 by 56
    and more, which ends the process."""
    one = all(size == 1 for size in w_dims[:-2]) and max(strides) > 1
    return one and all(e.before == e.after == 0 for e in extents)


def _check_grad(win: Window, extents: Sequence[Any], g_dims: Sequence[int], channels: int) -> None:
    expected = win.image(0, [e.out for e in extents], channels)[1:]
    if tuple(g_dims) != expected:
        raise ValueError(
            f"Size of out_backprop doesn't match computed: actual = {list(g_dims)}, "
            f"computed = {list(expected)} (without the batch)"
        )
