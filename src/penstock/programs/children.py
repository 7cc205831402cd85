"""Programs that a program starts as processes of Python (`subprocess.call([sys.executable, "train.py"])`): they run as
it does, by `penstock run`. Other processes, those of libraries among them, are left alone."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.programs.places import is_of_program
from penstock.programs.report import REPORT

OPTIONS: list[str] = []
"""Of `penstock run`, that the program was run with."""
_programs = 0  # that are being run in this process
_PYTHON = re.compile(r"(.*[/\\])?python(\d(\.\d+)?)?(\.exe)?")
_OPTIONS = ("-u", "-B", "-O")
_STARTERS = {"env", "mpiexec", "mpirun", "nice", "nohup", "time", "xvfb-run"}
"""Commands that start the rest of their words."""
_IN_SHELL = re.compile(
    r"(?P<before>(?:^|[;&|(])\s*(?:\w+=\S*\s+)*(?:(?:nohup|time|nice)\s+)?)"
    r"(?P<python>[^\s;&|()]*python(?:\d(?:\.\d+)?)?)(?P<options>(?:\s+-[uBO])*)\s+(?P<file>[^\s;&|<>-]\S*\.py)(?=$|[\s;&|)])"
)
"""A program of Python that a command of a shell starts."""


@contextmanager
def run_alike() -> Iterator[None]:
    """Inside, what is started is the program's."""
    global _programs
    _programs += 1
    try:
        yield
    finally:
        _programs -= 1


def running() -> bool:
    """Whether a program is being run in this process."""
    return _programs > 0


def words_of(words: Sequence[Any], folder: Any = None) -> list[Any] | None:
    """The words of a command that runs the same program by `penstock run`; None if it runs none. folder: in which."""
    first = next((at for at, word in enumerate(words) if _is_python(word)), None)
    if first is None or (first > 0 and os.path.basename(str(words[0])) not in _STARTERS):
        return None
    at = first + 1
    while at < len(words) and words[at] in _OPTIONS:
        at += 1
    if at == len(words) or not _is_program(words[at], folder):
        return None
    return [*words[:first], sys.executable, *words[first + 1 : at], *_by(), *words[at:]]


def in_shell(command: str, folder: Any = None) -> str | None:
    """A command of a shell with its programs run so; None if it runs none."""

    def replaced(found: re.Match[str]) -> str:
        if not _is_program(found["file"].strip("\"'"), folder):
            return found[0]
        by = " ".join(_by())
        return f"{found['before']}{shlex.quote(sys.executable)}{found['options']} {by} {found['file']}"

    changed = _IN_SHELL.sub(replaced, command)
    return changed if changed != command else None


def _by() -> list[str]:
    return ["-m", "penstock", "run", *OPTIONS]


def _is_python(word: Any) -> bool:
    return isinstance(word, str) and _PYTHON.fullmatch(word) is not None


def _is_program(word: Any, folder: Any) -> bool:
    path = os.path.join(os.fspath(folder or "."), os.fspath(word)) if isinstance(word, str | os.PathLike) else ""
    return path.endswith(".py") and os.path.isfile(path) and is_of_program(path)


def _changed(command: Any, shell: Any, folder: Any) -> Any:
    """What `subprocess` is to run."""
    found: Any = None
    if not _programs:
        return command
    if isinstance(command, str) and shell:
        found = in_shell(command, folder)
    elif isinstance(command, list | tuple) and not shell:
        found = words_of(command, folder)
    if found is None:
        return command
    REPORT.use("penstock run for a process of the program's", None)
    return found


def patch_subprocess(subprocess: Any) -> None:
    made = subprocess.Popen.__init__

    @functools.wraps(made)
    def __init__(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        shell = options.get("shell", rest[7] if len(rest) > 7 else False)
        folder = options.get("cwd", rest[8] if len(rest) > 8 else None)
        made(self, _changed(args, shell, folder), *rest, **options)

    subprocess.Popen.__init__ = __init__


def patch_os(module: Any) -> None:
    system = module.system

    @functools.wraps(system)
    def shell(command: Any) -> int:
        return system(_changed(command, True, None))

    module.system = shell


PATCHES: dict[str, Callable[[Any], None]] = {"os": patch_os, "subprocess": patch_subprocess}
