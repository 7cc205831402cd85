"""Morphology: the largest sum of windows and a filter (TF: Dilation2D, tf.nn.dilation2d, tf.nn.erosion2d)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.ops.nn.softmax import either
from penstock.ops.nn.spatial import Window
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape, merge_dim

_ATTRS = [
    "T: realnumbertype",
    "strides: list(int) >= 4",
    "rates: list(int) >= 4",
    "padding: {'SAME', 'VALID'}",
]
_NATIVE = "float double int32 uint8 int16 int8 int64 bfloat16 half"

DILATION_2D = define_op("Dilation2D", "input: T, filter: T", "output: T", attrs=_ATTRS, work=512.0)
DILATION_2D_BACKPROP_INPUT = define_op(
    "Dilation2DBackpropInput", "input: T, filter: T, out_backprop: T", "in_backprop: T", attrs=_ATTRS, work=512.0
)
DILATION_2D_BACKPROP_FILTER = define_op(
    "Dilation2DBackpropFilter", "input: T, filter: T, out_backprop: T", "filter_backprop: T", attrs=_ATTRS, work=512.0
)
DILATION_2D_BACKPROP_INPUT.not_differentiable()
DILATION_2D_BACKPROP_FILTER.not_differentiable()


def _window(attrs: Any) -> Window:
    """Raises ValueError for strides or rates of batch and depth."""
    strides, rates = attrs["strides"], attrs["rates"]
    for name, values in (("strides", strides), ("rates", rates)):
        if len(values) != 4 or values[0] != 1 or values[3] != 1 or min(values) < 1:
            raise ValueError(f"{name} must be [1, rows, columns, 1], got {list(values)}")
    return Window(True, None, tuple(strides[1:3]), tuple(rates[1:3]), attrs["padding"].decode(), (), ())


@DILATION_2D.shape
def dilation_2d_shape(c: ShapeContext, x: TensorShape, f: TensorShape) -> TensorShape:
    window, dims, sizes = _window(c.attrs), x.with_rank(4).as_list(), f.with_rank(3).as_list()
    depth = merge_dim(dims[3], sizes[2], "the depth of input and filter")
    outs = [
        None if size is None or k is None else window.extent(axis, size, k).out
        for axis, (size, k) in enumerate(zip(dims[1:3], sizes[:2], strict=True))
    ]
    return TensorShape([dims[0], *outs, depth])


@DILATION_2D_BACKPROP_INPUT.shape
@shape_rules.of_first
def dilation_2d_backprop_input_shape(c: ShapeContext, x: TensorShape, *_: TensorShape) -> TensorShape:
    return x


@DILATION_2D_BACKPROP_FILTER.shape
def dilation_2d_backprop_filter_shape(c: ShapeContext, x: TensorShape, f: TensorShape, g: TensorShape) -> TensorShape:
    return f


# --- kernels --------------------------------------------------------------------------------------------


class _Tap(NamedTuple):
    """One position of the filter, the part of the output whose windows have it inside the image, and its input
    there."""

    place: tuple[int, int]
    output: tuple[slice, ...]
    input: tuple[slice, ...]


def _along(size: int, out: int, offset: int, stride: int) -> tuple[slice, slice]:
    """For one axis: the windows whose element at `offset` from their start is inside, and the positions of these
    elements."""
    first = max(0, -(offset // stride))
    last = min(out - 1, (size - 1 - offset) // stride)
    if last < first:
        return slice(0, 0), slice(0, 0)
    return slice(first, last + 1), slice(first * stride + offset, last * stride + offset + 1, stride)


def _taps(window: Window, x: Any, f: Any) -> tuple[tuple[int, ...], list[_Tap]]:
    """The output's shape, and the positions of the filter in row-major order."""
    if x.ndim != 4 or f.ndim != 3 or x.shape[3] != f.shape[2]:
        raise errors.InvalidArgumentError(
            None, None, f"input {list(x.shape)} and filter {list(f.shape)} must be [n, h, w, c] and [h, w, c]"
        )
    try:
        extents = window.extents(x.shape[1:3], f.shape[:2])
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, str(error)) from None

    def axes() -> Iterator[list[tuple[slice, slice]]]:
        for axis, extent in enumerate(extents):
            stride, rate = window.strides[axis], window.dilations[axis]
            offsets = [k * rate - extent.before for k in range(f.shape[axis])]
            yield [_along(x.shape[1 + axis], extent.out, offset, stride) for offset in offsets]

    rows, columns = axes()
    every = slice(None)
    taps = [
        _Tap((i, j), (every, row[0], column[0]), (every, row[1], column[1]))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
    return (x.shape[0], *(e.out for e in extents), x.shape[3]), taps


def _largest(xp: Any, window: Window, x: Any, f: Any, lowest: Any) -> tuple[Any, Any, list[_Tap]]:
    """The largest sums, and the tap of each: the first of equal ones. NaNs are ignored."""
    shape, taps = _taps(window, x, f)
    out, which = xp.zeros(shape, dtype=x.dtype), xp.zeros(shape, dtype=xp.int32)
    if xp is torch:
        out, which = out.to(x.device), which.to(x.device)
    out[...] = lowest
    for number, tap in enumerate(taps):
        value, best = x[tap.input] + f[tap.place], out[tap.output]
        larger = value > best
        which[tap.output] = xp.where(larger, xp.full_like(which[tap.output], number), which[tap.output])
        out[tap.output] = xp.where(larger, value, best)
    return out, which, taps


def _lowest(dtype: DType) -> Any:
    return torch.finfo(dtype.torch).min if dtype.is_floating and dtype.torch else dtype.min


def _either_way(ctx: KernelContext, fn: Any) -> Kernel:
    """`fn(xp, *values)` on torch tensors, or through NumPy for the types that torch lacks."""
    if ctx["T"].name in TORCH_LACKS.split():
        return via_numpy(lambda *values: fn(np, *values), ctx["T"])
    return lambda *values: fn(torch, *values)


def _checked_window(ctx: KernelContext) -> Window:
    try:
        return _window(ctx.node.attrs)
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, str(error)) from None


@DILATION_2D.kernel(T=_NATIVE)
@DILATION_2D.kernel("CPU", T=TORCH_LACKS)
def dilation_2d_kernel(ctx: KernelContext) -> Kernel:
    window, lowest = _checked_window(ctx), _lowest(ctx["T"])
    return _either_way(ctx, lambda xp, x, f: _largest(xp, window, x, f, lowest)[0])


def _check_gradient(which: Any, g: Any) -> None:
    if tuple(which.shape) != tuple(g.shape):
        raise errors.InvalidArgumentError(
            None, None, f"out_backprop of shape {list(g.shape)} must be of shape {list(which.shape)}"
        )


@DILATION_2D_BACKPROP_INPUT.kernel(T=_NATIVE)
@DILATION_2D_BACKPROP_INPUT.kernel("CPU", T=TORCH_LACKS)
def dilation_2d_backprop_input_kernel(ctx: KernelContext) -> Kernel:
    window, lowest = _checked_window(ctx), _lowest(ctx["T"])

    def backprop(xp: Any, x: Any, f: Any, g: Any) -> Any:
        _, which, taps = _largest(xp, window, x, f, lowest)
        _check_gradient(which, g)
        found, nothing = xp.zeros_like(x), xp.zeros_like(g)
        for number, tap in enumerate(taps):
            part = (which == number)[tap.output]
            found[tap.input] += xp.where(part, g[tap.output], nothing[tap.output])
        return found

    return _either_way(ctx, backprop)


@DILATION_2D_BACKPROP_FILTER.kernel(T=_NATIVE)
@DILATION_2D_BACKPROP_FILTER.kernel("CPU", T=TORCH_LACKS)
def dilation_2d_backprop_filter_kernel(ctx: KernelContext) -> Kernel:
    window, lowest = _checked_window(ctx), _lowest(ctx["T"])

    def backprop(xp: Any, x: Any, f: Any, g: Any) -> Any:
        _, which, taps = _largest(xp, window, x, f, lowest)
        _check_gradient(which, g)
        found, nothing = xp.zeros_like(f), xp.zeros_like(g)
        for number, tap in enumerate(taps):
            found[tap.place] = xp.where(which == number, g, nothing).sum((0, 1, 2), dtype=g.dtype)
        return found

    return _either_way(ctx, backprop)


@DILATION_2D.gradient
def dilation_2d_gradient(op: Operation, grad: Any) -> list[Tensor]:
    attrs = {name: op.attrs[name] for name in ("strides", "rates", "padding")}
    return [
        DILATION_2D_BACKPROP_INPUT(*op.inputs, grad, **attrs),
        DILATION_2D_BACKPROP_FILTER(*op.inputs, grad, **attrs),
    ]


# --- functions ------------------------------------------------------------------------------------------


@export("nn.dilation2d")
def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The largest sum of window and filter, for each channel separately (TF: tf.nn.dilation2d).

    input [n, h, w, c], filter [fh, fw, c] -> [n, h', w', c]; `strides` and `rates` are [1, rows, columns, 1].
    """
    return DILATION_2D(
        input,
        either("filters", filters, "filter", filter),
        strides=strides,
        rates=either("dilations", dilations, "rates", rates),
        padding=padding,
        name=name,
    )


@export("nn.erosion2d")
def erosion2d(
    value: Any, kernel: Any, strides: Sequence[int], rates: Sequence[int], padding: str, name: str | None = None
) -> Tensor:
    """The smallest difference of window and filter: `dilation2d` of the negative (TF: tf.nn.erosion2d)."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = get_op("ReverseV2")(convert_to_tensor(kernel, name="kernel"), [0, 1])
        negative = get_op("Neg")(convert_to_tensor(value, name="value"))
        dilated = DILATION_2D(negative, turned, strides=strides, rates=rates, padding=padding)
        return get_op("Neg")(dilated, name=scope)
