"""Folders of Rays that clusters have started. One whose keeper was killed is removed by whoever finds it next."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

_PLACE = "/tmp"
"""Ray keeps sockets there, whose names must be short."""
_PREFIX = "penstock-ray-"
_LOCK = "keeper"
"""A file in the folder that the keeper holds locked for as long as it lives."""
_END_S = 2.0


class Folder:
    """`path` is a new folder, of this process until it removes it or ends."""

    def __init__(self) -> None:
        remove_left()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_PLACE))
        unlocked = self.path / f"{_LOCK}.new"
        self._lock = os.open(unlocked, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unlocked.rename(self.path / _LOCK)

    def end_processes(self) -> None:
        _end_processes(self.path)

    def remove(self) -> None:
        """With all that still runs there: Ray's agents outlive it for half a minute."""
        _end_processes(self.path)
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_left() -> None:
    """Those that keepers of this user have left."""
    for path in Path(_PLACE).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # another user's, or of one that is just being made
            continue
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_processes(path)
            shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _end_processes(folder: Path) -> None:
    """Of those who have a file of the folder open, which all of Ray's processes have: their logs."""
    users = [pid for pid in _pids() if pid != os.getpid() and _uses(pid, folder)]
    for pid in users:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _END_S
    while any(_uses(pid, folder) for pid in users) and time.monotonic() < deadline:
        time.sleep(0.01)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _uses(pid: int, folder: Path) -> bool:
    with contextlib.suppress(OSError):  # another user's, or gone
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(descriptor).startswith(f"{folder}/"):
                    return True
    return False
