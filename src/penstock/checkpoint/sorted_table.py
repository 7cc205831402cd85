"""Sorted string tables (LevelDB's format): the index of a bundle, or a whole checkpoint in TensorFlow's first format.

A table is a sequence of blocks, each followed by a byte for its compression and a masked CRC-32C. The last blocks are
an empty one for metadata and the index: from the last key of each block of data to where the block is. A footer says
where these two are. In a block, each key is stored without the start that it shares with the one before it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

import google_crc32c

from penstock.checkpoint.masked_crc import masked
from penstock.checkpoint.snappy import decompress

MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
FOOTER = 48

_BLOCK = 256 << 10
_RESTART_INTERVAL = 16
_TRAILER = 5
_PLAIN, _SNAPPY = 0, 1

Read = Callable[[int, int], bytes]  # from offset and size to bytes; fewer at the end of the file


class Table:
    """A table that is read by block. Raises ValueError, here and later, if it is damaged."""

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        footer = read(max(0, size - FOOTER), FOOTER)
        if len(footer) < FOOTER or not footer.endswith(MAGIC):
            raise ValueError("it does not end as a table does")
        metadata, at = _handle(footer, 0)
        index, _ = _handle(footer, at)
        # The footer has no checksum. But blocks follow each other, so it can be wrong in one way only: to name others.
        if sum(index) + _TRAILER + FOOTER != size or sum(metadata) + _TRAILER != index[0]:
            raise ValueError("its footer names blocks that are not there")
        self._index = [(key, _handle(value, 0)[0]) for key, value in _entries(self._block(*index))]
        begin = 0
        for _, (offset, length) in self._index:
            if offset != begin:
                raise ValueError("its blocks do not follow each other")
            begin += length + _TRAILER
        if begin != metadata[0]:
            raise ValueError("its blocks do not follow each other")
        self._last: tuple[tuple[int, int], bytes] | None = None

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys and values, in the order of keys."""
        last: bytes | None = None
        for _, handle in self._index:
            for key, value in _entries(self._block(*handle)):
                if last is not None and key <= last:
                    raise ValueError("its keys are not in order")
                yield key, value
                last = key

    def get(self, key: bytes) -> bytes | None:
        at = bisect_left(self._index, key, key=lambda entry: entry[0])
        if at == len(self._index):
            return None
        handle = self._index[at][1]
        last = self._last
        if last is None or last[0] != handle:
            self._last = last = (handle, self._block(*handle))
        for found, value in _entries(last[1], _start(last[1], key)):
            if found >= key:
                return value if found == key else None
        return None

    def _block(self, offset: int, size: int) -> bytes:
        data = self._read(offset, size + _TRAILER)
        if len(data) != size + _TRAILER:
            raise ValueError(f"it ends inside the block at {offset}")
        (crc,) = struct.unpack_from("<I", data, size + 1)
        if masked(google_crc32c.value(data[: size + 1])) != crc:
            raise ValueError(f"the block at {offset} does not match its checksum")
        kind = data[size]
        if kind not in (_PLAIN, _SNAPPY):
            raise ValueError(f"the block at {offset} has the unknown compression {kind}")
        return decompress(data[:size]) if kind == _SNAPPY else data[:size]


def dump_table(items: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The table of `items`, which are in the order of their keys."""
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    block: list[tuple[bytes, bytes]] = []
    size = 0
    for item in items:
        block.append(item)
        size += len(item[0]) + len(item[1])
        if size >= _BLOCK:
            index.append((block[-1][0], _append(out, _dump_block(block, _RESTART_INTERVAL))))
            block, size = [], 0
    if block:
        index.append((block[-1][0], _append(out, _dump_block(block, _RESTART_INTERVAL))))
    metadata = _append(out, _dump_block([], 1))
    footer = metadata + _append(out, _dump_block(index, 1))
    return bytes(out) + footer.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and where the next thing begins. Raises ValueError for one of more than 64 bits."""
    value = shift = 0
    while shift < 64 and at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number without an end")


def _append(out: bytearray, block: bytes) -> bytes:
    """Add a block and its trailer; returns the handle."""
    handle = varint(len(out)) + varint(len(block))
    content = block + bytes([_PLAIN])
    out += content + struct.pack("<I", masked(google_crc32c.value(content)))
    return handle


def _dump_block(items: list[tuple[bytes, bytes]], restart_interval: int) -> bytes:
    out = bytearray()
    restarts = [] if items else [0]
    last = b""
    for number, (key, value) in enumerate(items):
        shared = 0
        if number % restart_interval == 0:
            restarts.append(len(out))
        else:
            most = min(len(last), len(key))
            while shared < most and last[shared] == key[shared]:
                shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return bytes(out) + struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))


def _entries(block: bytes, at: int = 0) -> Iterator[tuple[bytes, bytes]]:
    """The entries from `at` on, where one begins whose key is whole."""
    end, _ = _restarts(block)
    key = b""
    while at < end:
        shared, unshared, size = block[at], block[at + 1], block[at + 2]  # a restart follows, of four bytes
        if shared | unshared | size < 128:
            at += 3
        else:
            shared, at = read_varint(block, at)
            unshared, at = read_varint(block, at)
            size, at = read_varint(block, at)
        if shared > len(key) or at + unshared + size > end:
            raise ValueError("a block with an entry that does not fit")
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        yield key, block[at : at + size]
        at += size


def _start(block: bytes, key: bytes) -> int:
    """The last place with a whole key that is not after `key`."""
    end, count = _restarts(block)
    starts = struct.unpack_from(f"<{count}I", block, end)
    after = bisect_right(starts, key, key=lambda at: next(_entries(block, at), (b"", b""))[0])
    return int(starts[after - 1]) if after else 0


def _restarts(block: bytes) -> tuple[int, int]:
    """Where the list of places with whole keys begins, and how many there are."""
    if len(block) < 4:
        raise ValueError("a block without an end")
    (count,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * count
    if end < 0:
        raise ValueError("a block that is shorter than its list of restarts")
    return end, count


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Offset and size of a block, and where the next thing begins."""
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at
