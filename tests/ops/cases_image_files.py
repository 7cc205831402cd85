"""Image files: read against pixels made here and files written here or by Pillow; written and read back by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

from penstock import errors
from tests.ops.harness import OpCase

BAD = errors.InvalidArgumentError

_SMOOTH = np.stack(np.meshgrid(np.arange(24) * 9, np.arange(16) * 12), -1)
_PICTURE = np.concatenate([_SMOOTH, _SMOOTH[..., :1] // 2 + 60], -1).astype(np.uint8)  # [16, 24, 3]


def file_of(pixels: np.ndarray, kind: str, **options: Any) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return np.array(file.getvalue(), object)


def _near(tolerance: int) -> Any:
    def check(contents: Any, *others: Any) -> None:
        pixels = others[-1]
        assert pixels.dtype == np.uint8 and pixels.shape == _PICTURE.shape
        assert np.abs(pixels.astype(int) - _PICTURE).max() <= tolerance

    return check


def _same_when_read(image: Any, *others: Any) -> None:
    found = np.asarray(Image.open(io.BytesIO(others[-1])))
    assert np.abs(found.astype(int).reshape(image.shape) - image).max() <= 12


def _frames() -> np.ndarray:
    file = io.BytesIO()
    pictures = [Image.fromarray(np.full((3, 4, 3), value, np.uint8)) for value in (0, 255, 128)]
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:])
    return np.array(file.getvalue(), object)


_DOT = (0, 0, 1, 1, 1)
_GIF_COLORS = np.array([[0, 0, 0], [200, 30, 40], [5, 250, 60], [9, 9, 9]], np.uint8)


def gif_of(frames: list[tuple[int, int, int, int, int]], disposal: int = 0) -> np.ndarray:
    """Frames (left, top, width, height, colour), each of one colour, in LZW codes of three bits that never grow."""
    file = b"GIF89a" + struct.pack("<HHBBB", 3, 2, 0x81, 0, 0) + _GIF_COLORS.tobytes()
    for left, top, width, height, color in frames:
        codes = [c for _ in range(width * height) for c in (4, color)] + [5]  # 4: forget what was seen; 5: the end
        bits = sum(code << 3 * i for i, code in enumerate(codes))
        packed = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
        file += b"\x21\xf9\x04" + bytes([disposal << 2, 0, 0, 0, 0])
        file += b"\x2c" + struct.pack("<HHHHB", left, top, width, height, 0)
        file += b"\x02" + bytes([len(packed)]) + packed + b"\0"
    return np.array(file + b"\x3b", object)


def _two_frames() -> np.ndarray:
    """The second frame is drawn over the first, whatever the file says of disposal."""
    found = np.broadcast_to(_GIF_COLORS[1], (2, 2, 3, 3)).copy()
    found[1, 1, 1:] = _GIF_COLORS[2]
    return found


def deep_png_of(pixels: np.ndarray) -> np.ndarray:
    """A PNG file of [h, w, 1 to 4] uint16, each row's bytes as differences from the pixel before (filter 1)."""
    height, width, channels = pixels.shape
    raw = pixels.astype(">u2").view(np.uint8).reshape(height, -1)
    before = np.pad(raw, [(0, 0), (2 * channels, 0)])[:, : raw.shape[1]]
    rows = np.concatenate([np.ones((height, 1), np.uint8), raw - before], 1)
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)),
             (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))  # fmt: skip
    file = b"\x89PNG\r\n\x1a\n"
    for name, data in parts:
        file += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return np.array(file, object)


def _opaque(pixels: np.ndarray) -> np.ndarray:
    return np.concatenate([pixels, np.full_like(pixels[..., :1], 255)], -1)


def _has_shape(height: int, width: int) -> Any:
    return lambda contents, pixels: _shape(pixels, (height, width, 3))


def _codec_cases() -> list[OpCase]:
    grey = _PICTURE[..., 0]
    jpeg, png, bmp = (file_of(_PICTURE, kind) for kind in ("JPEG", "PNG", "BMP"))
    fine = file_of(_PICTURE, "JPEG", quality=100, subsampling=0)
    frames = np.stack([np.full((3, 4, 3), value, np.uint8) for value in (0, 255, 128)])
    junk = np.array(b"neither this nor that", object)
    cut = np.array(bytes(png[()])[:60], object)
    wide = (_PICTURE.astype(np.uint16) * 200)[..., :1]
    deep = np.random.RandomState(0).randint(0, 65536, (5, 4, 4)).astype(np.uint16)
    return [
        OpCase("DecodeJpeg", [fine], {}, check=_near(6)),
        OpCase("DecodeJpeg", [png], {}, _PICTURE),
        OpCase("DecodeJpeg", [jpeg], {"ratio": 2}, check=lambda c, y: _shape(y, (8, 12, 3))),
        *(
            OpCase("DecodeJpeg", [file_of(_PICTURE[:13, :21], "JPEG")], {"ratio": r}, check=_has_shape(h, w))
            for r, h, w in ((2, 7, 11), (4, 4, 6), (8, 2, 3))  # sides that are no multiples
        ),
        OpCase("DecodeJpeg", [jpeg], {"dct_method": "SLOW"}, raises=BAD, match="dct_method"),
        OpCase("DecodeJpeg", [jpeg], {"ratio": 3}, raises=BAD, match="ratio"),
        OpCase("DecodeJpeg", [jpeg], {"channels": 1}, check=lambda c, y: _shape(y, (16, 24, 1))),
        OpCase("DecodeJpeg", [junk], raises=BAD, match="Unknown image file format"),
        OpCase("DecodeJpeg", [jpeg], {"channels": 2}, raises=BAD, match="channels"),
        OpCase("DecodeAndCropJpeg", [fine, np.array([0, 0, 16, 24], np.int32)], check=_near(6)),
        OpCase(
            "DecodeAndCropJpeg", [fine, np.array([2, 3, 5, 6], np.int32)], check=lambda c, w, y: _shape(y, (5, 6, 3))
        ),
        OpCase("DecodeAndCropJpeg", [fine, np.array([2, 3, 15, 6], np.int32)], raises=BAD, match="crop window"),
        OpCase("ExtractJpegShape", [jpeg], {}, np.array([16, 24, 3], np.int32)),
        OpCase("DecodePng", [png], {}, _PICTURE),
        OpCase("DecodePng", [png], {"dtype": "uint16"}, _PICTURE.astype(np.uint16) * 257),
        OpCase("DecodePng", [png], {"channels": 4}, _opaque(_PICTURE)),
        OpCase("DecodePng", [file_of(grey, "PNG")], {}, grey[..., None]),
        OpCase("DecodePng", [file_of(grey, "PNG")], {"channels": 3}, np.repeat(grey[..., None], 3, -1)),
        OpCase("DecodePng", [cut], raises=BAD, match="Invalid PNG data"),
        OpCase("DecodePng", [bmp], raises=BAD, match="Unknown image file format"),
        OpCase("DecodePng", [gif_of([_DOT, _DOT])], raises=BAD, match="animated"),
        *(
            OpCase("DecodePng", [deep_png_of(deep[..., :k])], {"dtype": "uint16", "channels": c}, want)
            for k, c, want in (
                (1, 0, deep[..., :1]),
                (2, 0, deep[..., :2]),
                (3, 0, deep[..., :3]),
                (4, 0, deep),
                (4, 3, deep[..., :3]),
                (1, 3, deep[..., [0, 0, 0]]),
            )
        ),
        OpCase("DecodePng", [deep_png_of(deep)], {}, (deep >> 8).astype(np.uint8)),
        OpCase("DecodeImage", [deep_png_of(deep[..., :1])], {"dtype": "uint16"}, deep[..., :1]),
        OpCase("DecodeJpeg", [deep_png_of(deep[..., :1])], {}, (deep[..., :1] >> 8).astype(np.uint8)),
        OpCase("DecodeGif", [_frames()], {}, frames),
        OpCase("DecodeBmp", [bmp], {}, _PICTURE),
        OpCase("DecodeBmp", [bmp], {"channels": 1}, raises=BAD, match="channels"),
        OpCase("DecodeBmp", [bmp], {"channels": 4}, _opaque(_PICTURE)),
        OpCase("DecodeBmp", [file_of(_opaque(_PICTURE), "BMP")], {}, _opaque(_PICTURE)),
        OpCase("DecodeBmp", [np.array(bytes(bmp[()])[:200], object)], raises=BAD, match="Incomplete"),
        OpCase("DecodeGif", [gif_of([(0, 0, 3, 2, 1), (1, 1, 2, 1, 2)])], {}, _two_frames()),
        OpCase("DecodeGif", [gif_of([(0, 0, 3, 2, 1), (1, 1, 2, 1, 2)], disposal=2)], {}, _two_frames()),
        OpCase("DecodeImage", [bmp], {}, _PICTURE),
        OpCase("DecodeImage", [png], {}, _PICTURE),
        OpCase("DecodeImage", [_frames()], {}, frames),
        OpCase("DecodeImage", [_frames()], {"expand_animations": False}, frames[0]),
        OpCase("DecodeImage", [png], {"dtype": "float32"}, _PICTURE.astype(np.float32) / 255),
        OpCase("EncodeJpeg", [_PICTURE], {}, check=_same_when_read),
        OpCase("EncodeJpeg", [grey[..., None]], {"format": "grayscale", "progressive": True}, check=_same_when_read),
        OpCase("EncodeJpeg", [_PICTURE], {"format": "grayscale"}, raises=BAD, match="channels"),
        OpCase("EncodeJpegVariableQuality", [_PICTURE, np.int32(90)], {}, check=_same_when_read),
        OpCase("EncodePng", [_PICTURE], {}, check=_same_when_read),
        OpCase("EncodePng", [wide], {"compression": 9}, check=_sixteen_bits_when_read),
        OpCase("EncodePng", [np.zeros((2, 2, 5), np.uint8)], raises=BAD, match="channels"),
    ]


def _shape(value: Any, wanted: tuple[int, ...]) -> None:
    assert value.shape == wanted


def _sixteen_bits_when_read(image: Any, contents: Any) -> None:
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(contents))), image[..., 0])


CASES = _codec_cases()
