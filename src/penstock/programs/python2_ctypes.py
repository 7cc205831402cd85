"""ctypes for Python 2's text, whose strings were arrays of char in C; Python 3's text would be passed as wchar_t."""

from __future__ import annotations

import ctypes
from typing import Any


class Library(ctypes.CDLL):
    """A shared library, functions of which are given text as bytes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)

        plain: Any = self._FuncPtr

        class Function(plain):
            _flags_, _restype_ = plain._flags_, plain._restype_

            def __call__(self, *values: Any) -> Any:
                wide = {i for i, kind in enumerate(self.argtypes or ()) if kind is ctypes.c_wchar_p}
                given = (
                    value.encode() if isinstance(value, str) and i not in wide else value
                    for i, value in enumerate(values)
                )
                return super().__call__(*given)

        self._FuncPtr = Function


def string_buffer(init: Any, size: int | None = None) -> Any:
    return ctypes.create_string_buffer(init.encode() if isinstance(init, str) else init, size)


NAMES: dict[str, Any] = {
    "CDLL": Library,
    "cdll": ctypes.LibraryLoader(Library),
    "c_buffer": string_buffer,
    "create_string_buffer": string_buffer,
}
