"""JPEG, PNG and BMP files as arrays of pixels (GIF: image_gif.py). PNG is read by Pillow, and JPEG by libjpeg-turbo.

Pixels are [height, width, channels]. Any error in a file raises InvalidArgumentError.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np
import simplejpeg
from PIL import Image, ImageFile

from penstock.ops.kernel_tools import invalid

_MOST_PIXELS = 1 << 27
_STARTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}


def kind_of(data: bytes, allowed: tuple[str, ...]) -> str:
    """Which of the `allowed` formats the file has, by its first bytes."""
    for start, kind in _STARTS.items():
        if kind in allowed and data.startswith(start):
            return kind
    begins = data[:8].hex(" ") or "nothing"
    raise invalid(f"Unknown image file format. One of {', '.join(allowed)} required; the contents begin with {begins}")


def open_file(data: bytes, kind: str) -> ImageFile.ImageFile:
    """The file's header. Only the reader for `kind` is tried, whatever the contents look like."""
    try:
        return Image.open(io.BytesIO(data), formats=[kind])
    except Exception as error:  # readers raise almost any exception on corrupt files, including DecompressionBombError
        raise invalid(f"Invalid {kind} data of {len(data)} bytes: {error}") from error


def load_pixels(image: Image.Image, kind: str, mode: str | None = None) -> np.ndarray:
    """[height, width, channels] of the file, in Pillow's `mode`."""
    try:
        array = np.asarray(image if mode in (None, image.mode) else image.convert(mode))
    except Exception as error:
        raise invalid(f"Invalid {kind} data, size {image.size}: {error}") from error
    return array[..., None] if array.ndim == 2 else array


# --- JPEG -----------------------------------------------------------------------------------------------


def read_jpeg(
    data: bytes,
    channels: int,
    ratio: int = 1,
    fancy: bool = True,
    recover: bool = False,
    acceptable: float = 1.0,
    exact: bool = False,
) -> np.ndarray:
    """uint8 pixels; channels: 0 (as in the file), 1, 3. `ratio` times smaller, which is cheap while decoding.

    `recover`: missing pixels at the end are grey. `acceptable`: a file may be truncated after this fraction of its
    rows. `exact`: by libjpeg's accurate transform, not by its fast one.
    """
    if channels not in (0, 1, 3):
        raise invalid(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    if ratio == 1:
        try:
            return _read_whole_jpeg(data, channels, fancy, exact)
        except ValueError:
            pass  # cut short, or in colours of another kind: Pillow reads part of it, or says what is wrong
    image: Any = open_file(data + b"\xff\xd9" if recover else data, "JPEG")  # a second end marker is harmless
    image.draft("L" if channels == 1 else None, tuple(side / ratio for side in image.size))
    if not fancy:
        image.decoderconfig = (ratio, 1)  # libjpeg's fast methods
    natural = 1 if image.mode == "L" else 3
    mode = {1: "L", 3: "RGB"}[channels or natural]
    if acceptable >= 1:
        return load_pixels(image, "JPEG", mode)
    try:
        image.load()
    except Exception as error:
        found, read = 0, getattr(image, "_im", None)
        if read is not None:  # the rows that were read, and black ones below
            rows = np.flatnonzero(load_pixels(Image.Image()._new(read), "JPEG").any((1, 2)))
            found = int(rows[-1]) + 1 if rows.size else 0
        if read is None or found < acceptable * image.height:
            raise invalid(f"Invalid JPEG data, size {image.size}: {found} rows, then {error}") from error
        image = Image.Image()._new(read)
    return load_pixels(image, "JPEG", mode)


def _read_whole_jpeg(data: bytes, channels: int, fancy: bool, exact: bool) -> np.ndarray:
    """ValueError for anything but an undamaged file in grey or the usual colours."""
    height, width, colors, _ = simplejpeg.decode_jpeg_header(data)
    if height * width > _MOST_PIXELS:
        raise ValueError("a size that Pillow will refuse, before memory is taken for it")
    grey = channels == 1 or (not channels and colors == "Gray")
    return simplejpeg.decode_jpeg(data, "GRAY" if grey else "RGB", fastdct=not exact, fastupsample=not fancy)


# --- PNG ------------------------------------------------------------------------------------------------


def read_png(data: bytes, channels: int, wide: bool = False) -> np.ndarray:
    """uint8 pixels, or uint16 if `wide`; channels: 0 (as in the file), 1, 3, 4."""
    if channels not in (0, 1, 3, 4):
        raise invalid(f"channels must be 0, 1, 3, or 4 for PNG, got {channels}")
    image = open_file(data, "PNG")
    deep = data[24] == 16
    key = image.info.get("transparency") if image.mode != "P" else None
    if deep:
        pixels = _sixteen_bits(data, image)
    elif image.mode == "P":
        pixels = load_pixels(image, "PNG", "RGBA" if "transparency" in image.info else "RGB")
    else:
        pixels = load_pixels(image, "PNG", "L" if image.mode == "1" else None)
    if key is not None and channels == 4 and pixels.shape[2] in (1, 3):  # this colour is transparent
        key = np.asarray(key) * (255 // (2 ** data[24] - 1) if data[24] < 8 else 1)
        alpha = np.where((pixels == key).all(-1, keepdims=True), 0, np.iinfo(pixels.dtype).max)
        pixels = np.concatenate([pixels[..., [0] * 3] if pixels.shape[2] == 1 else pixels, alpha], -1)
        pixels = pixels.astype(np.uint16 if deep else np.uint8)
    pixels = with_channels(pixels, channels)
    if deep:
        return pixels if wide else (pixels >> 8).astype(np.uint8)
    return pixels.astype(np.uint16) * 257 if wide else pixels


def _sixteen_bits(data: bytes, image: ImageFile.ImageFile) -> np.ndarray:
    """A file with 16 bits per channel, of which Pillow reads only one of two bytes, except for grey."""
    if image.mode == "I;16":
        return load_pixels(image, "PNG")
    grey = data[25] == 4  # grey and alpha: four bytes per pixel, like other files' RGBA
    layouts = ["RGBA"] if grey else [f"{image.mode};16B", f"{image.mode};16L"]  # the high bytes, the low bytes
    found = []
    for layout in layouts:
        image = open_file(data, "PNG")
        image.tile = [tile._replace(args=layout) for tile in image.tile]
        found.append(load_pixels(image, "PNG").astype(np.uint16))
    high, low = (found[0][..., ::2], found[0][..., 1::2]) if grey else found
    return high << 8 | low


_GREY = (9797, 19234, 3737)  # of 32768: red, green, blue


def with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """[h, w, 1 to 4] as [h, w, channels]: converted to grey (as in libpng), repeated, alpha dropped or made opaque."""
    have = pixels.shape[2]
    if channels in (0, have):
        return pixels
    if channels == 1:
        if have == 2:
            return pixels[..., :1]
        half = 0 if pixels.dtype == np.uint8 else 1 << 14
        grey = (pixels[..., :3].astype(np.int64) @ np.array(_GREY) + half) >> 15
        return grey.astype(pixels.dtype)[..., None]
    color = pixels[..., [0] * 3] if have < 3 else pixels[..., :3]
    if channels == 3:
        return color
    alpha = pixels[..., 1:] if have == 2 else np.full_like(color[..., :1], np.iinfo(pixels.dtype).max)
    return np.concatenate([color, alpha], -1)


# --- BMP ------------------------------------------------------------------------------------------------


def read_bmp(data: bytes, channels: int) -> np.ndarray:
    """uint8 pixels; channels: 0 (as in the file; 8, 24 or 32 bits: 1, 3, 4), 3, 4. Files with a palette return its
    indices."""
    if channels not in (0, 3, 4):
        raise invalid(f"channels must be 0, 3, or 4 for BMP, got {channels}")
    if len(data) < 32:
        raise invalid(f"Incomplete bmp content: {len(data)} bytes, fewer than its header's 32")
    start, _, width, height, _, bits = struct.unpack_from("<IIiiHH", data, 10)
    if width <= 0 or height == 0 or bits not in (8, 24, 32):
        raise invalid(f"a BMP file of {width} x {height} with {bits} bits a pixel; 8, 24 or 32 bits are read")
    rows, have = abs(height), bits // 8
    size = -(-width * have // 4) * 4  # a row's bytes
    if len(data) - start < size * (rows - 1) + width * have:
        raise invalid(
            f"Incomplete bmp content: {rows} rows of {size} bytes after {start}, but {len(data)} bytes in all"
        )
    body = np.frombuffer(data[start : start + size * rows].ljust(size * rows, b"\0"), np.uint8)
    pixels = body.reshape(rows, size)[:, : width * have].reshape(rows, width, have)
    if height > 0:  # the last row comes first
        pixels = pixels[::-1]
    if have >= 3:  # blue, green, red
        pixels = pixels[..., [2, 1, 0, 3][:have]]
    return with_channels(pixels, channels)
