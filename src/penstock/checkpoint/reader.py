"""Read a checkpoint: any tensor, or a region of one, with its length and checksum verified."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from penstock import errors
from penstock.checkpoint.background import settle
from penstock.checkpoint.data_files import open_data_files
from penstock.checkpoint.first_format import open_first_format
from penstock.checkpoint.index import Entry, Index, Piece
from penstock.checkpoint.memory import MEMORY, in_threads
from penstock.checkpoint.slices import Region, overlap, within
from penstock.checkpoint.storage import Path, Storage, locate, typed
from penstock.checkpoint.tensorflow_types import enum_name
from penstock.checkpoint.values import FIXED_TYPES, STRING, Array, numpy_dtype


class Contents(Protocol):
    """The open files of one checkpoint, in whichever format."""

    @property
    def tensors(self) -> Mapping[str, Entry]: ...

    @property
    def index(self) -> Index | None:
        """What names data files, in formats that have them."""

    def piece(self, name: str, entry: Entry, piece: Piece) -> Array:
        """Raises DataLossError, naming the file and the tensor, if the bytes are not those that were saved."""

    def close(self) -> None: ...


class CheckpointReader:
    """One checkpoint, as it was when this object was made: a local one can be overwritten or deleted meanwhile.

    It is in Penstock's format or in one of TensorFlow's, as the files show. No values are read until a tensor is
    requested. Safe to use from several threads. Raises NotFoundError if there is no such checkpoint and DataLossError
    if its index is damaged; an entry that cannot be right, a damaged block of a bundle's index, or a damaged or missing
    data file, is reported by the first call that needs it, and leaves the rest readable.
    """

    def __init__(self, prefix: Path) -> None:
        settle()
        self.prefix = os.fspath(prefix)
        self._contents = _open(*locate(prefix), self.prefix)

    @property
    def index(self) -> Index | None:
        """The index, if the format has one."""
        return self._contents.index

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What is known of each tensor without reading it."""
        return self._contents.tensors

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(entry.shape) for name, entry in self._contents.tensors.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype[Any]]:
        """NumPy types, as `get_tensor` returns them: `object` for strings, ml_dtypes' for bfloat16."""
        return {name: numpy_dtype(entry.dtype) for name, entry in self._contents.tensors.items()}

    def debug_string(self) -> bytes:
        """A line for each tensor: name, type and shape, as TensorFlow writes them."""
        lines = []
        for name, entry in sorted(self._contents.tensors.items()):
            lines.append(f"{name} ({enum_name(entry.dtype)}) [{','.join(map(str, entry.shape))}]\n")
        return "".join(lines).encode()

    def has_tensor(self, name: str) -> bool:
        return name in self._contents.tensors

    def get_tensor(self, name: str) -> Any:
        """As `array`; scalars are NumPy's, and those of strings bytes, as TensorFlow returns them."""
        found = self.array(name)
        return found if found.ndim else found[()]

    def array(self, name: str) -> Array:
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
        nbytes = sum(piece.nbytes for entry in entries.values() for piece in entry.pieces)
        values = dict(zip(by_place, in_threads(self.array, by_place, nbytes), strict=True))
        return {name: values[name] for name in entries}

    def close(self) -> None:
        """Close the files now rather than when the reader is garbage-collected."""
        self._contents.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _entry(self, name: str) -> Entry:
        entry = self._contents.tensors.get(name)
        if entry is None:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return entry

    def _region(self, name: str, entry: Entry, region: Region) -> Array:
        if entry.dtype not in FIXED_TYPES and entry.dtype != STRING:
            message = f"tensor {name!r} of checkpoint {self.prefix} is of {entry.dtype}, which cannot be read"
            raise errors.UnimplementedError(None, None, message)
        for piece in entry.pieces:
            if (piece.start, piece.shape) == region:
                return self._contents.piece(name, entry, piece)
        found = 0
        with typed(f"tensor {name!r} of checkpoint {self.prefix}"):
            out = _new_array(region[1], numpy_dtype(entry.dtype))
        for piece in entry.pieces:
            common = overlap((piece.start, piece.shape), region)
            if common:
                value = self._contents.piece(name, entry, piece)
                out[within(common, region[0])] = value[within(common, piece.start)]
                found += math.prod(common[1])
        if found < out.size:
            message = f"checkpoint {self.prefix} has only parts of {name!r}: {out.size - found} elements are missing"
            raise errors.NotFoundError(None, None, message)
        return out


def _new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.hasobject:
        return np.empty(shape, dtype)
    return MEMORY.take(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


def _open(storage: Storage, path: str, prefix: str) -> Contents:
    with typed(f"cannot open checkpoint {prefix}"):
        try:
            return open_data_files(storage, path)
        except FileNotFoundError:
            found = open_first_format(storage, path)
            if found is None:
                raise
            return found
