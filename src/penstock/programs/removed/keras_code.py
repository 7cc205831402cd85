"""Functions as data, and HDF5 files as dicts: `keras.utils.generic_utils.func_dump` and `keras.utils.io_utils.H5Dict`.

Facts from Keras 2.2.
"""

from __future__ import annotations

import codecs
import json
import marshal
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.keras.engine.files import write_names


def func_dump(func: Any) -> tuple[str, Any, Any]:
    """A function as its compiled code in base64, for this version of Python, the values of its defaults and closure."""
    code = codecs.encode(marshal.dumps(func.__code__), "base64").decode("ascii")
    closure = tuple(cell.cell_contents for cell in func.__closure__) if func.__closure__ else None
    return code, func.__defaults__, closure


def func_load(code: Any, defaults: Any = None, closure: Any = None, globs: Any = None) -> Any:
    """The function that `func_dump` described, in one argument or several; its names are those of `globs`, by default
    of the module that calls this.

    It runs whatever the description holds: load only what you trust.
    """
    if isinstance(code, tuple | list):
        code, defaults, closure = code
        defaults = tuple(defaults) if isinstance(defaults, list) else defaults
    cells = None if closure is None else tuple(_cell(value) for value in closure)
    compiled = marshal.loads(codecs.decode(code.encode("ascii"), "base64"))
    names = sys._getframe(1).f_globals if globs is None else globs
    return types.FunctionType(compiled, names, compiled.co_name, defaults, cells)


def _cell(value: Any) -> Any:
    return value if isinstance(value, types.CellType) else types.CellType(value)


class H5Dict:
    """An HDF5 file, group, or a dict, by keys: arrays and numbers are data sets, texts and lists of them attributes.

    Lists of texts are read as lists of bytes, as in Keras, or of text where they are in several attributes. A key that
    is not there is made: `d["a"]["b"] = array`, unless it is only read. path: a name, which is opened in `mode`, or
    what is open.
    """

    def __init__(self, path: Any, mode: str = "a") -> None:
        self._opened = isinstance(path, str) or hasattr(path, "__fspath__")
        if self._opened:
            import h5py

            path = h5py.File(path, mode)
        self.data = path
        self.read_only = mode == "r"

    def __setitem__(self, attr: str, val: Any) -> None:
        if self.read_only:
            raise ValueError("Cannot set item in read-only mode.")
        if isinstance(self.data, dict):
            self.data[attr] = val
            return
        if attr in self:
            raise KeyError(f"Cannot set attribute. Group with name {attr!r} exists.")
        if isinstance(val, str | bytes):
            self.data.attrs[attr] = val
        elif isinstance(val, list | tuple) and all(isinstance(each, str | bytes) for each in val):
            write_names(self.data, attr, [each.decode() if isinstance(each, bytes) else each for each in val])
        elif isinstance(val, dict):
            self.data.attrs[attr] = json.dumps(val)
        else:
            self.data[attr] = np.asarray(val)

    def __getitem__(self, attr: str) -> Any:
        if isinstance(self.data, dict):
            found = self.data.setdefault(attr, {}) if not self.read_only else self.data[attr]
            return H5Dict(found, self._mode()) if isinstance(found, dict) else found
        if attr in self.data.attrs:
            found = self.data.attrs[attr]
            return found.tolist() if getattr(found, "dtype", np.dtype("O")).kind == "S" else found
        if parts := list(self._parts(attr)):
            return [name.decode() for part in parts for name in part]
        if attr not in self.data:
            if self.read_only:
                raise ValueError("Cannot create group in read-only mode.")
            return H5Dict(self.data.create_group(attr))
        found = self.data[attr]
        return found[()] if hasattr(found, "dtype") else H5Dict(found, self._mode())

    def _parts(self, attr: str) -> Iterator[Any]:
        """Those of a list of texts that is too long for one attribute."""
        number = 0
        while (name := f"{attr}{number}") in self.data.attrs and attr not in self.data:
            yield self.data.attrs[name]
            number += 1

    def _mode(self) -> str:
        return "r" if self.read_only else "a"

    def __contains__(self, key: object) -> bool:
        return key in self.data or (not isinstance(self.data, dict) and key in self.data.attrs)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def keys(self) -> Any:
        return self.data.keys()

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:  # which reading would make
            return default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if self._opened:
            self.data.close()

    def __enter__(self) -> H5Dict:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
