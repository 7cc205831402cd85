"""GIF files as arrays of pixels. Pillow decodes one frame at a time; frames are composed as in TensorFlow:

without "disposal", each frame is drawn over the previous one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.ops.image_files import load_pixels, open_file
from penstock.ops.kernel_tools import invalid

_MOST_PIXELS = 1 << 28  # a small file can claim any size


class _Frame(NamedTuple):
    left: int
    top: int
    width: int
    height: int
    flags: int
    colors: bytes  # the frame's own palette, or empty
    packed: bytes  # the pixels' blocks
    transparent: int | None  # the index of transparent pixels


def _palette_size(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _frames(data: bytes, at: int) -> Iterator[_Frame]:
    """The frames from position `at` to the end of the file, which may be truncated."""
    transparent = None

    def blocks(begin: int) -> int:
        """The end of a sequence of blocks, each with a length byte and that many more bytes; an empty one ends it."""
        while data[begin]:
            begin += 1 + data[begin]
        return begin + 1

    try:
        while data[at] != 0x3B:
            if data[at] == 0x21:  # an extension; 0xF9 describes the next frame
                if data[at + 1] == 0xF9:
                    transparent = data[at + 6] if data[at + 3] & 1 else None
                at = blocks(at + 2)
            elif data[at] == 0x2C:
                left, top, width, height, flags = struct.unpack_from("<HHHHB", data, at + 1)
                begin = at + 10 + _palette_size(flags)
                end = blocks(begin + 1)
                yield _Frame(left, top, width, height, flags, data[at + 10 : begin], data[begin:end], transparent)
                at, transparent = end, None
            else:
                return
    except (IndexError, struct.error):
        return


def _unpacked(frame: _Frame, palette: bytes) -> tuple[np.ndarray, np.ndarray]:
    """[height, width, 3] colours and [height, width, 1] whether pixels are opaque: decodes the frame as a separate
    file."""
    size = struct.pack("<HH", frame.width, frame.height)
    colors = frame.colors or palette
    flags = 0x80 | (len(colors) // 3).bit_length() - 2  # the palette's size
    file = (
        b"GIF89a" + size + bytes([flags, 0, 0]) + colors
        + b"\x2c\0\0\0\0" + size + bytes([frame.flags & 0x40]) + frame.packed + b"\x3b"
    )  # fmt: skip
    image = open_file(file, "GIF")
    indices = load_pixels(image, "GIF")[..., 0] if image.mode in ("P", "L") else None
    if indices is None or not colors:
        raise invalid("a frame of a GIF file has no colours")
    table = np.frombuffer(colors, np.uint8).reshape(-1, 3)
    if indices.size and indices.max() >= len(table):
        raise invalid(f"found color index {indices.max()} outside of the {len(table)} colors of a GIF's frame")
    return table[indices], (indices != (-1 if frame.transparent is None else frame.transparent))[..., None]


def read_gif(data: bytes) -> np.ndarray:
    """[frames, height, width, 3] uint8, as large as the largest frame. For a truncated file, the complete frames."""
    if len(data) < 13:
        raise invalid(f"Invalid GIF data of {len(data)} bytes: no header")
    palette_end = 13 + _palette_size(data[10])
    frames = list(_frames(data, palette_end))
    if not frames:
        raise invalid(f"Invalid GIF data of {len(data)} bytes: no frame")
    width, height = max(frame.width for frame in frames), max(frame.height for frame in frames)
    if width * height > _MOST_PIXELS:
        raise invalid(f"Invalid GIF data: frames of {width} x {height} are too large")
    parts = [_unpacked(frame, data[13:palette_end]) for frame in frames]
    found = np.zeros((len(frames), height, width, 3), np.uint8)
    for number, (frame, (colors, counts)) in enumerate(zip(frames, parts, strict=True)):
        if number:
            found[number] = found[number - 1]
        shown = found[number, frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
        inside = (slice(shown.shape[0]), slice(shown.shape[1]))
        np.copyto(shown, colors[inside], where=counts[inside])
    return found
