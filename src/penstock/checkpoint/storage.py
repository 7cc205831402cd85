"""File systems for checkpoints: what the writer and the reader need, and typed failures."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from penstock import errors

Path = str | os.PathLike[str]


class WritableFile(Protocol):
    """A new file. It must not be relied on before `finish` has returned."""

    def write(self, data: memoryview) -> None: ...

    def finish(self) -> None:
        """The bytes are on the medium, not just in a cache, when this returns."""

    def abandon(self) -> None:
        """Close it; the caller removes the file itself."""


class ReadableFile(Protocol):
    """An open file. A local one stays readable when its name is removed or taken over."""

    size: int

    def read_into(self, offset: int, view: memoryview) -> int:
        """How many bytes of `view` were filled; fewer than its length only at the end of the file."""

    def close(self) -> None: ...


class Pending(Protocol):
    """The next content of a file, held under a temporary name until `publish` puts it in place atomically."""

    def publish(self, data: bytes) -> None: ...

    def release(self) -> None:
        """Close it; an unpublished temporary file is removed."""


class Storage(Protocol):
    """A file system. Failures are `OSError` (see `typed`)."""

    preferred_read: int

    def split(self, path: str) -> tuple[str, str]: ...

    def join(self, directory: str, name: str) -> str: ...

    def names(self, directory: str) -> list[str]: ...

    def exists(self, path: str) -> bool: ...

    def modified(self, path: str) -> float:
        """Seconds since the epoch."""

    def read(self, path: str, limit: int) -> bytes:
        """The whole file; one larger than `limit` fails before memory is allocated for it."""

    def open(self, path: str) -> ReadableFile: ...

    def create(self, path: str) -> WritableFile: ...

    def remove(self, path: str) -> None:
        """The file need not exist."""

    def move(self, source: str, target: str) -> None:
        """Rename a file, replacing one of that name."""

    def link(self, source: str, target: str) -> None:
        """Give a file another name as well. Raises OSError where that cannot be done."""

    def locked(self, directory: str) -> AbstractContextManager[object]:
        """One process and thread at a time is in this block, if the file system has locks."""

    def begin(self, target: str, token: str) -> Pending:
        """Raises FileExistsError if the token is taken: use another."""

    def abandoned(self, target: str, token: str) -> AbstractContextManager[bool]:
        """Whether no process holds what `begin(target, token)` returns. If so, none takes it within the block."""


_CLASS_OF_ERRNO: dict[int, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.EBADF: errors.FailedPreconditionError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.ENFILE: errors.ResourceExhaustedError,
    errno.ENOMEM: errors.ResourceExhaustedError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.EIO: errors.DataLossError,
}

# fsspec's file systems raise these with a message and no errno.
_CLASS_OF_TYPE: dict[type[OSError], type[errors.OpError]] = {
    FileNotFoundError: errors.NotFoundError,
    PermissionError: errors.PermissionDeniedError,
    IsADirectoryError: errors.FailedPreconditionError,
    NotADirectoryError: errors.FailedPreconditionError,
    FileExistsError: errors.AlreadyExistsError,
}


def typed_error(error: OSError, doing: str) -> errors.OpError:
    """The error of the class that matches the kind of failure; the message begins with `doing`."""
    found = _CLASS_OF_ERRNO.get(error.errno) if error.errno is not None else None
    for kind, op_error in _CLASS_OF_TYPE.items():
        if found is None and isinstance(error, kind):
            found = op_error
    return (found or errors.UnknownError)(None, None, f"{doing}: {error}")


@contextmanager
def typed(doing: str) -> Iterator[None]:
    """Turn an `OSError` or `MemoryError` of the block into the matching `OpError`."""
    try:
        yield
    except OSError as error:
        raise typed_error(error, doing) from error
    except MemoryError as error:
        raise errors.ResourceExhaustedError(None, None, f"{doing}: out of memory") from error


def locate(path: Path) -> tuple[Storage, str]:
    """The storage that holds `path`, and the path's name within it."""
    from penstock.checkpoint.local import LocalStorage  # these two import this module's protocols
    from penstock.checkpoint.remote import remote_storage

    text = os.fspath(path)
    if text.startswith("file://"):
        text = text.removeprefix("file://")  # fsspec would write it without fsync and rename
    if "://" in text:
        return remote_storage(text)
    if "\0" in text:
        raise errors.InvalidArgumentError(None, None, f"checkpoint path {text!r} holds a NUL character")
    return LocalStorage(), text
