"""Images, pixel by pixel: what the vectorised kernels are compared with."""

from __future__ import annotations

import colorsys
import math
from typing import Any

import numpy as np


def place(i: int, size: int, wanted: int, align: bool = False, half: bool = False) -> float:
    scale = (size - 1) / (wanted - 1) if align and wanted > 1 else size / wanted
    return (i + 0.5) * scale - 0.5 if half else i * scale


def bilinear(x: Any, height: int, width: int, align: bool = False, half: bool = False) -> np.ndarray:
    found = np.zeros((x.shape[0], height, width, x.shape[3]), np.float32)
    for i in range(height):
        for j in range(width):
            y, z = (place(*a, align, half) for a in ((i, x.shape[1], height), (j, x.shape[2], width)))
            y0, z0 = math.floor(y), math.floor(z)
            dy, dz = y - y0, z - z0
            for row, p in ((y0, 1 - dy), (y0 + 1, dy)):
                for column, q in ((z0, 1 - dz), (z0 + 1, dz)):
                    r, c = min(max(row, 0), x.shape[1] - 1), min(max(column, 0), x.shape[2] - 1)
                    found[:, i, j] += p * q * x[:, r, c]
    return found


def _keys(x: float, a: float) -> float:
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


def bicubic(x: Any, height: int, width: int, align: bool = False, half: bool = False) -> np.ndarray:
    a = -0.5 if half else -0.75

    def weights(i: int, size: int, wanted: int) -> list[tuple[int, float]]:
        at = place(i, size, wanted, align, half)
        base = math.floor(at)
        at = base + round((at - base) * 1024) / 1024  # TensorFlow's table
        pairs = [(k, _keys(at - k, a)) for k in range(base - 1, base + 3)]
        if not half:
            return [(min(max(k, 0), size - 1), w) for k, w in pairs]
        inside = [(k, w) for k, w in pairs if 0 <= k < size]
        total = sum(w for _, w in inside)
        return [(k, w / total) for k, w in inside]

    found = np.zeros((x.shape[0], height, width, x.shape[3]), np.float64)
    for i in range(height):
        for j in range(width):
            for r, p in weights(i, x.shape[1], height):
                for c, q in weights(j, x.shape[2], width):
                    found[:, i, j] += p * q * x[:, r, c]
    return found.astype(np.float32)


def nearest(x: Any, height: int, width: int, align: bool = False, half: bool = False) -> np.ndarray:
    def index(i: int, size: int, wanted: int) -> int:
        at = place(i, size, wanted, align) if not half else (i + 0.5) * size / wanted
        return min(size - 1, math.floor(at + 0.5) if align else math.floor(at))

    rows = [index(i, x.shape[1], height) for i in range(height)]
    return x[:, rows][:, :, [index(j, x.shape[2], width) for j in range(width)]]


def area(x: Any, height: int, width: int) -> np.ndarray:
    """The mean over each cell, by cutting pixels into small parts."""
    fine = np.repeat(np.repeat(x.astype(np.float64), height, 1), width, 2)
    rows, columns = x.shape[1], x.shape[2]
    cells = fine.reshape(x.shape[0], height, rows, width, columns, x.shape[3])
    return cells.mean((2, 4)).astype(np.float32)


def crops(image: Any, boxes: Any, which: Any, size: Any, outside: float = 0.0) -> np.ndarray:
    found = np.full((len(boxes), *size, image.shape[3]), outside, np.float32)
    _, height, width, _ = image.shape
    for n, (y1, x1, y2, x2) in enumerate(boxes):
        for i in range(size[0]):
            for j in range(size[1]):
                y = (
                    y1 * (height - 1) + i * (y2 - y1) * (height - 1) / (size[0] - 1)
                    if size[0] > 1
                    else (y1 + y2) * (height - 1) / 2
                )
                x = (
                    x1 * (width - 1) + j * (x2 - x1) * (width - 1) / (size[1] - 1)
                    if size[1] > 1
                    else (x1 + x2) * (width - 1) / 2
                )
                if 0 <= y <= height - 1 and 0 <= x <= width - 1:
                    part = image[which[n]]
                    y0, x0, dy, dx = int(y), int(x), y - int(y), x - int(x)
                    y3, x3 = math.ceil(y), math.ceil(x)
                    top = part[y0, x0] * (1 - dx) + part[y0, x3] * dx
                    bottom = part[y3, x0] * (1 - dx) + part[y3, x3] * dx
                    found[n, i, j] = top * (1 - dy) + bottom * dy
    return found


def patches(x: Any, k: Any, s: Any, r: Any, same: bool) -> np.ndarray:
    """Each window read pixel by pixel, zeros in the padding."""
    _, height, width, depth = x.shape
    counts, before = [], []
    for size, kk, ss, rr in ((height, k[0], s[0], r[0]), (width, k[1], s[1], r[1])):
        reach = (kk - 1) * rr + 1
        counts.append(-(-size // ss) if same else -(-(size - reach + 1) // ss))
        before.append(max(0, (counts[-1] - 1) * ss + reach - size) // 2 if same else 0)
    found = np.zeros((x.shape[0], *counts, k[0], k[1], depth), x.dtype)
    for i, j, a, b in np.ndindex(*counts, *k):
        y, z = i * s[0] - before[0] + a * r[0], j * s[1] - before[1] + b * r[1]
        if 0 <= y < height and 0 <= z < width:
            found[:, i, j, a, b] = x[:, y, z]
    return found.reshape(x.shape[0], *counts, -1)


def hsv(x: Any) -> np.ndarray:
    flat = [colorsys.rgb_to_hsv(*map(float, pixel)) for pixel in x.reshape(-1, 3)]
    return np.array(flat, x.dtype).reshape(x.shape)


def rgb(x: Any) -> np.ndarray:
    flat = [colorsys.hsv_to_rgb(*map(float, pixel)) for pixel in x.reshape(-1, 3)]
    return np.array(flat, x.dtype).reshape(x.shape)


FILTERS: dict[str, tuple[float, Any]] = {
    "triangle": (1, lambda x: max(1 - x, 0)),
    "box": (1, lambda x: 1.0 if x < 0.5 else 0.5 if x == 0.5 else 0.0),
    "gaussian": (1.5, lambda x: np.exp(-2 * x * x) if x < 1.5 else 0.0),
    "lanczos3": (3, lambda x: np.sinc(x) * np.sinc(x / 3) if x < 3 else 0.0),
    "keyscubic": (
        2,
        lambda x: 1.5 * x**3 - 2.5 * x**2 + 1 if x < 1 else -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0,
    ),
    "mitchellcubic": (
        2,
        lambda x: (
            (21 * x**3 - 36 * x**2 + 16) / 18 if x < 1 else (-7 * x**3 + 36 * x**2 - 60 * x + 32) / 18 if x < 2 else 0.0
        ),
    ),
}
"""By name: how far a filter reaches, and its weight by distance."""


def scaled(image: Any, size: Any, scale: Any, translation: Any, kind: str, antialias: bool) -> Any:
    """[n, h, w, c] with each output pixel the weighted mean of those around the place that it comes from."""
    for axis in (1, 2):
        count, wanted = image.shape[axis], size[axis - 1]
        radius, weight = FILTERS[kind]
        spread = max(1 / scale[axis - 1], 1) if antialias else 1
        found = np.zeros((*image.shape[:axis], wanted, *image.shape[axis + 1 :]))
        for x in range(wanted):
            at = (x + 0.5 - translation[axis - 1]) / scale[axis - 1]
            near = [i for i in range(count) if abs(i + 0.5 - at) <= radius * spread]
            weights = [weight(abs(i + 0.5 - at) / spread) for i in near]
            if 0 <= at <= count and sum(weights):
                mean = sum(w * image.take(i, axis) for i, w in zip(near, weights, strict=True)) / sum(weights)
                found[(slice(None),) * axis + (x,)] = mean
        image = found
    return image
