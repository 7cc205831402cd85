"""Levels of nodes: how often, on the longest way to each, something happens that those after it cannot share.

What may be put together (a segment, a cluster, a group) is of one level, so that nothing leaves it and comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.analysis.frames import Frame, is_back_edge
from penstock.graph.primitives import EXITS, NEXT_ITERATIONS
from penstock.graph.step_graph import Node, StepGraph

Step = Callable[[Node, Node], int]
Sources = dict[Node, list[tuple[Node, int]]]


def find_sources(graph: StepGraph, frames: Mapping[Node, Frame], by_value: Step, by_control: Step) -> Sources:
    """For each node what comes before it, not going round a loop, and by how much that raises its level.

    by_value, by_control: that number, of a source and the node that takes a value of it or waits for it.
    """
    sources: Sources = {}
    for node in graph.nodes:
        found = [(e.node, by_value(e.node, node)) for i, e in enumerate(node.inputs) if not is_back_edge(node, i)]
        waits = [*node.controls]
        if node.op.name in EXITS:  # what leaves a loop comes after all that enters it and happens in it
            frame = frames[node]
            waits += [*frame.enters, *(n for n in frame.nodes if n.op.name in NEXT_ITERATIONS)]
        sources[node] = [*found, *((n, by_control(n, node)) for n in waits)]
    return sources


def find_levels(sources: Sources) -> dict[Node, int]:
    """The level of each node, as low as may be."""
    levels = dict.fromkeys(sources, 0)
    changed = True
    while changed:  # once, and again where the Exits of a loop come before its Enters
        changed = False
        for node, before in sources.items():
            level = max((levels[source] + step for source, step in before), default=0)
            changed = changed or level != levels[node]
            levels[node] = level
    return levels
