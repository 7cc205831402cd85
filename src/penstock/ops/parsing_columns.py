"""One feature of many examples as NumPy arrays: the basis of the parsing ops.

Examples are read as `WireExample`, which leaves the list of each feature as the bytes on the wire. The bytes of a whole
batch are concatenated and converted to numbers at once, so that no Python code runs for single values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from penstock import errors
from penstock.ops.kernel_tools import invalid
from penstock.ops.parsing_wire import joined, varint
from penstock.tensor.dtypes import DType, float32, int64, opdef_name, string
from penstock.tensor.example_protos import BytesList, FloatList, Int64List

# For each dtype: the field of Feature that holds it, its message, and its name in TensorFlow's errors.
KINDS: dict[DType, tuple[str, Any, str]] = {
    string: ("bytes_list", BytesList, "bytes"),
    float32: ("float_list", FloatList, "float"),
    int64: ("int64_list", Int64List, "int64"),
}
_KIND_DTYPES = {field: "string" if dtype == string else name for dtype, (field, _, name) in KINDS.items()}


class Column(NamedTuple):
    """The values of a feature, row by row: row i has `counts[i]` of them; `missing` rows lack the feature."""

    values: np.ndarray
    counts: np.ndarray
    missing: list[int]


class Where(NamedTuple):
    """How errors describe the position: a prefix with the key and, in a batch, the example's name and index."""

    key: str
    names: Sequence[bytes] | None
    """The names of the examples in a batch; empty if they have none, None outside a batch."""
    kind: str = "Key"
    """In a sequence example, what the key belongs to."""
    places: Sequence[tuple[int, int]] | None = None
    """In sequence examples: the example of each row, and its index in a feature list. None: there is one example."""

    def at(self, row: int) -> str:
        example, index = self._place(row)
        match self.kind:
            case "Context feature":
                return f"{self._example(example)}Context feature: {self.key}.  "
            case "Feature list":
                return f"{self._example(example)}Feature list: {self.key}, Index: {index}.  "
            case _ if self.names is None:
                return f"Key: {self.key}.  "
            case _:
                return f"{self._example(example)}Key: {self.key}, Index: {index}.  "

    def _place(self, row: int) -> tuple[int, int]:
        if self.places is not None:
            return self.places[row]
        return row if self.kind == "Key" else 0, row

    def _example(self, example: int) -> str:
        if self.names is None:
            return ""
        name = self.names[example].decode(errors="replace") if self.names else ""
        return f"Name: {name or '<unknown>'}, "

    def mismatch(self, found: str, wanted: DType) -> str:
        if self.kind == "Key":
            return f"Data type: {found} but expected type: {opdef_name(wanted)}"
        return f"Expected type: {opdef_name(wanted)}, Feature is of type: {found}"

    def required(self, row: int, dtype: DType) -> errors.InvalidArgumentError:
        example, index = self._place(row)
        prefix, kind = self._example(example), self.kind.replace("Key", "Feature")
        place = f", Index: {index}" if kind == "Feature list" else ""
        return invalid(
            f"{prefix}{kind}: {self.key}{place} (data type: {opdef_name(dtype)}) is required but could not be found."
        )


def read_column(features: Sequence[Any], dtype: DType, where: Where) -> Column:
    """`features`: WireFeature or None for one key, one per row. Raises InvalidArgumentError for a wrong dtype."""
    field, message, _ = KINDS[dtype]
    rows: list[bytes] = []
    missing: list[int] = []
    for i, feature in enumerate(features):
        data = b"" if feature is None else getattr(feature, field)
        if not data:
            kind = None if feature is None else feature.WhichOneof("kind")
            if kind is None:
                missing.append(i)
            elif kind != field:
                raise mismatch(kind, dtype, where, i)
        rows.append(data)
    try:
        if dtype == string:
            return Column(*_strings(rows), missing)
        pieces = [packed(row, message) for row in rows]
        return Column(*numbers(b"".join(pieces), np.fromiter(map(len, pieces), np.int64, len(pieces)), dtype), missing)
    except (ValueError, IndexError):
        raise unreadable(where, 0) from None


def mismatch(kind: str, dtype: DType, where: Where, row: int) -> errors.InvalidArgumentError:
    return invalid(f"{where.at(row)}Data types don't match. {where.mismatch(_KIND_DTYPES[kind], dtype)}")


def unreadable(where: Where, row: int) -> errors.InvalidArgumentError:
    return invalid(f"{where.at(row)}Can't parse serialized Example.")


# --- from the wire --------------------------------------------------------------------------------------


def packed(data: bytes, message: Any) -> memoryview | bytes:
    """The numbers of a serialized FloatList or Int64List: the bytes after its field's tag and length."""
    if not data:
        return data
    if data[0] == 0x0A:  # field 1, packed, as written by nearly every writer
        size, at = varint(data, 1)
        if at + size == len(data):
            return memoryview(data)[at:]
    canonical = message(value=message.FromString(data).value).SerializeToString()
    return packed(canonical, message)


def numbers(joined: bytes, sizes: np.ndarray, dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in packed bytes, of which `sizes[i]` are row i's, and how many each row has. Or ValueError."""
    if dtype == float32:
        if (sizes & 3).any():
            raise ValueError("a number is cut off")
        return np.frombuffer(bytearray(joined), np.float32), sizes >> 2
    if joined.isascii():
        return np.frombuffer(joined, np.uint8).astype(np.int64), sizes
    return _integers(np.frombuffer(joined, np.uint8), sizes)


def _integers(raw: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with seven bits per byte; the last byte of each is below 128."""
    ends, stops = raw < 0x80, np.cumsum(sizes)
    if not ends[stops[sizes > 0] - 1].all():
        raise ValueError("a number is cut off")
    last = np.flatnonzero(ends)
    first = np.concatenate([[0], last[:-1] + 1])
    width = last - first + 1
    longest = int(width.max())
    if longest > 10:
        raise ValueError("a number of more than 64 bits")
    words = np.ndarray((raw.size,), "<u4", np.concatenate([raw, _THREE]), strides=(1,))[first]
    found = joined(words & _WIDTHS[np.minimum(width, 4)])
    if longest > 4:
        long = np.flatnonzero(width > 4)
        rest, bits = found[long].view(np.uint64), (width - 1)[long]
        for byte in range(4, longest):
            more = raw[np.minimum(first[long] + byte, raw.size - 1)].astype(np.uint64) & np.uint64(0x7F)
            rest |= np.where(byte <= bits, more, 0) << np.uint64(7 * byte)
        found[long] = rest.view(np.int64)
    return found, np.diff(last.searchsorted(stops), prepend=0)


_THREE = np.zeros(3, np.uint8)
_WIDTHS = np.array([0, 0x7F, 0x7F7F, 0x7F7F7F, 0x7F7F7F7F], np.uint32)


def _strings(rows: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    lists = [BytesList.FromString(row).value for row in rows]
    return strings(list(chain.from_iterable(lists))), np.array([len(found) for found in lists], np.int64)


def strings(values: list[bytes]) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = values
    return found


# --- to tensors -----------------------------------------------------------------------------------------


def to_value(array: np.ndarray) -> Any:
    """Converts an array to a kernel's output."""
    return array if array.dtype == object else torch.from_numpy(array)


def dense(column: Column, shape: tuple[int, ...], default: np.ndarray | None, dtype: DType, where: Where) -> np.ndarray:
    """[rows, *shape]; rows that lack the feature have the `default`, [] or of that shape; None: raise an error."""
    size, rows = math.prod(shape), len(column.counts)
    wrong = column.counts != size
    if column.missing:
        if default is None:
            raise where.required(column.missing[0], dtype)
        wrong[column.missing] = False
    if wrong.any():
        row = int(wrong.argmax())
        raise invalid(
            f"{where.at(row)}Number of {KINDS[dtype][2]} values != expected.  Values size: {column.counts[row]} "
            f"but output shape: [{','.join(map(str, shape))}]"
        )
    if not column.missing:
        return column.values.reshape(rows, *shape)
    found = np.empty((rows, size), column.values.dtype)
    found[:] = default.reshape(-1)  # type: ignore[union-attr]
    present = np.ones(rows, bool)
    present[column.missing] = False
    found[present] = column.values.reshape(-1, size)
    return found.reshape(rows, *shape)


def dense_padded(column: Column, shape: tuple[int, ...], filler: Any, dtype: DType, where: Where) -> np.ndarray:
    """[rows, longest, *shape]: rows of any length, with `filler` after the shorter ones."""
    stride, rows = max(math.prod(shape), 1), len(column.counts)
    uneven = column.counts % stride != 0
    if uneven.any():
        row = int(uneven.argmax())
        raise invalid(
            f"{where.at(row)}Number of {KINDS[dtype][2]} values is not a multiple of stride length. "
            f"Saw {column.counts[row]} values but output shape is: [{','.join(map(str, ('?', *shape)))}]"
        )
    longest = int(column.counts.max(initial=0))
    if (column.counts == longest).all():
        found = column.values
    else:
        found = np.empty((rows, longest), column.values.dtype)
        found[:] = filler
        found[np.arange(longest) < column.counts[:, None]] = column.values
    return found.reshape(rows, longest // stride, *shape)


def sparse(column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """indices [n, 2] (row, position in it), values [n] and the dense shape, [rows, longest]."""
    counts, rows = column.counts, len(column.counts)
    stops = np.cumsum(counts)
    indices = np.empty((len(column.values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(rows), counts)
    indices[:, 1] = np.arange(len(column.values)) - np.repeat(stops - counts, counts)
    return indices, column.values, np.array([rows, counts.max(initial=0)], np.int64)
