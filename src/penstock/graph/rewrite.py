"""Replacing nodes of a `StepGraph`: a new graph, while the nodes of the old one stay unchanged.

Nodes refer to those that they take values from or wait for, so nodes that come after a replaced one are copied. Code
that keeps a graph (a plan, a session, a pass that compares two alternatives) can therefore pass it to any pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from penstock.graph.ordering import in_order
from penstock.graph.primitives import MERGES, NEXT_ITERATIONS
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.transfer_ops import SENDS

Order = list[tuple[Node, Node]]
"""Pairs of nodes; the first must come before the second."""
_NONE: Mapping[Any, Any] = MappingProxyType({})


def rewritten(
    graph: StepGraph,
    instead: Mapping[Node, Node] = _NONE,
    edges: Mapping[Edge, Edge] = _NONE,
    controls: Mapping[Node, Node | None] = _NONE,
    nodes: Iterable[Node] | None = None,
    order: Order | None = None,
) -> StepGraph:
    """Returns `graph` with nodes and edges replaced, or `graph` itself if there are none. Nodes not after a replaced
    one are shared.

    instead: nodes made for this call, with the same outputs as the nodes that they replace; their inputs are completed
    here. edges: replacements for edges. controls: replacements for nodes as control inputs and targets; None: drop
    them. nodes: replaces `graph.nodes`. order: if given, the nodes are sorted so that these pairs hold.

    All of them refer to nodes of `graph` or `nodes`, even if these nodes are replaced themselves.
    """
    if not (instead or edges or controls or nodes is not None):
        return graph
    listed = graph.nodes if nodes is None else list(nodes)
    stale = {node for node, _ in edges}
    stale.update(instead, controls)
    new = dict(instead)
    unsorted = order is not None or any(node.op.name in MERGES for node in listed)
    while _copy_followers(listed, stale, new) and unsorted:
        pass  # a consumer may come before its producer

    def taken(edge: Edge) -> Edge:
        node, port = edge = edges.get(edge, edge)
        now = new.get(node)
        return edge if now is None else Edge(now, port)

    def awaited(waits: Iterable[Node], *but: Node) -> list[Node]:
        found = dict.fromkeys([controls.get(c, c) for c in waits])
        return [new.get(c, c) for c in found if c is not None and c not in but]

    for node, made in new.items():
        if made.inputs:
            made.inputs = tuple([taken(e) if e[0] in stale else e for e in made.inputs])
        if made.controls:
            made.controls = tuple(awaited(made.controls, node, made))
    fetches, feeds = [taken(e) for e in graph.fetches], [new.get(n, n) for n in graph.feeds]
    targets = awaited(graph.targets) if controls else [new.get(n, n) for n in graph.targets]
    found = [new.get(n, n) for n in listed]
    if order is not None:
        found = sort_nodes(found, [(new.get(a, a), new.get(b, b)) for a, b in order])
    return StepGraph(found, feeds, fetches, targets)


def _copy_followers(nodes: list[Node], stale: set[Node], new: dict[Node, Node]) -> bool:
    """Add to `new` a copy of each node that uses a stale one, which makes it stale too. Returns whether there were
    any."""
    before = len(new)
    for node in nodes:
        if node in new:
            continue
        for edge in node.inputs:
            if edge[0] in stale:
                break
        else:
            if not node.controls or stale.isdisjoint(node.controls):
                continue
        new[node] = copy(node)
        stale.add(node)
    return len(new) > before


def with_waits(graph: StepGraph, waits: Mapping[Node, tuple[Node, ...]]) -> StepGraph:
    """Returns `graph` with `waits` as additional control inputs of nodes."""
    instead = {node: copy(node) for node, more in waits.items() if more}
    for node, made in instead.items():
        made.controls += waits[node]
    return rewritten(graph, instead)


def copy(node: Node) -> Node:
    """A faster `dataclasses.replace`."""
    return Node(
        node.name, node.op, node.attrs, node.inputs, node.controls, node.device, node.dtypes, node.shapes, node.source
    )


def duplicate(graph: StepGraph) -> StepGraph:
    """The same graph with copies of its nodes."""
    return rewritten(graph, {node: copy(node) for node in graph.nodes})


def remove_unused(graph: StepGraph) -> StepGraph:
    """Removes the nodes that no fetch, target or other device needs. Feed nodes stay, because values are passed for
    them."""
    needed: set[Node] = set(graph.feeds)
    pending = [*(e.node for e in graph.fetches), *graph.targets, *(n for n in graph.nodes if n.op.name in SENDS)]
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending += [e.node for e in node.inputs]
            pending += node.controls
    if len(needed) == len(graph.nodes):
        return graph
    return StepGraph([n for n in graph.nodes if n in needed], graph.feeds, graph.fetches, graph.targets)


def sort_nodes(nodes: list[Node], order: Order) -> list[Node]:
    """Sorts `nodes` into an order in which they can run, close to their present order. `order`: pairs to keep."""
    before = {
        node: [*(e.node for e in node.inputs if e.node.op.name not in NEXT_ITERATIONS), *node.controls]
        for node in nodes
    }
    for first, second in order:
        before[second].append(first)
    result = in_order(nodes, before)
    assert len(result) == len(nodes), "a replacement made a cycle"
    return result
