"""What differs between formats with data files: their checksums, and how strings become bytes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import google_crc32c
import numpy as np

from penstock.checkpoint.masked_crc import masked
from penstock.checkpoint.sorted_table import read_varint, varint
from penstock.checkpoint.values import FIXED_TYPES, STRING, Array, Bytes, Strings


@dataclass(frozen=True)
class Layout:
    """checksum: continues a checksum over more bytes. least_bytes: of so many strings. decode_strings: the tensor of
    some bytes, and its checksum given that of the bytes; raises ValueError for bytes that do not fit."""

    checksum: Callable[[int, memoryview], int]
    least_bytes: Callable[[int], int]
    encode_strings: Strings
    decode_strings: Callable[[Sequence[int], Bytes, int], tuple[Array, int]]

    def size_problem(self, dtype: str, shape: Sequence[int], nbytes: int) -> str | None:
        """Why a tensor of this type and shape cannot have `nbytes` in a file, if so."""
        count = math.prod(shape)
        if dtype in FIXED_TYPES:
            expected = count * FIXED_TYPES[dtype].numpy.itemsize
            return None if nbytes == expected else f"{nbytes} bytes instead of {expected}"
        least = self.least_bytes(count) if dtype == STRING else 0
        return None if nbytes >= least else f"{nbytes} bytes, at least {least} needed"


# --- Penstock's: n + 1 offsets (uint64), then the bytes of the strings ---------------------------------------------


def _offsets_first(items: Sequence[bytes]) -> tuple[bytes, None]:
    offsets = np.zeros(len(items) + 1, np.uint64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return b"".join([offsets.tobytes(), *items]), None


def _by_offsets(shape: Sequence[int], data: Bytes, crc: int) -> tuple[Array, int]:
    count = math.prod(shape)
    offsets = data[: 8 * (count + 1)].view(np.uint64)
    text = data[8 * (count + 1) :].tobytes()
    if offsets[0] != 0 or offsets[-1] != len(text) or np.any(offsets[1:] < offsets[:-1]):
        raise ValueError("string offsets that do not fit the data")
    return _array(shape, text, offsets.tolist()), crc


# --- TensorFlow's: lengths (varint64), a checksum of the lengths, then the bytes of the strings ---------------------
#
# Both checksums are of lengths as 4 bytes (8 for those that need them); that of the whole goes on with the rest.


def _lengths_first(items: Sequence[bytes]) -> tuple[bytes, int]:
    crc = _checksum_of_lengths([len(item) for item in items])
    rest = b"".join([masked(crc).to_bytes(4, "little"), *items])
    return b"".join(varint(len(item)) for item in items) + rest, google_crc32c.extend(crc, rest)


def _by_lengths(shape: Sequence[int], data: Bytes, crc: int) -> tuple[Array, int]:
    content, at = data.tobytes(), 0
    bounds, lengths = [0], []
    for _ in range(math.prod(shape)):
        length, at = read_varint(content, at)
        lengths.append(length)
        bounds.append(bounds[-1] + length)
    crc = _checksum_of_lengths(lengths)
    if at + 4 + bounds[-1] != len(content) or content[at : at + 4] != masked(crc).to_bytes(4, "little"):
        raise ValueError("string lengths that do not fit the data")
    return _array(shape, content[at + 4 :], bounds), google_crc32c.extend(crc, content[at:])


def _checksum_of_lengths(lengths: Sequence[int]) -> int:
    return int(google_crc32c.value(b"".join(n.to_bytes(4 if n < 1 << 32 else 8, "little") for n in lengths)))


def _array(shape: Sequence[int], text: bytes, bounds: Sequence[int]) -> Array:
    out = np.empty(math.prod(shape), np.object_)
    for i in range(len(out)):
        out[i] = text[bounds[i] : bounds[i + 1]]
    return out.reshape(shape)


def _crc32c(crc: int, chunk: memoryview) -> int:
    return int(google_crc32c.extend(crc, np.frombuffer(chunk, np.uint8)))  # of writable memory, it takes arrays


PENSTOCK = Layout(_crc32c, lambda count: 8 * (count + 1), _offsets_first, _by_offsets)
PENSTOCK_1 = replace(PENSTOCK, checksum=lambda crc, chunk: zlib.crc32(chunk, crc))
"""The first version's, with a checksum that takes twice as long."""
FIRST = replace(
    PENSTOCK, encode_strings=lambda items: (b"".join(b"\x42" + varint(len(item)) + item for item in items), None)
)
"""TensorFlow's first format, which has no data files: strings are encoded as the field string_val of its message."""
TENSORFLOW = Layout(_crc32c, lambda count: count + 4, _lengths_first, _by_lengths)
