"""The C compiler of this machine: which it is, with which flags, and how it is run.

Whatever compiler is there is used: $CC, which may be a command with arguments (`ccache gcc`, `zig cc`) and is then the
only one; else cc, gcc, clang, or the `ziglang` package.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.codegen.c.command import NoCompiler, Stopped, make, output_of
from penstock.codegen.c.object_cache import cache_folder
from penstock.codegen.c.probe import probe_text, run_probe

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
# GCC's -O3 takes half as long again, for steps that are no quicker by it (but see MOST), if -O2 vectorises as it does.
# (Clang and zig know -fvect-cost-model, which is GCC's "dynamic", but no model by name.)
# No -ffast-math: it flushes subnormal numbers to zero in the whole process, and swallows NaN. Products and sums are
# not contracted, so that + - * / give torch's bits. Ints wrap around.
_FLAGS = (
    "-O2", "-ftree-vectorize", "-fvect-cost-model",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared",
    *(f"-Werror={name}" for name in _REFUSED),
)  # fmt: skip
MOST = ("-O3",)
"""Flags for what is slower without, and written once: the kernels of single nodes."""
_TUNED = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
"""Flags for this processor, the best first; compilers differ in what they know."""
_SAFER = (
    (),
    ("-fno-tree-slp-vectorize",),
    ("-mllvm", "-enable-interleaved-mem-accesses=false"),
    ("-fno-tree-vectorize", "-fno-tree-slp-vectorize"),
)
"""Flags that are tried, one after the other, with a compiler that gets the probe wrong: what has been seen to be wrong
is the vector code of groups that are read with gaps (GCC 12, Clang 14)."""


_DONE = "probed"
"""The first line of a file that keeps what a probe found."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that works: its command with all flags, and what tells it and this processor from others."""

    command: tuple[str, ...]
    identity: str

    def compile(self, text: str, target: Path, flags: Sequence[str] = ()) -> None:
        """Make a shared object of C text, which is there when it is whole. NoCompiler, with the compiler's words, if
        that fails."""
        source, made = target.with_suffix(".c"), target.with_name(f"making-{target.name}")
        source.write_text(text)
        # In so many words: $CC may be a compiler of C++.
        make([*self.command, *flags, "-o", str(made), "-x", "c", str(source)], made, target, TIMEOUT)


# --- finding one ----------------------------------------------------------------------------------------


def _candidates() -> list[list[str]]:
    given = os.environ.get("CC", "").strip()
    if given:
        try:
            return [shlex.split(given)]
        except ValueError as error:
            raise NoCompiler(f"CC={given}: {error}") from error
    found = [[path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    if importlib.util.find_spec("ziglang") is not None:
        found.append([sys.executable, "-m", "ziglang", "cc"])
    return found


def find_toolchain() -> Toolchain:
    """The first compiler that gets the probe right, with the best flags that do. NoCompiler if none does.

    That is found out once: what was wrong or right is kept on the disk, for this compiler, its flags and processor.
    """
    problem = "there is none ($CC, cc, gcc, clang, ziglang)"
    for command in _candidates():
        for tuned in _TUNED:
            try:
                return _checked(command, (*_FLAGS, *tuned))
            except Stopped as error:
                problem = str(error)
                break  # with other flags it would hang as well
            except (NoCompiler, OSError) as error:
                problem = str(error)
    raise NoCompiler(problem)


def _checked(command: Sequence[str], flags: Sequence[str]) -> Toolchain:
    """The compiler with these flags, or with safer ones if it needs them. NoCompiler if nothing helps."""
    problem, version = "", output_of([*command, "--version"], TIMEOUT)
    for safer in _SAFER:
        whole = (*command, *flags, *safer)
        found = Toolchain(whole, "\n".join([version, *whole, platform.machine(), _processor(), str(VERSION)]))
        try:
            wrong = _wrong_with(found)
        except NoCompiler:
            if not safer:
                raise
            continue  # it does not know this flag
        if not wrong:
            return found
        problem = problem or f"{shlex.join(command[:3])} cannot be relied on: {wrong}"
    raise NoCompiler(problem)


def _wrong_with(found: Toolchain) -> str:
    """What is wrong with the code that it makes; nothing if that is all right."""
    text = probe_text()
    name = hashlib.sha256(f"{found.identity}\n{text}".encode()).hexdigest()[:32]
    kept = cache_folder() / f"{name}.probe"
    with contextlib.suppress(OSError):
        verdict, _, wrong = kept.read_text().partition("\n")
        if verdict == _DONE:
            return wrong
    with tempfile.TemporaryDirectory(prefix="penstock-cc-") as folder:
        target = Path(folder, "probe.so")
        found.compile(text, target)
        if not target.exists():
            raise NoCompiler(f"{shlex.join(found.command[:3])} made nothing")
        try:
            wrong = run_probe(target)
        except subprocess.TimeoutExpired as error:
            raise NoCompiler(f"what {shlex.join(found.command[:3])} made did not end: {error}") from error
        with contextlib.suppress(OSError):  # without it the next process probes as well
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            whole = kept.with_suffix(f".{secrets.token_hex(8)}.tmp")
            whole.write_text(f"{_DONE}\n{wrong}")
            os.replace(whole, kept)
    return wrong


@functools.cache
def _processor() -> str:
    """What this processor can do: code for the machine that it is compiled on must not run on another."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()
