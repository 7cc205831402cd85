"""Drops stacks whose values are not used: a loop kept them for its gradient, which then needed only their shape.

Whether a gradient needs a value is only known once shapes are, long after the loop was built to keep it. Dropping the
pushes frees what was kept alive from the forward loop to the backward one.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.opdef import get_op
from penstock.graph.primitives import ENTERS, SWITCHES
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.passes.nodes import only_waiting

_HANDS_ON = ENTERS | SWITCHES | {"Identity"}


def drop_unused_stacks(graph: StepGraph) -> StepGraph:
    """Removes the pushes and pops of stacks whose values are not used.

    Nodes that wait for them now wait for Identities that are alive under the same conditions.
    """
    stacks = [node for node in graph.nodes if node.op.name == "StackV2"]
    if not stacks:
        return graph
    consumers: dict[Node, list[tuple[Node, Edge]]] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            consumers.setdefault(edge.node, []).append((node, edge))
    kept = {edge.node for edge in graph.fetches} | set(graph.targets)
    instead: dict[Node, Node] = {}
    for stack in stacks:
        users = users_of_stack(stack, consumers)
        if users is None or kept.intersection(users):
            continue
        pops = [user for user in users if user.op.name == "StackPopV2"]
        if any(pop in consumers for pop in pops):
            continue
        for user in users:
            instead[user] = _passing_on(user, user.inputs[-1])  # the element for a push, the handle for a pop
        for pop in pops:
            if pop.controls and pop.inputs[0].node.op.name in ENTERS:
                instead[pop] = only_waiting(pop)  # an Enter is alive in every iteration: its control inputs decide
    return remove_unused(rewritten(graph, instead))


def users_of_stack(stack: Node, consumers: dict[Node, list[tuple[Node, Edge]]]) -> list[Node] | None:
    """The pushes and pops of a stack; None if its handle cannot be traced."""
    found: list[Node] = []
    pending = [stack]
    while pending:
        for node, edge in consumers.get(pending.pop(), ()):
            if node.op.name in _HANDS_ON:
                pending.append(node)
            elif node.op.name == "StackPopV2" or (node.op.name == "StackPushV2" and edge == node.inputs[0]):
                found.append(node)
            else:
                return None
    return found


def _passing_on(node: Node, edge: Edge) -> Node:
    """An Identity of one of the node's inputs that waits for what the node waits for."""
    shape = edge.node.shapes[edge.port]
    return replace(
        node, op=get_op("Identity"), attrs={"T": edge.dtype}, inputs=(edge,), dtypes=(edge.dtype,), shapes=(shape,)
    )
