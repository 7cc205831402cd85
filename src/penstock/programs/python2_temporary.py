"""Temporary files of Python 2's programs, where text was bytes."""

from __future__ import annotations

import tempfile
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import Any

_LOOKED_AT = 1 << 20
"""How many bytes of a file that others wrote tell whether it is text."""


class Temporary:
    """A temporary file that takes text and bytes, and gives what was written: text if all was text, otherwise bytes.

    If others wrote it, by its name or its number, it gives text if it is UTF-8 without null bytes. `buffer` is the file
    of bytes.
    """

    def __init__(self, file: Any) -> None:
        self.buffer = file
        self._is_text: bool | None = None

    def write(self, data: Any) -> int:
        is_text = isinstance(data, str)
        self._is_text = is_text and self._is_text is not False
        return int(self.buffer.write(data.encode("utf-8", "surrogateescape") if is_text else data))

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def read(self, size: int = -1) -> Any:
        return self._given(self.buffer.read(size))

    def readline(self, size: int = -1) -> Any:
        return self._given(self.buffer.readline(size))

    def readlines(self, hint: int = -1) -> list[Any]:
        return [self._given(line) for line in self.buffer.readlines(hint)]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if line := self.readline():
            return line
        raise StopIteration

    def __getattr__(self, name: str) -> Any:
        return getattr(self.buffer, name)

    def __enter__(self) -> Temporary:
        self.buffer.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self.buffer.__exit__(*error)

    def _given(self, data: bytes) -> Any:
        if not data:
            return b"" if self._is_text is False else ""
        if self._is_text is None:
            self._is_text = self._holds_text()
        return data.decode("utf-8", "surrogateescape") if self._is_text else data

    def _holds_text(self) -> bool:
        place = self.buffer.tell()
        self.buffer.seek(0)
        data = self.buffer.read(_LOOKED_AT)
        self.buffer.seek(place)
        try:
            return "\0" not in getincrementaldecoder("utf-8")().decode(data, final=len(data) < _LOOKED_AT)
        except UnicodeDecodeError:
            return False


def temporary(kind: str, mode: str = "w+b", bufsize: int = -1, *args: Any, **options: Any) -> Temporary:
    """What `tempfile.kind` of Python 2 gave."""
    of_bytes = "".join(letter for letter in mode if letter not in "btU") + "b"
    # Files of bytes have no buffer for a line.
    return Temporary(getattr(tempfile, kind)(of_bytes, -1 if bufsize == 1 else bufsize, *args, **options))
