"""Ops that make and use readers (TF: TFRecordReaderV2, ReaderReadV2, …).

Each exists twice: with a resource as its handle, and, as in early versions, with a reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import Bound, OpDef, define_op
from penstock.graph.shape_context import SCALAR, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.queue_state import Queue
from penstock.ops.io import reader_work
from penstock.ops.io.reader_state import Done, Read, Reader
from penstock.ops.io.reader_work import Begin
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import string
from penstock.tensor.shapes import TensorShape

_NAMES = ["container: string = ''", "shared_name: string = ''"]

# --- making readers -------------------------------------------------------------------------------------


def _define_reader(kind: str, attrs: list[str], begin: Callable[[KernelContext], Begin], whole: bool = False) -> OpDef:
    """Defines the ops that make readers of a kind, whose work is started by `begin(ctx)`; returns the second
    version."""

    def factory(ctx: KernelContext) -> Bound:
        shared = ctx.text("shared_name")

        def create() -> Reader:
            return Reader(kind, shared or ctx.name, begin(ctx), whole)

        if not shared:
            return Bound(ctx.state.keep(("reader", ctx.name), create))
        return Bound(ctx.resources.lookup_or_create(ctx.text("container"), Reader, shared, create))

    for version, handle in (("", "Ref(string)"), ("V2", "resource")):
        own = [attr for attr in attrs if version or not attr.startswith("encoding")]
        op = define_op(kind + version, "", f"reader_handle: {handle}", attrs=own, stateful=True)
        op.shape(shape_rules.scalar if version else lambda c: TensorShape([2]))
        op.kernel("CPU")(factory)
        op.not_differentiable()
    return op


def _fixed_length(ctx: KernelContext) -> Begin:
    """Raises InvalidArgumentError for invalid lengths."""
    header, record, footer, hop = (ctx[f"{part}_bytes"] for part in ("header", "record", "footer", "hop"))
    for name, least in (("header", 0), ("record", 1), ("footer", 0), ("hop", 0)):
        if ctx[f"{name}_bytes"] < least:
            raise invalid(f"{name}_bytes must be {'>' if least else '>='} 0 got {ctx[f'{name}_bytes']}")
    encoding = ctx.text("encoding") if "encoding" in ctx.node.attrs else ""
    return reader_work.fixed_length(record, header, footer, hop, encoding)


TF_RECORD_READER = _define_reader(
    "TFRecordReader",
    [*_NAMES, "compression_type: string = ''"],
    lambda ctx: reader_work.tfrecords(ctx.text("compression_type")),
)
TEXT_LINE_READER = _define_reader(
    "TextLineReader", ["skip_header_lines: int = 0", *_NAMES], lambda ctx: reader_work.lines(ctx["skip_header_lines"])
)
FIXED_LENGTH_RECORD_READER = _define_reader(
    "FixedLengthRecordReader",
    [
        "header_bytes: int = 0",
        "record_bytes: int",
        "footer_bytes: int = 0",
        "hop_bytes: int = 0",
        *_NAMES,
        "encoding: string = ''",
    ],
    _fixed_length,
)
WHOLE_FILE_READER = _define_reader("WholeFileReader", _NAMES, lambda ctx: reader_work.whole_file, whole=True)
IDENTITY_READER = _define_reader("IdentityReader", _NAMES, lambda ctx: reader_work.itself, whole=True)

# --- reading --------------------------------------------------------------------------------------------


def _define_both(
    name: str,
    inputs: str,
    outputs: str,
    shape: Callable[..., Any],
    factory: Callable[[KernelContext], Any],
    **traits: Any,
) -> OpDef:
    """Defines an op on readers in both versions; returns the second."""
    for version, handle in (("", "Ref(string)"), ("V2", "resource")):
        given = inputs.format(handle=handle)
        op = define_op(
            name + version, f"reader_handle: {handle}{given}", outputs, stateful=bool(version), work=SERIAL, **traits
        )
        op.shape(shape)
        op.kernel("CPU")(factory)
        op.not_differentiable()
    return op


def _check(queue: Any) -> None:
    if not isinstance(queue, Queue) or queue.spec.dtypes != (string,):
        raise invalid("Expected queue with single string component")


def _read_kernel(ctx: KernelContext) -> NodeKernel:
    def start(done: Done, reader: Reader, queue: Queue) -> Read | None:
        _check(queue)
        return reader.read(queue, None, done)

    return asynchronous(start)


def _read_up_to_kernel(ctx: KernelContext) -> NodeKernel:
    def start(done: Done, reader: Reader, queue: Queue, num_records: torch.Tensor) -> Read | None:
        _check(queue)
        if (count := int(num_records)) < 0:
            raise invalid(f"num_records must be >= 0, got {count}")
        return reader.read(queue, count, done)

    return asynchronous(start)


def _two_scalars(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return [SCALAR, SCALAR]


def _two_vectors(c: ShapeContext, reader: Any, queue: Any, num_records: TensorShape) -> list[TensorShape]:
    num_records.assert_has_rank(0)
    return [TensorShape([None]), TensorShape([None])]


def _state_and_nothing(c: ShapeContext, reader: Any, state: TensorShape) -> list[TensorShape]:
    state.assert_has_rank(0)
    return shape_rules.no_outputs(c)


def _restore(reader: Reader, state: np.ndarray) -> None:
    if state.ndim:
        raise invalid(f"Reader state must be scalar, but had shape: {list(state.shape)}")
    reader.restore(state.item())


def _number(which: int) -> Callable[[KernelContext], Any]:
    return lambda ctx: lambda reader: torch.tensor(reader.numbers()[which], dtype=torch.int64)


READER_READ = _define_both(
    "ReaderRead",
    ", queue_handle: {handle}",
    "key: string, value: string",
    _two_scalars,
    _read_kernel,
    waits=True,
    shared=True,
)
READER_READ_UP_TO = _define_both(
    "ReaderReadUpTo",
    ", queue_handle: {handle}, num_records: int64",
    "keys: string, values: string",
    _two_vectors,
    _read_up_to_kernel,
    waits=True,
    shared=True,
)
READER_NUM_RECORDS_PRODUCED = _define_both(
    "ReaderNumRecordsProduced", "", "records_produced: int64", shape_rules.scalar, _number(0), shared=True
)
READER_NUM_WORK_UNITS_COMPLETED = _define_both(
    "ReaderNumWorkUnitsCompleted", "", "units_completed: int64", shape_rules.scalar, _number(1), shared=True
)
READER_SERIALIZE_STATE = _define_both(
    "ReaderSerializeState",
    "",
    "state: string",
    shape_rules.scalar,
    lambda ctx: lambda reader: np.array(reader.state(), object),
    shared=True,
)
READER_RESTORE_STATE = _define_both(
    "ReaderRestoreState", ", state: string", "", _state_and_nothing, lambda ctx: _restore, shared=True
)
READER_RESET = _define_both(
    "ReaderReset", "", "", shape_rules.no_outputs, lambda ctx: lambda reader: reader.clear(), shared=True
)
