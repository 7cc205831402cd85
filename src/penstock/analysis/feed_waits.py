"""What waits for which feeds, for steps that get them one by one."""

from __future__ import annotations

from penstock.analysis.state_order import Frames, state_waits
from penstock.graph.step_graph import FEED, Node, StepGraph


def feeds_before(graph: StepGraph) -> dict[Node, frozenset[Node]]:
    """For each node, the feeds that it waits for."""
    needs: dict[Node, frozenset[Node]] = dict.fromkeys(graph.nodes, frozenset())
    changed = True
    while changed:  # one pass, and another if loops lead back
        changed = False
        for node in graph.nodes:
            before = [*(edge.node for edge in node.inputs), *node.controls]
            found = frozenset([node] if node.op is FEED else []).union(*(needs[source] for source in before))
            changed = changed or found != needs[node]
            needs[node] = found
    return needs


def state_waits_of_parts(graph: StepGraph, frames: Frames) -> dict[Node, tuple[Node, ...]]:
    """Those of `state_waits` that make no node wait for more feeds."""
    needs = feeds_before(graph)
    waits = state_waits(graph, frames)
    return {node: tuple(c for c in before if needs[c] <= needs[node]) for node, before in waits.items()}
