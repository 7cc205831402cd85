"""Common subexpressions (white paper section 5.1): merges nodes that compute the same."""

from __future__ import annotations

from typing import Any

from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.passes.nodes import frozen, is_pure


def merge_common_subexpressions(graph: StepGraph) -> StepGraph:
    """Nodes of one op, with the same attributes, inputs and control inputs on the same device, are replaced by the
    first of them. State and reads of it are left alone, because their time of execution matters."""
    first: dict[Any, Node] = {}
    edges: dict[Edge, Edge] = {}
    nodes: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if not is_pure(node):
            continue
        try:
            attrs = tuple((key, frozen(value)) for key, value in sorted(node.attrs.items()))
        except TypeError:
            continue
        inputs = tuple(edges.get(e, e) for e in node.inputs)
        controls = frozenset(nodes.get(c, c) for c in node.controls)
        found = first.setdefault((node.op.name, attrs, inputs, controls, node.device), node)
        if found is not node:
            nodes[node] = found
            for port in range(len(node.dtypes)):
                edges[Edge(node, port)] = Edge(found, port)
    return remove_unused(rewritten(graph, edges=edges, controls=nodes)) if nodes else graph
