"""What a save writes: the regions of tensors, distributed over data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock import errors
from penstock.checkpoint.index import Piece, crc_text
from penstock.checkpoint.layouts import TENSORFLOW, Layout
from penstock.checkpoint.slices import SlicedTensor, cover_problem
from penstock.checkpoint.storage import WritableFile
from penstock.checkpoint.values import FIXED_TYPES, STRING, Bytes, Encoded, Value, encode
from penstock.checkpoint.write_progress import Advance

Tensors = Mapping[str, Value | Encoded | SlicedTensor]
Shapes = dict[str, tuple[str, tuple[int, ...]]]

_CHUNK = 1 << 20  # written while still in cache after the checksum
_METADATA = "__metadata__"  # a safetensors header uses this name for itself


@dataclass(frozen=True)
class Part:
    """One region of a tensor to be written to a data file. `key` names it in a safetensors header."""

    name: str
    key: str
    start: tuple[int, ...]
    value: Encoded


def parts_of(tensors: Tensors, layout: Layout, *, partly: bool) -> tuple[list[Part], Shapes]:
    """All regions to save, by tensor name, and each tensor's type and full shape. Raises InvalidArgumentError, naming
    the tensor, for one that cannot be saved; `partly` is for tensors of which only parts are given."""
    parts: list[Part] = []
    shapes: Shapes = {}
    for name in tensors:
        _check_name(name)
        if layout is TENSORFLOW and name.startswith("\0"):
            raise errors.InvalidArgumentError(None, None, f"{name!r}: keys of parts of tensors begin like this name")
    for name in sorted(tensors):
        value = tensors[name]
        try:
            if isinstance(value, SlicedTensor):
                strings = layout.encode_strings
                encoded = [(tuple(map(int, part.start)), encode(part.value, strings)) for part in value.slices]
                shape = tuple(map(int, value.shape))
            else:
                whole = encode(value, layout.encode_strings)
                encoded, shape = [((0,) * len(whole.shape), whole)], whole.shape
        except (TypeError, UnicodeEncodeError) as error:
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: {error}") from error
        problem = cover_problem(shape, [(start, part.shape) for start, part in encoded], partly=partly)
        if problem or len({part.dtype for _, part in encoded}) != 1:
            problem = problem or "its slices are not of one type"
            raise errors.InvalidArgumentError(None, None, f"tensor {name!r}: {problem}")
        shapes[name] = (encoded[0][1].dtype, shape)
        for start, part in encoded:
            key = f"{name}[{','.join(map(str, start))}]" if isinstance(value, SlicedTensor) else name
            parts.append(Part(name, key, start, part))
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


def shards_of(parts: Sequence[Part], max_shard_bytes: int | None) -> list[list[Part]]:
    """The parts of each data file; None puts all into one."""
    shards: list[list[Part]] = []
    room = 0
    for part in parts:
        if not shards or (max_shard_bytes is not None and part.value.nbytes > room):
            shards.append([])
            room = max_shard_bytes or 0
        shards[-1].append(part)
        room -= part.value.nbytes
    return [sorted(shard, key=_item_size, reverse=True) for shard in shards]


def _item_size(part: Part) -> int:
    """Larger elements first keeps everything aligned, without the gaps that safetensors forbids."""
    kind = part.value.dtype
    return 8 if kind == STRING else FIXED_TYPES[kind].numpy.itemsize // FIXED_TYPES[kind].parts


def write_parts(
    out: WritableFile,
    shard: Sequence[Part],
    number: int,
    offset: int,
    layout: Layout,
    pieces: dict[str, list[Piece]],
    *,
    changing: bool,
    advance: Advance,
) -> int:
    """Write the parts of data file `number` from `offset` on, and record where they are; returns the file's size.

    changing: other threads may write to the values meanwhile; the checksums are then those of what is in the file.
    """
    still = np.empty(_CHUNK if changing else 0, np.uint8)
    for part in shard:
        nbytes, crc = _write_value(out, part.value, layout, still if changing else None, advance)
        pieces[part.name].append(Piece(number, offset, nbytes, crc_text(crc), part.start, part.value.shape))
        offset += nbytes
    return offset


def _write_value(
    out: WritableFile, value: Encoded, layout: Layout, still: Bytes | None, advance: Advance
) -> tuple[int, int]:
    """Returns size and checksum. `still`: memory that each chunk is copied to before it is used."""
    data = value.take()
    crc = 0
    for begin in range(0, len(data), _CHUNK):
        chunk = data[begin : begin + _CHUNK]
        if still is not None:
            np.copyto(still[: len(chunk)], np.frombuffer(chunk, np.uint8))
            chunk = still.data[: len(chunk)]
        crc = layout.checksum(crc, chunk)
        out.write(chunk)
        advance(len(chunk))
    return len(data), crc if value.checksum is None else value.checksum
