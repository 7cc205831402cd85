"""Save tensors: data files in safetensors format, then the index that makes them a checkpoint."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock import errors
from penstock.checkpoint.index import (
    DataFile,
    Entry,
    Index,
    Piece,
    crc_text,
    data_names,
    data_suffix,
    dump_index,
)
from penstock.checkpoint.replace import MAX_TARGET_BYTES, Replacement
from penstock.checkpoint.slices import SlicedTensor, cover_problem
from penstock.checkpoint.storage import Path, WritableFile, locate, typed
from penstock.checkpoint.values import FIXED_TYPES, STRING, Encoded, Value, encode

MAX_SHARD_BYTES = 2 << 30

Format = Literal["penstock", "tensorflow"]

_CHUNK = 1 << 20  # written while still in cache after the checksum
_METADATA = "__metadata__"  # a safetensors header uses this name for itself


@dataclass(frozen=True)
class _Part:
    """One region of a tensor to be written to a data file. `key` names it in the safetensors header."""

    name: str
    key: str
    start: tuple[int, ...]
    value: Encoded


def write_checkpoint(
    prefix: Path,
    tensors: Mapping[str, Value | SlicedTensor],
    *,
    max_shard_bytes: int | None = None,
    format: Format = "penstock",
) -> None:
    """Save `tensors` as the checkpoint `prefix`, replacing an existing one.

    A reader finds either the complete old checkpoint or the complete new one, whenever the writer dies; once this
    returns, the new one survives a power cut (as far as the file system does). On failure nothing is left behind. Data
    files hold up to `max_shard_bytes`, or one larger tensor. Values must not change meanwhile.

    Raises InvalidArgumentError for a value that checkpoints cannot hold, NotFoundError without a parent directory,
    PermissionDeniedError, ResourceExhaustedError on a full disk.
    """
    storage, path = locate(prefix)
    directory, base = storage.split(path)
    if not base:
        raise errors.InvalidArgumentError(None, None, f"checkpoint prefix {os.fspath(prefix)!r} ends in no name")
    if format != "penstock":
        raise errors.UnimplementedError(None, None, f"cannot write checkpoints in the format {format!r}")
    max_shard_bytes = MAX_SHARD_BYTES if max_shard_bytes is None else max_shard_bytes
    if max_shard_bytes <= 0:
        raise errors.InvalidArgumentError(None, None, f"max_shard_bytes is {max_shard_bytes}; it must be positive")
    parts, shapes = _parts(tensors)
    shards = _shards(parts, max_shard_bytes)
    target = storage.join(directory, base + ".index")
    pieces: dict[str, list[Piece]] = {name: [] for name in shapes}
    files: list[DataFile] = []
    with (
        typed(f"cannot save checkpoint {os.fspath(prefix)}"),
        Replacement(storage, target, data_names(base)) as replacement,
    ):
        for number, shard in enumerate(shards):
            suffix = data_suffix(number, len(shards), replacement.token)
            out = replacement.create(storage.join(directory, base + suffix))
            files.append(DataFile(suffix, _write_shard(out, shard, number, pieces)))
        replacement.publish(_index_bytes(files, pieces, shapes))


def _parts(
    tensors: Mapping[str, Value | SlicedTensor],
) -> tuple[list[_Part], dict[str, tuple[str, tuple[int, ...]]]]:
    """All regions to save, by tensor name, and each tensor's type and full shape."""
    parts: list[_Part] = []
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name in tensors:
        _check_name(name)
    for name in sorted(tensors):
        value = tensors[name]
        try:
            if isinstance(value, SlicedTensor):
                encoded = [(tuple(map(int, part.start)), encode(part.value)) for part in value.slices]
                shape = tuple(map(int, value.shape))
            else:
                whole = encode(value)
                encoded, shape = [((0,) * len(whole.shape), whole)], whole.shape
        except (TypeError, UnicodeEncodeError) as error:
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: {error}") from error
        problem = cover_problem(shape, [(start, part.shape) for start, part in encoded])
        if problem or len({part.dtype for _, part in encoded}) != 1:
            problem = problem or "its slices are not of one type"
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: {problem}")
        shapes[name] = (encoded[0][1].dtype, shape)
        for start, part in encoded:
            key = f"{name}[{','.join(map(str, start))}]" if isinstance(value, SlicedTensor) else name
            parts.append(_Part(name, key, start, part))
    return parts, shapes


def _check_name(name: object) -> None:
    usable = isinstance(name, str) and name and name != _METADATA
    if isinstance(name, str) and usable:
        try:
            name.encode()
        except UnicodeEncodeError:
            usable = False
    if not usable:
        raise errors.InvalidArgumentError(None, None, f"{name!r} cannot be the name of a tensor in a checkpoint")


def _shards(parts: Sequence[_Part], max_shard_bytes: int) -> list[list[_Part]]:
    shards: list[list[_Part]] = []
    room = 0
    for part in parts:
        if not shards or part.value.nbytes > room:
            shards.append([])
            room = max_shard_bytes
        shards[-1].append(part)
        room -= part.value.nbytes
    return [sorted(shard, key=_item_size, reverse=True) for shard in shards]


def _item_size(part: _Part) -> int:
    """Larger elements first keeps everything aligned, without the gaps that safetensors forbids."""
    kind = part.value.dtype
    return 8 if kind == STRING else FIXED_TYPES[kind].numpy.itemsize // FIXED_TYPES[kind].parts


def _write_shard(out: WritableFile, shard: Sequence[_Part], number: int, pieces: dict[str, list[Piece]]) -> int:
    """Write one data file and record its pieces; returns its size."""
    header = _header(shard)
    out.write(memoryview(header))
    offset = len(header)
    for part in shard:
        data = part.value.take()
        crc = 0
        for begin in range(0, len(data), _CHUNK):
            chunk = data[begin : begin + _CHUNK]
            crc = zlib.crc32(chunk, crc)
            out.write(chunk)
        piece = Piece(number, offset, len(data), crc_text(crc), part.start, part.value.shape)
        pieces[part.name].append(piece)
        offset += len(data)
    out.finish()
    return offset


def _header(shard: Sequence[_Part]) -> bytes:
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


def _index_bytes(
    files: Sequence[DataFile],
    pieces: Mapping[str, Sequence[Piece]],
    shapes: Mapping[str, tuple[str, tuple[int, ...]]],
) -> bytes:
    entries = {name: Entry(dtype, shape, tuple(pieces[name])) for name, (dtype, shape) in shapes.items()}
    data = dump_index(Index(tuple(files), entries))
    if len(data) > MAX_TARGET_BYTES:
        message = f"{len(entries)} tensors make an index of {len(data)} bytes, more than {MAX_TARGET_BYTES}"
        raise errors.InvalidArgumentError(None, None, message)
    return data
