"""Read a checkpoint: any tensor, or a region of one, with its length and checksum verified."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import numpy as np

from penstock import errors
from penstock.checkpoint.index import Entry, Index, Piece, crc_text, parse_index
from penstock.checkpoint.replace import MAX_TARGET_BYTES
from penstock.checkpoint.slices import Region, overlap, within
from penstock.checkpoint.storage import Path, ReadableFile, Storage, locate, typed, typed_error
from penstock.checkpoint.values import Array, decode, numpy_dtype

_WORTH_THREADS = 16 << 20  # reading and checksums run outside the GIL: two threads take 0.7 of one's time


class CheckpointReader:
    """One checkpoint, as it was when this object was made: a local one can be overwritten or deleted meanwhile.

    Only the index is read until a tensor is requested. Safe to use from several threads. Raises NotFoundError if there
    is no such checkpoint and DataLossError if its index is damaged; a damaged or missing data file is reported by the
    first read that needs it, and leaves the rest readable.
    """

    def __init__(self, prefix: Path) -> None:
        self.prefix = os.fspath(prefix)
        self._storage, self._path = locate(prefix)
        self._index, self._files = _open(self._storage, self._path, self.prefix)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(entry.shape) for name, entry in self._index.tensors.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype[Any]]:
        """NumPy types, as `get_tensor` returns them: `object` for strings, ml_dtypes' for bfloat16."""
        return {name: numpy_dtype(entry.dtype) for name, entry in self._index.tensors.items()}

    def has_tensor(self, name: str) -> bool:
        return name in self._index.tensors

    def get_tensor(self, name: str) -> Array:
        """A fresh, writable array. Raises NotFoundError if there is none, DataLossError if its bytes changed."""
        entry = self._entry(name)
        return self._region(name, entry, ((0,) * len(entry.shape), entry.shape))

    def get_slice(self, name: str, start: Sequence[int], shape: Sequence[int]) -> Array:
        """The region that begins at `start`; only the needed parts of a partitioned variable are read."""
        entry = self._entry(name)
        region = (tuple(start), tuple(shape))
        inside = len(region[0]) == len(region[1]) == len(entry.shape) and all(
            at >= 0 and n >= 0 and at + n <= full for at, n, full in zip(*region, entry.shape, strict=True)
        )
        if not inside:
            message = f"{name!r} in {self.prefix} has shape {list(entry.shape)}: no region {list(region)} in it"
            raise errors.InvalidArgumentError(None, None, message)
        return self._region(name, entry, region)

    def read(self, names: Iterable[str]) -> dict[str, Array]:
        """Several tensors, in the order of `names`, read in the order in which they are stored in the files."""
        entries = {name: self._entry(name) for name in names}
        by_place = sorted(entries, key=lambda name: (entries[name].pieces[0].file, entries[name].pieces[0].offset))
        if sum(piece.nbytes for entry in entries.values() for piece in entry.pieces) < _WORTH_THREADS:
            values = {name: self.get_tensor(name) for name in by_place}
        else:
            with ThreadPoolExecutor(min(8, os.cpu_count() or 1), "penstock-checkpoint") as pool:
                values = dict(zip(by_place, pool.map(self.get_tensor, by_place), strict=True))
        return {name: values[name] for name in entries}

    def close(self) -> None:
        """Close the files now rather than when the reader is garbage-collected."""
        for file in self._files:
            if not isinstance(file, OSError):
                file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _entry(self, name: str) -> Entry:
        entry = self._index.tensors.get(name)
        if entry is None:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return entry

    def _region(self, name: str, entry: Entry, region: Region) -> Array:
        first = entry.pieces[0]
        if (first.start, first.shape) == region:
            return self._piece(name, entry, first)
        with typed(f"tensor {name!r} of checkpoint {self.prefix}"):
            out: Array = np.empty(region[1], numpy_dtype(entry.dtype))
        for piece in entry.pieces:
            common = overlap((piece.start, piece.shape), region)
            if common:
                out[within(common, region[0])] = self._piece(name, entry, piece)[within(common, piece.start)]
        return out

    def _piece(self, name: str, entry: Entry, piece: Piece) -> Array:
        file = self._files[piece.file]
        described = self._index.files[piece.file]
        where = f"{self._path}{described.suffix}: tensor {name!r}"
        if isinstance(file, OSError):
            raise typed_error(file, f"cannot read {where}") from file
        end = piece.offset + piece.nbytes
        if end > file.size:  # before memory is allocated for it
            message = f"{where} ends at byte {end}, the file has {file.size} instead of {described.nbytes}"
            raise errors.DataLossError(None, None, message)
        with typed(f"cannot read {where}"):
            data, crc = self._read(file, piece)
        if crc is None:
            raise errors.DataLossError(None, None, f"{where} was cut short while it was read")
        if crc != piece.crc32:
            message = f"{where} is corrupt: its bytes have the checksum {crc}, the index says {piece.crc32}"
            raise errors.DataLossError(None, None, message)
        try:
            return decode(entry.dtype, piece.shape, data)
        except ValueError as error:
            raise errors.DataLossError(None, None, f"{where} is corrupt: {error}") from error

    def _read(self, file: ReadableFile, piece: Piece) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], str | None]:
        """The bytes and their checksum; None if the file has become too short for them."""
        data = np.empty(piece.nbytes, np.uint8)
        view = data.data
        crc = 0
        for begin in range(0, piece.nbytes, self._storage.preferred_read):
            chunk = view[begin : begin + self._storage.preferred_read]
            if file.read_into(piece.offset + begin, chunk) < len(chunk):
                return data, None
            crc = zlib.crc32(chunk, crc)
        return data, crc_text(crc)


def _open(storage: Storage, path: str, prefix: str) -> tuple[Index, list[ReadableFile | OSError]]:
    """The index and the data files that it names, as of one moment."""
    target = path + ".index"
    with typed(f"cannot open checkpoint {prefix}"):
        data = storage.read(target, MAX_TARGET_BYTES)
        while True:
            index = parse_index(data, target)
            files = [_try_open(storage, path + file.suffix) for file in index.files]
            if not any(isinstance(file, FileNotFoundError) for file in files):
                return index, files
            # Either lost, or removed by a save that has replaced the index since we read it.
            again = storage.read(target, MAX_TARGET_BYTES)
            if again == data:
                return index, files
            data = again


def _try_open(storage: Storage, path: str) -> ReadableFile | OSError:
    try:
        return storage.open(path)
    except OSError as error:
        return error
