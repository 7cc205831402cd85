"""How readers process a work item, which is a file for all but one: (key, record) pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Protocol

from penstock.records import FixedLengthRecords, Position, RecordSource, TextLines, TFRecords
from penstock.records.streams import Plain
from penstock.records.tfrecord import FRAME

Pairs = tuple[list[bytes], list[bytes]]
START = Position(0, 0, 0)


class Work(Protocol):
    """A work item in progress."""

    def read(self, count: int) -> tuple[Pairs, bool]:
        """`count` keys and records, or those that are left, and whether it is known that there are no more."""

    @property
    def position(self) -> Position: ...

    def seek(self, position: Position) -> None: ...

    def close(self) -> None: ...


Begin = Callable[[bytes], Work]


def path_of(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


class _Single:
    """Work that is one record, with itself as the key."""

    def __init__(self, name: bytes, read: Callable[[bytes], bytes]) -> None:
        self._name, self._read = name, read
        self.position = START

    def read(self, count: int) -> tuple[Pairs, bool]:
        if self.position.number:
            return ([], []), True
        record = self._read(self._name)
        self.position = Position(0, 1, 1)
        return ([self._name], [record]), True

    def seek(self, position: Position) -> None:
        self.position = position

    def close(self) -> None:
        pass


def itself(name: bytes) -> Work:
    """The work item is the record."""
    return _Single(name, lambda work: work)


def whole_file(name: bytes) -> Work:
    return _Single(name, _contents)


def _contents(name: bytes) -> bytes:
    file = Plain(path_of(name))
    try:
        parts = []
        while part := file.read(max(1 << 20, file.size())):
            parts.append(part)
        return b"".join(parts)
    finally:
        file.close()


class _Records:
    """The records of a file. A key is the file's name and a number."""

    def __init__(self, name: bytes, source: RecordSource, first: int = 0) -> None:
        self._name, self._source, self._first = name, source, first

    def read(self, count: int) -> tuple[Pairs, bool]:
        begin = self._source.number + self._first
        records = self._source.read(count)
        keys = [b"%b:%d" % (self._name, number) for number in range(begin, begin + len(records))]
        return (keys, records), self._ended(len(records) < count)

    def _ended(self, short: bool) -> bool:
        return short and not self._source.failed

    @property
    def position(self) -> Position:
        return self._source.position

    def seek(self, position: Position) -> None:
        self._source.seek(position)

    def close(self) -> None:
        self._source.close()


class _TFRecords(_Records):
    """Here the number in a key is the record's offset."""

    _source: TFRecords

    def read(self, count: int) -> tuple[Pairs, bool]:
        begin = self._source.offset
        records = self._source.read(count)
        offsets = accumulate((len(record) + FRAME for record in records), initial=begin)
        keys = [b"%b:%d" % (self._name, offset) for offset, _ in zip(offsets, records, strict=False)]
        return (keys, records), self._ended(len(records) < count)


def tfrecords(compression: str) -> Begin:
    return lambda name: _TFRecords(name, TFRecords(path_of(name), compression))


def lines(skip_header_lines: int) -> Begin:
    """Lines are counted from one."""
    return lambda name: _Records(name, TextLines(path_of(name), skip_header_lines=skip_header_lines), first=1)


def fixed_length(record: int, header: int, footer: int, hop: int, compression: str) -> Begin:
    return lambda name: _Records(
        name, FixedLengthRecords(path_of(name), record, header, footer, hop, compression=compression)
    )
