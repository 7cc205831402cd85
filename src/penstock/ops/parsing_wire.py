"""The positions of a tf.train.Example's values in its bytes, in the layout that every protobuf writer uses.

A feature is a map entry with four lengths that depend on each other:

    0A entry  0A size key  12 feature  kind list  0A values  …the values' bytes

`kind` says which list it is; the values are packed numbers, or one string. A list of several strings, or of numbers
that are not packed, is left serialized (`whole`). Other encodings that protobuf allows (unknown fields, a different
order, long forms of lengths) are not used in practice: `read_entry` returns None for them, and protobuf's own parser
must be used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

BYTES, FLOATS, INTEGERS = 0x0A, 0x12, 0x1A
"""Tags of a feature's three kinds of lists: `kind` below; NOTHING is a feature without a list."""
NOTHING = 0
_LONGEST_KEY = 127


class Entry(NamedTuple):
    key: bytes
    kind: int
    whole: bool
    """Whether the values are a serialized list (possibly empty) rather than packed numbers or one string."""
    header: int
    """How many bytes come before the values."""
    size: int
    """The number of bytes of the values."""


class Span(NamedTuple):
    """Where the values of a feature are in the bytes of a record; see Entry."""

    kind: int
    whole: bool
    start: int
    stop: int


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A length of at most five bytes, and its end; far below zero if it is longer."""
    value, shift = 0, 0
    while shift < 35:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return -(1 << 62), at


def length(size: int) -> bytes:
    """A length as protobuf writes it."""
    found = bytearray()
    while size >= 0x80:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size])


def read_entry(data: bytes, start: int) -> Entry | None:
    """The entry at `start`; `data` has some more bytes after the last entry."""
    if data[start] != 0x0A:
        return None
    size, at = varint(data, start + 1)
    end = at + size
    if size < 4:
        return None
    key_size = data[at + 1]
    body = at + 2 + key_size
    if data[at] != 0x0A or key_size > _LONGEST_KEY or body + 2 > end or data[body] != 0x12:
        return None
    key = data[at + 2 : body]
    size, at = varint(data, body + 1)
    if at + size != end:
        return None
    if not size:
        return Entry(key, NOTHING, False, at - start, 0)
    kind = data[at]
    size, at = varint(data, at + 1)
    if at + size != end or kind not in (BYTES, FLOATS, INTEGERS):
        return None
    if size and data[at] == 0x0A:
        values, first = varint(data, at + 1)
        if first + values == end:
            return Entry(key, kind, False, first - start, values)
    return Entry(key, kind, True, at - start, size)


def read_example(data: bytes) -> dict[bytes, Span] | None:
    """The spans of all features of one Example, or None if protobuf's parser is needed."""
    found = {}
    at, stop = 0, len(data)
    try:
        if data:
            size, at = varint(data, 1)
            if data[0] != 0x0A or at + size != stop:
                return None
        while at < stop:
            entry = read_entry(data, at)
            if entry is None:
                return None
            start = at + entry.header
            at = start + entry.size
            found[entry.key] = Span(entry.kind, entry.whole, start, at)
    except IndexError:
        return None
    return found if at == stop else None


def joined(words: np.ndarray) -> np.ndarray:
    """The numbers in four bytes each, seven bits a byte."""
    low, high = words & 0x7F | (words & 0x7F00) >> 1, (words & 0x7F0000) >> 2 | (words & 0x7F000000) >> 3
    return (low | high).astype(np.int64)


# --- all layouts of a key -------------------------------------------------------------------------------


SHORT = 128
ABSENT = -1
"""For a length that a layout lacks, in `less` below."""


class Layouts(NamedTuple):
    """How entries with one key and kind begin: one row for each combination of the byte sizes of their lengths.

    A row describes entries whose size is its `entry` or more, up to the next row's.
    """

    entry: np.ndarray
    header: np.ndarray
    """How many bytes come before the values."""
    mask: np.ndarray
    fixed: np.ndarray
    """The header's bytes selected by `mask` (tags, key, continuation bits of lengths), eight per number."""
    places: np.ndarray
    masks: np.ndarray
    """The positions of the lengths of feature, list and values, and a mask for the four bytes there."""
    less: np.ndarray
    """How much smaller than the entry's length they must be."""
    kind: np.ndarray
    whole: np.ndarray
    list_header: np.ndarray
    list_mask: np.ndarray
    """Like `header` and `mask`, up to the bytes of the serialized list."""
    least: np.ndarray
    step: np.ndarray
    cover: np.ndarray
    """The whole header of an entry of size `entry`, what each additional byte adds, and a mask over the header.

    For entries below SHORT, whose lengths take one byte each.
    """

    def of(self, rows: np.ndarray | list[int]) -> Layouts:
        """These rows: one for all entries, or one for each."""
        return Layouts(*(field.take(rows, 0) for field in self))


def _bytes_of(length: int) -> int:
    return max(1, -(-length.bit_length() // 7))


def _words(data: bytes | bytearray, count: int) -> np.ndarray:
    return np.frombuffer(bytes(data).ljust(8 * count, b"\0"), np.uint64)


def _layout(key: bytes, kind: int, parts: int, values: int) -> tuple[Any, ...]:
    """The fields of Layouts for an entry with that many bytes of values; `parts`: the number of lengths."""
    lengths = [values]
    for _ in range(parts - 1):
        lengths.insert(0, 1 + _bytes_of(lengths[0]) + lengths[0])
    lengths.insert(0, 2 + len(key) + 1 + _bytes_of(lengths[0]) + lengths[0])
    tags = [b"\x0a", b"\x0a" + bytes([len(key)]) + key + b"\x12", bytes([kind]), b"\x0a"]
    fixed, mask, least, step, stops = bytearray(), bytearray(), bytearray(), bytearray(), []
    for tag, length in zip(tags, lengths, strict=False):
        width = _bytes_of(length)
        fixed += tag + b"\x80" * (width - 1) + b"\0"
        mask += b"\xff" * len(tag) + b"\x80" * width
        least += tag + bytes(width - 1) + bytes([length & 0x7F])
        step += bytes(len(tag)) + b"\1" * width
        stops.append(len(fixed))
    words = -(-(len(key) + 22) // 8)  # of the longest header
    absent = [0] * (3 - parts)
    before = stops[2] if parts == 3 else len(fixed)
    return (
        lengths[0],
        len(fixed),
        _words(mask, words),
        _words(fixed, words),
        [*(stop - _bytes_of(length) for stop, length in zip(stops[1:], lengths[1:], strict=True)), *absent],
        [*(0x7F7F7F7F & ((1 << 8 * _bytes_of(length)) - 1) for length in lengths[1:]), *absent],
        [*(lengths[0] - length for length in lengths[1:]), *(ABSENT for _ in absent)],
        NOTHING if parts == 1 else kind,
        parts == 2,
        before,
        _words(mask[:before], words),
        _words(least, words),
        _words(step, words),
        _words(b"\xff" * len(fixed), words),
    )


@lru_cache(512)
def layouts(key: bytes, kind: int) -> Layouts:
    """Of entries below 2^28 bytes."""
    found = [_layout(key, kind, 1, 0), _layout(key, kind, 2, 0)]
    near = {0} | {2**bits + i for bits in (7, 14, 21) for i in range(-len(key) - 20, 1)}
    shape: list[int] = []
    for values in sorted(near):
        if values < 0:
            continue
        layout = _layout(key, kind, 3, values)
        new = [layout[1], *layout[4]]
        if new != shape:
            found.append(layout)
            shape = new
    return Layouts(*map(np.array, zip(*found, strict=True)))
