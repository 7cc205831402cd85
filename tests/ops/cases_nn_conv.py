"""Convolutions in both layouts, over paddings, strides, dilations and groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase
from tests.ops.nn_reference import (
    conv,
    conv_filter_grad,
    conv_input_grad,
    depthwise_as_grouped,
    first,
    randn,
)


def _settings(rank: int, strides: Any, padding: Any, dilations: Any, nchw: bool) -> dict[str, Any]:
    """The attributes of a node for a window given by its spatial dims."""
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[rank][nchw]

    def whole(values: Any, one: Any) -> list[Any]:
        return [one, one, *values] if nchw else [one, *values, one]

    attrs: dict[str, Any] = {"strides": whole(strides, 1), "data_format": layout, "padding": padding}
    if dilations:
        attrs["dilations"] = whole(dilations, 1)
    if not isinstance(padding, str):
        pairs = whole(padding, (0, 0))
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [side for pair in pairs for side in pair]}
    return attrs


def conv_cases(
    x_dims: Any,
    w_dims: Any,
    strides: Any,
    padding: Any,
    dilations: Any = None,
    nchw: bool = False,
    depthwise: bool = False,
) -> list[OpCase]:
    """The convolution, and its two gradients as ops of their own."""
    rank = len(strides)
    x, w = randn(*x_dims), randn(*w_dims, seed=1)
    plain = depthwise_as_grouped(w) if depthwise else w
    y = conv(x, plain, strides, padding, dilations)
    g = randn(*y.shape, seed=2)
    by_x = conv_input_grad(x.shape, plain, g, strides, padding, dilations)
    by_w = conv_filter_grad(x, plain.shape, g, strides, padding, dilations).reshape(w.shape)
    attrs = _settings(rank, strides, padding, dilations, nchw)
    if nchw:
        x, y, g, by_x = first(x), first(y), first(g), first(by_x)
    name = "DepthwiseConv2dNative" if depthwise else {2: "Conv2D", 3: "Conv3D"}[rank]
    version = "V2" if rank == 3 else ""
    x_sizes, w_sizes = np.array(x.shape, np.int32), np.array(w.shape, np.int32)
    near = {"rtol": 1e-4, "atol": 1e-4}
    return [
        OpCase(name, [x, w], attrs, ref=y, **near),
        OpCase(f"{name}BackpropInput{version}", [x_sizes, w, g], attrs, ref=by_x, **near),
        OpCase(f"{name}BackpropFilter{version}", [x, w_sizes, g], attrs, ref=by_w, **near),
    ]


CASES = [
    *conv_cases([2, 6, 3, 2], [2, 3, 2, 4], [1, 1], "VALID"),  # a filter as wide as the image
    *conv_cases([2, 6, 3, 1], [2, 3, 1, 4], [2, 2], "SAME"),
    *conv_cases([2, 6, 3, 2], [2, 3, 2, 0], [1, 1], "SAME"),  # no filters
    *conv_cases([2, 6, 3, 1], [3, 3, 1, 4], [2, 3], "VALID"),
    *conv_cases((1, 3, 3, 1), (2, 2, 1, 1), (1, 1), "VALID"),
    *conv_cases((2, 3, 4, 2), (3, 2, 2, 2), (1, 1), "SAME"),
    *conv_cases((1, 4, 5, 1), (3, 3, 1, 2), (2, 2), "SAME"),  # uneven: nothing before, one after
    *conv_cases((1, 5, 6, 1), (2, 3, 1, 2), (2, 3), "VALID"),
    *conv_cases((1, 5, 4, 1), (2, 2, 1, 1), (3, 3), "SAME"),
    *conv_cases((1, 5, 4, 1), (1, 1, 1, 1), (3, 2), "SAME"),  # strides above the window
    *conv_cases((1, 6, 5, 1), (2, 3, 1, 1), (1, 1), "SAME", (2, 2)),
    *conv_cases((1, 6, 5, 1), (2, 2, 1, 1), (1, 1), "VALID", (3, 2)),
    *conv_cases((1, 3, 4, 2), (2, 2, 2, 1), (1, 2), ((1, 0), (2, 1))),
    *conv_cases((1, 3, 3, 2), (2, 2, 2, 1), (1, 1), ((1, 1), (0, 0)), nchw=True),
    *conv_cases((1, 4, 4, 2), (3, 3, 2, 1), (2, 2), "SAME", nchw=True),
    *conv_cases((1, 3, 3, 4), (2, 2, 2, 4), (1, 1), "SAME"),  # two groups
    *conv_cases((1, 3, 3, 2), (2, 2, 2, 2), (1, 1), "SAME", depthwise=True),
    *conv_cases((1, 4, 3, 3), (2, 2, 3, 1), (2, 2), "VALID", depthwise=True),
    *conv_cases((1, 4, 4, 2), (3, 3, 2, 1), (2, 2), "SAME", depthwise=True),
    *conv_cases((1, 4, 4, 2), (2, 2, 2, 2), (1, 1), "SAME", (2, 2), depthwise=True),
    *conv_cases((1, 3, 3, 2), (2, 2, 2, 2), (1, 1), ((1, 0), (0, 1)), nchw=True, depthwise=True),
    *conv_cases((1, 2, 3, 2, 1), (2, 2, 2, 1, 2), (1, 1, 1), "SAME"),
    *conv_cases((1, 3, 3, 2, 1), (2, 2, 1, 1, 1), (2, 1, 1), "VALID"),
    *conv_cases((1, 2, 3, 2, 2), (2, 2, 2, 2, 1), (2, 2, 1), "SAME", nchw=True),
    *conv_cases((1, 3, 3, 3, 1), (2, 2, 2, 1, 1), (1, 1, 1), "VALID", (2, 1, 2)),
    OpCase(
        "Conv2D",
        [np.arange(9, dtype=np.int32).reshape(1, 3, 3, 1), np.ones((2, 2, 1, 1), np.int32)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        ref=np.array([8, 12, 20, 24], np.int32).reshape(1, 2, 2, 1),
    ),
    OpCase(
        "Conv2D",
        [randn(1, 4, 4, 2).astype(np.float16), randn(3, 3, 2, 2).astype(np.float16)],
        {"strides": [1, 1, 1, 1], "padding": "SAME"},
        ref=lambda x, w: conv(x.astype(np.float32), w.astype(np.float32), (1, 1), "SAME"),
        grad=False,
        atol=5e-2,
    ),
    OpCase(
        "Conv2D",
        [np.zeros((0, 4, 4, 2), np.float32), randn(3, 3, 2, 3)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        ref=np.zeros((0, 2, 2, 3), np.float32),
        note="of no image",
    ),
    OpCase(
        "Conv2D",
        [randn(1, 4, 4, 1), randn(5, 5, 1, 2)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="Negative dimension size caused by subtracting 5 from 4",
        note="of no window",
    ),
    OpCase(
        "Conv2DBackpropInput",
        [np.array([1, 4, 4, 1], np.int32), randn(5, 5, 1, 2), np.zeros((1, 0, 0, 2), np.float32)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        ref=np.zeros((1, 4, 4, 1), np.float32),
        grad=False,
        note="of no window",
    ),
    OpCase(
        "Conv2D",
        [randn(1, 4, 4, 1), randn(6, 6, 1, 2)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="Negative dimension size",
    ),
    OpCase(
        "Conv2D",
        [randn(1, 4, 4, 3), randn(2, 2, 2, 2)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="evenly divisible by filter depth: 3 vs 2",
    ),
    OpCase(
        "Conv2D",
        [randn(2, 4, 4, 1), randn(2, 2, 1, 2)],
        {"strides": [2, 1, 1, 1], "padding": "VALID"},
        raises=errors.UnimplementedError,
        match="batch and depth",
    ),
    OpCase(
        "Conv2DBackpropInput",
        [np.array([1, 4, 4, 1], np.int32), randn(2, 2, 1, 2), randn(1, 4, 4, 2)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=errors.InvalidArgumentError,
        match=r"actual = \[4, 4, 2\], computed = \[3, 3, 2\]",
    ),
    OpCase(
        "DepthwiseConv2dNative",
        [randn(1, 4, 4, 3), randn(2, 2, 2, 2)],
        {"strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="3 and 2",
    ),
]
