"""Compiled objects on disk, and loading functions from them.

Each compiled function is a file under `$PENSTOCK_CACHE/compiled` or the user's cache folder. The name is a hash of the
source, the compiler, the processor's features and the version of the calling convention; the file ends with a checksum
of the rest, and is moved into place atomically. So processes that compile the same at once, or are killed meanwhile, do
no harm, and a damaged file is noticed and recompiled.

Next to an object there may be two more files. KEY.running says which process is running it for the first time: one left
by a process that no longer exists makes the object suspect, because the process may have died in it. KEY.bad says that
it must never be used.

A compiler works in its own folder inside the cache. It continues if the process that started it ends, and the next
process finds its result there.

Objects together take no more than LIMIT: now and then, after one is stored, those not loaded for longest are removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from penstock.codegen.c.source import Source
from penstock.devices.user_cache import user_cache

_STALE = 3600.0
"""Seconds after which files of killed compilers are removed."""
_WRITTEN = 60.0
"""Seconds after which a marker has been written, unless its process was killed."""
LIMIT = 1 << 30
"""Bytes. An object has about 20 KB."""
_STORES = 64
"""Stored compilations between two looks at how much there is: a look takes about 10 us an object."""
_DIGEST = hashlib.sha256().digest_size
_OBJECT, _NAMES = "clusters.so", "names"
"""Files in the folder that a compiler works in: its complete result, and the names that it gets, one per line, in a
file that is locked by the process waiting for it."""

Function = Callable[..., None]


def cache_folder() -> Path:
    """Where compiled objects are kept: under PENSTOCK_CACHE, or the user's cache folder."""
    return user_cache() / "compiled"


class ObjectCache:
    """A folder of compiled objects that only the user can write to; a temporary one if that is not possible."""

    def __init__(self, folder: Path, identity: str) -> None:
        self._identity = identity
        self._stores = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make_private(folder)
            with tempfile.TemporaryFile(dir=folder):
                pass
            self.folder = folder
        except OSError:
            self.folder = Path(tempfile.mkdtemp(prefix="penstock-compiled-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._remove_leftovers()
        self._take_over()

    def path(self, source: Source) -> Path:
        return self._path(source.name)

    def _path(self, name: str) -> Path:
        key = hashlib.sha256(f"{self._identity}\n{name}".encode()).hexdigest()[:32]
        return self.folder / f"{key}.so"

    def load(self, source: Source) -> Function | None:
        """The function of `source`; None if it does not exist. A damaged file is removed."""
        path = self.path(source)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return None
        if hashlib.sha256(data[:-_DIGEST]).digest() == data[-_DIGEST:]:
            with contextlib.suppress(OSError, ValueError):  # not an object, or not this function's
                function = function_of(path, source.name)
                _note_use(path)
                return function
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    # --- what must not be used ------------------------------------------------------------------------

    def is_bad(self, name: str) -> bool:
        """Whether the function of this name has been marked bad, in this process or another."""
        return self._beside(name, ".bad").exists()

    def condemn(self, name: str, about: str) -> None:
        """Mark the function of this name as bad, permanently. about: a description for readers of the file."""
        with contextlib.suppress(OSError):
            self._beside(name, ".bad").write_text(f"{about}\n")

    @contextlib.contextmanager
    def watch(self, name: str, about: str) -> Iterator[bool]:
        """A context for the first run of this function in this process. Yields whether it is suspect.

        A process that is killed in the middle leaves its marker. If several processes run it at once, one has a marker.
        """
        marker = self._beside(name, ".running")
        file, suspected = _begin(marker)
        if file is None:
            yield suspected
            return
        with os.fdopen(file, "w") as text:
            text.write(f"{os.getpid()} {_start_of(os.getpid())}\n{about}\n")
        try:
            yield suspected
        finally:
            with contextlib.suppress(OSError):
                marker.unlink()

    def _beside(self, name: str, ending: str) -> Path:
        return self._path(name).with_suffix(ending)

    # --- writing --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def compiling(self, sources: Sequence[Source]) -> Iterator[Path]:
        """Yields the path for the object of `sources`; the object is stored at the end."""
        folder = self.folder / f"{secrets.token_hex(8)}.tmp"
        folder.mkdir()
        try:
            with (folder / _NAMES).open("w") as names:
                fcntl.flock(names, fcntl.LOCK_EX)
                names.write("\n".join(self.path(source).name for source in sources))
                names.flush()
                yield folder / _OBJECT
                self._store([self.path(source) for source in sources], folder / _OBJECT)
            if self._stores % _STORES == 0:
                self._make_room()
            self._stores += 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _take_over(self) -> None:
        """Store objects that were compiled for processes that had already ended."""
        for path in self.folder.glob(f"*.tmp/{_NAMES}"):
            with contextlib.suppress(OSError), path.open() as names:
                fcntl.flock(names, fcntl.LOCK_EX | fcntl.LOCK_NB)
                compiled = path.with_name(_OBJECT)
                if compiled.exists():
                    self._store([self.folder / Path(line).name for line in names.read().split()], compiled)
                    shutil.rmtree(path.parent, ignore_errors=True)

    def _store(self, paths: Sequence[Path], compiled: Path) -> None:
        """Put an object under these names."""
        with compiled.open("r+b") as file:
            digest = hashlib.sha256(file.read()).digest()
            file.write(digest)
        for path in paths:
            temporary = self.folder / f"{secrets.token_hex(8)}.tmp"
            try:
                os.link(compiled, temporary)
            except OSError:
                shutil.copyfile(compiled, temporary)
            os.replace(temporary, path)

    def _make_room(self) -> None:
        """If there are more objects than LIMIT, remove those loaded longest ago, until a quarter of it is free.
        Processes that have loaded them keep them."""
        found: dict[int, tuple[int, int, list[str]]] = {}
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(".so"):
                    state = entry.stat()  # functions that were compiled together are one file under several names
                    found.setdefault(state.st_ino, (state.st_atime_ns, state.st_size, []))[2].append(entry.path)
        total = sum(size for _, size, _ in found.values())
        for _, size, names in sorted(found.values()) if total > LIMIT else ():
            if total <= LIMIT * 3 // 4:
                break
            for name in names:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            total -= size

    def _remove_leftovers(self) -> None:
        for path in self.folder.glob("*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _note_use(path: Path) -> None:
    """Whether it is recorded otherwise that a file is read depends on how its disk is mounted."""
    with contextlib.suppress(OSError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _begin(marker: Path) -> tuple[int | None, bool]:
    """The marker, opened by this process, unless another has it; and whether one was left behind."""
    suspected = False
    try:
        try:
            return os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY), suspected
        except FileExistsError:
            suspected = _left_behind(marker)
            return (os.open(marker, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) if suspected else None), suspected
    except OSError:
        return None, suspected


def _left_behind(marker: Path) -> bool:
    """Whether the process that wrote a marker no longer exists. Another may write or remove it at this moment."""
    try:
        text = marker.read_text()
        if not text:  # created, and about to be written
            return time.time() - marker.stat().st_mtime > _WRITTEN
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        pid, start = text.split("\n")[0].split(" ", 1)
        os.kill(int(pid), 0)
        return _start_of(int(pid)) != start
    except PermissionError:
        return False
    except (OSError, ValueError):
        return True


def _start_of(pid: int) -> str:
    """When a process started, if that is known: another may have its number by now."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _make_private(folder: Path) -> None:
    """Ensures that only this user can write to a folder whose files are run. Raises OSError if it belongs to another
    user."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)
        for path in folder.iterdir():  # whoever put it there
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def function_of(path: Path, name: str) -> Function:
    """The Python function whose PyMethodDef is `name` in an object, which then stays loaded."""
    definition = ctypes.c_char.in_dll(ctypes.CDLL(str(path)), name)
    return _new_function(ctypes.addressof(definition), None, None)


_new_function = ctypes.pythonapi["PyCFunction_NewEx"]
_new_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_new_function.restype = ctypes.py_object
