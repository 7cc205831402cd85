"""The bytes of a file, in order: plain or compressed, by path or, through fsspec, by URL."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from penstock import errors
from penstock.checkpoint.remote import as_os_error
from penstock.checkpoint.storage import Path, typed_error

READ = 1 << 18
"""Bytes to read from a file at once: they and the parsed records fit in the L2 cache."""

REMOTE_READ = 8 << 20  # every read is a request

WINDOW_BITS = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}
"""zlib's numbers for kinds of compression; 0 is none."""


class ByteStream(Protocol):
    """Bytes in order. `path` is for messages."""

    path: str

    def read(self, size: int = READ) -> bytes:
        """The next bytes, at most `size`; none only at the end."""

    def seek(self, offset: int) -> None:
        """Continue at `offset`, which has been reached before."""

    def close(self) -> None: ...


def open_stream(path: Path, compression: str = "") -> ByteStream:
    """The uncompressed bytes of a file (compression: "", "GZIP" or "ZLIB"). Errors such as NotFoundError name
    `path`."""
    bits = window_bits(compression)
    return Inflated(path, bits) if bits else Plain(path)


def window_bits(compression: str) -> int:
    """zlib's number for a kind of compression, by TensorFlow's name. Raises InvalidArgumentError for other names."""
    if compression not in WINDOW_BITS:
        raise errors.InvalidArgumentError(
            None, None, f"Unsupported compression_type: {compression!r} is none of '', 'GZIP', 'ZLIB'"
        )
    return WINDOW_BITS[compression]


@contextmanager
def file_errors(path: str) -> Iterator[None]:
    """Converts errors of a file system to an `OpError` that names `path`."""
    try:
        with as_os_error(path):
            yield
    except OSError as error:
        raise typed_error(error, path) from error


def open_file(path: Path, mode: str) -> Any:
    """A binary file, unbuffered if it is local; fsspec opens anything with "://"."""
    text = os.fsdecode(path).removeprefix("file://")
    with file_errors(text):
        if "://" not in text:
            return open(text, mode, buffering=0)
        import fsspec  # local files need not wait for this import

        fs, name = fsspec.core.url_to_fs(text)
        return fs.open(name, mode, block_size=REMOTE_READ)


class Plain:
    """A file unchanged."""

    def __init__(self, path: Path) -> None:
        self.path = os.fsdecode(path)
        self._file: Any = None
        self._file = open_file(path, "rb")

    def read(self, size: int = READ) -> bytes:
        with file_errors(self.path):
            return self._file.read(size)

    def seek(self, offset: int) -> None:
        with file_errors(self.path):
            self._file.seek(offset)

    def size(self) -> int:
        with file_errors(self.path):
            here = self._file.tell()
            end = self._file.seek(0, os.SEEK_END)
            self._file.seek(here)
        return end

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        self.close()  # iterators keep their positions


class Inflated:
    """The contents of a gzip or zlib file; several gzip members are concatenated, as in gunzip.

    Raises DataLossError if the compressed bytes are damaged or end too early. An empty file has no contents.
    """

    def __init__(self, path: Path, bits: int) -> None:
        self.path = os.fsdecode(path)
        self._file = Plain(path)
        self._bits = bits
        self._restart()

    def _restart(self) -> None:
        self._inflater = zlib.decompressobj(self._bits)
        self._input = self._file.read()
        self._ended = not self._input  # whether the compressed stream ended properly
        self._offset = 0

    def read(self, size: int = READ) -> bytes:
        while True:
            if self._inflater.eof and not self._next_member():
                return b""
            data = self._input or self._file.read()
            if not data:
                if self._ended:
                    return b""
                raise self._damaged("the compressed data ends too early")
            try:
                found = self._inflater.decompress(data, size)
            except zlib.error as error:
                raise self._damaged(str(error)) from error
            self._input = self._inflater.unconsumed_tail
            if found:
                self._offset += len(found)
                return found

    def _next_member(self) -> bool:
        """Whether another compressed stream follows the one that ended. Zeros are padding, as in gunzip."""
        self._input = (self._inflater.unused_data or self._file.read()).lstrip(b"\0")
        while not self._input:
            data = self._file.read()
            if not data:
                return False
            self._input = data.lstrip(b"\0")
        self._inflater = zlib.decompressobj(self._bits)
        return True

    def _damaged(self, what: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"{self.path}: {what}, {self._offset} bytes into what it holds")

    def seek(self, offset: int) -> None:
        if offset < self._offset:
            self._file.seek(0)
            self._restart()
        while self._offset < offset:
            if not self.read(min(READ, offset - self._offset)):
                raise self._damaged(f"it ends before byte {offset}, which was reached before")

    def close(self) -> None:
        self._file.close()
