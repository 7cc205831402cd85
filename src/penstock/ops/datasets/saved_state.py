"""What iterators save, as bytes: JSON, followed by the contents of tensors and arrays.

It contains no code. It has a checksum, because it may be stored in a file for a long time.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.ops.datasets.blocks import Block
from penstock.tensor.dtypes import as_dtype

_MAGIC = b"PSTATE1\n"
_HEAD = struct.Struct("<QI")


def to_bytes(state: Any) -> bytes:
    """Raises InternalError for values that cannot be written."""
    parts: list[bytes] = []
    text = json.dumps(_described(state, parts), separators=(",", ":")).encode()
    body = b"".join([struct.pack("<Q", len(text)), text, *parts])
    return _MAGIC + _HEAD.pack(len(body), zlib.crc32(body)) + body


def from_bytes(data: bytes) -> Any:
    """Reads what `to_bytes` has written. Raises DataLossError for anything else."""
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("it does not begin as a state does")
        at = len(_MAGIC)
        size, crc = _HEAD.unpack_from(data, at)
        body = memoryview(data)[at + _HEAD.size :]
        if len(body) != size or zlib.crc32(body) != crc:
            raise ValueError("it is truncated, or its checksum is another")
        (length,) = struct.unpack_from("<Q", body)
        return _Reader(body[8 + length :]).value(json.loads(bytes(body[8 : 8 + length])))
    except (ValueError, KeyError, TypeError, IndexError, struct.error) as error:
        raise errors.DataLossError(None, None, f"This is no saved state of an iterator: {error}") from None


def _described(value: Any, parts: list[bytes]) -> Any:
    """`value` as JSON; lists and dicts become lists that begin with a letter."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            parts.append(value)
            return ["b", len(value)]
        case list() | tuple():
            return ["l", [_described(item, parts) for item in value]]
        case dict():
            return ["d", [[key, _described(item, parts)] for key, item in value.items()]]
        case Block():
            return ["e", value.size, [_described(column, parts) for column in value.columns]]
        case torch.Tensor():
            array = value.contiguous().reshape(-1).view(torch.uint8).numpy() if value.numel() else np.empty(0, np.uint8)
            parts.append(array.tobytes())
            return ["t", as_dtype(value.dtype).name, list(value.shape)]
        case np.ndarray() if value.dtype == object:
            return ["o", list(value.shape), [_described(item, parts) for item in value.reshape(-1)]]
        case np.ndarray():
            return ["n", value.dtype.str, list(value.shape), _described(value.tobytes(), parts)]
        case np.generic():
            return _described(value.item(), parts)
    raise errors.UnimplementedError(None, None, f"a {type(value).__name__} among its elements cannot be saved")


class _Reader:
    def __init__(self, rest: memoryview) -> None:
        self._rest = rest

    def _take(self, size: int) -> bytes:
        found, self._rest = self._rest[:size], self._rest[size:]
        if len(found) != size:
            raise ValueError("it is truncated")
        return bytes(found)

    def value(self, given: Any) -> Any:
        match given:
            case ["b", size]:
                return self._take(size)
            case ["l", items]:
                return [self.value(item) for item in items]
            case ["d", items]:
                return {key: self.value(item) for key, item in items}
            case ["e", size, columns]:
                return Block(size, [self.value(column) for column in columns])
            case ["t", name, shape]:
                dtype = as_dtype(name).torch
                assert dtype is not None
                count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                if not count:
                    return torch.empty(shape, dtype=dtype)
                return torch.frombuffer(bytearray(self._take(count)), dtype=torch.uint8).view(dtype).reshape(shape)
            case ["o", shape, items]:
                found = np.empty(len(items), object)
                for i, item in enumerate(items):
                    found[i] = self.value(item)
                return found.reshape(shape)
            case ["n", dtype, shape, data]:
                return np.frombuffer(self.value(data), np.dtype(dtype)).reshape(shape).copy()
            case None | bool() | int() | float() | str():
                return given
        raise ValueError(f"{given!r} says nothing")
