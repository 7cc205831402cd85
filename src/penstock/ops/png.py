"""PNG files, using only zlib, which suffices for image summaries."""

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
    rows = _filtered(image.astype(image.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8), channels * depth)
    return b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), level)),
            _chunk(b"IEND", b""),
        ]
    )


def _filtered(rows: np.ndarray, pixel: int) -> np.ndarray:
    """Rows of bytes, each preceded by the number of its filter, chosen to minimise the differences.

    The filter subtracts nothing, the pixel to the left, the one above, the mean of both, or whichever of left, above
    and above left is closest to left + above - above left (Paeth's).
    """
    left, above, corner = (np.zeros_like(rows, np.int16) for _ in range(3))
    left[:, pixel:], above[1:], corner[1:, pixel:] = rows[:, :-pixel], rows[:-1], rows[:-1, :-pixel]
    to_left, to_above, to_corner = np.abs(above - corner), np.abs(left - corner), np.abs(left + above - 2 * corner)
    nearer = np.where(to_above <= to_corner, above, corner)
    paeth = np.where((to_left <= to_above) & (to_left <= to_corner), left, nearer)
    best, least = np.zeros((len(rows), 1 + rows.shape[1]), np.uint8), np.full(len(rows), np.inf)
    for number, guess in enumerate((np.zeros_like(left), left, above, (left + above) // 2, paeth)):
        found = (rows - guess).astype(np.uint8)
        size = np.abs(found.view(np.int8).astype(np.int16)).sum(1)
        better = size < least
        best[better, 0], best[better, 1:], least[better] = number, found[better], size[better]
    return best


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
