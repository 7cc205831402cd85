"""What a search notes of its trials, as user attributes of Optuna's, and who runs them."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ERROR, FOLDER, OWNER, REPEATS = "error", "folder", "owner", "repeats"


def owner() -> dict[str, Any]:
    """This process, so that others can see whether it still runs."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}


def is_dead(noted: Mapping[str, Any]) -> bool:
    """Of a process on another machine, nobody knows."""
    return noted["host"] == socket.gethostname() and noted["born"] != _born(noted["pid"])


def _born(pid: int) -> str:
    """When it was started: numbers of processes are used again. Empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if stat[0] in "ZX" else stat[19]
