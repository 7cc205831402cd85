"""Convolutions, pools and normalizations as NumPy loops: slow, plain, and nothing of torch in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def randn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype(np.float32)


def paddings(
    sizes: Sequence[int], ksize: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: Any
) -> list[tuple[int, int]]:
    """(before, after) of each spatial dim; `padding` is "SAME", "VALID" or such pairs."""
    if padding == "VALID":
        return [(0, 0)] * len(sizes)
    if padding != "SAME":
        return list(padding)
    found = []
    for size, k, s, d in zip(sizes, ksize, strides, dilations, strict=True):
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        found.append((total // 2, total - total // 2))
    return found


def windows(
    x: np.ndarray,
    ksize: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    padding: Any,
    fill: float,
) -> tuple[np.ndarray, tuple[int, ...], Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]]:
    """`x` ([n, spatial…, c]) padded, the output's spatial sizes, and (output index, slices of padded x)."""
    dilations = dilations or [1] * len(ksize)
    pads = paddings(x.shape[1:-1], ksize, strides, dilations, padding)
    padded = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    extents = [(k - 1) * d + 1 for k, d in zip(ksize, dilations, strict=True)]
    outs = tuple((size - e) // s + 1 for size, e, s in zip(padded.shape[1:-1], extents, strides, strict=True))

    def places() -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        for index in np.ndindex(outs):
            inner = [slice(i * s, i * s + e, d) for i, s, e, d in zip(index, strides, extents, dilations, strict=True)]
            yield (slice(None), *index), (slice(None), *inner)

    return padded, outs, places()


def conv(x: Any, w: Any, strides: Any, padding: Any, dilations: Any = None) -> np.ndarray:
    """[n, spatial…, in] with [spatial…, in / groups, out]."""
    padded, outs, places = windows(x, w.shape[:-2], strides, dilations, padding, 0)
    groups = x.shape[-1] // w.shape[-2]
    y = np.zeros((x.shape[0], *outs, w.shape[-1]), x.dtype)
    axes = (list(range(1, w.ndim)), list(range(w.ndim - 1)))
    for at, where in places:
        parts = zip(np.split(padded[where], groups, -1), np.split(w, groups, -1), strict=True)
        y[at] = np.concatenate([np.tensordot(p, v, axes) for p, v in parts], -1)
    return y


def conv_input_grad(dims: Any, w: Any, g: Any, strides: Any, padding: Any, dilations: Any = None) -> np.ndarray:
    padded, _, places = windows(np.zeros(dims, g.dtype), w.shape[:-2], strides, dilations, padding, 0)
    groups = dims[-1] // w.shape[-2]
    for at, where in places:
        parts = zip(np.split(g[at], groups, -1), np.split(w, groups, -1), strict=True)
        padded[where] += np.concatenate([np.tensordot(p, v, ([1], [v.ndim - 1])) for p, v in parts], -1)
    pads = paddings(dims[1:-1], w.shape[:-2], strides, dilations or [1] * (w.ndim - 2), padding)
    return padded[(slice(None), *(slice(b, b + n) for (b, _), n in zip(pads, dims[1:-1], strict=True)))]


def conv_filter_grad(x: Any, dims: Any, g: Any, strides: Any, padding: Any, dilations: Any = None) -> np.ndarray:
    padded, _, places = windows(x, dims[:-2], strides, dilations, padding, 0)
    groups = x.shape[-1] // dims[-2]
    found = np.zeros(dims, x.dtype)
    for at, where in places:
        parts = zip(np.split(padded[where], groups, -1), np.split(g[at], groups, -1), strict=True)
        found += np.concatenate([np.tensordot(p, v, ([0], [0])) for p, v in parts], -1)
    return found


def depthwise_as_grouped(w: np.ndarray) -> np.ndarray:
    """A depthwise filter [h, w, in, multiplier] as that of a grouped convolution."""
    return w.reshape(*w.shape[:2], 1, -1)


def pool(kind: str, x: Any, ksize: Any, strides: Any, padding: Any) -> np.ndarray:
    padded, outs, places = windows(x.astype(np.float64), ksize, strides, None, padding, np.nan)
    y = np.zeros((x.shape[0], *outs, x.shape[-1]))
    axes = tuple(range(1, x.ndim - 1))
    for at, where in places:
        y[at] = (np.nanmax if kind == "MAX" else np.nanmean)(padded[where], axes)
    return y.astype(x.dtype)


def first_maxima(x: Any, ksize: Any, strides: Any, padding: Any) -> np.ndarray:
    """For each output, the flat index (in [n, spatial…, c]) of the first largest element of its window."""
    order = np.arange(x.size).reshape(x.shape)
    padded, outs, places = windows(x.astype(np.float64), ksize, strides, None, padding, -np.inf)
    numbers, _, _ = windows(order.astype(np.float64), ksize, strides, None, padding, -1)
    found = np.zeros((x.shape[0], *outs, x.shape[-1]), np.int64)
    for at, where in places:
        flat = padded[where].reshape(x.shape[0], -1, x.shape[-1])
        best = flat.argmax(1)[:, None]
        found[at] = np.take_along_axis(numbers[where].reshape(flat.shape), best, 1)[:, 0]
    return found


def max_pool_grad(x: Any, g: Any, ksize: Any, strides: Any, padding: Any) -> np.ndarray:
    found = np.zeros(x.size, g.dtype)
    np.add.at(found, first_maxima(x, ksize, strides, padding).ravel(), g.ravel())
    return found.reshape(x.shape)


def avg_pool_grad(dims: Any, g: Any, ksize: Any, strides: Any, padding: Any) -> np.ndarray:
    inside, _, places = windows(np.ones(dims), ksize, strides, None, padding, 0)
    padded = np.zeros_like(inside)
    axes = tuple(range(1, len(dims) - 1))
    for at, where in places:
        count = inside[where].sum(axes, keepdims=True)
        padded[where] += g[at].reshape(count.shape) / count * inside[where]
    pads = paddings(dims[1:-1], ksize, strides, [1] * len(ksize), padding)
    return padded[(slice(None), *(slice(b, b + n) for (b, _), n in zip(pads, dims[1:-1], strict=True)))].astype(g.dtype)


def first(x: np.ndarray) -> np.ndarray:
    """Channels first."""
    return np.moveaxis(x, -1, 1)


def last(x: np.ndarray) -> np.ndarray:
    """Channels last."""
    return np.moveaxis(x, 1, -1)


def batch_norm(x: Any, scale: Any, offset: Any, epsilon: float) -> tuple[np.ndarray, ...]:
    """y, mean, corrected variance, mean, plain variance of an image with channels last."""
    axes = tuple(range(x.ndim - 1))
    mean, variance = x.mean(axes), x.var(axes)
    y = (x - mean) / np.sqrt(variance + epsilon) * scale + offset
    return y, mean, x.var(axes, ddof=1), mean, variance


def batch_norm_grad(g: Any, x: Any, scale: Any, epsilon: float) -> tuple[np.ndarray, ...]:
    """By x, scale and offset, in training."""
    axes = tuple(range(x.ndim - 1))
    inverse = 1 / np.sqrt(x.var(axes) + epsilon)
    normal = (x - x.mean(axes)) * inverse
    by_x = scale * inverse * (g - g.mean(axes) - normal * (g * normal).mean(axes))
    return by_x, (g * normal).sum(axes), g.sum(axes)


def lrn(x: Any, radius: int, bias: float, alpha: float, beta: float) -> np.ndarray:
    y = np.zeros_like(x)
    for c in range(x.shape[-1]):
        near = x[..., max(c - radius, 0) : c + radius + 1]
        y[..., c] = x[..., c] / (bias + alpha * (near**2).sum(-1)) ** beta
    return y


def log_softmax(x: Any, axis: int = -1) -> np.ndarray:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def softmax(x: Any, axis: int = -1) -> np.ndarray:
    return np.exp(log_softmax(x, axis))
