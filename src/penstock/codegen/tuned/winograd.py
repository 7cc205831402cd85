"""Convolutions by 3x3 filters with stride 1, and their gradients, on CPUs: kernels around `winograd_source`.

With float32 they are as exact as direct convolution. With bfloat16 the root-mean-square error is 2.6 times that of
direct convolution, which only rounds results (0.43% against 0.17%): transformed tiles and filters are rounded before
they are multiplied. tests/codegen has the errors of both. Values that are not finite reach all outputs of their tiles,
one pixel further than otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from penstock.codegen.tuned.autotuning import Autotuned
from penstock.codegen.tuned.winograd_source import BY_FILTER, BY_INPUT, FORWARD, winograd_source
from penstock.graph.opdef import Kernel
from penstock.graph.step_graph import Node
from penstock.ops.nn.spatial import window_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType

LEAST_CHANNELS = 8
"""With fewer channels, transforming tiles takes longer than the products that it saves."""
OPERATIONS_OF_A_THREAD = 1 << 21
"""Less work per thread is not worth another thread."""
MOST_SUMS = 1 << 26
"""The most floats for the sums of all threads in the gradient with respect to a filter."""

Dims = Sequence[int]


def is_winograd(node: Node) -> bool:
    """Whether a Conv2D, its gradients or their fused variants may be computed this way, as far as shapes are known."""
    attrs, edge = node.attrs, node.inputs[1]
    filters = node.shapes[0] if node.op.name == "Conv2DBackpropFilter" else edge.node.shapes[edge.port]
    if attrs["data_format"] != b"NHWC" or not filters.is_fully_defined():
        return False
    *window, inner, outer = filters.tuple
    alone = set(attrs["strides"]) == {1} == set(attrs["dilations"])
    return alone and window == [3, 3] and min(inner, outer) >= LEAST_CHANNELS


def convolve(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of Conv2D, or of one with a bias: `fn(input, filter, bias=None)`."""
    win, dtype = window_of(ctx.node.attrs), ctx.node.attrs["T"]

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        (batch, height, width, c), (*window, inner, k) = key
        down, across = win.extents((height, width), window)
        result = (batch, down.out, across.out, k)
        if inner != c or 0 in result:
            return None
        run = _runner(function, dtype, FORWARD, key[0], result, (down.before, across.before))
        return lambda x, w, b=None: run(x, w, b, result)

    return Autotuned(
        winograd_source(dtype), mode, fallback, lambda x, w, b=None: (x.shape, w.shape), prepare, [ctx.node]
    ).call


def by_input(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of Conv2DBackpropInput: `fn(input_sizes, filter, out_backprop)`.

    It is a convolution of the gradient, padded by the extent of the filter's window beyond the input's padding.
    """
    win, dtype = window_of(ctx.node.attrs), ctx.node.attrs["T"]
    dims_of = _sizes(ctx.const("input_sizes"))

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        dims, (*window, c, k), grad = key
        down, across = win.extents(dims[1:3], window)
        if tuple(grad) != (dims[0], down.out, across.out, k) or dims[3] != c or 0 in grad or 0 in dims:
            return None
        run = _runner(function, dtype, BY_INPUT, grad, dims, (2 - down.before, 2 - across.before))
        return lambda sizes, w, g: run(g, w, None, dims)

    return Autotuned(
        winograd_source(dtype),
        mode,
        fallback,
        lambda sizes, w, g: (dims_of(sizes), w.shape, g.shape),
        prepare,
        [ctx.node],
    ).call


def by_filter(ctx: KernelContext, mode: str, fallback: Kernel) -> Kernel:
    """The kernel of Conv2DBackpropFilter: `fn(input, filter_sizes, out_backprop)`."""
    win, dtype = window_of(ctx.node.attrs), ctx.node.attrs["T"]
    dims_of = _sizes(ctx.const("filter_sizes"))

    def prepare(function: Callable[..., Any], key: Any) -> Kernel | None:
        image, dims, grad = key
        *window, c, k = dims
        down, across = win.extents(image[1:3], window)
        if tuple(grad) != (image[0], down.out, across.out, k) or image[3] != c or 0 in grad:
            return None
        run = _runner(function, dtype, BY_FILTER, image, grad, (down.before, across.before))
        return lambda x, sizes, g: run(x, g, None, dims)

    return Autotuned(
        winograd_source(dtype),
        mode,
        fallback,
        lambda x, sizes, g: (x.shape, dims_of(sizes), g.shape),
        prepare,
        [ctx.node],
    ).call


def _sizes(known: Any) -> Callable[[torch.Tensor], tuple[int, ...]]:
    """A function that returns the sizes in an input: always the same if it is constant."""
    if known is None:
        return lambda sizes: tuple(sizes.tolist())
    constant = tuple(int(size) for size in known)
    return lambda sizes: constant


def _runner(
    function: Callable[..., Any], dtype: DType, kind: int, image: Dims, result: Dims, before: Dims
) -> Callable[..., torch.Tensor]:
    """`run(x, filter, bias, dims)` returns a tensor of `dims`. `image`, `result`: [n, h, w, channels] of the
    convolution.

    `before`: rows and columns of zeros above and left of the image.
    """
    numbers = (*image, *result[1:], *before)
    operations = 2 * math.prod(result) * 9 * image[3]
    most = max(1, operations // OPERATIONS_OF_A_THREAD)
    if kind == BY_FILTER:
        most = min(most, max(1, MOST_SUMS // (16 * image[3] * result[3])))
    made, empty, threads_of = dtype.torch, torch.empty, torch.get_num_threads

    def run(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, dims: Dims) -> torch.Tensor:
        x, w = x.contiguous(), w.contiguous()
        bias = 0 if b is None else b.contiguous().data_ptr()
        threads = min(threads_of(), most)
        y = empty(dims, dtype=made)
        work = empty(function(kind, threads, *numbers, 0, 0, 0, 0, 0))
        function(kind, threads, *numbers, x.data_ptr(), w.data_ptr(), bias, y.data_ptr(), work.data_ptr())
        return y

    return run
