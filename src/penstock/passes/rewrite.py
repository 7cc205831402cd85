"""What passes that replace nodes share: following replacements, and dropping what nothing needs any more."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.analysis.frames import is_back_edge
from penstock.graph.device_spec import DeviceSpec
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.tensor.dtypes import resource

SMALL = 4096
"""Bytes up to which two constants are compared by value."""


def is_pure(node: Node) -> bool:
    """Whether a node gives the same for the same inputs, whenever it runs: no state, no chance, no control flow."""
    if "seed" in node.attrs or "uniform_noise" in node.attrs:  # some that TensorFlow does not call stateful
        return False
    if node.op.stateful or node.op is FEED or node.op.name in PRIMITIVES or node.op.traits.placeholder:
        return False
    edges = [*(e.dtype for e in node.inputs), *node.dtypes]
    return not any(dtype._is_ref_dtype or dtype == resource for dtype in edges)


def replace_edges(graph: StepGraph, edges: dict[Edge, Edge], nodes: dict[Node, Node | None]) -> StepGraph:
    """The graph with `edges` taken by others, and control inputs from `nodes` by other nodes (None: left out)."""
    if not edges and not nodes:
        return graph

    def edge(e: Edge) -> Edge:
        return edges.get(e, e)

    for node in graph.nodes:
        if any(e in edges for e in node.inputs):
            node.inputs = tuple(map(edge, node.inputs))
        if any(c in nodes for c in node.controls):
            controls = (nodes.get(c, c) for c in node.controls)
            node.controls = tuple(dict.fromkeys(c for c in controls if c is not None))
    targets = [found for n in graph.targets if (found := nodes.get(n, n)) is not None]
    return StepGraph(graph.nodes, graph.feeds, [edge(e) for e in graph.fetches], targets)


def duplicate(graph: StepGraph) -> StepGraph:
    """The same graph of nodes of its own, to try something on."""
    of = {node: replace(node) for node in graph.nodes}
    for node in of.values():
        node.inputs = tuple(Edge(of[e.node], e.port) for e in node.inputs)
        node.controls = tuple(of[c] for c in node.controls)
    fetches = [Edge(of[e.node], e.port) for e in graph.fetches]
    return StepGraph(list(of.values()), [of[n] for n in graph.feeds], fetches, [of[n] for n in graph.targets])


def remove_unused(graph: StepGraph) -> StepGraph:
    """Without the nodes that no fetch and no target needs; fed nodes stay, since values come for them."""
    needed: set[Node] = set(graph.feeds)
    pending = [*(e.node for e in graph.fetches), *graph.targets]
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending += [e.node for e in node.inputs]
            pending += node.controls
    if len(needed) == len(graph.nodes):
        return graph
    return StepGraph([n for n in graph.nodes if n in needed], graph.feeds, graph.fetches, graph.targets)


def frozen(value: Any) -> Any:
    """An attribute's value as part of a key. TypeError where it has no such form."""
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, np.ndarray):
        if value.dtype == object or value.nbytes > SMALL:
            return id(value)
        return (value.dtype.str, value.shape, value.tobytes())
    hash(value)
    return type(value), value


def sort_nodes(nodes: list[Node], order: list[tuple[Node, Node]]) -> list[Node]:
    """`nodes` in an order in which they can run, near to the one that they have.

    `order`: pairs of them of which the first must come before the second.
    """
    place = {node: i for i, node in enumerate(nodes)}
    waiting = dict.fromkeys(nodes, 0)
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        before = [e.node for i, e in enumerate(node.inputs) if not is_back_edge(node, i)] + list(node.controls)
        for source in (s for s in before if s in place):
            users.setdefault(source, []).append(node)
            waiting[node] += 1
    for first, second in order:
        users.setdefault(first, []).append(second)
        waiting[second] += 1
    ready = [place[node] for node in nodes if not waiting[node]]
    heapq.heapify(ready)
    result = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        result.append(node)
        for user in users.get(node, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, place[user])
    assert len(result) == len(nodes), "a replacement made a cycle"
    return result


def on_cpu(device: str) -> bool:
    return device_type(device) == "CPU"


def device_type(device: str) -> str:
    return DeviceSpec.from_string(device).device_type or "CPU"
