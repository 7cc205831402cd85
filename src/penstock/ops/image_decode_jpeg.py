"""JPEG files as tensors (TF: tf.image.decode_jpeg and related ops).

Pixels are TensorFlow's, bit for bit, for `ratio` 1 and files that are whole; else they may differ by a few of 255.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.image_decode import COMMON, channels_of, data_of, decoded_shape, one_file, reader, still, to_tensor
from penstock.ops.image_files import kind_of, open_file
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype, int32, string
from penstock.tensor.shapes import TensorShape

_DCT_METHODS = (b"", b"INTEGER_FAST", b"INTEGER_ACCURATE")
_JPEG_ATTRS = [
    "channels: int = 0",
    "ratio: int = 1",
    "fancy_upscaling: bool = true",
    "try_recover_truncated: bool = false",
    "acceptable_fraction: float = 1.0",
    "dct_method: string = ''",
]


def _jpeg_options(ctx: KernelContext) -> dict[str, Any]:
    if ctx["ratio"] not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ctx['ratio']}")
    if ctx["dct_method"] not in _DCT_METHODS:
        raise invalid(
            f"dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got {ctx['dct_method']!r}"
        )
    return {
        "ratio": ctx["ratio"],
        "fancy": ctx["fancy_upscaling"],
        "recover": ctx["try_recover_truncated"],
        "acceptable": ctx["acceptable_fraction"],
        "exact": ctx["dct_method"] == b"INTEGER_ACCURATE",
    }


DECODE_JPEG = define_op("DecodeJpeg", "contents: string", "image: uint8", attrs=_JPEG_ATTRS, slow=True)
DECODE_JPEG.shape(decoded_shape)
DECODE_JPEG.not_differentiable()


@DECODE_JPEG.kernel("CPU")
def decode_jpeg_kernel(ctx: KernelContext) -> Kernel:
    read = reader(channels_of(ctx, (0, 1, 3, 4)), COMMON, **_jpeg_options(ctx))
    return lambda contents: to_tensor(still(*read(contents)))


DECODE_AND_CROP_JPEG = define_op(
    "DecodeAndCropJpeg", "contents: string, crop_window: int32", "image: uint8", attrs=_JPEG_ATTRS, slow=True
)
DECODE_AND_CROP_JPEG.not_differentiable()


@DECODE_AND_CROP_JPEG.shape
def decode_and_crop_jpeg_shape(c: ShapeContext, contents: TensorShape, window: TensorShape) -> TensorShape:
    _, _, channels = decoded_shape(c, contents)
    known = c.constant("crop_window")
    rows, columns = (None, None) if known is None else (int(known[2]), int(known[3]))
    return TensorShape([rows, columns, channels])


@DECODE_AND_CROP_JPEG.kernel("CPU")
def decode_and_crop_jpeg_kernel(ctx: KernelContext) -> Kernel:
    read = reader(channels_of(ctx, (0, 1, 3)), ("JPEG",), **_jpeg_options(ctx))

    def decode(contents: Any, window: torch.Tensor) -> torch.Tensor:
        if window.shape != (4,):
            raise invalid(f"crop_window must have four elements: y, x, height, width; its shape is {[*window.shape]}")
        pixels, _ = read(contents)
        y, x, height, width = window.tolist()
        if min(y, x) < 0 or min(height, width) <= 0 or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
            raise invalid(f"Invalid crop window {[y, x, height, width]} for an image of {list(pixels.shape[:2])}")
        return to_tensor(pixels[y : y + height, x : x + width])

    return decode


EXTRACT_JPEG_SHAPE = define_op(
    "ExtractJpegShape", "contents: string", "image_shape: output_type", attrs=["output_type: indextype = int32"]
)
EXTRACT_JPEG_SHAPE.shape(lambda c, contents: TensorShape([3]))
EXTRACT_JPEG_SHAPE.not_differentiable()


@EXTRACT_JPEG_SHAPE.kernel("CPU")
def extract_jpeg_shape_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.torch_dtype("output_type")

    def shape(contents: Any) -> torch.Tensor:
        data = data_of(contents)
        image = open_file(data, kind_of(data, ("JPEG",)))
        return torch.tensor([image.height, image.width, len(image.getbands())], dtype=dtype)

    return shape


# --- functions ------------------------------------------------------------------------------------------


@export("image.decode_jpeg", "io.decode_jpeg")
def decode_jpeg(
    contents: Any,
    channels: int | None = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file (or PNG, or GIF of one frame) as [height, width, channels] uint8 (TF: tf.image.decode_jpeg).

    channels: 0 as in the file, 1 grey, 3 RGB, 4 RGBA (of a PNG only). ratio: 1, 2, 4 or 8 times smaller.
    try_recover_truncated: missing pixels at the end are grey. acceptable_fraction: the fraction of rows that must
    exist; the others are black. Raises InvalidArgumentError for contents that are not an image.
    """
    return one_file(
        DECODE_JPEG,
        contents,
        name,
        channels=channels or 0,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
    )


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int | None = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Like `decode_jpeg`, only the part `crop_window` [y, x, height, width] (after `ratio`)."""
    return DECODE_AND_CROP_JPEG(
        convert_to_tensor(contents, dtype=string),
        convert_to_tensor(crop_window, dtype=int32),
        channels=channels or 0,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file, without decoding it."""
    return one_file(EXTRACT_JPEG_SHAPE, contents, name, output_type=as_dtype(output_type))


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins like a JPEG file."""
    return get_op("Equal")(get_op("Substr")(contents, 0, 3), b"\xff\xd8\xff", name=name)
