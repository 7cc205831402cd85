"""Checkpoint files on a local (or mounted) file system: exclusive names, fsync, rename, directory fsync."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BUFFER = 1 << 20


class LocalStorage:
    preferred_read = 1 << 20  # a chunk is still in cache when its checksum is computed

    def split(self, path: str) -> tuple[str, str]:
        directory, name = os.path.split(path)
        return directory or ".", name

    def join(self, directory: str, name: str) -> str:
        return os.path.join(directory, name)

    def names(self, directory: str) -> list[str]:
        return os.listdir(directory)

    def exists(self, path: str) -> bool:
        return os.path.isfile(path)

    def modified(self, path: str) -> float:
        return os.stat(path).st_mtime

    def read(self, path: str, limit: int) -> bytes:
        file = self.open(path)
        try:
            if file.size > limit:
                raise OSError(errno.EFBIG, f"{file.size} bytes, more than the {limit} this may have", path)
            data = bytearray(file.size)
            filled = file.read_into(0, memoryview(data))
            return bytes(data[:filled])
        finally:
            file.close()

    def open(self, path: str) -> LocalReadable:
        return LocalReadable(path)

    def create(self, path: str) -> LocalWritable:
        return LocalWritable(path)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    def move(self, source: str, target: str) -> None:
        os.replace(source, target)

    def link(self, source: str, target: str) -> None:
        os.link(source, target)

    @contextmanager
    def locked(self, directory: str) -> Iterator[None]:
        fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)  # for forked processes that have the descriptor, too
            os.close(fd)

    def begin(self, target: str, token: str) -> LocalPending:
        return LocalPending(target, token)

    @contextmanager
    def abandoned(self, target: str, token: str) -> Iterator[bool]:
        try:
            fd = os.open(temporary_name(target, token), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            yield True
            return
        except OSError:
            yield False  # we may not access it, so we cannot judge it
            return
        try:
            # A writer that has created the file and not locked it yet finds it locked, and starts over.
            yield _lock(fd)
        finally:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)  # for forked processes that have the descriptor, too
            os.close(fd)


class LocalWritable:
    """Small writes are combined: a model has thousands of tensors of a few bytes."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._buffer = bytearray()

    def write(self, data: memoryview) -> None:
        if len(self._buffer) + len(data) > _BUFFER:
            self._flush()
        if len(data) >= _BUFFER:
            _write_all(self._fd, data)
        else:
            self._buffer += data

    def finish(self) -> None:
        self._flush()
        os.fsync(self._fd)
        self.abandon()

    def abandon(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _flush(self) -> None:
        if self._buffer:
            _write_all(self._fd, memoryview(self._buffer))
            self._buffer = bytearray()


class LocalReadable:
    """Keeps the file open by descriptor, so that it survives a save that replaces the checkpoint."""

    def __init__(self, path: str) -> None:
        # O_NONBLOCK: opening a FIFO of that name would wait for a writer.
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self._closer = weakref.finalize(self, os.close, self._fd)
        found = os.fstat(self._fd)
        if not stat.S_ISREG(found.st_mode):
            self.close()
            raise OSError(errno.EISDIR, "not a regular file", path)
        self.size = found.st_size

    def read_into(self, offset: int, view: memoryview) -> int:
        done = 0
        while done < len(view):
            count = os.preadv(self._fd, [view[done:]], offset + done)
            if count == 0:
                break
            done += count
        return done

    def close(self) -> None:
        self._fd = -1  # the system may reuse the number, which must not be read from then
        self._closer()


class LocalPending:
    """Locks the temporary file until released, so that others can tell a live writer from a dead one."""

    def __init__(self, target: str, token: str) -> None:
        self._target = target
        self._path = temporary_name(target, token)
        self._published = False
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        # Between the two calls another writer's clean-up may have taken, or take, the file for a leftover.
        if not _lock(self._fd) or os.fstat(self._fd).st_nlink == 0:
            self.release()
            raise FileExistsError(errno.EEXIST, "removed by another writer", self._path)

    def publish(self, data: bytes) -> None:
        directory = os.path.dirname(self._target) or "."
        _write_all(self._fd, memoryview(data))
        os.fsync(self._fd)
        _sync_directory(directory)  # the names of the data files must reach the medium before the rename
        os.replace(self._path, self._target)
        self._published = True
        _sync_directory(directory)

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            if not self._published:
                os.unlink(self._path)
        except FileNotFoundError:
            pass
        finally:
            os.close(fd)


def temporary_name(target: str, token: str) -> str:
    return f"{target}.{token}.tmp"


def _write_all(fd: int, data: memoryview) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _lock(fd: int) -> bool:
    """False if another process has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: saves work, but only one process may save a prefix at a time
    return True


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        # Not every mount can sync a directory.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)
