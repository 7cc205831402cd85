"""The `.index` file of a checkpoint: JSON that maps tensors to bytes of data files.

Readers rely on nothing else: it has positions, sizes and checksums, and a checksum of the index itself, so a flipped
bit in a name or a shape is noticed. Data files are named by what follows the prefix, so a checkpoint remains valid if
all its files are moved or renamed together.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from penstock import errors
from penstock.checkpoint.layouts import PENSTOCK, PENSTOCK_1, Layout
from penstock.checkpoint.replace import TOKEN
from penstock.checkpoint.slices import cover_problem
from penstock.checkpoint.values import FIXED_TYPES, STRING

FORMAT = "penstock-checkpoint"
VERSION = 2
_OLD = {1: (PENSTOCK_1, "crc32")}
"""Earlier versions differ in the checksum of values, and so in its name."""
_CRC_NAME = "crc32c"

_SUFFIX = re.compile(rf"\.data-[0-9]{{5,9}}-of-[0-9]{{5,9}}\.({TOKEN})\.safetensors")
_CRC = re.compile("[0-9a-f]{8}")
_LARGEST = 2**63 - 1
_MOST_DIMENSIONS = 64  # NumPy's limit


@dataclass(frozen=True)
class DataFile:
    """`suffix` is what follows the prefix in the file's name. `nbytes`: its size; 0 where an index does not say it."""

    suffix: str
    nbytes: int


@dataclass(frozen=True)
class Piece:
    """The bytes of one region of a tensor; of a tensor saved whole, `start` is all zeros."""

    file: int
    offset: int
    nbytes: int
    crc: str
    start: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


class Entries(Mapping[str, Entry]):
    """The entries of an index, made from its text when they are asked for: many programs open a checkpoint of thousands
    of tensors for a few. `find` returns None for a name that is not there, and both raise DataLossError."""

    def __init__(self, find: Callable[[str], Entry | None], names: Callable[[], Iterable[str]]) -> None:
        self._find, self._find_names = find, names
        self._made: dict[str, Entry] = {}

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(self._find_names())

    def __getitem__(self, name: str) -> Entry:
        made = self._made.get(name)
        if made is None:
            made = self._find(name)
            if made is None:
                raise KeyError(name)
            self._made[name] = made
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Index:
    files: tuple[DataFile, ...]
    tensors: Mapping[str, Entry]
    layout: Layout = PENSTOCK


def data_suffix(number: int, count: int, token: str) -> str:
    return f".data-{number:05d}-of-{count:05d}.{token}.safetensors"


def data_names(base: str) -> re.Pattern[str]:
    """Matches the names of all data files of the prefix named `base` that have a token; it is group 1."""
    suffix = rf"\.data-[0-9]{{5,9}}(?:-of-[0-9]{{5,9}})?\.({TOKEN})\.(?:safetensors|tmp)"
    return re.compile(re.escape(base) + suffix)


def crc_text(crc: int) -> str:
    return f"{crc:08x}"


def dump_index(index: Index) -> bytes:
    """One tensor per line, so that `grep` finds it."""
    tensors = {name: _entry_json(entry) for name, entry in sorted(index.tensors.items())}
    files = [{"suffix": file.suffix, "bytes": file.nbytes} for file in index.files]
    body = {"format": FORMAT, "version": VERSION, "files": files, "tensors": tensors}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in tensors.items())
    head = json.dumps({"format": FORMAT, "version": VERSION, "checksum": _checksum(body), "files": files})
    return f'{head[:-1]},\n"tensors": {{\n{lines}\n}}}}\n'.encode()


def parse_index(data: bytes, path: str) -> Index:
    """Raises DataLossError if `data` (the content of `path`) is not a valid index."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise errors.DataLossError(None, None, f"{path} is not a checkpoint index: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        _corrupt(path, f"no {FORMAT!r} in it")
    checksum = content.pop("checksum", None)
    if checksum != _checksum(content):
        _corrupt(path, f"checksum {checksum!r} is written in it, its content has {_checksum(content)!r}")
    # After the checksum, which must stay the same in all versions.
    if content.get("version") not in (VERSION, *_OLD):
        message = f"{path} has version {content.get('version')!r}; this Penstock reads version {VERSION}"
        raise errors.UnimplementedError(None, None, message)
    try:
        return _index(content, path)
    except (ValueError, TypeError, KeyError) as error:
        _corrupt(path, str(error))


def _corrupt(path: str, why: str) -> NoReturn:
    raise errors.DataLossError(None, None, f"the checkpoint index {path} is corrupt: {why}")


def _checksum(body: Mapping[str, Any]) -> str:
    """The checksum of the content, not the text: an index that a tool has pretty-printed is still the same index."""
    return crc_text(zlib.crc32(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()))


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "dtype": entry.dtype,
        "shape": entry.shape,
        "pieces": [_piece_json(p, entry) for p in entry.pieces],
    }


def _piece_json(piece: Piece, entry: Entry) -> dict[str, Any]:
    place = {"file": piece.file, "offset": piece.offset, "bytes": piece.nbytes, _CRC_NAME: piece.crc}
    return place if piece.shape == entry.shape else place | {"start": piece.start, "shape": piece.shape}


def _index(content: dict[str, Any], path: str) -> Index:
    layout, crc_name = _OLD.get(content["version"], (PENSTOCK, _CRC_NAME))
    files = tuple(DataFile(_suffix(file), _size(file["bytes"])) for file in _typed(content["files"], list))
    given = _typed(content["tensors"], dict)

    def find(name: str) -> Entry | None:
        if name not in given:
            return None
        try:
            return _entry(_typed(given[name], dict), files, crc_name)
        except (ValueError, TypeError, KeyError) as error:
            _corrupt(path, f"tensor {name!r}: {error}")

    return Index(files, Entries(find, given.keys), layout)


def _suffix(file: Any) -> str:
    suffix = _typed(_typed(file, dict)["suffix"], str)
    if not _SUFFIX.fullmatch(suffix):  # nothing else, so no "..", no "/", no name of another checkpoint
        raise ValueError(f"{suffix!r} is not the name of a data file")
    return str(suffix)


def _entry(entry: dict[str, Any], files: tuple[DataFile, ...], crc_name: str) -> Entry:
    dtype, shape = entry["dtype"], _shape(entry["shape"])
    if dtype != STRING and dtype not in FIXED_TYPES:
        raise ValueError(f"unknown type {dtype!r}")
    given = _typed(entry["pieces"], list)
    pieces = tuple(_piece(_typed(piece, dict), dtype, shape, files, crc_name) for piece in given)
    problem = cover_problem(shape, [(piece.start, piece.shape) for piece in pieces], partly=True)
    if problem or not pieces:
        raise ValueError(problem or "no bytes for it")
    return Entry(dtype, shape, pieces)


def _piece(
    piece: dict[str, Any], dtype: str, full: tuple[int, ...], files: tuple[DataFile, ...], crc_name: str
) -> Piece:
    shape = _shape(piece["shape"]) if "shape" in piece else full
    start = tuple(_size(at) for at in _typed(piece["start"], list)) if "start" in piece else (0,) * len(full)
    file, offset, nbytes = _size(piece["file"]), _size(piece["offset"]), _size(piece["bytes"])
    if file >= len(files) or offset + nbytes > files[file].nbytes:
        raise ValueError(f"bytes {offset} to {offset + nbytes} of data file {file}, which has no such bytes")
    if problem := PENSTOCK.size_problem(dtype, shape, nbytes):
        raise ValueError(f"{problem} for shape {list(shape)} of {dtype}")
    crc = _typed(piece[crc_name], str)
    if not _CRC.fullmatch(crc):
        raise ValueError(f"{crc!r} is not a checksum")
    return Piece(file, offset, nbytes, crc, start, shape)


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(_size(n) for n in _typed(value, list))
    if len(shape) > _MOST_DIMENSIONS or 16 * math.prod(n for n in shape if n) > _LARGEST:
        raise ValueError(f"no tensor has the shape {list(shape)}")
    return shape


def _size(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise ValueError(f"{value!r} is not a size")
    return value


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.40} where a {kind.__name__} belongs")
    return value
