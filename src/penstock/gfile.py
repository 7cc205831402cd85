"""tf.gfile: files by path or URL, through fsspec (TF: tf.gfile)."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from penstock import absent as _absent, errors


def _fs(path: Any) -> tuple[Any, str]:
    import fsspec

    try:
        return fsspec.core.url_to_fs(os.fsdecode(path))
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"no file system for {path!r}: {error}") from error


_CLASSES: list[tuple[type[BaseException], Any]] = [
    (FileNotFoundError, errors.NotFoundError),
    (FileExistsError, errors.AlreadyExistsError),
    (PermissionError, errors.PermissionDeniedError),
    (IsADirectoryError, errors.FailedPreconditionError),
    (NotADirectoryError, errors.FailedPreconditionError),
]


@contextmanager
def _errors(path: Any) -> Iterator[None]:
    """Converts errors of the file system to TensorFlow's, naming the path."""
    try:
        yield
    except OSError as error:
        kind = next((ours for theirs, ours in _CLASSES if isinstance(error, theirs)), errors.UnknownError)
        raise kind(None, None, f"{os.fsdecode(path)}: {error.strerror or error or type(error).__name__}") from error


class GFile:
    """A file, opened at its first use (TF: tf.gfile.GFile). Modes: r, w, a, and those with "b" or "+".

    Without "b" it reads and writes text in UTF-8. Errors such as NotFoundError and PermissionDeniedError name the path.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self.name, self.mode = name, mode
        self._file: Any = None
        if mode not in ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "rb+", "wb+", "ab+", "r+b", "w+b", "a+b"):
            raise errors.InvalidArgumentError(None, None, f"mode {mode!r} is not one of r, w, a, with b or +")

    def _open(self) -> Any:
        if self._file is None:
            fs, path = _fs(self.name)
            with _errors(self.name):
                text = {} if "b" in self.mode else {"encoding": "utf-8", "newline": ""}
                self._file = fs.open(path, self.mode, **text)
        return self._file

    @property
    def buffer(self) -> Any:
        """Python's file of the bytes below, whatever the mode (not in TensorFlow), for pickles of Python 2."""
        file = self._open()
        return file if "b" in self.mode else file.buffer

    def read(self, n: int = -1) -> Any:
        """`n` characters or bytes, or everything that is left: as bytes if it is no text, as Python 2 had it."""
        file = self._open()
        with _errors(self.name):
            if n >= 0 or "b" in self.mode:
                return file.read(n)
            start = file.tell()
            try:
                return file.read()
            except UnicodeDecodeError:
                file.seek(start)
                return file.buffer.read()

    def readline(self) -> Any:
        """The next line including its line end, or an empty result at the end."""
        return self._open().readline()

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return self._open().readlines()

    def write(self, file_content: Any) -> None:
        """Write text (as UTF-8) or bytes, in any mode."""
        file = self._open()
        if isinstance(file_content, str) and "b" in self.mode:
            file_content = file_content.encode()
        elif isinstance(file_content, bytes) and "b" not in self.mode:
            file.flush()  # of text before it
            file = file.buffer
        file.write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Set the position in the file."""
        self._open().seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """The position in the file."""
        return self._open().tell()

    def size(self) -> int:
        """The length in bytes."""
        return Stat(self.name).length

    def flush(self) -> None:
        """Pass what was written to the file system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; writing ends here."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        self.close()  # programs write GFile(path).read() without closing the file

    def __iter__(self) -> GFile:
        return self  # not the file's iterator: a loop over GFile(path) keeps nothing else that would keep the file open

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def __enter__(self) -> GFile:
        if not self.mode.startswith("r"):
            self._open()  # opening a file for writing creates it, even if nothing is written
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Open = FastGFile = GFile


@dataclass(frozen=True)
class FileStatistics:
    """The result of `Stat`: bytes, nanoseconds since 1970 (0 if unknown), and whether it is a directory."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Exists(filename: Any) -> bool:
    """Whether there is a file or directory of that name (TF: tf.gfile.Exists)."""
    fs, path = _fs(filename)
    return bool(fs.exists(path))


def IsDirectory(dirname: Any) -> bool:
    """Whether there is a directory of that name (TF: tf.gfile.IsDirectory)."""
    fs, path = _fs(dirname)
    return bool(fs.isdir(path))


def MakeDirs(dirname: Any) -> None:
    """Make a directory and those above it; one that exists is fine (TF: tf.gfile.MakeDirs)."""
    fs, path = _fs(dirname)
    with _errors(dirname):
        fs.makedirs(path, exist_ok=True)


def MkDir(dirname: Any) -> None:
    """Make a directory in an existing one, or raise NotFoundError; one that exists is fine (TF: tf.gfile.MkDir)."""
    fs, path = _fs(dirname)
    with _errors(dirname), suppress(FileExistsError):
        fs.mkdir(path, create_parents=False)


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a directory, sorted (TF: tf.gfile.ListDirectory)."""
    fs, path = _fs(dirname)
    if not fs.isdir(path):
        raise errors.NotFoundError(None, None, f"{os.fsdecode(dirname)}: there is no such directory")
    return sorted(str(found).rstrip("/").rpartition("/")[2] for found in fs.ls(path, detail=False))


def Glob(filename: Any) -> list[str]:
    """The paths that match a pattern, sorted, or each of a list in turn (TF: tf.gfile.Glob).

    Those in the current folder begin with "./", as TensorFlow's do. Raises NotFoundError if the directory before the
    first wildcard is not there.
    """
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return [path for pattern in patterns for path in sorted(_matching(os.fsdecode(pattern)))]


def _matching(pattern: str) -> list[str]:
    before = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    top = os.path.dirname(before)
    parts = pattern.removeprefix(top).removeprefix("/").split("/")
    found = [top or "."]
    for depth, part in enumerate(parts):
        inside = [path for path in found if not depth or IsDirectory(path)]
        found = [path for directory in inside for path in _entries(directory, part)]
    return found


def _entries(directory: str, pattern: str) -> list[str]:
    prefix = directory if directory.endswith("/") else directory + "/"
    return [prefix + name for name in ListDirectory(directory) if fnmatch.fnmatchcase(name, pattern)]


def Remove(filename: Any) -> None:
    """Delete a file (TF: tf.gfile.Remove)."""
    fs, path = _fs(filename)
    with _errors(filename):
        fs.rm_file(path)


def DeleteRecursively(dirname: Any) -> None:
    """Delete a directory and everything in it (TF: tf.gfile.DeleteRecursively)."""
    fs, path = _fs(dirname)
    with _errors(dirname):
        if not fs.exists(path):
            raise FileNotFoundError(f"there is no {dirname}")
        fs.rm(path, recursive=True)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file; raises AlreadyExistsError unless `overwrite` (TF: tf.gfile.Copy)."""
    _free(newpath, overwrite)
    (source, old), (target, new) = _fs(oldpath), _fs(newpath)
    with _errors(oldpath):
        if source == target:
            source.cp_file(old, new)
        else:
            with source.open(old, "rb") as read, target.open(new, "wb") as write:
                while block := read.read(1 << 20):
                    write.write(block)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Move a file or directory; raises AlreadyExistsError unless `overwrite` (TF: tf.gfile.Rename)."""
    _free(newname, overwrite)
    fs, old = _fs(oldname)
    with _errors(oldname):
        fs.mv(old, _fs(newname)[1], recursive=bool(fs.isdir(old)))


def _free(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise errors.AlreadyExistsError(None, None, f"{os.fsdecode(path)} exists: pass overwrite=True to replace it")


def Stat(filename: Any) -> FileStatistics:
    """Length, time of change and kind of a file (TF: tf.gfile.Stat)."""
    fs, path = _fs(filename)
    with _errors(filename):
        info = fs.info(path)
    return FileStatistics(info.get("size") or 0, int(info.get("mtime", 0) * 1e9), info["type"] == "directory")


def Walk(
    top: Any, in_order: bool = True, onerror: Callable[[Exception], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(directory, its directories, its files) of a tree, top first or last (TF: tf.gfile.Walk).

    `onerror` is called with the error of a directory that cannot be listed; that directory is left out.
    """
    path = os.fsdecode(top)
    try:
        with _errors(path):
            names = ListDirectory(path)
    except errors.OpError as error:
        if onerror is not None:
            onerror(error)
        return
    directories = [n for n in names if IsDirectory(f"{path.rstrip('/')}/{n}")]
    here = (path, directories, [n for n in names if n not in directories])
    if in_order:
        yield here
    for name in directories:
        yield from Walk(f"{path.rstrip('/')}/{name}", in_order, onerror)
    if not in_order:
        yield here


_absent.tell_in(__name__)
