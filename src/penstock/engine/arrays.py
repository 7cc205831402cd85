"""Feeds and fetches that stay NumPy arrays, for kernels that can take and return arrays.

Converting between an array and a tensor takes a microsecond each way, as long as a small compiled step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.graph.node_kernel import abilities
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph


def use_arrays(graph: StepGraph, kernels: Mapping[Node, Any]) -> tuple[set[Edge], dict[Node, Any]]:
    """The feeds used only by kernels that can take arrays, the fetches that such kernels produce, and the adapted
    kernels."""
    found = dict(kernels)
    able = {node: make for node, kernel in kernels.items() if (make := abilities(kernel).with_arrays) is not None}
    if not able:
        return set(), found
    users: dict[Edge, list[Node]] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            users.setdefault(edge, []).append(node)
    taken = {edge for edge, nodes in users.items() if edge.node.op is FEED and able.keys() >= {*nodes}}
    arrays = taken - set(graph.fetches)
    arrays |= {edge for edge in graph.fetches if edge.node in able and edge not in users}
    for node, with_arrays in able.items():
        inputs = frozenset(i for i, edge in enumerate(node.inputs) if edge in arrays)
        outputs = frozenset(port for port in range(len(node.dtypes)) if Edge(node, port) in arrays)
        found[node] = with_arrays(inputs, outputs)
    return arrays, found
