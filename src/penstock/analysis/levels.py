"""Levels of nodes: the largest number, on any path to a node, of nodes that cannot be grouped with later ones.

Nodes that are grouped (into a segment, a cluster, a group) have the same level, so no path leaves a group and comes
back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.analysis.frames import Frame, is_back_edge
from penstock.graph.primitives import EXITS, NEXT_ITERATIONS
from penstock.graph.step_graph import Node, StepGraph

T = TypeVar("T")
Step = Callable[[Node, Node], int]
Sources = Mapping[T, list[tuple[T, int]]]
"""For each node (or set of nodes), what comes before it, and by how much each of these raises its level."""


def find_sources(
    graph: StepGraph, frames: Mapping[Node, Frame], by_value: Step, by_control: Step
) -> dict[Node, list[tuple[Node, int]]]:
    """For each node its predecessors, ignoring back edges, and by how much each raises its level.

    by_value, by_control: return that number for a source and the node that takes a value from it or waits for it.
    """
    sources = {}
    for node in graph.nodes:
        found = [(e.node, by_value(e.node, node)) for i, e in enumerate(node.inputs) if not is_back_edge(node, i)]
        waits = [*node.controls]
        if node.op.name in EXITS:  # what leaves a loop comes after everything that enters it and runs in it
            frame = frames[node]
            waits += [*frame.enters, *(n for n in frame.nodes if n.op.name in NEXT_ITERATIONS)]
        sources[node] = [*found, *((n, by_control(n, node)) for n in waits)]
    return sources


def find_levels(sources: Sources[T]) -> dict[T, int]:
    """The level of each node, as low as possible."""
    levels = dict.fromkeys(sources, 0)
    changed = True
    while changed:  # one pass, and another if Exits of a loop come before its Enters
        changed = False
        for node, before in sources.items():
            level = max((levels[source] + step for source, step in before), default=0)
            changed = changed or level != levels[node]
            levels[node] = level
    return levels


def lift_levels(levels: dict[T, int], sources: Sources[T], may_rise: Callable[[T], bool]) -> None:
    """Raises nodes to the lowest level of their users, where that saves an output."""
    users: dict[T, list[tuple[T, int]]] = {}
    for node, before in sources.items():
        for source, step in before:
            users.setdefault(source, []).append((node, step))
    for node in reversed([*sources]):
        if node in users and may_rise(node):
            highest = min(levels[user] - step for user, step in users[node])
            if any(not step and levels[user] == highest for user, step in users[node]):
                levels[node] = highest
