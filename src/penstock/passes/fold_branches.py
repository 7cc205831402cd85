"""Leaves out branches that are never taken: those of conditionals whose predicate is a constant.

Deadness is followed as the executor follows it (white paper section 4.4): what takes or waits for a dead value is dead,
but a Merge lives if one of its inputs does. A loop that never begins is dead whole.
"""

from __future__ import annotations

import numpy as np

from penstock.graph.opdef import get_op
from penstock.graph.primitives import MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import TensorShape


def fold_branches(graph: StepGraph) -> StepGraph:
    """Switches by a constant become the edge that they pass on, and Merges of one live input that input.

    The graph stays as it is if a fetch is in a branch that is not taken: the step then says so.
    """
    settled = [n for n in graph.nodes if n.op.name in SWITCHES and n.inputs[1].node.is_constant]
    if not settled:
        return graph
    dead = {Edge(n, 1 - int(n.inputs[1].node.attrs["value"])) for n in settled}
    gone = _follow(graph, dead)
    if not dead.isdisjoint(graph.fetches) or not gone.isdisjoint(graph.targets):
        return graph
    edges = {Edge(n, port): n.inputs[0] for n in settled if n not in gone for port in (0, 1)}
    indices = []
    for merge in graph.nodes:
        if merge.op.name not in MERGES or merge in gone:
            continue
        live = _live_inputs(merge, dead)
        if len(live) == 1 < len(merge.inputs):
            indices.append(_index(merge, live[0]))
            edges |= {Edge(merge, 0): merge.inputs[live[0]], Edge(merge, 1): Edge(indices[-1], 0)}
    edges = {edge: _end(edge, edges) for edge in edges}
    waits = {edge.node: end.node for edge, end in edges.items() if edge.port == 0} | dict.fromkeys(gone)
    nodes = indices + [node for node in graph.nodes if node not in gone]
    return remove_unused(rewritten(graph, edges=edges, controls=waits, nodes=nodes))


def _follow(graph: StepGraph, dead: set[Edge]) -> set[Node]:
    """The nodes that are dead in every step. dead: the outputs that are, of which those of Switches are given."""
    gone: set[Node] = set()
    for node in graph.nodes:
        if node.op.name in MERGES:
            is_dead = not _live_inputs(node, dead)
        else:
            is_dead = not dead.isdisjoint(node.inputs) or not gone.isdisjoint(node.controls)
        if is_dead:
            gone.add(node)
            dead |= {Edge(node, port) for port in range(len(node.dtypes))}
    return gone


def _live_inputs(merge: Node, dead: set[Edge]) -> list[int]:
    """Those of a Merge that may be live. A loop's NextIteration, which comes later, is if what enters the loop is."""
    entering = [i for i, e in enumerate(merge.inputs) if e not in dead and e.node.op.name not in NEXT_ITERATIONS]
    return entering and [i for i, e in enumerate(merge.inputs) if e not in dead]


def _index(merge: Node, position: int) -> Node:
    """The Merge's second output: which input it has passed on."""
    attrs = {"value": np.array(position, np.int32), "dtype": int32}
    return Node(
        f"{merge.name}/folded", get_op("Const"), attrs, (), (), merge.device, (int32,), (TensorShape([]),), merge.source
    )


def _end(edge: Edge, edges: dict[Edge, Edge]) -> Edge:
    while edge in edges:
        edge = edges[edge]
    return edge
