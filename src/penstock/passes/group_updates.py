"""Merges one optimizer's updates of many small variables into one node (`ops/fused_updates.py`).

Calling a kernel takes longer than its work on a small variable, and torch's optimizer kernels accept lists. Nodes are
grouped if they differ only in variables and gradient and are independent: nodes get *levels*, as low as possible, and
the level rises by one after each update. This pass comes last because regions (`codegen/regions/`) are better for small
updates; it serves devices and steps without regions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.analysis.frames import NO_GUARD, Frame, find_frames
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.levels import find_levels, find_sources
from penstock.analysis.state_order import Order, build_order
from penstock.analysis.thresholds import THREADED_ELEMENTS
from penstock.analysis.waits import waits_before
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.fused_updates import GROUPED, can_be_grouped, gradient_of
from penstock.passes.nodes import frozen, on_cpu

MOST_ELEMENTS = THREADED_ELEMENTS
"""Larger variables are worth threads, and the cost of a call does not matter for them."""
LEAST_MEMBERS = 4
"""With fewer updates, separate calls cost less than making the lists for one."""

Key = tuple[Any, ...]


def group_updates(graph: StepGraph) -> StepGraph:
    """`graph` with one node instead of each set of updates that can be merged, or `graph` itself if there is none."""
    if sum(node.op.name in GROUPED for node in graph.nodes) < LEAST_MEMBERS:
        return graph
    frames = find_frames(graph)[1]
    try:
        guards = Guards(graph, frames)
    except Unstructured:
        return graph
    order = build_order(graph, frames)
    in_every_step = [n for n in graph.nodes if frames[n].parent is None and guards.of[n] == NO_GUARD]
    waits = waits_before(graph, frames, order)
    keys = {node: (*key, waits[node]) for node, key in _keys(graph, in_every_step, order).items()}
    levels = _levels(graph, frames, keys, order)
    groups: dict[tuple[int, Key], list[Node]] = {}
    for node, key in keys.items():
        groups.setdefault((levels[node], key), []).append(node)
    made = {node: group for members in groups.values() if (group := _grouped(members)) for node in members}
    if not made:
        return graph
    nodes = dict.fromkeys(made.get(node, node) for node in graph.nodes)
    order = [(made.get(first, first), made.get(second, second)) for first, second in order]
    return remove_unused(rewritten(graph, controls=made, nodes=nodes, order=order))


def _keys(graph: StepGraph, nodes: Iterable[Node], order: Order) -> dict[Node, Key]:
    """The updates that can be grouped, with what members of a group must have in common."""
    taken = {edge.node for node in graph.nodes for edge in node.inputs} | {edge.node for edge in graph.fetches}
    written_before = {second: first for first, second in order}  # for reads, the last write
    found: dict[Node, Key] = {}
    for node in nodes:
        if can_be_grouped(node) and node not in taken and on_cpu(node.device) and _is_small(node):
            args = zip(GROUPED[node.op.name].inputs, node.inputs, strict=True)
            common = [_value(edge, written_before) for arg, edge in args if not arg.is_list]
            attrs = frozen(sorted((k, v) for k, v in node.attrs.items() if k != "_class"))
            found[node] = (node.op.name, node.device, attrs, *common)
    return found


def _value(edge: Edge, written_before: dict[Node, Node]) -> Any:
    """A key that is equal for equal values: optimizers read and cast the rate for each variable anew."""
    node = edge.node
    if node.op.name == "Cast" and not node.controls:
        return node.dtypes, _value(node.inputs[0], written_before)
    if node.op.name == "ReadVariableOp":
        return node.inputs[0], written_before.get(node)
    return edge


def _is_small(node: Node) -> bool:
    grad = node.inputs[gradient_of(node.op)]
    size = grad.node.shapes[grad.port].num_elements()
    return size is not None and size <= MOST_ELEMENTS


def _levels(graph: StepGraph, frames: dict[Node, Frame], keys: dict[Node, Key], order: Order) -> dict[Node, int]:
    """The largest number of updates in `keys` on any path to each node."""

    def after_update(source: Node, node: Node) -> int:
        return int(source in keys)

    sources = find_sources(graph, frames, after_update, after_update)
    for first, second in order:
        sources[second].append((first, after_update(first, second)))
    return find_levels(sources)


def _grouped(members: list[Node]) -> Node | None:
    """The node for `members`; None if they are too few."""
    if len(members) < LEAST_MEMBERS:
        return None
    first = members[0]
    op = GROUPED[first.op.name]
    inputs: list[Edge] = []
    for i, arg in enumerate(op.inputs):
        inputs += [node.inputs[i] for node in (members if arg.is_list else members[:1])]
    attrs = {key: value for key, value in first.attrs.items() if key != "_class"} | {"N": len(members)}
    controls = tuple(dict.fromkeys(control for node in members for control in node.controls))
    return Node(f"{first.name}/group", op, attrs, tuple(inputs), controls, first.device, (), (), first.source)
