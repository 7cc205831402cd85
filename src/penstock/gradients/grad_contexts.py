"""Where gradients of control flow are built, and how the backward pass accesses values of the forward pass.

The gradient of a node in a branch is built in the same branch. The gradient of a loop is a loop that goes through its
iterations backwards (`GradientLoop`); a value that it needs from iteration i is pushed on a stack by the forward loop
in iteration i, and popped. White paper section 4.4: the graph is rewritten to save what gradients need.
"""

from __future__ import annotations

from typing import Any

from penstock.graph.contexts import ControlFlowContext, outside
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.control_flow.cond import CondContext, make_branches
from penstock.ops.control_flow.while_loop import WhileContext
from penstock.ops.stacks import STACK_POP_V2, STACK_PUSH_V2, STACK_V2


class ForwardLoop:
    """What is added to a loop for its gradient: a count of its iterations, and stacks."""

    def __init__(self, loop: WhileContext) -> None:
        self.loop = loop

        def increment(count: Tensor) -> Tensor:
            # Fires whether or not the pushes ran: a push in a branch that is not taken is dead.
            self._pushed = get_op("ControlTrigger")(name="pushed")
            with control_dependencies([self._pushed]):
                return get_op("AddV2")(count, 1, name="f_count_next")

        with loop.graph.as_default(), name_scope(None), name_scope(f"{_scope(loop)}/"):
            with outside(loop.outer):
                zero = convert_to_tensor(0, name="f_count")
            self.count = loop.add_variable(zero, increment)
        self._counter = loop.body_inputs[-1]

    def push(self, tensor: Tensor) -> Tensor:
        """Push `tensor`, which is in the loop's body, on a new stack in every iteration; returns the handle of the
        stack."""
        loop = self.loop
        with name_scope(None), name_scope(f"{_scope(loop)}/"):
            with outside(loop.outer):
                handle = STACK_V2(
                    convert_to_tensor(-1), elem_type=tensor.dtype.base_dtype, stack_name=tensor.op.name, name="f_acc"
                )
            context: ControlFlowContext = tensor.op._control_flow_context
            # After the pushes of the previous iteration, which the counter waits for.
            with context.entered(), control_dependencies([self._counter.op]):
                push = STACK_PUSH_V2(handle, tensor, swap_memory=loop.swap_memory)
        self._pushed._add_control_input(push.op)
        return handle


def forward_loop(loop: WhileContext) -> ForwardLoop:
    """The `ForwardLoop` of a loop, created on first use."""
    found = getattr(loop, "forward_loop", None)
    if found is None:
        found = loop.forward_loop = ForwardLoop(loop)  # type: ignore[attr-defined]
    return found


def _scope(loop: WhileContext) -> str:
    return loop.frame_name.rpartition("/")[0] or loop.frame_name


class GradientLoop(WhileContext):
    """The loop that goes through the iterations of `forward` backwards."""

    def __init__(self, forward: WhileContext, frame_name: str | None = None) -> None:
        super().__init__(forward.parallel_iterations, forward.back_prop, forward.swap_memory, frame_name=frame_name)
        self.forward = forward
        self.pops: dict[Tensor, Tensor] = {}
        """For each tensor of the forward loop that this one needs, what it pops from the stack."""
        self._constants: dict[Tensor, Tensor] = {}
        self._branches: dict[Any, CondContext] = {}
        self.popped: Operation | None = None
        self.graph._gradient_loops.append(self)

    def capture(self, tensor: Tensor) -> Tensor:
        if not self.contains(tensor.op) and self.forward.contains(tensor.op):
            return self._recall(tensor)
        return super().capture(tensor)

    def _recall(self, tensor: Tensor) -> Tensor:
        """The value that `tensor` of the forward loop had in the corresponding iteration."""
        if tensor in self.forward.invariants:
            return self.capture(self.forward.invariants[tensor])
        if tensor.op.type in ("Identity", "Switch") and tensor.op._inputs[0] in self.forward.invariants:
            return self.capture(self.forward.invariants[tensor.op._inputs[0]])
        recalled = self._constants if tensor.op.op_def.traits.constant else self.pops
        if tensor not in recalled:
            recalled[tensor] = self._copied(tensor) if tensor.op.op_def.traits.constant else self._popped(tensor)
        return recalled[tensor]

    def _copied(self, tensor: Tensor) -> Tensor:
        with self.context_of(tensor.op._control_flow_context).entered():
            return constant(tensor.op.attrs["value"], tensor.dtype, name=tensor.op.name.split("/")[-1])

    def _popped(self, tensor: Tensor) -> Tensor:
        if self not in self.forward.readers:
            self.forward.readers.append(self)
        return self.pop(forward_loop(self.forward).push(tensor), tensor)

    def pop(self, handle: Tensor, like: Tensor) -> Tensor:
        """Pops a stack of values of `like` where the value is needed, once per iteration."""
        with self.context_of(like.op._control_flow_context).entered():
            found = STACK_POP_V2(handle, elem_type=like.dtype.base_dtype)
        found._shape = like.shape
        self.before_next(found.op)
        return found

    def before_next(self, op: Operation) -> None:
        """Make the next iteration wait for `op`."""
        assert self.popped is not None
        self.popped._add_control_input(op)

    def context_of(self, context: ControlFlowContext) -> ControlFlowContext:
        """The context of the backward loop that is the counterpart of one in the forward loop."""
        if context is self.forward:
            return self
        assert isinstance(context, CondContext)
        assert context.outer is not None
        key = (context.pred, context.branch)
        if key not in self._branches:
            around = self.context_of(context.outer)
            with around.entered(), name_scope("cond_grad"):
                when_true, when_false = make_branches(around.capture(context.pred), "cond_grad")
            self._branches[context.pred, 1], self._branches[context.pred, 0] = when_true, when_false
        return self._branches[key]

    def home(self, context: ControlFlowContext | None, loop: WhileContext) -> ControlFlowContext | None:
        """Where the gradient of a node in `context`, which is in the forward loop's body, is built."""
        return self.context_of(context) if context is not None and loop.encloses(context) else self
