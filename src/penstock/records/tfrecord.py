"""TFRecord files: each record is preceded by its length, with checksums of both.

A record is `length: uint64, crc(length): uint32, data, crc(data): uint32`, little-endian, where crc is CRC-32C, masked
so that checksums of data that contains checksums stay useful.
"""

from __future__ import annotations

import struct

import google_crc32c
import numpy as np

from penstock import errors
from penstock.checkpoint.masked_crc import masked
from penstock.checkpoint.storage import Path
from penstock.records.source import RecordSource
from penstock.records.streams import READ, open_stream

HEADER, FOOTER = 12, 4
FRAME = HEADER + FOOTER

_LARGE = 64 << 20
"""Memory is allocated in steps of this size, because a length may be wrong although its checksum is right."""

_lengths: dict[bytes, int] = {}
"""The lengths in valid headers. Lengths recur, so most headers take one look-up."""


_headers: dict[int, bytes] = {}
"""The header of each length that was written."""


def framed(records: list[bytes]) -> bytes:
    """Records in the format of files."""
    footers = _footers(records).tobytes()
    parts = [b""] * (3 * len(records))
    parts[::3] = [_headers.get(length) or _header(length) for length in map(len, records)]
    parts[1::3] = records
    parts[2::3] = [footers[at : at + FOOTER] for at in range(0, len(footers), FOOTER)]
    return b"".join(parts)


def _header(length: int) -> bytes:
    if len(_headers) > 10_000:
        _headers.clear()
    data = struct.pack("<Q", length)
    return _headers.setdefault(length, data + _footers([data]).tobytes())


def _footers(records: list[bytes]) -> np.ndarray:
    """The checksum of each in the format of files."""
    return masked(np.fromiter(map(google_crc32c.value, records), "<u4", len(records)))


def _length(header: bytes) -> int | None:
    """The length in a header, or None if it is damaged."""
    if len(header) < HEADER or _footers([header[:8]]).tobytes() != header[8:]:
        return None
    if len(_lengths) > 10_000:
        _lengths.clear()
    return _lengths.setdefault(header, int.from_bytes(header[:8], "little"))


class TFRecords(RecordSource):
    """The records of a TFRecord file; `compression` is "", "GZIP" or "ZLIB"."""

    def __init__(self, path: Path, compression: str = "") -> None:
        super().__init__(open_stream(path, compression))
        self._starts: list[int] = []

    @property
    def offset(self) -> int:
        """Where the next record begins, in bytes before compression."""
        return self._begin + self._starts[self._taken] if self._taken < len(self._block) else self._end

    def _parse(self) -> tuple[list[bytes], int]:
        data = self._rest + self._stream.read()
        if not data:
            return [], 0
        starts, at = _walk(data)
        if not starts:
            data = self._complete(data)
            starts, at = _walk(data)
        records = [data[begin + HEADER : end - FOOTER] for begin, end in zip(starts, [*starts[1:], at], strict=True)]
        wrong = _first_wrong(data, starts, records)
        if wrong is not None:
            error = self._loss("corrupted", starts[wrong], wrong)
            if not wrong:
                raise error
            self._error, at = error, starts[wrong]
            records, starts = records[:wrong], starts[:wrong]
        self._starts, self._rest = starts, data[at:]
        return records, at

    def _complete(self, data: bytes) -> bytes:
        """`data` and what follows it, up to the end of its first record. Raises DataLossError if there is no such
        record."""
        data = self._read_on(data, HEADER)
        if len(data) < HEADER:
            raise self._loss("truncated")
        length = _length(data[:HEADER])
        if length is None:
            raise self._loss("corrupted")
        data = self._read_on(data, length + FRAME)
        if len(data) < length + FRAME:
            raise self._loss("truncated")
        return data

    def _read_on(self, data: bytes, size: int) -> bytes:
        parts, missing = [data], size - len(data)
        while missing > 0 and (part := self._stream.read(min(max(missing, READ), _LARGE))):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts) if len(parts) > 1 else data

    def _loss(self, what: str, at: int = 0, number: int = 0) -> errors.DataLossError:
        text = f"{what} record at {self._begin + at} of {self.path} (record {self.number + number}, counted from 0)"
        hint = "" if self._begin + at else ". Is this a TFRecord file with the given compression?"
        return errors.DataLossError(None, None, text + hint)


def _walk(data: bytes) -> tuple[list[int], int]:
    """The starts of consecutive complete records with valid headers, and the end of the last."""
    starts = []
    at, size, known = 0, len(data), _lengths.get
    while at < size:
        header = data[at : at + HEADER]
        length = known(header)
        if length is None and (length := _length(header)) is None:
            break
        after = at + length + FRAME
        if after > size:
            break
        starts.append(at)
        at = after
    return starts, at


def _first_wrong(data: bytes, starts: list[int], records: list[bytes]) -> int | None:
    """The first of `records`, cut out of `data`, whose checksum is not that of its footer."""
    count = len(records)
    footers = np.array(starts) + np.fromiter(map(len, records), np.int64, count) + HEADER
    stored = np.frombuffer(data, np.uint8)[footers[:, None] + np.arange(FOOTER)].view("<u4")[:, 0]
    wrong = _footers(records) != stored
    return int(wrong.argmax()) if wrong.any() else None
