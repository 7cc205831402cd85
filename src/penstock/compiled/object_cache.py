"""Compiled objects on disk, and loading functions from them.

Each compiled function is a file of its own name under `$PENSTOCK_CACHE/compiled` or the user's cache folder. The name
is a hash of the source, the compiler, the processor's features and the version of the calling convention; the file
ends with a checksum of the rest, and is moved into place whole. So processes that compile the same at once, or are
killed meanwhile, do no harm, and a damaged file is noticed and made again.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.compiled.source import Source

_STALE = 3600.0
"""Seconds after which files of killed compilers are removed."""
_DIGEST = hashlib.sha256().digest_size

Function = Callable[..., None]


def cache_folder() -> Path:
    """Where compiled objects are kept: under PENSTOCK_CACHE, or the user's cache folder."""
    root = os.environ.get("PENSTOCK_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock"
    )
    return Path(root) / "compiled"


class ObjectCache:
    """A folder of compiled objects. One that cannot be written to is replaced by a temporary one."""

    def __init__(self, folder: Path, identity: str) -> None:
        self._identity = identity
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            self.folder = folder
        except OSError:
            self.folder = Path(tempfile.mkdtemp(prefix="penstock-compiled-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._remove_leftovers()

    def path(self, source: Source) -> Path:
        key = hashlib.sha256(f"{self._identity}\n{source.name}".encode()).hexdigest()[:32]
        return self.folder / f"{key}.so"

    def load(self, source: Source) -> Function | None:
        """The function of `source`, None if it is not there. A file that is damaged is removed."""
        path = self.path(source)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return None
        if hashlib.sha256(data[:-_DIGEST]).digest() == data[-_DIGEST:]:
            with contextlib.suppress(OSError, ValueError):  # no object, or not this function's
                return function_of(path, source.name)
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def store(self, sources: Sequence[Source], compiled: Path) -> None:
        """Put the object in which all `sources` are under the name of each."""
        with compiled.open("r+b") as file:
            digest = hashlib.sha256(file.read()).digest()
            file.write(digest)
        for source in sources:
            temporary = self.folder / f"{secrets.token_hex(8)}.tmp"
            try:
                os.link(compiled, temporary)
            except OSError:
                shutil.copyfile(compiled, temporary)
            os.replace(temporary, self.path(source))

    def _remove_leftovers(self) -> None:
        for path in self.folder.glob("*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


def function_of(path: Path, name: str) -> Function:
    """The Python function whose PyMethodDef is `name` in an object, which then stays loaded."""
    definition = ctypes.c_char.in_dll(ctypes.CDLL(str(path)), name)
    return _new_function(ctypes.addressof(definition), None, None)


_new_function = ctypes.pythonapi["PyCFunction_NewEx"]
_new_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_new_function.restype = ctypes.py_object
