"""The first run of newly compiled functions, in a separate process, before they are loaded into the user's.

A crash there is harmless. The function gets the inputs that a step passed to the nodes that it replaces, or memory of
the same sizes, and each block is followed by a guard page. That process does not load torch, so it starts within a few
hundredths of a second; only code that waits for the compiler anyway waits for it.
"""

from __future__ import annotations

import contextlib
import marshal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 2.0
"""Seconds after which a run is stopped, without a verdict."""
MOST_MEMORY = 1 << 26
"""The most bytes of one call; larger ones are not tried here."""
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP")

Block = tuple[int, bytes]
"""A block of this many bytes: first these, then zeros."""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call: numbers, addresses of blocks, and addresses of tables of them. about: a description of
    the function."""

    arguments: tuple[int | Block | list[Block], ...]
    about: str

    @property
    def memory(self) -> int:
        """The total bytes of its blocks."""
        tables = [a if isinstance(a, list) else [a] for a in self.arguments if not isinstance(a, int)]
        return sum(size for table in tables for size, _ in table)


_CHILD = r"""
import ctypes, marshal, mmap, sys

def say_nothing_of_a_crash():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def block(size, contents):
    room = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    memory[room - size : room - size + len(contents)] = contents
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    process.mprotect(ctypes.c_void_p(begin + room), ctypes.c_size_t(mmap.PAGESIZE), 0)
    kept.append(memory)
    return begin + room - size

def address(argument):
    if isinstance(argument, int):
        return argument
    if isinstance(argument, tuple):
        return block(*argument)
    table = (ctypes.c_void_p * max(len(argument), 1))(*[block(*each) for each in argument])
    kept.append(table)
    return ctypes.addressof(table)

say_nothing_of_a_crash()
path, calls = marshal.load(sys.stdin.buffer)
process, library, kept = ctypes.CDLL(None), ctypes.CDLL(path), []
new_function = ctypes.pythonapi.PyCFunction_NewEx
new_function.argtypes, new_function.restype = [ctypes.c_void_p] * 3, ctypes.py_object
for name, arguments in calls:
    function = new_function(ctypes.addressof(ctypes.c_char.in_dll(library, name)), None, None)
    given = [address(argument) for argument in arguments]
    print(name, flush=True)
    function(*given)
    kept.clear()
"""


def crashing(made: Path, calls: Mapping[str, Call]) -> list[str]:
    """The names of functions of a shared object that crash a process with these calls."""
    left = {name: call for name, call in calls.items() if call.memory <= MOST_MEMORY}
    found: list[str] = []
    while left and sys.executable:
        begun, crashed = _run(made, left)
        if crashed:
            found += begun[-1:]
        if not crashed or not begun:
            break
        left = {name: call for name, call in left.items() if name not in begun}
    return found


def _run(made: Path, calls: Mapping[str, Call]) -> tuple[Sequence[str], bool]:
    """The functions that a process has started to call, and whether it crashed in the last one."""
    import signal

    given = marshal.dumps((str(made), [(name, call.arguments) for name, call in calls.items()]))
    command = [sys.executable, "-I", "-S", "-c", _CHILD]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT, check=False
        )
        died = {-number for name in _CRASHES if (number := getattr(signal, name, None)) is not None}
        return done.stdout.decode().split(), done.returncode in died
    return [], False
