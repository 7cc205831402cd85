"""The order of building, which reads and writes of a variable keep where the graph says nothing.

Where one segment runs a graph, that is the order of execution. Whatever else reorders nodes asks here which of them
stay in order; and where nodes wait or are on several devices, control edges say it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from penstock.graph.step_graph import Node, StepGraph
from penstock.ops.control_flow import EXITS, MERGES, SWITCHES
from penstock.runtime.frames import Frame
from penstock.runtime.guards import Guards, Unstructured
from penstock.runtime.hazards import state_accesses
from penstock.runtime.levels import find_sources

Order = list[tuple[Node, Node]]
Frames = Mapping[Node, Frame]


def build_order(graph: StepGraph, frames: Frames, without: Collection[Node] = ()) -> Order:
    """`(first, second)` for uses of the same state of which one writes, each with the nearest before it.

    A loop has one place, after all that it is given, though some of that may have been built after some of its nodes:
    so these pairs and the edges of the graph together make no circle. `without`: nodes to leave out.
    """
    accesses = [access for access in state_accesses(graph) if access[0] not in without]
    if not any(frame.parent is not None for frame in frames.values()):
        return list(_conflicts(accesses))
    places = _places(graph, frames)
    keys = {node: tuple(places[each] for each in _line(node, frames)) for node, _, _ in accesses}
    return [(a, b) for a, b in _conflicts(sorted(accesses, key=lambda access: keys[access[0]])) if keys[a] < keys[b]]


def order_state(graph: StepGraph, frames: Frames) -> None:
    """Control edges for `build_order`, but not where nodes are in loops or branches: there the program says itself
    what comes first. `frames`: the frame of each node that is in one (frames.py)."""
    seen: set[Node] = set()
    before: dict[Node, list[Node]] = {}
    for first, second in build_order(graph, frames, _unordered(graph, frames)):
        before.setdefault(second, []).append(first)
    for node in graph.nodes:
        known = {*node.controls, *(edge.node for edge in node.inputs)}
        wanted = dict.fromkeys(first for first in before.get(node, ()) if first in seen)
        node.controls += tuple(first for first in wanted if first not in known)
        seen.add(node)


def unordered_reads(graph: StepGraph, frames: Frames) -> set[Node]:
    """Reads of variables for which only the graph's edges say that they come before some write."""
    unordered = _unordered(graph, frames)
    accesses = state_accesses(graph)
    written = {root for _, root, writes in accesses if writes}
    roots = {root for node, root, _ in accesses if node in unordered} & written
    return {node for node, root, writes in accesses if root in roots and not writes}


def _unordered(graph: StepGraph, frames: Frames) -> set[Node]:
    """Nodes that are in loops or may be dead; and what says which."""
    found = {node for node in graph.nodes if node in frames and frames[node].parent is not None}
    moves = {node for node in graph.nodes if node.op.name in SWITCHES | MERGES}
    try:
        guards = Guards(graph, dict(frames)).of if moves else {}
    except Unstructured:  # a Merge may give what is dead as well
        _add_what_follows(graph, moves)
        return found | moves
    return found | moves | {node for node, guard in guards.items() if guard}


def _add_what_follows(graph: StepGraph, nodes: set[Node]) -> None:
    for node in graph.nodes:
        if any(edge.node in nodes for edge in node.inputs) or any(control in nodes for control in node.controls):
            nodes.add(node)


def _conflicts(accesses: Iterable[tuple[Node, Node, bool]]) -> Iterator[tuple[Node, Node]]:
    last_write: dict[Node, Node] = {}
    reads: dict[Node, list[Node]] = {}
    for node, root, writes in accesses:
        before = [last_write[root]] if root in last_write else []
        if writes:
            before += reads.pop(root, [])
            last_write[root] = node
        else:
            reads.setdefault(root, []).append(node)
        yield from ((b, node) for b in before if b is not node)


def _places(graph: StepGraph, frames: Frames) -> dict[Node | Frame, int]:
    """A number for each node and each loop, not below that of any that it comes after.

    A node's is its position, but for what comes after a loop that is given something later than that.
    """
    places: dict[Node | Frame, int] = {node: i for i, node in enumerate(graph.nodes)}
    places.update(dict.fromkeys(frames.values(), 0))
    sources = find_sources(graph, frames, _no_step, _no_step)
    changed = True
    while changed:
        changed = False
        for node, before in sources.items():
            leaves = node.op.name in EXITS
            place = max([places[source] for source, _ in before], default=0)
            place = max(place, places[node], places[frames[node]] if leaves else 0)
            for each in [node] if leaves else _line(node, frames):
                if places[each] < place:
                    places[each] = place
                    changed = True
    return places


def _line(node: Node, frames: Frames) -> list[Node | Frame]:
    """The loops around a node, the outermost first, and itself."""
    line: list[Node | Frame] = [node]
    frame = frames[node]
    while frame.parent is not None:
        line.insert(0, frame)
        frame = frame.parent
    return line


def _no_step(source: Node, node: Node) -> int:
    return 0
