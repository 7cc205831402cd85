"""Where named clusters are found: a Unix socket for each, in a folder that only the user can enter.

Whoever answers there is the cluster's keeper. A socket where nobody answers was left by one that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock import errors

_ENDING = ".sock"


def folder() -> Path:
    """PENSTOCK_RUNTIME, or in the user's runtime directory. Made if need be.

    Raises PermissionDeniedError if it is another user's, or others may enter it.
    """
    given = os.environ.get("PENSTOCK_RUNTIME")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        path = Path(given)
    elif runtime and os.access(runtime, os.W_OK):
        path = Path(runtime) / "penstock"
    else:
        path = Path(tempfile.gettempdir()) / f"penstock-{os.getuid()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise errors.PermissionDeniedError(
            None, None, f"{path} must be a folder of this user that others cannot enter (chmod 700)."
        )
    return path


def names() -> list[str]:
    """Of the clusters that run. Sockets that killed ones have left are removed."""
    found = []
    with _locked() as here:
        for path in sorted(here.glob(f"*{_ENDING}")):
            connection = _connection(path)
            if connection is None:
                path.unlink(missing_ok=True)
            else:
                connection.close()
                found.append(path.name.removesuffix(_ENDING))
    return found


def connect(name: str) -> socket.socket:
    """Raises NotFoundError if no cluster of that name runs."""
    connection = _connection(folder() / f"{name}{_ENDING}")
    if connection is None:
        running = ", ".join(names()) or "none"
        raise errors.NotFoundError(None, None, f"No cluster {name!r} runs on this machine. Running: {running}.")
    return connection


def listen(name: str) -> socket.socket:
    """Take the name. Raises AlreadyExistsError if a cluster has it."""
    with _locked() as here:
        path = here / f"{name}{_ENDING}"
        connection = _connection(path)
        if connection is not None:
            connection.close()
            raise errors.AlreadyExistsError(
                None, None, f"A cluster {name!r} runs already: stop it, or take another name."
            )
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        with _short(path) as address:
            listener.bind(address)
        listener.listen(16)
        return listener


def give_up(name: str) -> None:
    (folder() / f"{name}{_ENDING}").unlink(missing_ok=True)


def _connection(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        with _short(path) as address:
            connection.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of `path` with less than the 108 bytes that an address of a socket may have."""
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{path.name}"
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked() -> Iterator[Path]:
    here = folder()
    descriptor = os.open(here, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield here
    finally:
        os.close(descriptor)
