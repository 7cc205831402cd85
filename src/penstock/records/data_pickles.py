"""Pickles of data only: arrays of Python's objects, as np.load read them until NumPy 1.16.3, and dicts of arrays.

A pickle calls what it names. Weights and labels (`np.load("vgg16.npy").item()`), and batches of CIFAR, name only
arrays, their dtypes and numbers: here, stand-ins that check what they are given, since an array whose state is forged
can be made to read any memory.
"""

from __future__ import annotations

import codecs
import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, cast

import numpy as np

PLAIN = "biufcSU"
"""The kinds of dtypes that are memory without references."""


class NotDataError(pickle.UnpicklingError):
    """A pickle that names more than data, which the message says."""


class _Dtype:
    """What the pickle of a dtype makes: of plain numbers, texts, or objects."""

    def __init__(self, code: Any, align: Any = False, copy: Any = False) -> None:
        self.dtype = np.dtype(_text(code))
        if self.dtype.kind not in PLAIN + "O" or self.dtype.fields or self.dtype.subdtype:
            raise NotDataError(f"arrays of {self.dtype}")

    def __setstate__(self, state: Any) -> None:
        order = _text(state[1])
        if order in "<>":
            self.dtype = self.dtype.newbyteorder(cast(Any, order))


def _dtype(*args: Any) -> _Dtype:
    return _Dtype(*args)  # a function, since a pickle can set the attributes of a class


class _Array(np.ndarray):
    def __setstate__(self, state: Any) -> None:
        *_, shape, dtype, fortran, data = state
        if not isinstance(dtype, _Dtype) or not isinstance(data, list if dtype.dtype.kind == "O" else bytes | str):
            raise NotDataError("an array of no data")
        data = data.encode("latin1") if isinstance(data, str) else data
        super().__setstate__((1, shape, dtype.dtype, fortran, data))


def _text(value: Any) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _array(*_: Any) -> _Array:
    return _Array.__new__(_Array, (0,), np.uint8)


def _scalar(dtype: _Dtype, data: bytes | str) -> Any:
    if not isinstance(dtype, _Dtype) or dtype.dtype.kind == "O":
        raise NotDataError("a number of no dtype")
    return np.frombuffer(data.encode("latin1") if isinstance(data, str) else data, dtype.dtype)[0]


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if _text(encoding) != "latin1":
        raise NotDataError(f"text in {encoding}")
    return codecs.encode(text, "latin1")


_STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _array for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    ("numpy", "ndarray"): _array,
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): OrderedDict,
    ("builtins", "set"): set,
    ("builtins", "complex"): complex,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _STAND_INS[module, name]
        except KeyError:
            raise NotDataError(f"{module}.{name}") from None


def _finished(value: Any, seen: dict[int, Any]) -> Any:
    """With arrays of NumPy's own class in the containers."""
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, _Array):
        plain = seen[id(value)] = value.view(np.ndarray)
        if plain.dtype.kind == "O":
            for place in np.ndindex(plain.shape):
                plain[(*place, ...)].fill(_finished(plain[place], seen))  # not assigned: a list is one object
        return plain
    if isinstance(value, list | dict):
        seen[id(value)] = value
        for key in range(len(value)) if isinstance(value, list) else [*value]:
            value[key] = _finished(value[key], seen)
        return value
    return tuple(_finished(each, seen) for each in value) if type(value) is tuple else value


def read(file: IO[bytes], encoding: str = "ASCII") -> Any:
    """What `np.save` or `pickle.dump` wrote to `file`. Raises NotDataError if it names more than data."""
    start = file.tell()
    header = _header(file)
    if header is None:
        file.seek(start)
    found = _finished(_Unpickler(file, encoding=encoding).load(), {})
    if header is None:
        return found
    shape, fortran = header
    return np.reshape(found, shape, order="F" if fortran else "C")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool] | None:
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        return None
    file.seek(-len(np.lib.format.MAGIC_PREFIX), io.SEEK_CUR)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, _ = read_header(file)
    return shape, fortran
