"""Variables saved in parts (partitioned variables): regions of a full tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.checkpoint.values import Encoded, Value

Region = tuple[tuple[int, ...], tuple[int, ...]]  # start and shape


@dataclass(frozen=True)
class Slice:
    """`value` is the part of a full tensor that begins at `start` (one number per dimension)."""

    start: tuple[int, ...]
    value: Value | Encoded


@dataclass(frozen=True)
class SlicedTensor:
    """A tensor given by its parts, which must cover `shape` exactly; it can be read whole or by region."""

    shape: tuple[int, ...]
    slices: tuple[Slice, ...]


def cover_problem(shape: Sequence[int], regions: Sequence[Region], *, partly: bool = False) -> str | None:
    """Why `regions` do not cover a tensor of `shape` exactly once (with `partly`, at most once), if so."""
    if len(regions) == 1 and regions[0] == ((0,) * len(shape), tuple(shape)):
        return None  # a tensor saved whole, like nearly all
    for start, size in regions:
        inside = len(start) == len(size) == len(shape) and all(
            at >= 0 and n >= 0 and at + n <= full for at, n, full in zip(start, size, shape, strict=True)
        )
        if not inside:
            return f"the slice at {list(start)} of shape {list(size)} is not inside {list(shape)}"
    covered = sum(math.prod(size) for _, size in regions)
    if covered != math.prod(shape) and not partly:
        return f"the slices have {covered} elements, a tensor of shape {list(shape)} has {math.prod(shape)}"
    filled = [region for region in regions if math.prod(region[1])]
    if len(filled) < 2 or not shape:
        return None
    begin = np.array([start for start, _ in filled], np.int64)
    end = begin + np.array([size for _, size in filled], np.int64)
    for i in range(len(filled) - 1):
        overlaps = np.all((begin[i + 1 :] < end[i]) & (end[i + 1 :] > begin[i]), axis=1)
        if overlaps.any():
            other = i + 1 + int(overlaps.argmax())
            return f"the slices at {begin[i].tolist()} and {begin[other].tolist()} overlap"
    return None


def overlap(a: Region, b: Region) -> Region | None:
    """The region common to both, in the coordinates of the full tensor; None if it has no elements."""
    start = tuple(max(x, y) for x, y in zip(a[0], b[0], strict=True))
    end = (min(x + n, y + m) for x, n, y, m in zip(*a, *b, strict=True))
    shape = tuple(stop - at for at, stop in zip(start, end, strict=True))
    return (start, shape) if all(n > 0 for n in shape) else None


def within(region: Region, origin: Sequence[int]) -> tuple[slice, ...]:
    """The index of `region` in an array whose first element is the full tensor's element `origin`."""
    return tuple(slice(at - o, at - o + n) for at, n, o in zip(*region, origin, strict=True))
