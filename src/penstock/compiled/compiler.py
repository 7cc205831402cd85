"""The C compiler: in the background, with its objects kept on disk.

Whatever compiler is there is used ($CC; else cc, gcc, clang, or the `ziglang` package). One thread compiles for the
whole process, several sources at once where they wait; no step waits for it. Each compiled function is a file of its
own name under `$PENSTOCK_CACHE/compiled` or the user's cache folder. The name is a hash of the source, the compiler,
the processor's features and the version of the calling convention; the file ends with a checksum of the rest, and is
moved into place whole. So processes that compile the same at once, or are killed meanwhile, do no harm, and a damaged
file is noticed and made again.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import logging
import os
import platform
import queue
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock import errors
from penstock.compiled.source import Source, shared_text

_LOG = logging.getLogger("penstock")
VERSION = 1
"""Of the way in which compiled functions are called."""
TIMEOUT = 120.0
"""Seconds after which a compiler is stopped."""
BATCH = 8
"""Sources that are compiled as one file, at most."""
_STALE = 3600.0
"""Seconds after which files of killed compilers are removed."""
_DIGEST = hashlib.sha256().digest_size

# No -ffast-math: it flushes subnormal numbers to zero in the whole process, and swallows NaN. Products and sums are
# not contracted, so that + - * / give torch's bits. Ints wrap around.
_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared", "-w")
_TUNED = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
"""Flags for this processor, the best first; compilers differ in what they know."""

Function = Callable[..., None]
Done = Callable[["Function | None"], None]
Write = Callable[[], Source | None]
"""Gives the source of a function, or None where there is none to write."""


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


# --- objects on disk ------------------------------------------------------------------------------------


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


# --- compiling ------------------------------------------------------------------------------------------


class Compiler:
    """Compiles sources one after the other, in a thread of its own that begins with the first request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._pending: queue.SimpleQueue[tuple[Write, Done]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._tools: tuple[Toolchain, ObjectCache] | NoCompiler | None = None
        self._loaded: dict[str, Function | None] = {}
        self._unanswered = 0
        self._answered = threading.Condition(self._lock)

    def request(self, write: Write, done: Done) -> None:
        """Have `done(function)` called some time, in another thread; with None if it cannot be compiled.

        The source is written there as well: that of a large region takes longer than a step.
        """
        with self._lock:
            self._unanswered += 1
            self._pending.put((write, done))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="penstock-compiler", daemon=True)
                self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are answered; whether they are within `timeout` seconds."""
        with self._answered:
            return self._answered.wait_for(lambda: not self._unanswered, timeout)

    def compile(self, source: Source) -> Function:
        """The function of `source`, now. UnimplementedError, with the compiler's words, if it cannot be had."""
        with self._working:
            try:
                self._compile([source])
                function = self._loaded[source.name]
            except (NoCompiler, OSError) as error:
                raise errors.UnimplementedError(None, None, f"cannot compile a cluster: {error}") from error
        assert function is not None
        return function

    def _serve(self) -> None:
        while True:
            batch = [self._pending.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < BATCH:
                    batch.append(self._pending.get_nowait())
            sources = [_written(write) for write, _ in batch]
            with self._working:
                self._try([source for source in sources if source is not None])
            for source, (_, done) in zip(sources, batch, strict=True):
                try:
                    done(self._loaded.get(source.name) if source is not None else None)
                except Exception:  # others wait for theirs
                    _LOG.exception("A compiled function was not taken")
            with self._answered:
                self._unanswered -= len(batch)
                self._answered.notify_all()

    def _try(self, sources: Sequence[Source]) -> None:
        """Compile together; where that fails each by itself, so that one does not harm the others."""
        known = isinstance(self._tools, NoCompiler)
        try:
            self._compile(sources)
        except Exception as error:
            if isinstance(self._tools, NoCompiler) or len(sources) == 1:
                if not known:
                    _LOG.warning("Clusters stay uncompiled: %s", error)
                return
            for source in sources:
                self._try([source])

    def _compile(self, sources: Sequence[Source]) -> None:
        """Enter the functions of `sources` in `_loaded`."""
        missing = {source.name: source for source in sources if source.name not in self._loaded}
        if missing:
            self._loaded |= self.build(list(missing.values()))

    def build(self, sources: Sequence[Source]) -> dict[str, Function]:
        """The functions of `sources` by name, from the disk or from the C compiler. NoCompiler if it fails.

        Compilers of other languages have a way of their own.
        """
        toolchain, cache = self._toolchain()
        found = {source.name: function for source in sources if (function := cache.load(source)) is not None}
        missing = [source for source in sources if source.name not in found]
        if not missing:
            return found
        folder = cache.folder / f"{secrets.token_hex(8)}.tmp"
        folder.mkdir()
        try:
            target = folder / "clusters.so"
            toolchain.compile(shared_text() + "".join(source.text for source in missing), target)
            cache.store(missing, target)
            # Not under its name in the cache: a wrong object may have been loaded from there, and would be found.
            return found | {source.name: function_of(target, source.name) for source in missing}
        except (OSError, ValueError) as error:
            raise NoCompiler(f"{shlex.join(toolchain.command[:1])} gave no object that can be kept: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _toolchain(self) -> tuple[Toolchain, ObjectCache]:
        if self._tools is None:
            try:
                found = find_toolchain()
                self._tools = found, ObjectCache(cache_folder(), found.identity)
            except NoCompiler as error:
                self._tools = error
        if isinstance(self._tools, NoCompiler):
            raise self._tools
        return self._tools


def _written(write: Write) -> Source | None:
    try:
        return write()
    except Exception:  # others wait for theirs
        _LOG.exception("The source of a function could not be written")
        return None


_compiler = Compiler()
_others: dict[Hashable, Compiler] = {}


def compiler() -> Compiler:
    """The C compiler of this process."""
    return _compiler


def other_compiler(target: Hashable, make: Callable[[], Compiler]) -> Compiler:
    """The compiler of this process for another target, which is made at first."""
    found = _others.get(target)
    return found if found is not None else _others.setdefault(target, make())


def wait(timeout: float | None = None) -> bool:
    """Wait until nothing that steps have asked for is left to compile; whether that came within `timeout` seconds.

    What is compiled is used from the next step on, which may ask for more.
    """
    end = None if timeout is None else time.monotonic() + timeout
    compilers = [_compiler, *_others.values()]
    return all(each.wait(None if end is None else max(0.0, end - time.monotonic())) for each in compilers)


def _forget() -> None:
    """A forked process has no thread of its parent's, and perhaps its lock held: it begins anew."""
    global _compiler
    _compiler = Compiler()
    _others.clear()


os.register_at_fork(after_in_child=_forget)
