"""PNG files, with zlib alone: image summaries need no more."""

from __future__ import annotations

import struct
import zlib

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # grey, grey with alpha, RGB, RGBA


def encode_png(image: np.ndarray, level: int = -1) -> bytes:
    """`image` [height, width, 1 to 4 channels] uint8 or uint16 as a PNG file; `level` of zlib."""
    height, width, channels = image.shape
    depth = image.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, 8 * depth, _COLOR_TYPE[channels], 0, 0, 0)
    # Every row begins with the number of its filter: 0, the bytes as they are, the higher first.
    rows = np.zeros((height, 1 + width * channels * depth), np.uint8)
    rows[:, 1:] = image.astype(image.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    return b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), level)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
