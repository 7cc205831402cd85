"""Pools and their gradients, over paddings, strides and layouts; ties go to the first maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from tests.ops.harness import OpCase
from tests.ops.nn_reference import (
    avg_pool_grad,
    first,
    first_maxima,
    max_pool_grad,
    paddings,
    pool,
    randn,
)


def _settings(ksize: Any, strides: Any, padding: Any, nchw: bool) -> dict[str, Any]:
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(ksize)][nchw]

    def whole(values: Any, one: Any) -> list[Any]:
        return [one, one, *values] if nchw else [one, *values, one]

    attrs: dict[str, Any] = {
        "ksize": whole(ksize, 1),
        "strides": whole(strides, 1),
        "padding": padding,
        "data_format": layout,
    }
    if not isinstance(padding, str):
        pairs = whole(padding, (0, 0))
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [side for pair in pairs for side in pair]}
    return attrs


def max_cases(x: Any, ksize: Any, strides: Any, padding: Any, nchw: bool = False) -> list[OpCase]:
    """The pool, its gradient, and the gradient of that, as ops of their own."""
    attrs = _settings(ksize, strides, padding, nchw)
    three = "3D" if len(ksize) == 3 else ""
    y = pool("MAX", x, ksize, strides, padding)
    g, gg = randn(*y.shape, seed=2), randn(*x.shape, seed=3)
    by_x = max_pool_grad(x, g, ksize, strides, padding)
    by_g = gg.ravel()[first_maxima(x, ksize, strides, padding)]
    grad = not three and len(np.unique(x)) == x.size  # differences mean nothing at ties
    if nchw:
        x, y, g, gg, by_x, by_g = map(first, (x, y, g, gg, by_x, by_g))
    cases = [
        OpCase(f"MaxPool{three}", [x], attrs, ref=y, grad=grad),
        OpCase(f"MaxPool{three}Grad", [x, y, g], attrs, ref=by_x, grad=grad and isinstance(padding, str)),
    ]
    if isinstance(padding, str):
        cases.append(OpCase(f"MaxPool{three}GradGrad", [x, y, gg], attrs, ref=by_g, grad=grad))
    return cases


def avg_cases(x: Any, ksize: Any, strides: Any, padding: Any, nchw: bool = False) -> list[OpCase]:
    attrs = _settings(ksize, strides, padding, nchw)
    three = "3D" if len(ksize) == 3 else ""
    y = pool("AVG", x, ksize, strides, padding)
    g = randn(*y.shape, seed=2)
    by_x = avg_pool_grad(x.shape, g, ksize, strides, padding)
    if nchw:
        x, y, g, by_x = map(first, (x, y, g, by_x))
    sizes = np.array(x.shape, np.int32)
    return [
        OpCase(f"AvgPool{three}", [x], attrs, ref=y),
        OpCase(f"AvgPool{three}Grad", [sizes, g], attrs, ref=by_x),
    ]


def argmax_cases(x: Any, ksize: Any, strides: Any, padding: str, whole_batch: bool) -> list[OpCase]:
    attrs = _settings(ksize, strides, padding, False)
    del attrs["data_format"]
    attrs["include_batch_in_index"] = whole_batch
    at = first_maxima(x, ksize, strides, padding)
    flat = at if whole_batch else at % x[0].size
    g, gg = randn(*at.shape, seed=2), randn(*x.shape, seed=3)
    by_x = max_pool_grad(x, g, ksize, strides, padding)
    return [
        OpCase("MaxPoolWithArgmax", [x], attrs, ref=(x.ravel()[at], flat), grad=len(np.unique(x)) == x.size),
        OpCase(
            "MaxPoolWithArgmax",
            [x],
            attrs | {"Targmax": "int32"},
            grad=False,
            ref=(x.ravel()[at], flat.astype(np.int32)),
        ),
        OpCase("MaxPoolGradWithArgmax", [x, g, flat], attrs, ref=by_x),
        OpCase("MaxPoolGradGradWithArgmax", [x, gg, flat], attrs, ref=gg.ravel()[at]),
    ]


_WINDOWS: list[tuple[Any, Any, Any, Any]] = [
    ((1, 4, 4, 2), (2, 2), (2, 2), "VALID"),
    ((2, 3, 4, 1), (2, 2), (1, 1), "SAME"),
    ((1, 4, 5, 1), (3, 3), (2, 2), "SAME"),
    ((1, 5, 6, 1), (2, 3), (3, 2), "VALID"),
    ((1, 5, 4, 1), (1, 2), (3, 3), "SAME"),
    ((1, 6, 3, 1), (5, 4), (2, 1), "SAME"),
    ((1, 4, 4, 1), (5, 1), (3, 1), "SAME"),  # neither of torch's roundings fits both dims
    ((1, 2, 2, 1), (5, 5), (1, 1), "SAME"),
]

CASES = [
    *(case for dims, *rest in _WINDOWS for case in max_cases(randn(*dims), *rest)),
    *(case for dims, *rest in _WINDOWS for case in avg_cases(randn(*dims), *rest)),
    *max_cases(randn(1, 4, 4, 2), (3, 2), (2, 1), "SAME", nchw=True),
    *avg_cases(randn(1, 4, 4, 2), (3, 2), (2, 1), "SAME", nchw=True),
    *max_cases(randn(1, 3, 4, 1), (2, 2), (1, 2), ((1, 1), (0, 1))),
    *max_cases(randn(1, 3, 4, 1), (3, 3), (2, 2), ((2, 0), (0, 2))),
    *max_cases(np.zeros((1, 4, 4, 1), np.float32), (3, 3), (2, 2), "SAME"),
    *max_cases(-np.ones((1, 4, 4, 1), np.float32), (2, 2), (1, 1), "SAME"),
    *max_cases(randn(1, 2, 3, 4, 1), (2, 2, 2), (1, 1, 1), "SAME"),
    *max_cases(randn(1, 4, 3, 4, 1), (2, 3, 2), (2, 1, 2), "VALID"),
    *max_cases(randn(1, 4, 3, 4, 2), (3, 2, 3), (2, 2, 2), "SAME", nchw=True),
    *avg_cases(randn(1, 2, 3, 4, 1), (2, 2, 2), (1, 1, 1), "SAME"),
    *avg_cases(randn(1, 4, 3, 2, 1), (3, 1, 2), (2, 1, 1), "SAME", nchw=True),
    *argmax_cases(randn(2, 4, 4, 2), (3, 3), (2, 2), "SAME", whole_batch=False),
    *argmax_cases(randn(2, 4, 3, 2), (2, 2), (1, 1), "VALID", whole_batch=True),
    *argmax_cases(randn(1, 4, 4, 1), (5, 1), (3, 1), "SAME", whole_batch=False),
    *argmax_cases(randn(2, 2, 3, 2), (2, 2), (1, 1), "SAME", whole_batch=False),  # padded at the end only
    *argmax_cases(np.zeros((1, 4, 4, 1), np.float32), (3, 3), (2, 2), "SAME", whole_batch=False),
    *(
        OpCase(
            "MaxPool",
            [np.array([[3, 1], [2, 7]], dtype).reshape(1, 2, 2, 1)],
            {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
            ref=np.array([7, 7, 7, 7], dtype).reshape(1, 2, 2, 1),
            note=np.dtype(dtype).name,
        )
        for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.float16, np.float64)
    ),
    OpCase(
        "AvgPool",
        [np.ones((1, 2, 2, 1), np.float16)],
        {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"},
        ref=np.ones((1, 2, 2, 1), np.float16),
    ),
    OpCase(
        "AvgPool3D",
        [np.ones((1, 2, 2, 2, 1), np.float16)],
        {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"},
        ref=np.ones((1, 2, 2, 2, 1), np.float16),
    ),
    OpCase(
        "MaxPool",
        [np.ones((1, 2, 2, 1), np.float32)],
        {"ksize": [1, 4, 4, 1], "strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="subtracting 4 from 2",
    ),
    OpCase(
        "MaxPool",
        [np.ones((1, 2, 2, 1), np.float32)],
        {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "VALID"},
        raises=ValueError,
        match="subtracting 3 from 2",
    ),
    OpCase(
        "MaxPool",
        [np.ones((0, 2, 2, 1), np.float32)],
        {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"},
        ref=np.ones((0, 1, 1, 1), np.float32),
    ),
    OpCase(
        "MaxPool",
        [np.ones((1, 2, 2, 4), np.float32)],
        {"ksize": [2, 1, 1, 1], "strides": [2, 1, 1, 1], "padding": "VALID"},
        raises=errors.UnimplementedError,
        match="Pooling is not yet supported on the batch",
    ),
    OpCase(
        "MaxPool",
        [np.ones((1, 2, 2, 4), np.float32)],
        {"ksize": [1, 2, 2], "strides": [1, 1, 1, 2], "padding": "VALID"},
        raises=ValueError,
        match="at least 4|4 positive",
    ),
]

assert paddings([4], [3], [2], [1], "SAME") == [(0, 1)]  # the reference pads the end, as TensorFlow does
