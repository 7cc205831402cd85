"""Save tensors: data files, then the index that makes them a checkpoint."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import get_args

from penstock import errors
from penstock.checkpoint.bundle_files import publish_bundle, remove_unnamed
from penstock.checkpoint.first_format import remove_first_format
from penstock.checkpoint.first_format_writing import write_first_format
from penstock.checkpoint.formats import Format
from penstock.checkpoint.index import DataFile, Entry, Index, Piece, data_names, data_suffix, dump_index
from penstock.checkpoint.layouts import FIRST, PENSTOCK, TENSORFLOW, Layout
from penstock.checkpoint.parts import Part, Shapes, Tensors, parts_of, shards_of, write_parts
from penstock.checkpoint.replace import MAX_TARGET_BYTES, Replacement, temporary_data
from penstock.checkpoint.storage import Path, Storage, locate, typed
from penstock.checkpoint.write_progress import write_progress

MAX_SHARD_BYTES = 2 << 30

LAYOUTS: dict[Format, Layout] = {"penstock": PENSTOCK, "tensorflow": TENSORFLOW, "tensorflow-v1": FIRST}


def write_checkpoint(
    prefix: Path,
    tensors: Tensors,
    *,
    max_shard_bytes: int | None = None,
    format: Format = "penstock",
    partly: bool = False,
    changing: bool = False,
) -> None:
    """Save `tensors` as the checkpoint `prefix`, replacing an existing one of any format.

    A reader finds either the complete old checkpoint or the complete new one, whenever the writer dies; once this
    returns, the new one survives a power cut (as far as the file system does). On failure nothing is left behind. Data
    files hold up to `max_shard_bytes`, or one larger tensor; by default TensorFlow's format has one file
    (its first format always has). `partly`:
    slices need not cover their tensors, since other checkpoints, to be merged with this one, have the others.
    `changing`: other threads may write to the values meanwhile.

    Raises InvalidArgumentError for a value that checkpoints cannot hold, NotFoundError without a parent directory,
    PermissionDeniedError, ResourceExhaustedError on a full disk.
    """
    if max_shard_bytes is not None and max_shard_bytes <= 0:
        raise errors.InvalidArgumentError(None, None, f"max_shard_bytes is {max_shard_bytes}; it must be positive")
    if format not in LAYOUTS:
        raise errors.InvalidArgumentError(None, None, f"{format!r} is no checkpoint format: {get_args(Format)}")
    layout, bundle = LAYOUTS[format], format == "tensorflow"
    parts, shapes = parts_of(tensors, layout, partly=partly)
    total = sum(part.value.nbytes for part in parts)
    if layout is FIRST:
        with write_progress(os.fspath(prefix), total) as advance:
            write_first_format(prefix, parts, shapes, advance)
        return
    shards = shards_of(parts, max_shard_bytes or (None if bundle else MAX_SHARD_BYTES))
    if bundle:
        shards = shards or [[]]
    pieces: dict[str, list[Piece]] = {name: [] for name in shapes}
    files: list[DataFile] = []
    with replacing(prefix) as (storage, path, replacement), write_progress(os.fspath(prefix), total) as advance:
        for number, shard in enumerate(shards):
            suffix = new_suffix(layout, number, len(shards), replacement.token)
            out = replacement.create(path + suffix)
            header = b"" if bundle else _header(shard)
            out.write(memoryview(header))
            size = write_parts(out, shard, number, len(header), layout, pieces, changing=changing, advance=advance)
            out.finish()
            files.append(DataFile(suffix, size))
        publish(storage, path, replacement, Index(tuple(files), _entries(shapes, pieces), layout))


@contextmanager
def replacing(prefix: Path) -> Iterator[tuple[Storage, str, Replacement]]:
    """The replacement of a checkpoint by one of any format, and where it is. Failures name it."""
    storage, path = locate(prefix)
    directory, base = storage.split(path)
    if not path:
        raise errors.InvalidArgumentError(None, None, "the prefix of a checkpoint is empty")

    def clean() -> None:
        remove_unnamed(storage, directory, base)
        if storage.exists(path):
            remove_first_format(storage, path)

    with (
        typed(f"cannot save checkpoint {os.fspath(prefix)}"),
        Replacement(storage, path + ".index", data_names(base), clean) as replacement,
    ):
        yield storage, path, replacement


def new_suffix(layout: Layout, number: int, count: int, token: str) -> str:
    """What follows the prefix in the name of a data file until the checkpoint is published."""
    return temporary_data(number, token) if layout is TENSORFLOW else data_suffix(number, count, token)


def publish(storage: Storage, path: str, replacement: Replacement, index: Index) -> None:
    """Make `index`, and its data files, the checkpoint `path`."""
    if index.layout is TENSORFLOW:
        publish_bundle(storage, path, replacement, index)
    else:
        replacement.publish(_bytes_of(index))


def _entries(shapes: Shapes, pieces: Mapping[str, Sequence[Piece]]) -> dict[str, Entry]:
    return {name: Entry(dtype, shape, tuple(pieces[name])) for name, (dtype, shape) in shapes.items()}


def _header(shard: Sequence[Part]) -> bytes:
    """The header that makes the file readable with any safetensors library; our own reader uses the index."""
    entries: dict[str, object] = {}
    offset = 0
    for part in shard:
        key = part.key
        while key in entries:
            key += "'"
        code, shape = part.value.stored_as
        entries[key] = {"dtype": code, "shape": shape, "data_offsets": [offset, offset + part.value.nbytes]}
        offset += part.value.nbytes
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _bytes_of(index: Index) -> bytes:
    data = dump_index(index)
    if len(data) > MAX_TARGET_BYTES:
        message = f"{len(index.tensors)} tensors make an index of {len(data)} bytes, more than {MAX_TARGET_BYTES}"
        raise errors.InvalidArgumentError(None, None, message)
    return data
