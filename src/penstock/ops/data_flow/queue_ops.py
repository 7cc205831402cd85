"""Ops on queues (TF: QueueEnqueueV2, QueueDequeueManyV2, QueueCloseV2, …): asynchronous kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.node_kernel import NodeKernel, asynchronous
from penstock.graph.opdef import OpDef, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import Attempt, Done
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.data_flow.queue_state import Queue
from penstock.ops.data_flow.queues import queue_shapes
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_TIMEOUT = "timeout_ms: int = -1"
_GIVEN, _TAKEN = "Tcomponents: list(type) >= 1", "component_types: list(type) >= 1"
Dims = tuple[int | None, ...]


def _define_both(
    name: str,
    inputs: str,
    outputs: str,
    attrs: list[str],
    shape: Callable[..., Any],
    factory: Callable[[KernelContext], Any],
    waits: bool = True,
) -> OpDef:
    """Defines an op on queues twice: its first version with a reference, and V2 with a resource, which is returned."""
    for version, handle in (("", "handle: Ref(string)"), ("V2", "handle: resource")):
        op = define_op(
            name + version,
            f"{handle}, {inputs}" if inputs else handle,
            outputs,
            attrs=attrs,
            stateful=bool(version),
            work=SERIAL,
            waits=waits,
            shared=True,
        )
        op.shape(shape)
        op.kernel("CPU")(factory)
        op.not_differentiable()
    return op


# --- shapes ---------------------------------------------------------------------------------------------


def _dequeued(c: ShapeContext, handle: TensorShape) -> list[TensorShape]:
    return list(queue_shapes(c.op._inputs[0])) or [UNKNOWN] * len(c.attrs["component_types"])


def _batch(c: ShapeContext, handle: TensorShape, n: TensorShape) -> list[TensorShape]:
    n.assert_has_rank(0)
    count = c.constant("n")
    if count is not None and count < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {count}")
    size = None if count is None or c.op.op_def.name.startswith("QueueDequeueUpTo") else int(count)
    known = queue_shapes(c.op._inputs[0])
    return [TensorShape([size]).concatenate(s) for s in known] or [UNKNOWN] * len(c.attrs["component_types"])


# --- enqueueing -----------------------------------------------------------------------------------------


def _check_types(queue: Queue, types: list[DType], takes: bool) -> None:
    """InvalidArgumentError, as TensorFlow words it, where an op's components have other types than the queue's."""
    if tuple(types) != queue.spec.dtypes:
        have, want = (", ".join(d.name for d in dtypes) for dtypes in (types, queue.spec.dtypes))
        arrow, end = ("->", "") if takes else (", ", "->")
        raise invalid(f"Signature mismatch, have: resource{arrow}{have}{end} expected: resource{arrow}{want}{end}")


def _text(dims: Dims) -> str:
    return f"[{','.join('?' if n is None else str(n) for n in dims)}]"


def _fits(dims: Dims, shape: Dims) -> bool:
    return len(dims) == len(shape) and all(n is None or n == m for n, m in zip(dims, shape, strict=True))


def _check_element(queue: Queue, components: list[Any]) -> None:
    if queue.spec.kind == "PriorityQueue" and tuple(components[0].shape):
        raise _mismatch(0, (), tuple(components[0].shape))
    for i, (dims, value) in enumerate(zip(queue.dims, components, strict=False)):
        if dims is not None and not _fits(dims, tuple(value.shape)):
            raise _mismatch(i, dims, tuple(value.shape))


def _check_batch(queue: Queue, components: list[Any]) -> None:
    first = tuple(components[0].shape)
    if not first:
        raise _mismatch(0, (None, *((queue.dims or ((),))[0] or ())), first)
    for i, value in enumerate(components):
        shape = tuple(value.shape)
        if queue.dims and queue.dims[i] is not None:
            wanted = (first[0], *(queue.dims[i] or ()))
            if not _fits(wanted, shape):
                raise _mismatch(i, wanted, shape)
        elif shape[:1] != first[:1]:
            raise invalid(
                f"All input tensors must have the same size in the 0th dimension. Component {i} has "
                f"{shape[0] if shape else 'none'}, and should have {first[0]}"
            )
    if queue.spec.kind == "PriorityQueue" and len(first) != 1:
        raise _mismatch(0, first[:1], first)


def _mismatch(i: int, wanted: Dims, shape: Dims) -> Exception:
    return invalid(f"Shape mismatch in tuple component {i}. Expected {_text(wanted)}, got {_text(shape)}")


def _enqueue_kernel(ctx: KernelContext) -> NodeKernel:
    types = ctx["Tcomponents"]

    def start(done: Done, queue: Queue, components: list[Any]) -> Attempt | None:
        _check_types(queue, types, takes=False)
        _check_element(queue, components)
        return queue.enqueue(tuple(map(own, components)), done)

    return asynchronous(start)


def _enqueue_many_kernel(ctx: KernelContext) -> NodeKernel:
    types = ctx["Tcomponents"]

    def start(done: Done, queue: Queue, components: list[Any]) -> Attempt | None:
        _check_types(queue, types, takes=False)
        _check_batch(queue, components)
        return queue.enqueue_many(tuple(map(own, components)), done)

    return asynchronous(start)


# --- dequeueing -----------------------------------------------------------------------------------------


def _dequeue_kernel(ctx: KernelContext) -> NodeKernel:
    types = ctx["component_types"]

    def start(done: Done, queue: Queue) -> Attempt | None:
        _check_types(queue, types, takes=True)
        return queue.dequeue(done)

    return asynchronous(start)


def _many_kernel(up_to: bool) -> Callable[[KernelContext], NodeKernel]:
    def factory(ctx: KernelContext) -> NodeKernel:
        types = ctx["component_types"]

        def start(done: Done, queue: Queue, n: Any) -> Attempt | None:
            _check_types(queue, types, takes=True)
            return queue.dequeue_many(int(n), up_to, done)

        return asynchronous(start)

    return factory


# --- the rest -------------------------------------------------------------------------------------------


def _close_kernel(ctx: KernelContext) -> NodeKernel:
    cancel = ctx["cancel_pending_enqueues"]
    return asynchronous(lambda done, queue: queue.close(cancel, done))


def _is_closed_kernel(ctx: KernelContext) -> Callable[[Queue], Any]:
    return lambda queue: torch.tensor(queue.closed)


def _size_kernel(ctx: KernelContext) -> Callable[[Queue], Any]:
    return lambda queue: torch.tensor(queue.size(), dtype=torch.int32)


_no_outputs = shape_rules.no_outputs
QUEUE_ENQUEUE = _define_both(
    "QueueEnqueue", "components: Tcomponents", "", [_GIVEN, _TIMEOUT], _no_outputs, _enqueue_kernel
)
QUEUE_ENQUEUE_MANY = _define_both(
    "QueueEnqueueMany", "components: Tcomponents", "", [_GIVEN, _TIMEOUT], _no_outputs, _enqueue_many_kernel
)
QUEUE_DEQUEUE = _define_both(
    "QueueDequeue", "", "components: component_types", [_TAKEN, _TIMEOUT], _dequeued, _dequeue_kernel
)
QUEUE_DEQUEUE_MANY = _define_both(
    "QueueDequeueMany", "n: int32", "components: component_types", [_TAKEN, _TIMEOUT], _batch, _many_kernel(False)
)
QUEUE_DEQUEUE_UP_TO = _define_both(
    "QueueDequeueUpTo", "n: int32", "components: component_types", [_TAKEN, _TIMEOUT], _batch, _many_kernel(True)
)
QUEUE_CLOSE = _define_both("QueueClose", "", "", ["cancel_pending_enqueues: bool = false"], _no_outputs, _close_kernel)
QUEUE_IS_CLOSED = _define_both(
    "QueueIsClosed", "", "is_closed: bool", [], shape_rules.scalar, _is_closed_kernel, waits=False
)
QUEUE_SIZE = _define_both("QueueSize", "", "size: int32", [], shape_rules.scalar, _size_kernel, waits=False)
