"""Nodes that wait for something outside the step, and the waits that come before each node.

A wait must not delay nodes that do not come after it: another step may be waiting for just those. So nodes that come
after different waits are never grouped, and if a step is one function, everything that can run before a wait has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from penstock.analysis.frames import Frame, find_frames, has_control_flow
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.hazards import is_state, writes_state
from penstock.analysis.levels import find_sources
from penstock.analysis.state_order import state_waits
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph

Waits = frozenset[Node]
NO_WAITS: Waits = frozenset()


def waiting_nodes(graph: StepGraph) -> set[Node]:
    """The nodes that may wait."""
    return {node for node in graph.nodes if node.op.traits.waits}


def waits_before(
    graph: StepGraph, waiting: Set[Node], frames: Mapping[Node, Frame], order: Iterable[tuple[Node, Node]] = ()
) -> dict[Node, Waits]:
    """For each node, those of `waiting` that come before it. order: additional pairs that edges do not express.

    Nodes without effects come as late as their users: a variable is read after the wait.
    """
    found = dict.fromkeys(graph.nodes, NO_WAITS)
    if not waiting:
        return found
    sources = {node: [s for s, _ in before] for node, before in find_sources(graph, frames, _no, _no).items()}
    for first, second in order:
        sources[second].append(first)
    changed = True
    while changed:  # one pass, and another if Exits of a loop come before its Enters
        changed = False
        for node, before in sources.items():
            waits = NO_WAITS.union(*(found[s] for s in before), (s for s in before if s in waiting))
            changed = changed or waits != found[node]
            found[node] = waits
    needed: dict[Node, Waits] = {}
    for node in reversed(graph.nodes):
        if node in needed and _has_no_effect(node) and (node not in frames or frames[node].parent is None):
            found[node] = needed[node]
        for source in sources[node]:
            needed[source] = needed[source] & found[node] if source in needed else found[node]
    return found


def _no(source: Node, node: Node) -> int:
    return 0


def _has_no_effect(node: Node) -> bool:
    op = node.op
    if op is FEED or op.traits.waits or op.traits.refuses == "always" or op.name in PRIMITIVES or writes_state(node):
        return False
    return not op.stateful or any(map(is_state, [*node.inputs, *(Edge(node, i) for i in range(len(node.dtypes)))]))


def phases(graph: StepGraph, frames: Mapping[Node, Frame]) -> dict[Node, int]:
    """Sorting nodes by these numbers puts each wait as late as possible. {}: nothing waits."""
    waiting = waiting_nodes(graph)
    before = _waits_before(graph, waiting, frames)
    return {node: 2 * len(before[node]) + (node in waiting) for node in graph.nodes} if waiting else {}


def in_turn(graph: StepGraph) -> StepGraph | None:
    """`graph` with its nodes in an order in which each wait comes as late as possible; None if its waits must run
    concurrently: neither of two comes after the other, or they are in loops."""
    waiting = waiting_nodes(graph)
    frames = find_frames(graph)[1] if has_control_flow(graph) else {}
    if any(frames[node].parent is not None for node in waiting if frames):
        return None
    before = _waits_before(graph, waiting, frames)
    if {len(before[node]) for node in waiting} != set(range(len(waiting))) and not _exclude(graph, before, waiting):
        return None
    nodes = sorted(graph.nodes, key=lambda node: (len(before[node]), node in waiting))
    return StepGraph(nodes, graph.feeds, graph.fetches, graph.targets)


def _waits_before(graph: StepGraph, waiting: Set[Node], frames: Mapping[Node, Frame]) -> dict[Node, Waits]:
    """`waits_before`, with uses of state in the order of building."""
    if not waiting:
        return {}
    order = [(first, node) for node, before in state_waits(graph, frames).items() for first in before]
    return waits_before(graph, waiting, frames, order)


def _exclude(graph: StepGraph, before: Mapping[Node, Waits], waiting: Set[Node]) -> bool:
    """Whether any two without an order exclude each other."""
    if not has_control_flow(graph) or len(waiting) > 64:
        return False
    try:
        guards = Guards(graph, find_frames(graph)[1]).of
    except Unstructured:
        return False
    return all(
        a is b or a in before[b] or b in before[a] or any((pred, not side) in guards[b] for pred, side in guards[a])
        for a in waiting
        for b in waiting
    )
