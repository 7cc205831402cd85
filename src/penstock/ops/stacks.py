"""Stacks: what a forward loop keeps, iteration by iteration, for its gradient (white paper section 4.4)."""

from __future__ import annotations

import copy
from typing import Any

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.runtime.kernels import KernelContext
from penstock.runtime.stacks import Stack
from penstock.tensor.shapes import TensorShape

HANDLE = TensorShape([2])
"""TensorFlow's handles are two strings; programs written for it see that shape."""

# A pushed value is kept itself, so its memory stays in use until it is popped: hence `aliases`.

STACK_V2 = define_op(
    "StackV2",
    "max_size: int32",
    "handle: resource",
    attrs=["elem_type: type", "stack_name: string = ''"],
    stateful=True,
    holds="stack",
)
STACK_PUSH_V2 = define_op(
    "StackPushV2",
    "handle: resource, elem: T",
    "output: T",
    attrs=["T: type", "swap_memory: bool = false"],
    stateful=True,
    aliases=True,
    keeps="elem",
    work=1.0,
)
STACK_POP_V2 = define_op(
    "StackPopV2",
    "handle: resource",
    "elem: elem_type",
    attrs=["elem_type: type"],
    stateful=True,
    aliases=True,
    work=1.0,
)
STACK_CLOSE_V2 = define_op("StackCloseV2", "handle: resource", "", stateful=True)

# The ops of TensorFlow 0.x, by reference.

STACK = define_op(
    "Stack",
    "",
    "handle: Ref(string)",
    attrs=["elem_type: type", "stack_name: string = ''"],
    stateful=True,
    holds="stack",
)
STACK_PUSH = define_op(
    "StackPush",
    "handle: Ref(string), elem: T",
    "output: T",
    attrs=["T: type", "swap_memory: bool = false"],
    work=SERIAL,
)
STACK_POP = define_op(
    "StackPop",
    "handle: Ref(string)",
    "elem: elem_type",
    attrs=["elem_type: type"],
    aliases=True,
    work=SERIAL,
)
STACK_CLOSE = define_op("StackClose", "handle: Ref(string)", "")


@STACK_V2.shape
def stack_shape(c: ShapeContext, max_size: TensorShape) -> TensorShape:
    max_size.with_rank(0)
    return HANDLE


@STACK_V2.kernel(host=("max_size",))
def stack_kernel(ctx: KernelContext) -> Kernel:
    """A new stack each time the node runs."""
    name, dtype, limit = ctx.text("stack_name") or ctx.name, ctx["elem_type"], ctx.const("max_size")
    if limit is not None:
        fixed = int(limit)
        return lambda max_size: Stack(name, dtype, fixed)
    return lambda max_size: Stack(name, dtype, max_size.item())


STACK.shape(lambda c: HANDLE)


@STACK.kernel()
def reference_stack_kernel(ctx: KernelContext) -> Kernel:
    name, dtype = ctx.text("stack_name") or ctx.name, ctx["elem_type"]
    return lambda: Stack(name, dtype)


def _push(op: OpDef, copies: bool) -> None:
    @op.shape
    def shape(c: ShapeContext, handle: TensorShape, elem: TensorShape) -> TensorShape:
        return elem

    @op.kernel()
    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx["T"]
        keep = Stack.swap_out if ctx["swap_memory"] and ctx.device.type == "cuda" and dtype.torch else Stack.push

        def push(stack: Stack, elem: Any) -> Any:
            if stack.dtype is not dtype:
                raise stack.wrong_dtype(dtype)
            return keep(stack, elem)

        def push_copy(stack: Stack, elem: Any) -> Any:
            return push(stack, copy.copy(elem) if dtype.torch is None else elem.clone())

        return push_copy if copies else push

    op.not_differentiable()


def _pop(op: OpDef) -> None:
    op.shape(lambda c, handle: UNKNOWN)

    @op.kernel()
    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx["elem_type"]

        def pop(stack: Stack) -> Any:
            if stack.dtype is not dtype:
                raise stack.wrong_dtype(dtype)
            return stack.pop()

        return pop

    op.not_differentiable()


for _op in (STACK_PUSH_V2, STACK_PUSH):
    _op.puts(lambda inputs: inputs[1])
for _op in (STACK_POP_V2, STACK_POP):
    _op.takes(lambda element, inputs: element)
_push(STACK_PUSH_V2, copies=False)
_push(STACK_PUSH, copies=True)  # the planner cannot trace values that are kept behind a reference
_pop(STACK_POP_V2)
_pop(STACK_POP)

for _op in (STACK_CLOSE_V2, STACK_CLOSE):
    _op.shape(shape_rules.no_outputs)
    _op.kernel()(lambda n: Stack.close)
    _op.not_differentiable()

STACK_V2.not_differentiable()
STACK.not_differentiable()
