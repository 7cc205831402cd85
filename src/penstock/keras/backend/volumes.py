"""Keras' rarer convolutions, and functions of volumes [n, d, h, w, c]."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format
from penstock.keras.backend.shapes import repeat_elements
from penstock.ops.array import shape
from penstock.ops.layout import transpose
from penstock.ops.padding import pad
from penstock.ops.stacking import stack


def _layout(data_format: str | None, letters: str = "HW") -> str:
    return f"NC{letters}" if check_data_format(data_format) == "channels_first" else f"N{letters}C"


def _strides(strides: Any, layout: str) -> list[int]:
    return [1, 1, *strides] if layout[1] == "C" else [1, *strides, 1]


@export("keras.backend.conv2d_transpose")
def conv2d_transpose(
    x: Any, kernel: Any, output_shape: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """The gradient of a convolution: kernel [h, w, filters, c], results of `output_shape`, whose batch may be None.

    dilation_rate: a number twice; where it is not 1 the strides are. Raises ValueError for two numbers.
    """
    layout = _layout(data_format)
    if isinstance(output_shape, list | tuple):
        output_shape = stack([shape(x)[0] if output_shape[0] is None else output_shape[0], *output_shape[1:]])
    rate, *others = {*dilation_rate}
    if others:
        raise ValueError(f"`dilation_rate` of a transposed convolution must be the same twice, not {dilation_rate}")
    if rate != 1:
        if layout == "NHWC":
            return nn.atrous_conv2d_transpose(x, kernel, output_shape, rate, padding.upper())
        last = [output_shape[i] for i in (0, 2, 3, 1)]
        turned = nn.atrous_conv2d_transpose(transpose(x, (0, 2, 3, 1)), kernel, stack(last), rate, padding.upper())
        return transpose(turned, (0, 3, 1, 2))
    return nn.conv2d_transpose(x, kernel, output_shape, _strides(strides, layout), padding.upper(), layout)


@export("keras.backend.depthwise_conv2d")
def depthwise_conv2d(
    x: Any, depthwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Each channel of images convolved by itself."""
    layout = _layout(data_format)
    return nn.depthwise_conv2d(
        x, depthwise_kernel, _strides(strides, layout), padding.upper(), dilation_rate, data_format=layout
    )


@export("keras.backend.separable_conv2d")
def separable_conv2d(
    x: Any, depthwise_kernel: Any, pointwise_kernel: Any, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """Each channel of images convolved by itself, then a mix of the channels."""
    layout = _layout(data_format)
    return nn.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, _strides(strides, layout), padding.upper(), dilation_rate,
        data_format=layout,
    )  # fmt: skip


@export("keras.backend.pool3d")
def pool3d(
    x: Any, pool_size: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The maximum ("max") or mean ("avg") of windows of volumes."""
    layout = _layout(data_format, "DHW")
    return nn.pool(x, pool_size, pool_mode.upper(), padding.upper(), strides=strides, data_format=layout)


@export("keras.backend.spatial_3d_padding")
def spatial_3d_padding(x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Zeros around volumes."""
    sides = [list(ends) for ends in padding]
    first = check_data_format(data_format) == "channels_first"
    return pad(x, [[0, 0], [0, 0], *sides] if first else [[0, 0], *sides, [0, 0]])


@export("keras.backend.resize_volumes")
def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Tensor:
    """Volumes enlarged by whole factors. Raises ValueError for another layout."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    x = convert_to_tensor(x)
    first = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = repeat_elements(x, factor, axis)
    return x
