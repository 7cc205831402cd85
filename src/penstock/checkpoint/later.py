"""Values that are written later: copies of variables, freed as they are written, and tensors of other checkpoints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.checkpoint.formats import Format
from penstock.checkpoint.index import Entry, Piece
from penstock.checkpoint.links import merge_by_links
from penstock.checkpoint.memory import MEMORY, in_threads
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import Slice, SlicedTensor
from penstock.checkpoint.values import FIXED_TYPES, Array, Bytes, Encoded, Value, encode
from penstock.checkpoint.writer import write_checkpoint

_CHUNK = 16 << 20


def snapshots(values: Sequence[Value]) -> list[Value | Encoded]:
    """The values as they are now. The copy of a tensor is given back once it has been written."""
    copies: list[Value | Encoded] = []
    to_copy: list[tuple[Bytes, Bytes]] = []
    for value in values:
        if not isinstance(value, torch.Tensor):
            copies.append(value.copy())
            continue
        encoded = encode(value, _no_strings)
        here = np.asarray(encoded.take())
        if here.ctypes.data == value.data_ptr():  # not a copy already, of a GPU's memory or of a view
            copy = MEMORY.take(len(here))
            to_copy += [(copy[at : at + _CHUNK], here[at : at + _CHUNK]) for at in range(0, len(here), _CHUNK)]
            here = copy
        copies.append(dataclasses.replace(encoded, take=[here.data].pop))
    in_threads(lambda pair: np.copyto(*pair), to_copy, sum(len(copy) for copy, _ in to_copy))
    return copies


def _no_strings(items: Any) -> Any:
    raise TypeError("a torch tensor has no strings")


def merge_checkpoints(
    prefixes: Sequence[str],
    target: str,
    format: Format,
    allow_missing: bool = False,
    progress: Callable[[int], object] = lambda nbytes: None,
    links: bool = True,
) -> None:
    """Write one checkpoint with the tensors, and parts of tensors, of several; values are read when they are written.

    They may be of any format. With `links`, and if all are of the new one's format, it has their data files, which get
    other names as well: nothing is read. `progress` is called with the size of each part when it has been read. Raises
    InvalidArgumentError if a tensor, or a part of it, is in two of them.
    """
    with ExitStack() as stack:
        readers: list[CheckpointReader] = []
        found: dict[str, tuple[Entry, list[tuple[CheckpointReader, Piece]]]] = {}
        for prefix in prefixes:
            try:
                reader = stack.enter_context(CheckpointReader(prefix))
            except errors.NotFoundError:
                if not allow_missing:
                    raise
                continue
            readers.append(reader)
            for name, entry in reader.entries.items():
                known, pieces = found.setdefault(name, (entry, []))
                if (known.dtype, known.shape) != (entry.dtype, entry.shape) or (pieces and _is_whole(entry)):
                    message = f"{name!r} is in more than one of the checkpoints to merge, e.g. {prefix}"
                    raise errors.InvalidArgumentError(None, None, message)
                pieces.extend((reader, piece) for piece in entry.pieces)
        if links and merge_by_links(readers, target, format):
            return
        tensors: dict[str, Any] = {}
        for name, (entry, pieces) in found.items():
            values = [Slice(piece.start, _of_piece(reader, name, entry, piece, progress)) for reader, piece in pieces]
            tensors[name] = values[0].value if _is_whole(entry) else SlicedTensor(entry.shape, tuple(values))
        write_checkpoint(target, tensors, format=format)


def _is_whole(entry: Entry) -> bool:
    return len(entry.pieces) == 1 and entry.pieces[0].shape == entry.shape


def _of_piece(
    reader: CheckpointReader, name: str, entry: Entry, piece: Piece, progress: Callable[[int], object]
) -> Value | Encoded:
    def read() -> Array:
        value = reader.get_slice(name, piece.start, piece.shape)
        progress(piece.nbytes)
        return value

    if entry.dtype not in FIXED_TYPES:
        return read()

    def take() -> memoryview:
        return encode(read(), _no_strings).take()

    size = FIXED_TYPES[entry.dtype].numpy.itemsize * int(np.prod(piece.shape, dtype=np.int64))
    return Encoded(entry.dtype, piece.shape, size, take)
