"""Decompression of Snappy blocks, which tables written by other programs may have."""

from __future__ import annotations

_LITERAL = 0


def decompress(data: bytes) -> bytes:
    """Raises ValueError for data that is not a Snappy block."""
    try:
        size, at = _length(data)
        out = bytearray()
        while at < len(data):
            tag = data[at]
            at += 1
            if tag & 3 == _LITERAL:
                length = (tag >> 2) + 1
                if length > 60:
                    width = length - 60
                    length = int.from_bytes(data[at : at + width], "little") + 1
                    at += width
                out += data[at : at + length]
                at += length
                continue
            length, offset, at = _copy(data, tag, at)
            begin = len(out) - offset
            if offset == 0 or begin < 0 or len(out) + length > size:
                raise ValueError("a copy from outside")
            pattern = bytes(out[begin : begin + length])
            out += (pattern * (length // len(pattern) + 1))[:length]  # a copy may overlap what it makes
    except IndexError:
        raise ValueError("a Snappy block that ends too early") from None
    if at != len(data) or len(out) != size:
        raise ValueError(f"a Snappy block of {len(out)} bytes that should have {size}")
    return bytes(out)


def _copy(data: bytes, tag: int, at: int) -> tuple[int, int, int]:
    """Length, distance back, and where the next element begins."""
    if tag & 3 == 1:
        return (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at], at + 1
    width = 2 if tag & 3 == 2 else 4
    if at + width > len(data):
        raise IndexError
    return (tag >> 2) + 1, int.from_bytes(data[at : at + width], "little"), at + width


def _length(data: bytes) -> tuple[int, int]:
    size = shift = at = 0
    while True:
        byte = data[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return size, at
        if shift > 28:
            raise ValueError("a Snappy block with an invalid length")
