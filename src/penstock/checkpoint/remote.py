"""Checkpoint files behind a URL (`gs://`, `s3://`, `memory://`), through fsspec.

Uploading the index is one request that object stores apply atomically, and it comes last, so readers see the old
checkpoint or the new one. Remote stores have no locks (so use one writer per prefix at a time), and files do not
outlive their names (a reader of an overwritten checkpoint gets NotFoundError).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from penstock import errors


def remote_storage(url: str) -> tuple[RemoteStorage, str]:
    import fsspec  # local checkpoints need not wait for this import

    try:
        fs, path = fsspec.core.url_to_fs(url)
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"no file system for {url!r}: {error}") from error
    return RemoteStorage(fs), path


@contextmanager
def as_os_error(path: str) -> Iterator[None]:
    """Client libraries raise various exceptions; callers expect `OSError`."""
    try:
        yield
    except (OSError, errors.OpError):
        raise
    except Exception as error:
        raise OSError(f"{path}: {type(error).__name__}: {error}") from error


class RemoteStorage:
    preferred_read = 64 << 20  # every read is a request

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def split(self, path: str) -> tuple[str, str]:
        directory, _, name = path.rpartition("/")
        return directory, name

    def join(self, directory: str, name: str) -> str:
        return f"{directory}/{name}"

    def names(self, directory: str) -> list[str]:
        with as_os_error(directory):
            self._fs.invalidate_cache(directory)
            try:
                return [str(path).rstrip("/").rpartition("/")[2] for path in self._fs.ls(directory, detail=False)]
            except FileNotFoundError:
                return []  # an object store has a directory only while it contains something

    def exists(self, path: str) -> bool:
        with as_os_error(path):
            return bool(self._fs.isfile(path))

    def modified(self, path: str) -> float:
        with as_os_error(path):
            return float(self._fs.modified(path).timestamp())

    def read(self, path: str, limit: int) -> bytes:
        file = self.open(path)
        if file.size > limit:
            raise OSError(errno.EFBIG, f"{file.size} bytes, more than the {limit} this may have", path)
        with as_os_error(path):
            return bytes(self._fs.cat_file(path))

    def open(self, path: str) -> RemoteReadable:
        with as_os_error(path):
            return RemoteReadable(self._fs, path)

    def create(self, path: str) -> RemoteWritable:
        with as_os_error(path):
            return RemoteWritable(self._fs.open(path, "wb"), path)

    def remove(self, path: str) -> None:
        with as_os_error(path), suppress(FileNotFoundError):
            self._fs.rm_file(path)

    def move(self, source: str, target: str) -> None:
        with as_os_error(source):
            self._fs.mv(source, target)

    def link(self, source: str, target: str) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), target)

    def locked(self, directory: str) -> AbstractContextManager[object]:
        return nullcontext()

    def begin(self, target: str, token: str) -> RemotePending:
        return RemotePending(self._fs.pipe_file, target)

    def abandoned(self, target: str, token: str) -> AbstractContextManager[bool]:
        return nullcontext(True)


class RemoteWritable:
    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def write(self, data: memoryview) -> None:
        with as_os_error(self._path):
            self._file.write(data)

    def finish(self) -> None:
        with as_os_error(self._path):
            self._file.close()

    def abandon(self) -> None:
        with suppress(Exception):  # the upload failed earlier, and that failure is the one to report
            self._file.close()


class RemoteReadable:
    def __init__(self, fs: Any, path: str) -> None:
        self._fs = fs
        self._path = path
        self.size = int(fs.info(path)["size"])

    def read_into(self, offset: int, view: memoryview) -> int:
        with as_os_error(self._path):
            data = self._fs.cat_file(self._path, start=offset, end=offset + len(view))
        count = min(len(data), len(view))
        view[:count] = data[:count]
        return count

    def close(self) -> None:
        pass


class RemotePending:
    def __init__(self, put: Callable[[str, bytes], Any], target: str) -> None:
        self._put = put
        self._target = target

    def publish(self, data: bytes) -> None:
        with as_os_error(self._target):
            self._put(self._target, data)

    def release(self) -> None:
        pass
