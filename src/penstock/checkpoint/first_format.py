"""TensorFlow's first checkpoint format: one table, or several, that has names, shapes and values.

Such a checkpoint has no index beside it. Its name is that of its file, or, with several, a pattern.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np
from google.protobuf.message import DecodeError

from penstock import errors
from penstock.checkpoint.bundle import FILE as BUNDLE_FILE, extents_of, region_of, shape_of
from penstock.checkpoint.index import Entry, Piece
from penstock.checkpoint.slice_keys import slice_key
from penstock.checkpoint.slices import cover_problem
from penstock.checkpoint.sorted_table import FOOTER, MAGIC, Table
from penstock.checkpoint.storage import ReadableFile, Storage, typed
from penstock.checkpoint.tensorflow_types import type_name
from penstock.checkpoint.values import FIXED_TYPES, STRING, Array
from penstock.tensor.messages import add_message, message_classes, new_file

VERSION = 1
_PART = re.compile(r"(.*)\.(?:index|meta|data-.*)")

_FILE = new_file("penstock/saved_tensor_slice.proto", "tensorflow")
_FILE.message_type.extend(m for m in BUNDLE_FILE.message_type if not m.name.startswith("Bundle"))
# Numbers of fixed size are bytes here, which is how they are stored.
add_message(
    _FILE,
    "TensorValue",
    "bytes tensor_content = 4",
    "bytes float_val",
    "bytes double_val",
    "repeated int32 int_val",
    "repeated bytes string_val",
    "bytes scomplex_val",
    "repeated int64 int64_val",
    "repeated int64 bool_val",
    "bytes dcomplex_val",
    "repeated int32 half_val",
    "repeated int64 uint32_val = 16",
    "repeated int64 uint64_val",
)
add_message(_FILE, "SavedSliceMeta", "string name", "TensorShape shape", "int32 type", "repeated TensorSlice slice")
add_message(_FILE, "SavedTensorSliceMeta", "repeated SavedSliceMeta tensor", "Version versions")
add_message(_FILE, "SavedSlice", "string name", "TensorSlice slice", "TensorValue data")
add_message(_FILE, "SavedTensorSlices", "SavedTensorSliceMeta meta", "SavedSlice data")
SavedTensorSlices: Any = message_classes(_FILE)["tensorflow.SavedTensorSlices"]

_INTS = ("int8", "int16", "int32", "uint8", "uint16", "qint8", "qint16", "qint32", "quint8", "quint16")
FIELDS = dict.fromkeys(_INTS, "int_val") | {
    "float32": "float_val",
    "float64": "double_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "float16": "half_val",
    "bfloat16": "half_val",
}


class FirstFormat:
    index = None

    def __init__(self, files: list[tuple[str, ReadableFile]]) -> None:
        self._files = files
        self._tables: list[Table] = []
        self._keys: dict[tuple[str, Piece], bytes] = {}
        self.tensors: Mapping[str, Entry] = {}
        found: dict[str, Entry] = {}
        for number, (path, file) in enumerate(files):
            for name, entry in self._entries(number, path, file).items():
                known = found.get(name)
                if known and (known.dtype, known.shape) != (entry.dtype, entry.shape):
                    _corrupt(path, f"tensor {name!r} has another type or shape than in {files[0][0]}")
                found[name] = Entry(entry.dtype, entry.shape, (*(known.pieces if known else ()), *entry.pieces))
        for name, entry in found.items():
            regions = [(piece.start, piece.shape) for piece in entry.pieces]
            if problem := cover_problem(entry.shape, regions, partly=True):
                _corrupt(files[entry.pieces[0].file][0], f"tensor {name!r}: {problem}")
        self.tensors = found

    def piece(self, name: str, entry: Entry, piece: Piece) -> Array:
        path = self._files[piece.file][0]
        try:
            with typed(f"cannot read {path}: tensor {name!r}"):
                message = self._tables[piece.file].get(self._keys[name, piece])
            if message is None:
                raise ValueError("it is listed, but not there")
            return _value(SavedTensorSlices.FromString(message).data.data, entry.dtype, piece.shape)
        except (ValueError, DecodeError) as error:
            raise errors.DataLossError(None, None, f"{path}: tensor {name!r} is corrupt: {error}") from error

    def close(self) -> None:
        for _, file in self._files:
            file.close()

    def _entries(self, number: int, path: str, file: ReadableFile) -> dict[str, Entry]:
        def read(offset: int, size: int) -> bytes:
            data = bytearray(max(0, min(size, file.size - offset)))
            return bytes(memoryview(data)[: file.read_into(offset, memoryview(data))])

        found = {}
        name = ""
        try:
            self._tables.append(Table(read, file.size))
            listed = SavedTensorSlices.FromString(self._tables[-1].get(b"") or b"")
            if not listed.HasField("meta"):
                raise ValueError("it lists no tensors")
            meta = listed.meta
            if meta.versions.min_consumer > VERSION or VERSION in meta.versions.bad_consumers:
                message = f"{path} is for readers of version {meta.versions.min_consumer}; this is one of {VERSION}"
                raise errors.UnimplementedError(None, None, message)
            for tensor in meta.tensor:
                name, shape, pieces = tensor.name, shape_of(tensor.shape), []
                for part in tensor.slice:
                    extents = extents_of(part)
                    region = region_of(extents, shape)
                    dtype = type_name(tensor.type)
                    item = FIXED_TYPES[dtype].numpy.itemsize if dtype in FIXED_TYPES else 0
                    piece = Piece(number, 0, item * math.prod(region[1]), "", *region)
                    pieces.append(piece)
                    self._keys[name, piece] = slice_key(name, extents)
                if not pieces:
                    raise ValueError("it has no parts")
                found[name] = Entry(dtype, shape, tuple(pieces))
        except (ValueError, DecodeError) as error:
            _corrupt(path, f"tensor {name!r}: {error}" if name else str(error))
        return found


def open_first_format(storage: Storage, path: str) -> FirstFormat | None:
    """The checkpoint of this name or pattern, if there is one of this format."""
    files = []
    for found in first_format_files(storage, path):
        with suppress(FileNotFoundError, IsADirectoryError):
            files.append((found, storage.open(found)))
    return FirstFormat(files) if files else None


def first_format_files(storage: Storage, path: str) -> list[str]:
    """The files that a checkpoint of this name or pattern has, if it is of this format."""
    directory, base = storage.split(path)
    if not base:
        return []
    if storage.exists(path):
        return [path]
    if not any(sign in base for sign in "*?"):
        return []
    with suppress(FileNotFoundError, NotADirectoryError):
        return [storage.join(directory, name) for name in sorted(fnmatch.filter(storage.names(directory), base))]
    return []


def remove_first_format(storage: Storage, path: str) -> None:
    """Remove the files of a checkpoint of this name or pattern; what is no table is not one of them."""
    for file in first_format_files(storage, path):
        if is_table(storage, file):
            storage.remove(file)


def is_table(storage: Storage, path: str) -> bool:
    """Whether a file ends as tables do."""
    file = storage.open(path)
    try:
        end = bytearray(len(MAGIC))
        return file.size >= FOOTER and file.read_into(file.size - len(end), memoryview(end)) > 0 and end == MAGIC
    finally:
        file.close()


def _value(message: Any, dtype: str, shape: tuple[int, ...]) -> Array:
    """Raises ValueError for a message that does not fit."""
    count = math.prod(shape)
    out: Array
    if dtype == STRING:
        if len(message.string_val) != count:
            raise ValueError(f"{len(message.string_val)} strings for shape {list(shape)}")
        out = np.empty(count, np.object_)
        out[:] = list(message.string_val)
        return out.reshape(shape)
    numpy = FIXED_TYPES[dtype].numpy
    plain = np.dtype(numpy[0]) if numpy.names else numpy  # of quantised numbers
    given = message.tensor_content or getattr(message, FIELDS[dtype])
    if isinstance(given, bytes):
        out = np.frombuffer(bytearray(given), plain)
    else:
        bits = np.dtype(np.uint16) if FIELDS[dtype] == "half_val" else plain
        out = np.fromiter(given, np.int64, len(given)).astype(bits).view(plain)
    if len(out) != count:
        raise ValueError(f"{len(out)} elements for shape {list(shape)}")
    return out.view(numpy).reshape(shape)


def _corrupt(path: str, why: str) -> NoReturn:
    part = _PART.fullmatch(path)
    hint = f". This is one of the files of a checkpoint; use the prefix of their names: {part[1]}" if part else ""
    raise errors.DataLossError(None, None, f"checkpoint {path} is corrupt: {why}{hint}")
