"""The order of building, which reads and writes of a variable keep unless the graph orders them.

If one segment runs a graph, this is the order of execution. Code that reorders nodes asks here which of them must stay
in order. If nodes wait or are on several devices, control edges enforce the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from penstock.analysis.frames import Frame
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.hazards import state_accesses
from penstock.analysis.levels import find_sources
from penstock.graph.primitives import EXITS, MERGES, SWITCHES
from penstock.graph.rewrite import with_waits
from penstock.graph.step_graph import Node, StepGraph

Order = list[tuple[Node, Node]]
Frames = Mapping[Node, Frame]


def build_order(graph: StepGraph, frames: Frames, without: Collection[Node] = ()) -> Order:
    """`(first, second)` for uses of the same state where one writes, each with the nearest use before it.

    A loop counts as one position after all its inputs, even if some of them were built after some of its nodes, so
    these pairs and the graph's edges form no cycle. `without`: nodes to leave out.
    """
    accesses = [a for a in state_accesses(graph) if a[0] not in without and not a[0].op.traits.shared]
    if any(frame.parent is not None for frame in frames.values()):
        ranks = _ranks(graph, frames)
        around = _around(frames)
        accesses.sort(key=lambda access: [*(ranks[loop] for loop in around[frames[access[0]]]), ranks[access[0]]])
    return list(_conflicts(accesses))


def order_state(graph: StepGraph, frames: Frames) -> StepGraph:
    """`graph` with the control edges of `state_waits`."""
    return with_waits(graph, state_waits(graph, frames))


def state_waits(graph: StepGraph, frames: Frames) -> dict[Node, tuple[Node, ...]]:
    """What nodes must wait for to keep `build_order`, except in loops and branches, where the program itself defines
    the order. `frames`: the frame of each node that is in one (frames.py)."""
    found: dict[Node, tuple[Node, ...]] = {}
    seen: set[Node] = set()
    before: dict[Node, list[Node]] = {}
    for first, second in build_order(graph, frames, _unordered(graph, frames)):
        before.setdefault(second, []).append(first)
    for node in graph.nodes:
        known = {*node.controls, *(edge.node for edge in node.inputs)}
        wanted = dict.fromkeys(first for first in before.get(node, ()) if first in seen)
        more = tuple(first for first in wanted if first not in known)
        if more:
            found[node] = more
        seen.add(node)
    return found


def unordered_reads(graph: StepGraph, frames: Frames) -> set[Node]:
    """Reads of variables that only the graph's edges order before some write."""
    unordered = _unordered(graph, frames)
    accesses = state_accesses(graph)
    written = {root for _, root, writes in accesses if writes}
    roots = {root for node, root, _ in accesses if node in unordered} & written
    return {node for node, root, writes in accesses if root in roots and not writes}


def _unordered(graph: StepGraph, frames: Frames) -> set[Node]:
    """Nodes that are in loops or may be dead, and the analysis that found them."""
    found = {node for node in graph.nodes if node in frames and frames[node].parent is not None}
    moves = {node for node in graph.nodes if node.op.name in SWITCHES | MERGES}
    try:
        guards = Guards(graph, dict(frames)).of if moves else {}
    except Unstructured:  # a Merge may return a dead value as well
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


def _ranks(graph: StepGraph, frames: Frames) -> dict[Node | Frame, tuple[int, int, int]]:
    """Ranks for nodes and loops: sorting the contents of one loop, or of none, by rank yields an order in which they
    can run.

    The first number is a node's position, or a later one if it comes after a loop with later inputs. The second is the
    number of nodes on the way there.
    """
    around = _around(frames)
    index: dict[Node | Frame, int] = {}
    for i, node in enumerate(graph.nodes):
        index[node] = i
        index.setdefault(frames[node], i)
    places, levels = dict(index), dict.fromkeys(index, 0)
    steps: list[tuple[int, list[Node | Frame], list[Node | Frame]]] = []
    for node, found in find_sources(graph, frames, _no_step, _no_step).items():
        before: list[Node | Frame] = [source for source, _ in found]
        if node.op.name in EXITS:
            steps.append((index[node], [*before, frames[node]], [node]))
        else:
            steps.append((index[node], before, [node, *around[frames[node]]]))
    changed = True
    while changed:  # one pass, and another if loops lead back in the order of the nodes
        changed = False
        for place, before, raised in steps:
            level = 0
            for each in before:
                if places[each] > place:
                    place = places[each]
                if levels[each] >= level:
                    level = levels[each] + 1
            for each in raised:
                if places[each] < place:
                    places[each], changed = place, True
                if levels[each] < level:
                    levels[each], changed = level, True
    return {each: (places[each], levels[each], index[each]) for each in index}


def _around(frames: Frames) -> dict[Frame, tuple[Frame, ...]]:
    """The loops around each frame, the outermost first."""
    found: dict[Frame, tuple[Frame, ...]] = {}
    for frame in frames.values():
        if frame not in found:
            line: list[Frame] = []
            outer = frame
            while outer.parent is not None:
                line.insert(0, outer)
                outer = outer.parent
            found[frame] = tuple(line)
    return found


def _no_step(source: Node, node: Node) -> int:
    return 0
