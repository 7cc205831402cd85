"""Runs a compiler, with a time limit, so that it can finish even if the process that started it ends.

It runs in its own process session, so that neither Ctrl-C nor the end of this process ends it, and the next process can
use its result. It limits itself in processor time, and in elapsed time if there is `timeout`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from penstock.devices.neighbours import NEIGHBOURS

GENTLE_AFTER = 3.0
"""Seconds after which a compiler lowers its priority in favour of steps. Not earlier: on a busy machine, a compiler of
low priority might not finish before the program does."""
GENTLE = 10
_SHELL = "/bin/sh"
_SCRIPT = 'made=$1 target=$2; ulimit -t "$3"; shift 3; "$@" && mv -f "$made" "$target"'


class NoCompiler(Exception):
    """There is no compiler, or it does not work; the message says what happened."""


class Stopped(NoCompiler):
    """The compiler did not end in time."""


def output_of(command: Sequence[str], limit: float) -> str:
    """The output of a command. Raises NoCompiler if it fails or does not end within `limit` seconds."""
    process = _start(command, command, subprocess.PIPE)
    with process:
        text = _end(process, command, limit)
    return _checked(process, command, text)


def make(command: Sequence[str], made: Path, target: Path, limit: float) -> None:
    """Run a command that makes a file, which becomes `target` atomically, even if this process has ended by then.
    Raises NoCompiler like `output_of`."""
    words = [*command]
    if os.path.exists(_SHELL):
        words = [_SHELL, "-c", _SCRIPT, _SHELL, str(made), str(target), str(int(limit) + 1), *command]
        if (timeout := shutil.which("timeout")) is not None:
            words = [timeout, "-s", "KILL", str(int(limit) + 10), *words]
    log = target.with_suffix(".log")
    with log.open("wb") as output:
        process = _start(words, command, output)
    with process:
        _end(process, command, limit)
    _checked(process, command, log.read_text(errors="replace"))
    if words == [*command]:
        os.replace(made, target)


def _start(words: Sequence[str], command: Sequence[str], output: int | IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise NoCompiler(f"{shlex.join(command[:3])}: {error}") from error


def _end(process: subprocess.Popen[bytes], command: Sequence[str], limit: float) -> str:
    """Wait for a process. Returns its output, unless that goes to a file."""
    try:
        try:
            with NEIGHBOURS.beside():
                output, _ = process.communicate(timeout=min(GENTLE_AFTER, limit))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PGRP, process.pid, GENTLE)
            output, _ = process.communicate(timeout=max(limit - GENTLE_AFTER, 0.0))
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        raise Stopped(f"{shlex.join(command[:3])} did not end within {limit:g} seconds") from None
    return (output or b"").decode(errors="replace")


def _checked(process: subprocess.Popen[bytes], command: Sequence[str], text: str) -> str:
    if process.returncode:
        text = "\n".join(line for line in text.splitlines() if "error" in line) or text  # and no warnings
        raise NoCompiler(f"{shlex.join(command[:3])} failed ({process.returncode}): {text.strip()[:500]}")
    return text
