"""Where in the control flow a node is built: in a branch of a conditional or in the body of a loop.

Nodes built while a context is open belong to it. Their inputs from outside go through it (`capture`): into a branch
through a Switch, so that the branch not taken gets nothing; into a loop through an Enter, which every iteration sees.
Contexts nest, and a value from further outside is captured by each context on its way in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from penstock.graph.convert import constant
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_default_graph

if TYPE_CHECKING:
    from penstock.graph.graph import Graph


class ControlFlowContext:
    """A branch or a loop, during and after its construction. `outer` is the context that it is in."""

    is_loop = False
    imported = False
    """Whether it was found in an imported graph, where any node may be fetched, and fails if it does not run."""

    def __init__(self, name: str) -> None:
        self.graph: Graph = get_default_graph()
        self.outer: ControlFlowContext | None = self.graph._scopes.context
        self.name = name
        self._captured: dict[Any, Any] = {}

    @property
    def pivot(self) -> Operation:
        """An operation that is alive exactly when this context runs: nodes without inputs wait for it."""
        raise NotImplementedError

    @property
    def in_loop(self) -> bool:
        """Whether nodes built here run in the iterations of a loop."""
        return self.outer is not None and self.outer.in_loop

    def needs_anchor(self, inputs: list[Tensor], controls: list[Operation]) -> bool:
        """Whether a node with these inputs must wait for the pivot because nothing else ties it to this context."""
        return not inputs and not controls

    def _bring_in(self, tensor: Tensor) -> Tensor:
        """Makes `tensor`, which belongs to the outer context, available in this one."""
        raise NotImplementedError

    @property
    def outer_context(self) -> ControlFlowContext | None:
        return self.outer

    def IsWhileContext(self) -> bool:
        return self.is_loop

    def IsCondContext(self) -> bool:
        return not self.is_loop

    def IsXLAContext(self) -> bool:
        """False: steps are compiled by themselves, without a context that says so."""
        return False

    def GetWhileContext(self) -> ControlFlowContext | None:
        """The innermost loop: this one, or one around it."""
        if self.is_loop or self.outer is None:
            return self if self.is_loop else None
        return self.outer.GetWhileContext()

    def entered(self) -> AbstractContextManager[None]:
        """Build in this context (also after it is finished, as gradients do)."""
        return _within(self.graph, self)

    def contains(self, op: Operation) -> bool:
        """Whether `op` was built in this context or in one inside it."""
        return self.encloses(op._control_flow_context)

    def encloses(self, context: ControlFlowContext | None) -> bool:
        while context is not None and context is not self:
            context = context.outer
        return context is self

    def capture(self, tensor: Tensor) -> Tensor:
        """`tensor` in the form that nodes of this context may use."""
        if self.contains(tensor.op):
            return tensor
        found = self._captured.get(tensor)
        if found is None:
            before = self.outer.capture(tensor) if self.outer is not None else tensor
            found = before if self.contains(before.op) else self._bring_in(before)
            self._captured[tensor] = found
        return found

    def capture_control(self, op: Operation) -> Operation:
        """An operation of this context that waits for `op`, which is outside it.

        Control edges do not cross into a context: a value that waits for `op` is brought in instead.
        """
        if self.contains(op):
            return op
        found = self._captured.get(op)
        if found is None:
            with outside(self.outer), control_dependencies([op]):
                token = constant(0, name=f"{op.name.split('/')[-1]}_done")
            found = self._captured[op] = self.capture(token).op
        return found


def outside(context: ControlFlowContext | None) -> AbstractContextManager[None]:
    """Build in `context`, or in none, without the current control dependencies."""
    return _within(get_default_graph(), context)


@contextlib.contextmanager
def _within(graph: Graph, context: ControlFlowContext | None) -> Iterator[None]:
    scopes = graph._scopes
    old, old_controls = scopes.context, scopes.controllers
    scopes.context, scopes.controllers = context, []
    try:
        yield
    finally:
        scopes.context, scopes.controllers = old, old_controls
