"""Staging areas that keep the order of their elements (TF: Stage, Unstage, StagePeek, StageSize, StageClear)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.node_kernel import asynchronous
from penstock.graph.opdef import OpDef, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, shared
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.data_flow.staged import CONTAINER, ROOM, StagedValues, Values, bytes_of
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext


class StagingBuffer(StagedValues):
    """Elements, each a tuple of values, oldest first."""

    def __init__(self, name: str, line: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, line, capacity, memory_limit)
        self._elements: deque[Values] = deque()

    def put(self, element: Values, done: Done) -> Attempt | None:
        size = bytes_of(element)
        self.check_room(size)

        def attempt() -> Any:
            if (self.capacity and len(self._elements) >= self.capacity) or not self.has_memory(size):
                return NOT_YET
            self._elements.append(element)
            self.bytes += size
            self.wake("get", ("peek", len(self._elements) - 1))
            return ()

        return self.submit("put", "Stage", "room", attempt, done)

    def get(self, count: int, done: Done) -> Attempt | None:
        """Takes the oldest element, which must have `count` values."""

        def attempt() -> Any:
            if not self._elements:
                return NOT_YET
            element = _checked(self._elements[0], count)
            self._elements.popleft()
            self.bytes -= bytes_of(element)
            self.wake("put")
            return tuple(element)

        return self.submit("get", "Unstage", "an element", attempt, done)

    def peek(self, index: int, count: int, done: Done) -> Attempt | None:
        """Copies the element at `index`."""
        if index < 0:
            raise invalid(f"index must not be negative, got {index}")

        def attempt() -> Any:
            if len(self._elements) <= index:
                return NOT_YET
            return tuple([own(value) for value in _checked(self._elements[index], count)])

        return self.submit(("peek", index), "StagePeek", f"element {index}", attempt, done)

    def size(self) -> int:
        return len(self._elements)

    def empty(self) -> None:
        self.forget()
        self.wake("put")

    def forget(self) -> None:
        self._elements.clear()
        self.bytes = 0


def _checked(element: Values, count: int) -> Values:
    if len(element) != count:
        raise invalid(f"Mismatch stage/unstage: {len(element)} vs. {count}")
    return element


def _buffer(ctx: KernelContext) -> StagingBuffer:
    room = ctx["capacity"], ctx["memory_limit"]
    return shared(ctx, StagingBuffer, lambda name, line: StagingBuffer(name, line, *room), by_node=True)


# --- ops ------------------------------------------------------------------------------------------------

_SOME, _ANY = "dtypes: list(type) >= 1", "dtypes: list(type)"


def _define(
    name: str, inputs: str, outputs: str, dtypes: str, factory: Callable[[KernelContext], Any], waits: bool = False
) -> OpDef:
    attrs = [*ROOM, dtypes, *CONTAINER]
    op = define_op(name, inputs, outputs, attrs=attrs, stateful=True, work=SERIAL, waits=waits, shared=True)
    op.kernel(host=[arg.name for arg in (*op.inputs, *op.outputs) if arg.name in ("index", "size")])(factory)
    op.not_differentiable()
    return op


def _stage_kernel(ctx: KernelContext) -> Any:
    buffer = _buffer(ctx)
    return asynchronous(lambda done, values: buffer.put(tuple(map(own, values)), done))


def _unstage_kernel(ctx: KernelContext) -> Any:
    buffer, count = _buffer(ctx), len(ctx["dtypes"])
    return asynchronous(lambda done: buffer.get(count, done))


def _peek_kernel(ctx: KernelContext) -> Any:
    buffer, count = _buffer(ctx), len(ctx["dtypes"])
    return asynchronous(lambda done, index: buffer.peek(int(index), count, done))


def _size_kernel(ctx: KernelContext) -> Any:
    buffer = _buffer(ctx)
    return lambda: torch.tensor(buffer.size(), dtype=torch.int32)


def _clear_kernel(ctx: KernelContext) -> Any:
    buffer = _buffer(ctx)
    return lambda: buffer.change(buffer.empty)


STAGE = _define("Stage", "values: dtypes", "", _SOME, _stage_kernel, waits=True)
UNSTAGE = _define("Unstage", "", "values: dtypes", _SOME, _unstage_kernel, waits=True)
STAGE_PEEK = _define("StagePeek", "index: int32", "values: dtypes", _SOME, _peek_kernel, waits=True)
STAGE_SIZE = _define("StageSize", "", "size: int32", _ANY, _size_kernel)
STAGE_CLEAR = _define("StageClear", "", "", _ANY, _clear_kernel)

STAGE.shape(shape_rules.no_outputs)
STAGE_CLEAR.shape(shape_rules.no_outputs)
STAGE_SIZE.shape(shape_rules.scalar)


@UNSTAGE.shape
@STAGE_PEEK.shape
def unstaged_shape(c: ShapeContext, *_: Any) -> list[Any]:
    return [UNKNOWN] * len(c.attrs["dtypes"])
