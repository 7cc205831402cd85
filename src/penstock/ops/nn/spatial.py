"""Windows that slide over the spatial dims of an image: the sizes and paddings of convolutions and pools.

TensorFlow's images are NHWC (or NCHW, NDHWC, NCDHW) and its "SAME" padding may be one larger at the end than
at the beginning; torch's are channels-first, and padded equally on both sides. A permuted view of NHWC memory is what
torch calls channels_last, so the change of layout costs nothing; an uneven padding costs a padded copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from penstock import errors
from penstock.graph.opdef import Kernel
from penstock.tensor.shapes import TensorShape

View = Callable[[torch.Tensor], torch.Tensor]

_LAYOUTS = {b"NHWC": True, b"NDHWC": True, b"NCHW": False, b"NCDHW": False}
_MAX_CACHED = 128


@dataclass(frozen=True, slots=True)
class Extent:
    """One spatial dim: the size of the output, and the padding before and after the input."""

    out: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Window:
    """How a window slides, from a node's attributes. The tuples only have the spatial dims (2 or 3)."""

    channels_last: bool
    ksize: tuple[int, ...] | None
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: str
    explicit: tuple[tuple[int, int], ...]
    whole: tuple[int, ...]
    """The strides, dilations and window sizes of batch and channels: 1 except for depthwise max-pools."""

    @property
    def rank(self) -> int:
        return len(self.strides)

    @property
    def channel_axis(self) -> int:
        return self.rank + 1 if self.channels_last else 1

    def spatial(self, dims: Sequence[Any]) -> tuple[Any, ...]:
        """The spatial dims among an image's dims (including the batch)."""
        return tuple(dims[1:-1] if self.channels_last else dims[2:])

    def image(self, batch: Any, spatial: Sequence[Any], channels: Any) -> tuple[Any, ...]:
        """An image's dims in the layout of this node."""
        return (batch, *spatial, channels) if self.channels_last else (batch, channels, *spatial)

    def extent(self, axis: int, size: int, k: int) -> Extent:
        """One dim of `size` under a window of `k`. Raises ValueError if that is larger than the padded input."""
        stride, effective = self.strides[axis], self.effective(axis, k)
        if self.padding == "SAME":
            out = -(-size // stride)
            total = max((out - 1) * stride + effective - size, 0)
            return Extent(out, total // 2, total - total // 2)
        before, after = self.explicit[axis] if self.padding == "EXPLICIT" else (0, 0)
        room = size + before + after - effective + stride
        if room <= -stride:
            raise ValueError(
                f"Computed output size would be negative: {int(room / stride)} [input_size: {size}, "
                f"effective_filter_size: {effective}, stride: {stride}]"
            )
        return Extent(max(room, 0) // stride, before, after)

    def effective(self, axis: int, k: int) -> int:
        """How many elements a window of `k` spans."""
        return (k - 1) * self.dilations[axis] + 1

    def extents(self, sizes: Sequence[int], ksize: Sequence[int]) -> list[Extent]:
        return [self.extent(i, size, k) for i, (size, k) in enumerate(zip(sizes, ksize, strict=True))]

    def out_sizes(self, sizes: Sequence[int | None], ksize: Sequence[int | None]) -> list[int | None]:
        """The spatial sizes of the output, as far as the known sizes of input and window determine them.

        Raises ValueError for a window larger than the padded input: an empty output is left to the step, as in
        TensorFlow.
        """
        found: list[int | None] = []
        for axis, (size, k) in enumerate(zip(sizes, ksize, strict=True)):
            k = 1 if self.padding == "SAME" else k
            if size is None or k is None:
                found.append(None)
                continue
            padded = size + sum(self.explicit[axis] if self.padding == "EXPLICIT" else ())
            window = self.effective(axis, k)
            if self.padding != "SAME" and padded < window:
                raise ValueError(f"Negative dimension size caused by subtracting {window} from {padded}")
            found.append(self.extent(axis, size, k).out)
        return found

    @property
    def depth(self) -> int:
        """The number of channels that each window covers; 1 for invalid windows."""
        *others, k = self.whole
        return k if all(w in (1, k if i == 1 else 1) for i, w in enumerate(others)) else 1

    def check_depth(self, channels: int) -> None:
        """Raises UnimplementedError for windows over both channels and space, or that do not tile the channels."""
        problem = ""
        if any(k != 1 for k in (*(self.ksize or ()), *self.strides)):
            problem = "MaxPooling supports exactly one of pooling across depth or pooling across width/height."
        elif self.whole[1] != self.depth:
            problem = "Depthwise max pooling requires the depth window to equal the depth stride."
        elif channels % self.depth:
            problem = "Depthwise max pooling requires the depth window to evenly divide the input depth."
        if problem:
            raise errors.UnimplementedError(None, None, problem)

    def check(self, n: Any) -> None:
        """Raises Raises UnimplementedError, when a kernel is made, for windows that slide over batch or channels."""
        if any(w != 1 for w in self.whole):
            name, given = n.node.op.name, [list(v) for k, v in n.node.attrs.items() if k in _LISTS]
            if "Pool" in name:
                where = "batch" if any(w != 1 for w in self.whole[::2]) else "depth"
                problem = f"Pooling is not yet supported on the {where} dimension: {name} of {given}"
            else:
                problem = f"{name} does not yet support strides or dilations in the batch and depth dimensions: {given}"
            raise errors.UnimplementedError(None, None, problem)

    def views(self) -> tuple[View, View]:
        """Functions that convert an image to torch's channels-first layout, and back to this layout."""
        if not self.channels_last:
            return unchanged, unchanged
        r = self.rank
        first, last = (0, r + 1, *range(1, r + 1)), (0, *range(2, r + 2), 1)
        return lambda x: x.permute(first), lambda x: x.permute(last)


_LISTS = ("ksize", "strides", "dilations")


def window_of(attrs: Mapping[str, Any]) -> Window:
    """The window that a node's attributes describe; raises ValueError for lists of a wrong length or sign."""
    strides = attrs["strides"]
    layout = attrs.get("data_format", b"NHWC")
    if layout not in _LAYOUTS:
        raise errors.UnimplementedError(None, None, f"data_format {layout.decode()} is not supported")
    last, rank = _LAYOUTS[layout], len(strides) - 2
    lists = {
        "strides": strides,
        "dilations": attrs.get("dilations") or [1] * (rank + 2),
        "ksize": attrs.get("ksize"),
    }
    for name, values in lists.items():
        if values is not None and (len(values) != rank + 2 or min(values) < 1):
            raise ValueError(f"{name} must be {rank + 2} positive numbers, got {values}")

    def inner(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(values[1:-1] if last else values[2:])

    def outer(values: Sequence[int]) -> tuple[int, ...]:
        return (values[0], values[-1] if last else values[1])

    padding = attrs["padding"].decode()
    explicit: tuple[tuple[int, int], ...] = ()
    if padding == "EXPLICIT":
        explicit = inner(_explicit_pairs(attrs["explicit_paddings"], rank, last))  # type: ignore[arg-type,assignment]
    known = [v for v in lists.values() if v is not None]
    return Window(
        last,
        None if lists["ksize"] is None else inner(lists["ksize"]),
        inner(strides),
        inner(lists["dilations"]),
        padding,
        explicit,
        tuple(w for values in known for w in outer(values)),
    )


def _explicit_pairs(flat: Sequence[int], rank: int, last: bool) -> list[tuple[int, int]]:
    pairs = list(zip(flat[::2], flat[1::2], strict=False))
    if len(flat) != 2 * (rank + 2) or min(flat) < 0:
        raise ValueError(f"explicit_paddings must be {2 * (rank + 2)} numbers, none negative, got {list(flat)}")
    if pairs[0] != (0, 0) or pairs[-1 if last else 1] != (0, 0):
        raise ValueError(f"explicit_paddings must not pad batch and depth dimensions, got {list(flat)}")
    return pairs


def unchanged(x: torch.Tensor) -> torch.Tensor:
    return x


@dataclass(frozen=True, slots=True)
class Paddings:
    """Extents in torch's terms: even padding is passed to the op, the rest is padded before it."""

    even: tuple[int, ...]
    uneven: tuple[int, ...]
    """For `constant_pad_nd`: pairs from the last dim to the first; empty if there is nothing to do."""
    crop: tuple[slice, ...]
    """A function that removes the uneven part from a channels-first image."""

    @classmethod
    def of(cls, extents: list[Extent], sizes: Sequence[int]) -> Paddings:
        even = tuple(e.before if e.before == e.after else 0 for e in extents)
        pairs = [(0, 0) if e.before == e.after else (e.before, e.after) for e in extents]
        uneven = any(pair != (0, 0) for pair in pairs)
        flat = tuple(side for pair in reversed(pairs) for side in pair) if uneven else ()
        inside = [slice(b, b + size) for (b, _), size in zip(pairs, sizes, strict=True)]
        return cls(even, flat, (slice(None), slice(None), *inside))

    def pad(self, value: float = 0) -> View:
        flat = self.uneven
        if not flat:
            return unchanged
        return lambda x: torch.constant_pad_nd(x, flat, value)

    def unpad(self) -> View:
        crop = self.crop
        return (lambda x: x[crop]) if self.uneven else unchanged


def known_but_batch(shape: TensorShape) -> bool:
    return shape.tuple is not None and None not in shape.tuple[1:]


def per_shape(build: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """`build` with cached results: what depends on shapes is computed once for each shape."""
    cache: dict[Any, Kernel] = {}

    def find(*shapes: Any) -> Kernel:
        kernel = cache.get(shapes)
        if kernel is None:
            if len(cache) >= _MAX_CACHED:
                cache.clear()  # every step may have its own shapes, so the cache must be bounded
            kernel = cache[shapes] = build(*shapes)
        return kernel

    return find
