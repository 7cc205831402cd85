"""Saving and restoring a model beside TensorFlow, torch, safetensors and the disk alone.

All of them hold the same variables, each in a process of its own, and take turns, in another order in each round.
TensorFlow, torch and safetensors leave a file in the page cache; Penstock waits until it is on the disk. So both are
timed of everyone: until `save` returns with fsync switched off, and with an fsync of each file. Restoring reads files
that are in the page cache, into variables that have values. It is timed twice in a row: first by a process without
memory from earlier restores (Penstock keeps what a save or a restore has used for the next), then again. The host of a
virtual machine may take back memory that is free for some seconds, and the first to use it again waits some two seconds
for a gigabyte, whoever it is. So before each first restore another process uses as much, and returns it.

`--tensorflow PYTHON` names a Python that has TensorFlow. `--out FILE` writes the tables there too.
"""

from __future__ import annotations

import argparse
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

Timed = Callable[[str], float]
_COLUMN = 1024  # of each variable's float32 matrix
STEPS = 400
KINDS = ("save", "synced", "restore", "again")


# --- what is timed: each takes a path, and returns seconds ------------------------------------------------


class Model:
    """What has variables, in whatever form."""

    def forget(self) -> None:
        """Return memory that is kept for the next restore."""


class Disk(Model):
    """Bytes without a format: written, and read into memory, a megabyte at a time."""

    def __init__(self, megabytes: int, count: int) -> None:
        import numpy as np

        self._data = [np.full(megabytes << 20, i, np.uint8) for i in range(count)]

    def save(self, path: str) -> None:
        with open(path, "wb", buffering=0) as file:
            for data in self._data:
                for begin in range(0, len(data), 1 << 20):
                    file.write(data.data[begin : begin + (1 << 20)])

    def restore(self, path: str) -> None:
        with open(path, "rb", buffering=0) as file:
            for data in self._data:
                for begin in range(0, len(data), 1 << 20):
                    file.readinto(data.data[begin : begin + (1 << 20)])


class Torch(Model):
    def __init__(self, megabytes: int, count: int) -> None:
        import torch

        self._torch = torch
        self._data = {f"v{i}": torch.full((megabytes << 18,), float(i)).view(-1, _COLUMN) for i in range(count)}

    def save(self, path: str) -> None:
        self._torch.save(self._data, path)

    def restore(self, path: str) -> None:
        for name, value in self._torch.load(path, weights_only=True).items():
            self._data[name].copy_(value)


class Safetensors(Torch):
    def save(self, path: str) -> None:
        from safetensors.torch import save_file

        save_file(self._data, path)

    def restore(self, path: str) -> None:
        from safetensors.torch import load_file

        for name, value in load_file(path).items():
            self._data[name].copy_(value)


class Graph(Model):
    """Variables in a session, and `Saver`: TensorFlow's, or Penstock's in one of its formats."""

    def __init__(self, megabytes: int, count: int, tf: Any, **options: Any) -> None:
        self.tf = tf
        shape = [megabytes << 8, _COLUMN]
        for i in range(count):
            tf.get_variable(f"v{i}", shape, initializer=tf.constant_initializer(float(i)))
        self.saver = tf.train.Saver(**options)
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())

    def save(self, path: str) -> None:
        self.saver.save(self.session, path, write_meta_graph=False, write_state=False)

    def restore(self, path: str) -> None:
        self.saver.restore(self.session, path)

    def forget(self) -> None:
        if self.tf.__name__ == "penstock":
            from penstock.checkpoint.memory import MEMORY

            MEMORY.forget()


def _graph(name: str, megabytes: int, count: int) -> Graph:
    if name == "TensorFlow":
        import tensorflow.compat.v1 as tensorflow

        tensorflow.disable_v2_behavior()
        return Graph(megabytes, count, tensorflow)
    import penstock

    format_ = "tensorflow" if "bundle" in name else "penstock"
    return Graph(megabytes, count, penstock, write_version=format_)


PENSTOCK, BUNDLE = "Penstock", "Penstock, TensorFlow's bundle"
_MODELS: dict[str, Callable[[int, int], Any]] = {"disk alone": Disk, "torch.save": Torch, "safetensors": Safetensors}
NAMES = ["disk alone", PENSTOCK, BUNDLE, "TensorFlow", "torch.save", "safetensors"]


# --- a worker: one of them in a process, which is told what to do -----------------------------------------


def work(name: str, megabytes: int, count: int, folder: str) -> None:
    """Answers each line ("save", "synced", "restore", "again", "stall") on stdin with seconds."""
    model = _MODELS[name](megabytes, count) if name in _MODELS else _graph(name, megabytes, count)
    sync, path = os.fsync, os.path.join(folder, "model")
    for line in map(str.strip, sys.stdin):
        os.fsync = sync if line == "synced" else lambda fd: None
        if line == "stall":
            print(*stall(model, path), flush=True)
            continue
        if line in ("save", "synced"):
            shutil.rmtree(folder)
            os.mkdir(folder)
        if line == "restore":
            model.forget()
        begin = time.perf_counter()
        model.save(path) if line in ("save", "synced") else model.restore(path)
        if line == "synced" and not name.startswith(PENSTOCK):
            for file in Path(folder).iterdir():
                fd = os.open(file, os.O_RDONLY)
                sync(fd)
                os.close(fd)
        print(time.perf_counter() - begin, flush=True)


def stall(model: Graph, path: str) -> tuple[float, ...]:
    """Milliseconds: the median step, alone and while a checkpoint is written, the longest then, `save` in the
    background for the first time and again, `save` that waits, and a copy of the variables to memory at hand."""
    tf = model.tf
    x = tf.constant([[1.0] * 256] * 64)
    w = tf.get_variable("w", [256, 256])
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(tf.matmul(x, w) ** 2))
    session = model.session
    session.run(w.initializer)

    def step() -> float:
        begin = time.perf_counter()
        session.run(train)
        return time.perf_counter() - begin

    for _ in range(20):
        step()
    alone = [step() for _ in range(STEPS)]
    model.forget()
    held, during = [], []
    for _ in range(2):
        begin = time.perf_counter()
        model.saver.save(session, path, write_meta_graph=False, write_state=False, background=True)
        held.append(time.perf_counter() - begin)
        during.append(step())
        while any(thread.name == "penstock-saver" for thread in threading.enumerate()):
            during.append(step())
    begin = time.perf_counter()
    model.saver.save(session, path, write_meta_graph=False, write_state=False)
    waited = time.perf_counter() - begin
    values = session.run(tf.global_variables())
    copies = [value.copy() for value in values]
    begin = time.perf_counter()
    for copy, value in zip(copies, values, strict=True):
        copy[...] = value
    copied = time.perf_counter() - begin
    return tuple(1e3 * t for t in (median(alone), median(during), max(during), *held, waited, copied))


# --- the parent -------------------------------------------------------------------------------------------


class Worker:
    def __init__(self, name: str, python: str, args: argparse.Namespace, folder: str) -> None:
        os.mkdir(folder)
        self._name = name
        command = [python, "-m", "bench.checkpoints", "--worker", name, "--folder", folder]
        command += ["--megabytes", str(args.megabytes), "--count", str(args.count)]
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        if name == "TensorFlow":
            environment["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, what: str) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._name}: its process ended")
        return [float(text) for text in answer.split()]

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def use_memory(nbytes: int) -> None:
    with mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)  # which the host takes back first
        for at in range(0, nbytes, mmap.PAGESIZE):
            memory[at] = 1


def measure(args: argparse.Namespace, folder: str) -> tuple[dict[str, dict[str, float]], list[float]]:
    """The best seconds of each for each kind of work, and what `stall` says."""
    workers: dict[str, Worker] = {}
    for name in NAMES:
        if name == "TensorFlow" and not args.tensorflow:
            continue
        python = args.tensorflow if name == "TensorFlow" else sys.executable
        workers[name] = Worker(name, python, args, os.path.join(folder, str(len(workers))))
    best: dict[str, dict[str, float]] = {name: {} for name in workers}
    for number in range(args.rounds + 1):
        first = number * 2 % len(workers)  # memory that one has freed is there at once for the next
        order = [*workers.items()][first:] + [*workers.items()][:first]
        for kind in ("save", "synced", "restore"):
            for name, worker in order:
                if kind == "restore":
                    use_memory(2 * args.megabytes * args.count << 20)
                found = {kind: worker.ask(kind)[0]}
                if kind == "restore":
                    found["again"] = worker.ask("again")[0]
                for each, seconds in found.items() if number else ():  # at first, code is loaded and steps are planned
                    best[name][each] = min(seconds, best[name].get(each, seconds))
    stalls = workers[PENSTOCK].ask("stall")
    for worker in workers.values():
        worker.end()
    return best, stalls


def report(best: dict[str, dict[str, float]], stalls: list[float], args: argparse.Namespace) -> str:
    gigabytes = args.megabytes * args.count * 2**20 / 1e9
    lines = [
        f"{args.count} variables of {args.megabytes} MiB; GB/s, the best of {args.rounds} round(s) of taking turns.",
        "",
        "| | save | save and fsync | restore | restore again |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, seconds in best.items():
        cells = " | ".join(f"{gigabytes / seconds[kind]:.2f}" for kind in KINDS)
        lines.append(f"| {name} | {cells} |")
    if "TensorFlow" in best:
        for name in (PENSTOCK, BUNDLE):
            ratios = [best["TensorFlow"][kind] / best[name][kind] for kind in KINDS]
            lines.append(f"| {name}: times TensorFlow's speed | " + " | ".join(f"{r:.2f}" for r in ratios) + " |")
    alone, during, longest, first, held, waited, copied = stalls
    lines += [
        "",
        f"A training step of {alone:.2f} ms, with the same variables in the session: a save in the background returns "
        f"after {held:.0f} ms (the first, after {first:.0f} ms; one that waits, after {waited:.0f} ms; one thread "
        f"copies as much in {copied:.0f} ms), and while the checkpoint is written steps take {during:.2f} ms, the "
        f"longest {longest:.1f} ms.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow")
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where to write (default: the folder for temporary files)")
    parser.add_argument("--out", type=Path, help="write the tables here too")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.megabytes, args.count, args.folder)
        return
    from bench.machine import describe_machine

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        text = f"{describe_machine()}\n\n{report(*measure(args, folder), args)}"
    print(text)
    if args.out:
        args.out.write_text(f"# Checkpoints\n\n`python -m bench.checkpoints`: {(__doc__ or '').strip()}\n\n{text}")


if __name__ == "__main__":
    main()
