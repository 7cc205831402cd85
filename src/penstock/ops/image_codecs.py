"""Image files as strings: JPEG, PNG, GIF and BMP, read and written by Pillow (TF: tf.image.decode_* and encode_*).

Decoded pixels of a JPEG file may differ by a few of 255 from TensorFlow's, whose library interpolates colours in
another way.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError

from penstock import errors
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.ops.png import encode_png as write_png
from penstock.tensor.dtypes import as_dtype, int32, string, uint8
from penstock.tensor.shapes import TensorShape

_FORMATS = ["JPEG", "PNG", "GIF", "BMP"]
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, message)


def _contents(value: Any) -> bytes:
    if value.ndim:
        raise invalid(f"contents must be scalar but got shape {list(value.shape)}")
    return bytes(value[()])


def _open(contents: Any, formats: list[str]) -> Image.Image:
    data = _contents(contents)
    try:
        return Image.open(io.BytesIO(data), formats=formats)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        wanted = ", ".join(formats)
        start = data[:8].hex(" ") or "nothing"
        raise invalid(
            f"Unknown image file format. One of {wanted} required; the contents begin with {start}"
        ) from error


def _pixels(image: Image.Image, channels: int, name: str) -> np.ndarray:
    """[height, width, channels] uint8; 0 channels: as many as the file has."""
    try:
        if channels == 0:
            channels = len(image.getbands()) if image.mode in _MODES.values() else _natural(image)
        if image.mode != _MODES[channels]:
            image = image.convert(_MODES[channels])
        array = np.asarray(image)
    except (OSError, ValueError, SyntaxError, struct.error, IndexError) as error:
        raise invalid(f"Invalid {name} data, size {image.size}: {error}") from error
    return array[..., None] if array.ndim == 2 else array


def _natural(image: Image.Image) -> int:
    """The number of channels of a palette, CMYK or 16-bit image."""
    if image.mode == "P":
        return 4 if "transparency" in image.info else 3
    return 1 if image.mode in ("1", "I", "F", "I;16", "I;16B") else 3


def _to_tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(array, order="C"))


def _check_channels(n: Any, allowed: tuple[int, ...]) -> int:
    channels = n["channels"]
    if channels not in allowed:
        raise invalid(f"channels must be one of {', '.join(map(str, allowed))}, got {channels}")
    return int(channels)


def _decoded_shape(c: ShapeContext, contents: TensorShape, *_: TensorShape) -> TensorShape:
    contents.with_rank(0)
    channels = c.attrs.get("channels", 0)
    if channels < 0:
        raise ValueError(f"channels must be non-negative, got {channels}")
    return TensorShape([None, None, channels or None])


# --- JPEG -----------------------------------------------------------------------------------------------

_JPEG_ATTRS = [
    "channels: int = 0",
    "ratio: int = 1",
    "fancy_upscaling: bool = true",
    "try_recover_truncated: bool = false",
    "acceptable_fraction: float = 1.0",
    "dct_method: string = ''",
]
DECODE_JPEG = define_op("DecodeJpeg", "contents: string", "image: uint8", attrs=_JPEG_ATTRS)
DECODE_AND_CROP_JPEG = define_op(
    "DecodeAndCropJpeg", "contents: string, crop_window: int32", "image: uint8", attrs=_JPEG_ATTRS
)


def _jpeg_reader(n: Any, formats: list[str]) -> Callable[[Any], np.ndarray]:
    channels, ratio = _check_channels(n, (0, 1, 3)), n["ratio"]
    if ratio not in (1, 2, 4, 8):
        raise invalid(f"ratio must be 1, 2, 4, or 8, got {ratio}")

    def read(contents: Any) -> np.ndarray:
        image = _open(contents, formats)
        if image.format == "GIF" and getattr(image, "n_frames", 1) > 1:
            raise invalid("Got an animated GIF where one image is wanted; use decode_gif")
        if image.format == "JPEG":  # smaller, and grey, as the file is read: cheaper, and as TensorFlow does it
            size = tuple(-(-side // ratio) for side in image.size)
            image.draft("L" if channels == 1 else None, size)
        return _pixels(image, channels, image.format or "JPEG")

    return read


DECODE_JPEG.shape(_decoded_shape)
DECODE_JPEG.not_differentiable()


@DECODE_JPEG.kernel("CPU")
def decode_jpeg_kernel(n: Any) -> Kernel:
    read = _jpeg_reader(n, _FORMATS)
    return lambda contents: _to_tensor(read(contents))


@DECODE_AND_CROP_JPEG.shape
def decode_and_crop_jpeg_shape(c: ShapeContext, contents: TensorShape, window: TensorShape) -> TensorShape:
    _, _, channels = _decoded_shape(c, contents)
    known = c.constant("crop_window")
    rows, columns = (None, None) if known is None else (int(known[2]), int(known[3]))
    return TensorShape([rows, columns, channels])


DECODE_AND_CROP_JPEG.not_differentiable()


@DECODE_AND_CROP_JPEG.kernel("CPU")
def decode_and_crop_jpeg_kernel(n: Any) -> Kernel:
    read = _jpeg_reader(n, ["JPEG"])

    def decode(contents: Any, window: torch.Tensor) -> torch.Tensor:
        pixels = read(contents)
        y, x, height, width = window.tolist()
        if min(y, x) < 0 or min(height, width) <= 0 or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
            raise invalid(f"Invalid crop window {[y, x, height, width]} for an image of {list(pixels.shape[:2])}")
        return _to_tensor(pixels[y : y + height, x : x + width])

    return decode


EXTRACT_JPEG_SHAPE = define_op(
    "ExtractJpegShape", "contents: string", "image_shape: output_type", attrs=["output_type: indextype = int32"]
)
EXTRACT_JPEG_SHAPE.shape(lambda c, contents: TensorShape([3]))
EXTRACT_JPEG_SHAPE.not_differentiable()


@EXTRACT_JPEG_SHAPE.kernel("CPU")
def extract_jpeg_shape_kernel(n: Any) -> Kernel:
    dtype = n.torch_dtype("output_type")

    def shape(contents: Any) -> torch.Tensor:
        image = _open(contents, ["JPEG"])
        return torch.tensor([image.size[1], image.size[0], len(image.getbands())], dtype=dtype)

    return shape


ENCODE_JPEG = define_op(
    "EncodeJpeg",
    "image: uint8",
    "contents: string",
    attrs=[
        "format: {'', 'grayscale', 'rgb'} = ''",
        "quality: int = 95",
        "progressive: bool = false",
        "optimize_size: bool = false",
        "chroma_downsampling: bool = true",
        "density_unit: {'in', 'cm'} = 'in'",
        "x_density: int = 300",
        "y_density: int = 300",
        "xmp_metadata: string = ''",
    ],
)
ENCODE_JPEG.shape(lambda c, image: _scalar_of(image))
ENCODE_JPEG.not_differentiable()


def _scalar_of(image: TensorShape) -> TensorShape:
    image.with_rank(3)
    return SCALAR


def _write_jpeg(image: torch.Tensor, wanted: int, **options: Any) -> np.ndarray:
    if image.ndim != 3:
        raise invalid(f"image must be 3-dimensional, got shape {list(image.shape)}")
    channels = image.shape[2]
    if channels not in (1, 3) or (wanted and channels != wanted):
        raise invalid(f"image must have {wanted or '1 or 3'} channels to be a JPEG file, got {channels}")
    if not image.numel():
        raise invalid(f"an image of shape {list(image.shape)} has no pixels to encode")
    pixels = image.numpy()
    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if channels == 1 else np.ascontiguousarray(pixels)).save(file, "JPEG", **options)
    return np.array(file.getvalue(), object)


@ENCODE_JPEG.kernel("CPU")
def encode_jpeg_kernel(n: Any) -> Kernel:
    quality = n["quality"]
    if not 0 <= quality <= 100:
        raise invalid(f"quality must be in [0,100], got {quality}")
    per_inch = 1.0 if n["density_unit"] == b"in" else 2.54
    options: dict[str, Any] = {
        "quality": quality,
        "progressive": n["progressive"],
        "optimize": n["optimize_size"],
        "subsampling": 2 if n["chroma_downsampling"] else 0,
        "dpi": (round(n["x_density"] * per_inch), round(n["y_density"] * per_inch)),
    }
    if n["xmp_metadata"]:
        options["xmp"] = n["xmp_metadata"]
    wanted = {b"": 0, b"grayscale": 1, b"rgb": 3}[n["format"]]
    return lambda image: _write_jpeg(image, wanted, **options)


ENCODE_JPEG_VARIABLE_QUALITY = define_op(
    "EncodeJpegVariableQuality", "images: uint8, quality: int32", "contents: string"
)
ENCODE_JPEG_VARIABLE_QUALITY.shape(lambda c, image, quality: _scalar_of(image))
ENCODE_JPEG_VARIABLE_QUALITY.not_differentiable()


@ENCODE_JPEG_VARIABLE_QUALITY.kernel("CPU")
def encode_jpeg_variable_quality_kernel(n: Any) -> Kernel:
    def encode(image: torch.Tensor, quality: torch.Tensor) -> np.ndarray:
        if quality.ndim or not 0 <= int(quality) <= 100:
            raise invalid(f"quality must be a scalar in [0,100], got {quality.tolist()}")
        return _write_jpeg(image, 0, quality=int(quality), subsampling=2)

    return encode


# --- PNG, GIF, BMP, any ---------------------------------------------------------------------------------

DECODE_PNG = define_op(
    "DecodePng", "contents: string", "image: dtype", attrs=["channels: int = 0", "dtype: {uint8, uint16} = uint8"]
)
DECODE_PNG.shape(_decoded_shape)
DECODE_PNG.not_differentiable()


def _sixteen_bits(image: Image.Image) -> np.ndarray:
    """Pixels as uint16: 255 becomes 65535. Grey files with 16 bits keep them."""
    if image.mode in ("I;16", "I;16B", "I"):
        return np.asarray(image).astype(np.uint16)[..., None]
    return _pixels(image, 0, image.format or "PNG").astype(np.uint16) * 257


@DECODE_PNG.kernel("CPU")
def decode_png_kernel(n: Any) -> Kernel:
    channels, wide = _check_channels(n, (0, 1, 3, 4)), n["dtype"] != uint8

    def decode(contents: Any) -> torch.Tensor:
        image = _open(contents, _FORMATS)
        if image.mode.startswith("I"):  # 16 bits of grey
            pixels = _sixteen_bits(image)
            if channels in (3, 4):
                pixels = np.concatenate([pixels] * 3 + [np.full_like(pixels, 65535)] * (channels == 4), -1)
            return _to_tensor(pixels if wide else (pixels >> 8).astype(np.uint8))
        if _depth(contents) == 16 and wide:
            raise errors.UnimplementedError(None, None, "PNG files with 16 bits of each colour are read as 8 bits only")
        pixels = _pixels(image, channels, "PNG")
        return _to_tensor(pixels.astype(np.uint16) * 257 if wide else pixels)

    return decode


def _depth(contents: Any) -> int:
    data = _contents(contents)
    return data[24] if data[:4] == b"\x89PNG" and len(data) > 24 else 8


DECODE_GIF = define_op("DecodeGif", "contents: string", "image: uint8")
DECODE_GIF.not_differentiable()


@DECODE_GIF.shape
def decode_gif_shape(c: ShapeContext, contents: TensorShape) -> TensorShape:
    contents.with_rank(0)
    return TensorShape([None, None, None, 3])


def _frames(image: Image.Image) -> np.ndarray:
    found = []
    try:
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            found.append(np.asarray(image.convert("RGB")))
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise invalid(f"Invalid GIF data at frame {len(found)}: {error}") from error
    return np.stack(found)


@DECODE_GIF.kernel("CPU")
def decode_gif_kernel(n: Any) -> Kernel:
    def decode(contents: Any) -> torch.Tensor:
        image = _open(contents, _FORMATS)
        return _to_tensor(_frames(image) if image.format == "GIF" else _pixels(image, 3, "image")[None])

    return decode


DECODE_BMP = define_op("DecodeBmp", "contents: string", "image: uint8", attrs=["channels: int = 0"])
DECODE_BMP.shape(_decoded_shape)
DECODE_BMP.not_differentiable()


@DECODE_BMP.kernel("CPU")
def decode_bmp_kernel(n: Any) -> Kernel:
    channels = _check_channels(n, (0, 1, 3, 4))

    def decode(contents: Any) -> torch.Tensor:
        image = _open(contents, ["BMP"])
        found = len(image.getbands())
        if channels and channels != found:
            raise invalid(f"channels attribute {channels} does not match bits per pixel from file {8 * found}")
        return _to_tensor(_pixels(image, channels, "BMP"))

    return decode


DECODE_IMAGE = define_op(
    "DecodeImage",
    "contents: string",
    "image: dtype",
    attrs=["channels: int = 0", "dtype: {uint8, uint16, float} = uint8", "expand_animations: bool = true"],
)
DECODE_IMAGE.not_differentiable()


@DECODE_IMAGE.shape
def decode_image_shape(c: ShapeContext, contents: TensorShape) -> TensorShape:
    return TensorShape(None) if c.attrs["expand_animations"] else _decoded_shape(c, contents)


@DECODE_IMAGE.kernel("CPU")
def decode_image_kernel(n: Any) -> Kernel:
    channels, expand, dtype = _check_channels(n, (0, 1, 3, 4)), n["expand_animations"], n["dtype"]

    def decode(contents: Any) -> torch.Tensor:
        image = _open(contents, _FORMATS)
        if image.format == "GIF":
            if channels in (1, 4):
                raise invalid(f"channels must be 0 or 3 for GIF files, got {channels}")
            pixels = _frames(image)
            pixels = pixels if expand else pixels[0]
        else:
            pixels = _pixels(image, channels, image.format or "image")
        if dtype.is_floating:
            return _to_tensor(pixels.astype(np.float32) / np.float32(255))
        return _to_tensor(pixels if dtype == uint8 else pixels.astype(np.uint16) * 257)

    return decode


ENCODE_PNG = define_op(
    "EncodePng", "image: T", "contents: string", attrs=["compression: int = -1", "T: {uint8, uint16} = uint8"]
)
ENCODE_PNG.shape(shape_rules.scalar)
ENCODE_PNG.not_differentiable()


@ENCODE_PNG.kernel("CPU")
def encode_png_kernel(n: Any) -> Kernel:
    level = n["compression"]
    if not -1 <= level <= 9:
        raise invalid(f"compression should be in [-1,9], got {level}")

    def encode(image: torch.Tensor) -> np.ndarray:
        if image.ndim < 3:
            raise invalid(f"images must be at least rank 3, got shape {list(image.shape)}")
        if not image.numel() or not 1 <= image.shape[-1] <= 4:
            raise invalid(f"image must have pixels and 1, 2, 3, or 4 channels, got shape {list(image.shape)}")
        pixels = image.numpy()
        files = np.empty(pixels.shape[:-3], object)
        for place in np.ndindex(files.shape):
            files[place] = write_png(pixels[place], level)
        return files

    return encode


# --- functions ------------------------------------------------------------------------------------------


def _one(op: OpDef, contents: Any, name: str | None, **attrs: Any) -> Tensor:
    return op(convert_to_tensor(contents, dtype=string, name="contents"), name=name, **attrs)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file (or another that Pillow knows) as [height, width, channels] uint8 (TF: tf.image.decode_jpeg).

    channels: 0 as in the file, 1 grey, 3 RGB. ratio: 1, 2, 4 or 8 times smaller. InvalidArgumentError for contents
    that are no image.
    """
    return _one(
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


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """As `decode_jpeg`, only the part `crop_window` [y, x, height, width]."""
    return DECODE_AND_CROP_JPEG(
        convert_to_tensor(contents, dtype=string),
        convert_to_tensor(crop_window, dtype=int32),
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
        name=name,
    )


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file, without decoding it."""
    return _one(EXTRACT_JPEG_SHAPE, contents, name, output_type=as_dtype(output_type))


def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """A PNG file as [height, width, channels] of uint8 or uint16; channels: 0 as in the file, 1, 3 or 4."""
    return _one(DECODE_PNG, contents, name, channels=channels or 0, dtype=as_dtype(dtype))


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """All frames of a GIF file, [frames, height, width, 3] uint8."""
    return _one(DECODE_GIF, contents, name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """A BMP file as [height, width, channels] uint8."""
    return _one(DECODE_BMP, contents, name, channels=channels)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Any JPEG, PNG, GIF or BMP file; of a GIF all frames, with one dimension more (TF: tf.image.decode_image)."""
    return _one(
        DECODE_IMAGE, contents, name, channels=channels or 0, dtype=as_dtype(dtype), expand_animations=expand_animations
    )


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """[height, width, 1 or 3] uint8 as a JPEG file: a scalar string (TF: tf.image.encode_jpeg)."""
    return ENCODE_JPEG(
        convert_to_tensor(image, dtype=uint8),
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """[..., height, width, 1 to 4] of uint8 or uint16 as PNG files: strings [...] (TF: tf.image.encode_png)."""
    return ENCODE_PNG(convert_to_tensor(image), compression=compression, name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins as a JPEG file does."""
    from penstock.ops.compare import equal
    from penstock.strings import substr

    return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)
