"""Image files of several formats as tensors: PNG, GIF, BMP, any (TF: tf.image.decode_*; JPEG: image_decode_jpeg.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.image_files import kind_of, read_bmp, read_jpeg, read_png
from penstock.ops.image_gif import read_gif
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype, string, uint8
from penstock.tensor.shapes import TensorShape

COMMON = ("JPEG", "PNG", "GIF")
"""The formats that each of decode_jpeg, decode_png and decode_gif reads, regardless of its name."""


def data_of(contents: Any) -> bytes:
    if contents.ndim:
        raise invalid(f"contents must be scalar but got shape {list(contents.shape)}")
    return bytes(contents[()])


def channels_of(ctx: KernelContext, allowed: tuple[int, ...]) -> int:
    channels = ctx["channels"]
    if channels not in allowed:
        raise invalid(f"channels must be one of {', '.join(map(str, allowed))}, got {channels}")
    return int(channels)


def reader(
    channels: int, kinds: tuple[str, ...], dtype: Any = uint8, **jpeg: Any
) -> Callable[[Any], tuple[np.ndarray, bool]]:
    """A function from contents to pixels of `dtype`, [h, w, channels], or for a GIF [frames, h, w, 3], and whether it
    is a GIF."""

    def read(contents: Any) -> tuple[np.ndarray, bool]:
        data = data_of(contents)
        kind = kind_of(data, kinds)
        if kind == "PNG":
            wide = dtype != uint8
            pixels = read_png(data, channels, wide)
            return (pixels / np.float32(65535) if dtype.is_floating else pixels).astype(dtype.np), False
        if kind == "GIF":
            if channels not in (0, 3):
                raise invalid(f"channels must be 0 or 3 for GIF, got {channels}")
            pixels = read_gif(data)
        else:
            pixels = read_bmp(data, channels) if kind == "BMP" else read_jpeg(data, channels, **jpeg)
        if dtype.is_floating:
            pixels = pixels / np.float32(255)
        elif dtype != uint8:
            pixels = pixels.astype(np.uint16) << 8
        return pixels.astype(dtype.np, copy=False), kind == "GIF"

    return read


def still(pixels: np.ndarray, gif: bool) -> np.ndarray:
    if not gif:
        return pixels
    if len(pixels) != 1:
        raise invalid(f"Got {len(pixels)} frames, but animated gifs can only be decoded by decode_gif or decode_image")
    return pixels[0]


def to_tensor(pixels: np.ndarray) -> torch.Tensor:
    flags = pixels.flags
    return torch.from_numpy(pixels if flags.c_contiguous and flags.writeable else pixels.copy())


def decoded_shape(c: ShapeContext, contents: TensorShape, *_: TensorShape) -> TensorShape:
    contents.with_rank(0)
    channels = c.attrs.get("channels", 0)
    if channels < 0:
        raise ValueError(f"channels must be non-negative, got {channels}")
    return TensorShape([None, None, channels or None])


def one_file(op: OpDef, contents: Any, name: str | None, **attrs: Any) -> Tensor:
    return op(convert_to_tensor(contents, dtype=string, name="contents"), name=name, **attrs)


DECODE_PNG = define_op(
    "DecodePng",
    "contents: string",
    "image: dtype",
    attrs=["channels: int = 0", "dtype: {uint8, uint16} = uint8"],
    slow=True,
)
DECODE_PNG.shape(decoded_shape)
DECODE_PNG.not_differentiable()


@DECODE_PNG.kernel("CPU")
def decode_png_kernel(ctx: KernelContext) -> Kernel:
    read = reader(channels_of(ctx, (0, 1, 3, 4)), COMMON, ctx["dtype"])
    return lambda contents: to_tensor(still(*read(contents)))


DECODE_GIF = define_op("DecodeGif", "contents: string", "image: uint8", slow=True)
DECODE_GIF.not_differentiable()


@DECODE_GIF.shape
def decode_gif_shape(c: ShapeContext, contents: TensorShape) -> TensorShape:
    contents.with_rank(0)
    return TensorShape([None, None, None, 3])


@DECODE_GIF.kernel("CPU")
def decode_gif_kernel(ctx: KernelContext) -> Kernel:
    read = reader(3, COMMON)

    def decode(contents: Any) -> torch.Tensor:
        pixels, gif = read(contents)
        return to_tensor(pixels if gif else pixels[None])

    return decode


DECODE_BMP = define_op("DecodeBmp", "contents: string", "image: uint8", attrs=["channels: int = 0"], slow=True)
DECODE_BMP.shape(decoded_shape)
DECODE_BMP.not_differentiable()


@DECODE_BMP.kernel("CPU")
def decode_bmp_kernel(ctx: KernelContext) -> Kernel:
    read = reader(channels_of(ctx, (0, 3, 4)), ("BMP",))
    return lambda contents: to_tensor(read(contents)[0])


DECODE_IMAGE = define_op(
    "DecodeImage",
    "contents: string",
    "image: dtype",
    attrs=["channels: int = 0", "dtype: {uint8, uint16, float} = uint8", "expand_animations: bool = true"],
    slow=True,
)
DECODE_IMAGE.not_differentiable()


@DECODE_IMAGE.shape
def decode_image_shape(c: ShapeContext, contents: TensorShape) -> TensorShape:
    return TensorShape(None) if c.attrs["expand_animations"] else decoded_shape(c, contents)


@DECODE_IMAGE.kernel("CPU")
def decode_image_kernel(ctx: KernelContext) -> Kernel:
    expand, read = ctx["expand_animations"], reader(channels_of(ctx, (0, 1, 3, 4)), (*COMMON, "BMP"), ctx["dtype"])

    def decode(contents: Any) -> torch.Tensor:
        pixels, gif = read(contents)
        return to_tensor(pixels[0] if gif and not expand else pixels)

    return decode


# --- functions ------------------------------------------------------------------------------------------


@export("image.decode_png", "io.decode_png")
def decode_png(contents: Any, channels: int | None = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """A PNG file as [height, width, channels] of uint8 or uint16; channels: 0 (as in the file), 1, 3 or 4."""
    return one_file(DECODE_PNG, contents, name, channels=channels or 0, dtype=as_dtype(dtype))


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """All frames of a GIF file, [frames, height, width, 3] uint8."""
    return one_file(DECODE_GIF, contents, name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents: Any, channels: int | None = 0, name: str | None = None) -> Tensor:
    """A BMP file of 8, 24 or 32 bits as [height, width, channels] uint8; channels: 0 (as in the file), 3 or 4."""
    return one_file(DECODE_BMP, contents, name, channels=channels or 0)


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Any JPEG, PNG, GIF or BMP file; for a GIF all frames, with an additional dimension (TF: tf.image.decode_image).

    Without `expand_animations` only the first frame, so that the result's rank is statically 3. Raises ValueError for
    channels other than None, 0, 1, 3 and 4.
    """
    if channels not in (None, 0, 1, 3, 4):
        raise ValueError("channels must be in (None, 0, 1, 3, 4)")
    return one_file(
        DECODE_IMAGE, contents, name, channels=channels or 0, dtype=as_dtype(dtype), expand_animations=expand_animations
    )
