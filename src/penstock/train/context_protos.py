"""Loops and conditionals in meta graphs: TensorFlow's descriptions of them, without which it cannot differentiate them.

Penstock finds them in the nodes; it takes from a description only what nodes do not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.client.variable import in_scope, without_scope
from penstock.gradients.grad_contexts import GradientLoop
from penstock.graph.contexts import ControlFlowContext
from penstock.graph.graph import Graph
from penstock.graph.operation import Operation, Tensor
from penstock.graph.primitives import EXITS
from penstock.graph.scopes import GraphKeys
from penstock.ops.control_flow.cond import CondContext
from penstock.ops.control_flow.while_loop import WhileContext
from penstock.tensor.messages import add_message, message_classes, new_file

CONTEXT_KEYS = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT)

_FILE = new_file("penstock/control_flow.proto", "tensorflow")
add_message(_FILE, "ValuesDef", "repeated string values", "map string external_values")
add_message(_FILE, "ControlFlowContextDef", "CondContextDef cond_ctxt", "WhileContextDef while_ctxt", oneof="ctxt")
add_message(
    _FILE,
    "CondContextDef",
    "string context_name",
    "string pred_name",
    "string pivot_name",
    "int32 branch",
    "ValuesDef values_def",
    "repeated ControlFlowContextDef nested_contexts",
)
add_message(
    _FILE,
    "WhileContextDef",
    "string context_name",
    "int32 parallel_iterations",
    "bool back_prop",
    "bool swap_memory",
    "string pivot_name",
    "string pivot_for_pred_name",
    "string pivot_for_body_name",
    "repeated string loop_exit_names",
    "ValuesDef values_def",
    "repeated string loop_enter_names",
    "string maximum_iterations_name",
    "repeated ControlFlowContextDef nested_contexts",
)
_CLASSES = message_classes(_FILE)
CondContextDef: Any = _CLASSES["tensorflow.CondContextDef"]
WhileContextDef: Any = _CLASSES["tensorflow.WhileContextDef"]


# --- out ------------------------------------------------------------------------------------------------


def context_protos(graph: Graph, scope: str | None, has_node: Callable[[str], bool]) -> dict[str, list[Any]]:
    """The descriptions of outermost conditionals and loops, which hold those of inner ones, by collection.

    scope: only what is within, under the names from there. A context of which nodes are missing is left out.
    """
    inside: dict[ControlFlowContext, list[Operation]] = {}
    for op in graph.get_operations():
        context = op._control_flow_context
        if op.type in EXITS:  # for TensorFlow an Exit belongs to the loop that it leaves
            context = op._inputs[0].op._control_flow_context
        while context is not None:
            inside.setdefault(context, []).append(op)
            context = context.outer
    writer = _Writer(inside, scope, has_node)
    found: dict[str, list[Any]] = {key: [] for key in CONTEXT_KEYS}
    for context in inside:
        if context.outer is None:
            message = writer.message(context)
            if message is not None:
                found[GraphKeys.WHILE_CONTEXT if context.is_loop else GraphKeys.COND_CONTEXT].append(message)
    return {key: messages for key, messages in found.items() if messages}


class _Writer:
    def __init__(
        self, inside: dict[ControlFlowContext, list[Operation]], scope: str | None, has_node: Callable[[str], bool]
    ) -> None:
        self._inside, self._scope, self._has_node = inside, scope, has_node

    def message(self, context: ControlFlowContext) -> Any:
        if isinstance(context, GradientLoop) or not all(self._is_in(op) for op in self._needs(context)):
            return None
        message = self._loop(context) if isinstance(context, WhileContext) else self._branch(context)
        values = [self._name(t) for op in self._inside[context] for t in op._outputs if self._is_in(op)]
        for outer, value in context._captured.items():
            if isinstance(outer, Tensor) and self._is_in(outer.op) and self._is_in(value.op):
                message.values_def.external_values[self._name(outer)] = self._name(value)
        message.values_def.values.extend(sorted({*values, *message.values_def.external_values}))
        for inner in self._inside:
            nested = self.message(inner) if inner.outer is context else None
            if nested is not None:
                added = message.nested_contexts.add()
                (added.while_ctxt if inner.is_loop else added.cond_ctxt).CopyFrom(nested)
        return message

    def _needs(self, context: ControlFlowContext) -> Iterable[Operation]:
        if isinstance(context, WhileContext):
            return [t.op for t in (*context.enters, *context.merges, *context.exits, *context.body_inputs)]
        assert isinstance(context, CondContext)
        return [context.pred.op, context.pivot]

    def _loop(self, loop: WhileContext) -> Any:
        assert loop.loop_cond is not None
        return WhileContextDef(
            context_name=self._short(loop.frame_name),
            parallel_iterations=loop.parallel_iterations,
            back_prop=loop.back_prop,
            swap_memory=loop.swap_memory,
            pivot_name=self._name(loop.loop_cond),
            pivot_for_pred_name=self._name(loop.merges[0]),
            pivot_for_body_name=self._name(loop.pivot._outputs[0]),
            loop_exit_names=map(self._name, loop.exits),
            loop_enter_names=map(self._name, loop.enters),
        )

    def _branch(self, branch: Any) -> Any:
        return CondContextDef(
            context_name=self._short(f"{branch.name}/cond_text" if branch.name else "cond_text"),
            pred_name=self._name(branch.pred),
            pivot_name=self._name(branch.pivot._outputs[0]),
            branch=branch.branch,
        )

    def _is_in(self, op: Operation) -> bool:
        within = not self._scope or op.name.startswith(self._scope.rstrip("/") + "/")
        return within and self._has_node(op.name)

    def _name(self, tensor: Tensor) -> str:
        return self._short(tensor.name)

    def _short(self, name: str) -> str:
        return without_scope(name, self._scope)


# --- in -------------------------------------------------------------------------------------------------


def take_options(graph: Graph, loops: Iterable[bytes], scope: str) -> None:
    """Give loops of `graph` what their descriptions say and their nodes do not: whether gradients go through them, and
    whether what those need is moved to host memory. `scope`: where the nodes are."""
    pending = [WhileContextDef.FromString(data) for data in loops]
    while pending:
        message = pending.pop()
        pending += [getattr(nested, nested.WhichOneof("ctxt")) for nested in message.nested_contexts]
        if message.DESCRIPTOR.name == WhileContextDef.DESCRIPTOR.name:
            loop = _loop_of(graph, in_scope(message.pivot_name, scope))
            if loop is not None:
                loop.back_prop, loop.swap_memory = message.back_prop, message.swap_memory


def _loop_of(graph: Graph, condition: str) -> WhileContext | None:
    op = graph._by_name.get(condition.partition(":")[0])
    context = None if op is None else op._control_flow_context
    return context if isinstance(context, WhileContext) else None
