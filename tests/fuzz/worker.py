"""A process that does cases one after the other, and prints a line of JSON before and after each.

What loading may take is watched from inside: seconds, memory (the peak that Linux counts), and what Python's audit
hooks tell of code, processes and files. A case that takes over `_AT_MOST` seconds ends the process, with its stacks.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import json
import logging
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from google.protobuf import message, text_format

import penstock as tf
from penstock.codegen.c.object_cache import cache_folder
from tests.fuzz.kind import OPTIONS, WrongError, on_purpose
from tests.fuzz.kinds import KINDS

SECONDS = 1.0
MEMORY = 64 << 20
_AT_MOST = 30
_ROOM = 1 << 30
"""Addresses beyond what a case may take: threads reserve some without using them."""
_TYPED = (TypeError, ValueError, NotImplementedError, OSError)
_UNREADABLE = (
    message.DecodeError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    OSError,
    EOFError,
    RuntimeError,
    StopIteration,
    yaml.YAMLError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What a change that reads a file raises if an earlier one has spoiled it."""
_PROCESSES = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect")
_CODE = ("pickle.find_class", "marshal.loads")
_WRITES = ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "os.chmod", "os.symlink")


class Watch:
    """What files must not do, as Python's audit hooks see it, while `folder` is a case's. The thread that compiles what
    ran often may start its compiler and keep what that made, and who runs that first marks it as being run."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []
        self.compiled = os.path.realpath(cache_folder())
        sys.addaudithook(self)

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.folder is None or threading.current_thread().name == "penstock-compiler":
            return
        if event in _PROCESSES or (event in _CODE and not _imports()):
            self.seen.append(f"{event} {args!r:.200}")
        elif event == "open" and isinstance(args[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(args[0]))
            writes = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if path.endswith("/secret") or (
                writes and not path.startswith((self.folder, self.compiled, "/dev/", "/proc/self"))
            ):
                self.seen.append(f"open {path} {args[1]}")
        elif event in _WRITES and not os.path.realpath(os.fsdecode(args[0])).startswith((self.folder, self.compiled)):
            self.seen.append(f"{event} {args!r:.200}")


def _imports() -> bool:
    frame: Any = sys._getframe(2)
    return "importlib" in frame.f_code.co_filename


class Worker:
    def __init__(self, kind: str, seed: int, seeds: Path) -> None:
        self.kind, self.seed = KINDS[kind], seed
        self.name = kind
        self.seeds = sorted(path for path in (seeds / kind).iterdir() if path.is_dir())
        self.watch = Watch()
        self.whole: dict[Path, Any] = {}
        self.trim = getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)
        for each in self.seeds:  # imports what loading imports, and must be right
            self.whole[each] = self.kind.use(each, lambda: None)
        OPTIONS.timeout_in_ms = 300
        gc.collect()
        gc.freeze()

    def draw(self, case: int) -> tuple[Path, int]:
        """The seed of a case, and how many changes it has."""
        rng = random.Random(f"{self.seed}/{self.name}/{case}")
        return rng.choice(self.seeds), rng.choice([1, 1, 1, 2, 3, 6])

    def make(self, case: int, changes: list[int], folder: Path) -> bool:
        """Write the files of a case. Whether checksums tell of all changes."""
        shutil.copytree(self.draw(case)[0], folder)
        told = True
        for change in changes:
            rng = random.Random(f"{self.seed}/{self.name}/{case}/{change}")
            try:
                told &= bool(self.kind.change(rng, folder))
            except _UNREADABLE:
                told = False
        return told

    def run(self, case: int, changes: list[int], keep: Path | None = None) -> dict[str, Any]:
        """Do a case; up to three times if it is slow, because the machine does other things too."""
        results = []
        for _ in range(3):
            with tempfile.TemporaryDirectory(prefix="fuzz-") as outer:
                (Path(outer) / "secret").write_text("no file names this one")
                folder = Path(outer).resolve() / "inner" / self.draw(case)[0].name
                told = self.make(case, changes, folder)
                if keep is not None:
                    shutil.copytree(folder, keep, dirs_exist_ok=True)
                results.append(self.use(folder, self.whole[self.draw(case)[0]] if told and self.kind.exact else None))
            if results[-1]["seconds"] <= SECONDS or results[-1]["problem"]:
                break
        result = min(results, key=lambda each: each["seconds"])
        if result["seconds"] > SECONDS and not result["problem"]:
            result["problem"] = f"took {result['seconds']:.1f} s"
        return result

    def use(self, folder: Path, whole: Any) -> dict[str, Any]:
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        gc.collect()
        self.trim(0)
        before = _status("VmRSS")
        _reset_peak()
        limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + self.kind.times * size + MEMORY + _ROOM, limits[1]))
        problem, text = None, ""
        self.watch.folder, self.watch.seen = str(folder.parent.parent), []
        peaks: list[int] = []
        began = _clock()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.kind.use(folder, lambda: peaks.append(_status("VmHWM")))
            outcome = found if isinstance(found, str) else "right"
            _compare(found, whole)
        except WrongError as error:
            outcome, problem = "wrong", str(error)
        except BaseException as error:
            outcome, text = type(error).__name__, str(error)
            if not _is_typed(error):
                problem = traceback.format_exc(limit=-12)
        seconds = _clock() - began
        resource.setrlimit(resource.RLIMIT_AS, limits)
        self.watch.folder = None
        taken = (peaks or [_status("VmHWM")])[0] - before
        if self.watch.seen:
            problem = f"it {self.watch.seen}"
        elif taken > self.kind.times * size + MEMORY and not problem:
            problem = f"took {taken >> 20} MiB for {size} bytes"
        return {"outcome": outcome, "problem": problem, "seconds": seconds, "memory": taken, "text": text[:300]}


def _is_typed(error: BaseException) -> bool:
    try:
        on_purpose(error) if isinstance(error, Exception) else None
    except Exception:
        return False
    if type(error) in (KeyError, RuntimeError):  # as TensorFlow: for a tensor or a graph that is not there
        where = traceback.extract_tb(error.__traceback__)[-1].name
        return where in ("as_graph_element", "_named", "chosen_meta_graph", "_main_op")
    return isinstance(error, (*_TYPED, tf.errors.OpError, message.DecodeError, text_format.ParseError))


def _compare(found: Any, whole: Any) -> None:
    """What was read from a checkpoint, where it does not raise, is what was written."""
    for name, value in (found if whole is not None else {}).items():
        if isinstance(value, Exception):
            continue
        if name not in whole or not np.array_equal(np.asarray(whole[name]), np.asarray(value)):
            raise WrongError(f"{name} is {value!r:.200}")


def _clock() -> float:
    """Seconds, without those in which the thread was ready and another one had the processor."""
    with contextlib.suppress(OSError):
        return time.perf_counter() - int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    return time.perf_counter()


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) << 10
    raise ValueError(f"/proc/self/status has no {key}")


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--changes", help="only these, of the changes of the first case")
    parser.add_argument("--keep", type=Path, help="where to write the files of the first case")
    asked = parser.parse_args()
    logging.disable()
    faulthandler.enable()
    worker = Worker(asked.kind, asked.seed, asked.seeds)
    print(json.dumps({"ready": True}), flush=True)
    for case in range(asked.first, asked.first + asked.cases):
        changes = list(range(worker.draw(case)[1]))
        if asked.changes:
            changes = [int(each) for each in asked.changes.split(",")]
        print(json.dumps({"begin": case, "changes": changes}), flush=True)
        faulthandler.dump_traceback_later(_AT_MOST, exit=True)
        result = worker.run(case, changes, asked.keep)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"end": case, "changes": changes, **result}), flush=True)
    os._exit(0)  # steps that wait do not keep it


if __name__ == "__main__":
    main()
