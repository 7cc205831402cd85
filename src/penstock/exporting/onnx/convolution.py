"""Convolutions, depthwise and transposed ones included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import First, Site, lowers


class Window:
    """What convolutions and pools have: sizes per spatial dimension, and where the channels are."""

    def __init__(self, s: Site, image: int = 0) -> None:
        self.last = s["data_format"].endswith("C") if "data_format" in s.node.attrs else True
        self._s = s
        self.strides = self.spatial(s["strides"])
        self.dilations = self.spatial(s.node.attrs.get("dilations") or [1] * len(s["strides"]))
        self.padding = s["padding"]
        if not self.last and image >= 0:
            self.input = s.input(image)
        elif image >= 0:
            self.input = s.first(image)

    def spatial(self, values: Sequence[Any]) -> list[Any]:
        return list(values[1:-1] if self.last else values[2:])

    def channels(self, values: Sequence[Any]) -> Any:
        return values[-1 if self.last else 1]

    def sizes(self, shape: Any) -> list[int | None]:
        if shape.ndims is None:
            return [None] * len(self.strides)
        return self.spatial(shape.as_list())

    def pads(self, sizes: list[int | None], kernel: Sequence[int]) -> dict[str, Any]:
        """The attributes that say how the borders are padded. TensorFlow pads more at the end, if it is uneven."""
        if self.padding == "VALID":
            return {}
        if self.padding == "EXPLICIT":
            explicit = np.reshape(self._s["explicit_paddings"], (-1, 2))
            return {"pads": np.array(self.spatial(list(explicit))).T.ravel().tolist()}
        begins, ends = [], []
        for size, k, stride, dilation in zip(sizes, kernel, self.strides, self.dilations, strict=True):
            if size is None and stride > 1:
                return {"auto_pad": "SAME_UPPER"}
            over = (k - 1) * dilation + 1
            need = max(over - (stride if size is None or size % stride == 0 else size % stride), 0)
            begins.append(need // 2)
            ends.append(need - need // 2)
        return {"pads": begins + ends}

    def result(self, name: str) -> Any:
        return First(name) if self.last else name


@lowers("Conv2D", "Conv3D")
def conv(s: Site) -> Any:
    window = Window(s)
    kernel = _known_kernel(s, 1)
    spatial = len(window.strides)
    weights = _turned(s, 1, [spatial + 1, spatial, *range(spatial)])
    channels = window.channels(s.shape(0).as_list()) if s.shape(0).ndims is not None else None
    within = _filter_shape(s, 1)[-2]
    group = 1 if channels is None else channels // within
    return window.result(s.op("Conv", [window.input, weights], group=group, **_attrs(s, window, kernel)))


@lowers("DepthwiseConv2dNative")
def depthwise(s: Site) -> Any:
    window = Window(s)
    kernel = _known_kernel(s, 1)
    height, width, channels, multiplier = _filter_shape(s, 1)
    value = s.value(1)
    if value is not None:
        weights = s.constant(value.reshape(height, width, 1, channels * multiplier).transpose(3, 2, 0, 1), 1)
    else:
        flat = s.op("Reshape", [s.input(1), s.ints(height, width, 1, channels * multiplier)])
        weights = s.op("Transpose", [flat], perm=[3, 2, 0, 1])
    return window.result(s.op("Conv", [window.input, weights], group=channels, **_attrs(s, window, kernel)))


@lowers("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed(s: Site) -> Any:
    """ONNX wants what the padding takes away from the whole result, and what is added to it."""
    window = Window(s, image=2)
    kernel = _known_kernel(s, 1)
    spatial = len(window.strides)
    weights = _turned(s, 1, [spatial + 1, spatial, *range(spatial)])
    wanted = window.sizes(s.node.shapes[0])
    given = s.value(0)
    if given is not None and len(given) == spatial + 2:
        wanted = window.spatial(given.tolist())
    sizes = window.sizes(s.shape(2))
    begins, ends, more = [], [], []
    for size, out, k, stride, dilation in zip(sizes, wanted, kernel, window.strides, window.dilations, strict=True):
        over = (k - 1) * dilation + 1
        if size is None or out is None:
            # Results of `stride` times the size, and what of the kernel goes beyond them if there is no padding.
            need, rest = max(over - stride, 0) if window.padding == "SAME" else 0, max(stride - over, 0)
        else:
            whole = (size - 1) * stride + over
            need, rest = (max(whole - out, 0), max(out - whole, 0)) if window.padding == "SAME" else (0, out - whole)
        begins.append(need // 2)
        ends.append(need - need // 2)
        more.append(rest)
    if window.padding == "EXPLICIT":
        raise LookupError("ONNX has no explicit padding of transposed convolutions")
    attrs: dict[str, Any] = {"strides": window.strides, "dilations": window.dilations}
    attrs |= {"pads": begins + ends, "output_padding": more}
    return window.result(s.op("ConvTranspose", [window.input, weights], **attrs))


def _attrs(s: Site, window: Window, kernel: list[int]) -> dict[str, Any]:
    pads = window.pads(window.sizes(s.shape(0)), kernel)
    return {"strides": window.strides, "dilations": window.dilations, "kernel_shape": kernel, **pads}


def _known_kernel(s: Site, index: int) -> list[int]:
    return _filter_shape(s, index)[:-2]


def _filter_shape(s: Site, index: int) -> list[int]:
    shape = s.shape(index)
    if not shape.is_fully_defined():
        raise LookupError("the shape of its filter is not known before the step")
    return [int(size) for size in shape.as_list() if size is not None]


def _turned(s: Site, index: int, perm: list[int]) -> str:
    value = s.value(index)
    if value is not None:
        return s.constant(value.transpose(perm), index)
    return str(s.op("Transpose", [s.input(index)], perm=perm))
