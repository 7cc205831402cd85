"""The C compiler of this machine: which it is, with which flags, and how it is run.

Whatever compiler is there is used: $CC; else cc, gcc, clang, or the `ziglang` package.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VERSION = 1
"""Of the way in which compiled functions are called."""
TIMEOUT = 120.0
"""Seconds after which a compiler is stopped."""

# What would mean something else than what was written, so that it must not run: names that hide others, numbers taken
# for addresses. Each is known to gcc from 5 on and to clang, and says nothing of C that is right. (Of what is not
# initialised they do: gcc's own headers of vector instructions look like it.)
_REFUSED = (
    "shadow", "int-conversion", "incompatible-pointer-types", "implicit-int", "implicit-function-declaration",
    "return-type",
)  # fmt: skip
# No -ffast-math: it flushes subnormal numbers to zero in the whole process, and swallows NaN. Products and sums are
# not contracted, so that + - * / give torch's bits. Ints wrap around.
_FLAGS = (
    "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared",
    *(f"-Werror={name}" for name in _REFUSED),
)  # fmt: skip
_TUNED = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
"""Flags for this processor, the best first; compilers differ in what they know."""


class NoCompiler(Exception):
    """No compiler is there, or it does not work; the message says what happened."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that works: its command with all flags, and what tells it and this processor from others."""

    command: tuple[str, ...]
    identity: str

    def compile(self, text: str, target: Path) -> None:
        """Make a shared object of C text. NoCompiler, with the compiler's words, if that fails."""
        source = target.with_suffix(".c")
        source.write_text(text)
        _run([*self.command, "-o", str(target), str(source)])


# --- finding one ----------------------------------------------------------------------------------------


def _candidates() -> list[list[str]]:
    given = os.environ.get("CC")
    if given:
        return [shlex.split(given)]
    found = [[path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found


def find_toolchain() -> Toolchain:
    """The first compiler that makes an object, with the best flags that it takes. NoCompiler if none does."""
    problem = "there is none ($CC, cc, gcc, clang, ziglang)"
    for command in _candidates():
        for tuned in _TUNED:
            try:
                with tempfile.TemporaryDirectory(prefix="penstock-cc-") as folder:
                    found = Toolchain((*command, *_FLAGS, *tuned), "")
                    target = Path(folder, "probe.so")
                    found.compile("int probe(void) { return 42; }", target)
                    if ctypes.CDLL(str(target)).probe() == 42:
                        return Toolchain(found.command, _identity(command, found.command))
            except _Stopped as error:
                problem = str(error)
                break  # with other flags it would hang as well
            except (NoCompiler, OSError, AttributeError) as error:
                problem = str(error)
    raise NoCompiler(problem)


def _identity(command: Sequence[str], flags: Sequence[str]) -> str:
    version = _run([*command, "--version"])
    return "\n".join([version, *flags, platform.machine(), _processor(), str(VERSION)])


@functools.cache
def _processor() -> str:
    """What this processor can do: code for the machine that it is compiled on must not run on another."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()


class _Stopped(NoCompiler):
    """The compiler did not end in time."""


def _run(command: Sequence[str]) -> str:
    """The output of a command. NoCompiler if it fails, or is stopped after TIMEOUT, with all that it started.

    It gives way to steps, which also keep the processor busy.
    """
    nice = shutil.which("nice")
    polite = [nice, "-n", "10"] if nice and shutil.which(command[0]) else []
    try:
        process = subprocess.Popen(
            [*polite, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise NoCompiler(f"{shlex.join(command[:3])}: {error}") from error
    with process:
        try:
            output, _ = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            raise _Stopped(f"{shlex.join(command[:3])} did not end within {TIMEOUT:g} seconds") from None
    text = output.decode(errors="replace")
    if process.returncode:
        raise NoCompiler(f"{shlex.join(command[:3])} failed ({process.returncode}): {text.strip()[:500]}")
    return text
