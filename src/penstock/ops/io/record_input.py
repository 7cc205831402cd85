"""Records of many files in a random order, epoch after epoch (TF: RecordInput)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import numpy as np

from penstock import errors, gfile
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.records import TFRecords
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

RECORD_INPUT = define_op(
    "RecordInput",
    "",
    "records: string",
    attrs=[
        "file_pattern: string",
        "file_random_seed: int = 301",
        "file_shuffle_shift_ratio: float = 0.0",
        "file_buffer_size: int = 10000",
        "file_parallelism: int = 16",
        "batch_size: int = 32",
        "compression_type: string = ''",
    ],
    stateful=True,
    work=SERIAL,
)
RECORD_INPUT.not_differentiable()


@RECORD_INPUT.shape
def record_input_shape(c: ShapeContext) -> TensorShape:
    return TensorShape([None])


class RecordInput:
    """The stream of a node. Each record occurs once per epoch, shuffled among `buffer_size` records."""

    def __init__(self, ctx: KernelContext) -> None:
        self._pattern, self._compression = ctx.text("file_pattern"), ctx.text("compression_type")
        self._shift, self._buffer_size = ctx["file_shuffle_shift_ratio"], ctx["file_buffer_size"]
        self._parallelism = ctx["file_parallelism"]
        for what in ("file_buffer_size", "file_parallelism", "batch_size"):
            if ctx[what] < 1:
                raise invalid(f"{what} must be > 0, got {ctx[what]}")
        self._draw = random.Random(ctx["file_random_seed"])
        self._lock = threading.Lock()
        self._records = self._shuffled()

    def take(self, count: int) -> list[bytes]:
        """The next `count` records. After an error the next epoch starts."""
        with self._lock:
            try:
                return [next(self._records) for _ in range(count)]
            except Exception:
                self._records = self._shuffled()
                raise

    def _epoch(self, number: int) -> Iterator[bytes]:
        """The records of all files, alternating between several of them."""
        names = gfile.Glob(self._pattern.split(","))
        if not names:
            raise errors.NotFoundError(None, None, f"no file matches {self._pattern}")
        self._draw.shuffle(names)
        shift = int(self._shift * number * len(names)) % len(names)
        waiting = iter(names[shift:] + names[:shift])
        open_files: list[Iterator[bytes]] = []
        while True:
            while len(open_files) < self._parallelism and (name := next(waiting, None)) is not None:
                open_files.append(iter(TFRecords(name, self._compression)))
            if not open_files:
                return
            for file in list(open_files):
                if (record := next(file, None)) is None:
                    open_files.remove(file)
                else:
                    yield record

    def _shuffled(self) -> Iterator[bytes]:
        number = 0
        while True:
            buffer: list[bytes] = []
            for record in self._epoch(number):
                buffer.append(record)
                if len(buffer) >= self._buffer_size:
                    yield self._any_of(buffer)
            if not number and not buffer:
                raise errors.OutOfRangeError(None, None, f"the files of {self._pattern} hold no records")
            while buffer:
                yield self._any_of(buffer)
            number += 1

    def _any_of(self, buffer: list[bytes]) -> bytes:
        chosen = self._draw.randrange(len(buffer))
        buffer[chosen], buffer[-1] = buffer[-1], buffer[chosen]
        return buffer.pop()


@RECORD_INPUT.kernel("CPU")
def record_input_kernel(ctx: KernelContext) -> Kernel:
    stream: RecordInput = ctx.state.keep(("records", ctx.name), lambda: RecordInput(ctx))
    count = ctx["batch_size"]

    def read() -> np.ndarray:
        found = np.empty(count, object)
        found[:] = stream.take(count)
        return found

    return read
