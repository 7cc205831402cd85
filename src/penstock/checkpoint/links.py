"""Checkpoints merged without copying: their data files, which are never written to again, get names of the new one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from penstock import errors
from penstock.checkpoint.formats import Format
from penstock.checkpoint.index import DataFile, Entry, Index
from penstock.checkpoint.reader import CheckpointReader
from penstock.checkpoint.slices import cover_problem
from penstock.checkpoint.storage import locate
from penstock.checkpoint.writer import LAYOUTS, new_suffix, publish, replacing


class _CannotLink(Exception):
    pass


def merge_by_links(readers: Sequence[CheckpointReader], target: str, format: Format) -> bool:
    """Make `target` of the data files of other checkpoints; False if their format or the file system prevents it.

    No tensor is whole in one of them and present in another. Raises InvalidArgumentError for parts that do not make up
    a tensor.
    """
    indexes = [reader.index for reader in readers]
    layout = LAYOUTS[format]
    known = [index for index in indexes if index and index.layout is layout]
    if not known or len(known) < len(indexes):
        return False
    tensors: dict[str, Entry] = {}
    files: list[tuple[str, DataFile]] = []
    for reader, index in zip(readers, known, strict=True):
        _add(tensors, index.tensors, len(files))
        files.extend((reader.prefix, file) for file in index.files)
    for name, entry in tensors.items():
        problem = cover_problem(entry.shape, [(piece.start, piece.shape) for piece in entry.pieces])
        if problem:
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: {problem}")
    try:
        with replacing(target) as (storage, path, replacement):
            renamed = []
            for number, (prefix, file) in enumerate(files):
                suffix = new_suffix(layout, number, len(files), replacement.token)
                try:
                    replacement.link(locate(prefix)[1] + file.suffix, path + suffix)
                except OSError as error:
                    raise _CannotLink from error
                renamed.append(DataFile(suffix, file.nbytes))
            publish(storage, path, replacement, Index(tuple(renamed), tensors, layout))
    except _CannotLink:
        return False
    return True


def _add(tensors: dict[str, Entry], more: Mapping[str, Entry], first_file: int) -> None:
    for name, entry in more.items():
        pieces = tuple(dataclasses.replace(piece, file=piece.file + first_file) for piece in entry.pieces)
        known = tensors[name].pieces if name in tensors else ()
        tensors[name] = Entry(entry.dtype, entry.shape, known + pieces)
