"""Reading features of serialized Examples by key, as columns of values.

There are three ways to find features: in all records at once (parsing_walk.py), record by record if they are large
(their bytes are then copied only once), and by protobuf, which supports everything that its format allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.ops.kernel_tools import invalid
from penstock.ops.parsing_columns import (
    KINDS,
    Column,
    Where,
    mismatch,
    numbers,
    packed,
    read_column,
    strings,
    unreadable,
)
from penstock.ops.parsing_walk import Places, Walk
from penstock.ops.parsing_wire import BYTES, FLOATS, INTEGERS, NOTHING, length, read_example
from penstock.tensor.dtypes import DType, float32, int64, string
from penstock.tensor.example_protos import BytesList, WireExample, WireFeature

_FEW = 12
"""Fewer records are left to protobuf."""
_FEW_FEATURES = 100
"""Fewer features of sequences are left to protobuf."""
_LARGE = 65536
"""Records of more bytes than this, on average, are not joined."""
_SHORT = 64
"""Values of more bytes than this, on average, are copied one by one."""
_TAGS = {string: BYTES, float32: FLOATS, int64: INTEGERS}
_FIELDS = {BYTES: "bytes_list", FLOATS: "float_list", INTEGERS: "int64_list"}
_FIELD_TAGS = {field: tag for tag, field in _FIELDS.items()}


def parse_message(text: bytes, message: Any, place: str = "") -> Any:
    """InvalidArgumentError, with the text and its position, for a text that is not such a message."""
    try:
        return message.FromString(text)
    except DecodeError:
        shown = text.decode("utf-8", "backslashreplace")
        raise invalid(f"{place}Could not parse example input, value: '{shown}'") from None


def _place(row: int, names: Sequence[bytes] | None) -> str:
    if names is None:
        return ""
    name = names[row].decode(errors="replace") if names else ""
    return f"Name: {name or '<unknown>'}, Index: {row}.  "


class Batch:
    """Reads columns of the `keys`. Raises InvalidArgumentError for a record that is not an Example; `names` as in
    `Where`."""

    def __init__(self, records: list[bytes], keys: Iterable[str], names: Sequence[bytes] | None) -> None:
        self._records, self._joined = records, b""
        self._places: dict[bytes, Places] = {}
        self._odd: dict[int, Any] = {}
        wanted = frozenset(key.encode() for key in keys)
        odd: Sequence[int]
        if len(records) < _FEW:
            odd = range(len(records))
        elif sum(map(len, records)) > _LARGE * len(records):
            odd = self._read_each(wanted)
        else:
            walk = Walk(records, wanted)
            odd, self._places, self._joined = walk.odd, walk.places, walk.data
        parse = WireExample.FromString
        try:
            self._odd = {row: parse(records[row]).features.feature for row in odd}
        except DecodeError:
            for row in sorted(odd):
                parse_message(records[row], WireExample, _place(row, names))

    def _read_each(self, wanted: frozenset[bytes]) -> list[int]:
        odd = []
        for row, record in enumerate(self._records):
            found = read_example(record)
            if found is None:
                odd.append(row)
                continue
            for key in wanted & found.keys():
                places, span = self._places.setdefault(key, Places.of(len(self._records))), found[key]
                places.kind[row], places.whole[row] = span.kind, span.whole
                places.start[row], places.size[row] = span.start, span.stop - span.start
        return odd

    def read(self, key: str, dtype: DType, where: Where) -> Column:
        """The values of a feature. Raises InvalidArgumentError for records in which its dtype differs."""
        if len(self._odd) == len(self._records):
            return read_column([self._odd[row].get(key) for row in range(len(self._records))], dtype, where)
        kind, whole, start, size = self._places.get(key.encode()) or Places.of(len(self._records))
        lists: dict[int, bytes] = {}  # that are read in serialized form
        if self._odd:
            kind = kind.copy()
            for row, features in self._odd.items():
                feature = features.get(key)
                field = None if feature is None else feature.WhichOneof("kind")
                kind[row] = NOTHING if field is None else _FIELD_TAGS[field]
                lists[row] = b"" if field is None else getattr(feature, field)
        missing: list[int] = []
        fitting = kind == _TAGS[dtype]
        if np.count_nonzero(fitting) < len(kind):
            lacking = kind == NOTHING
            wrong = ~(fitting | lacking)
            if wrong.any():
                row = int(wrong.argmax())
                raise mismatch(_FIELDS[int(kind[row])], dtype, where, row)
            missing = np.flatnonzero(lacking).tolist()
        if np.count_nonzero(whole):
            for row in np.flatnonzero(whole).tolist():
                if row not in lists:
                    lists[row] = self._bytes(row, int(start[row]), int(size[row]))
        if dtype == string:
            return Column(*self._strings(start, size, missing, lists, where), missing)
        return Column(*self._numbers(start, size, lists, dtype, where), missing)

    def _bytes(self, row: int, start: int, size: int) -> bytes:
        return (self._joined or self._records[row])[start : start + size]

    def _pieces(self, start: np.ndarray, size: np.ndarray) -> list[bytes]:
        starts, stops = start.tolist(), (start + size).tolist()
        if self._joined:
            data = self._joined
            return [data[begin:end] for begin, end in zip(starts, stops, strict=True)]
        return [data[begin:end] for data, begin, end in zip(self._records, starts, stops, strict=True)]

    def _strings(
        self, start: np.ndarray, size: np.ndarray, missing: list[int], lists: dict[int, bytes], where: Where
    ) -> tuple[np.ndarray, np.ndarray]:
        values = self._pieces(start, size)
        counts = np.ones(len(values), np.int64)
        if not lists and not missing:
            return strings(values), counts
        rows: list[Sequence[bytes]] = [[value] for value in values]
        for row in missing:
            rows[row] = ()
        for row, data in lists.items():
            try:
                rows[row] = BytesList.FromString(data).value[:]
            except DecodeError:
                raise unreadable(where, row) from None
        counts[:] = list(map(len, rows))
        return strings(list(chain.from_iterable(rows))), counts

    def _numbers(
        self, start: np.ndarray, size: np.ndarray, lists: dict[int, bytes], dtype: DType, where: Where
    ) -> tuple[np.ndarray, np.ndarray]:
        if not any(lists.values()) and self._joined and not self._odd:
            joined = self._gathered(start, size)
        else:
            pieces: list[Any] = self._pieces(start, size)
            for row, data in lists.items():
                try:
                    pieces[row] = packed(data, KINDS[dtype][1])
                except (DecodeError, ValueError, IndexError):
                    raise unreadable(where, row) from None
            joined, size = b"".join(pieces), np.fromiter(map(len, pieces), np.int64, len(pieces))
        try:
            return numbers(joined, size, dtype)
        except ValueError:
            for row, stop in enumerate(np.cumsum(size).tolist()):
                try:
                    numbers(joined[stop - int(size[row]) : stop], size[row : row + 1], dtype)
                except ValueError:
                    raise unreadable(where, row) from None
            raise

    def _gathered(self, start: np.ndarray, size: np.ndarray) -> bytes:
        """The bytes of all rows, one after another."""
        data, width = self._joined, int(size[0])
        if width and (size == width).all():
            return np.ndarray((len(data) - width + 1,), f"V{width}", data, strides=(1,))[start].tobytes()
        stops = np.cumsum(size)
        total = int(stops[-1])
        if total > _SHORT * len(size):
            return b"".join(self._pieces(start, size))
        places = np.repeat(start - (stops - size), size) + np.arange(total)
        return np.frombuffer(data, np.uint8)[places].tobytes()


def read_features(features: Sequence[bytes], dtype: DType, where: Where) -> Column:
    """The values of serialized features, one in each row: each is read as the only one of an Example."""
    if len(features) < _FEW_FEATURES:
        parsed = []
        for row, feature in enumerate(features):
            try:
                parsed.append(WireFeature.FromString(feature))
            except DecodeError:
                raise unreadable(where, row) from None
        return read_column(parsed, dtype, where)
    around: dict[int, bytes] = {}
    records = []
    for feature in features:
        size = len(feature)
        if size not in around:
            entry = b"\x0a\0\x12" + length(size)
            outer = b"\x0a" + length(len(entry) + size)
            around[size] = b"\x0a" + length(len(outer) + len(entry) + size) + outer + entry
        records.append(around[size] + feature)
    return Batch(records, [""], []).read("", dtype, where)
