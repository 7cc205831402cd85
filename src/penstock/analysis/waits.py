"""Nodes that wait for something outside their device's part of the step, and the waits that come before each node.

A wait must not delay nodes that do not come after it: another step may be waiting for just those, or they may fail. So
nodes that come after different waits are never grouped, neither by passes nor in the executor's segments, and if a step
is one function, everything that can run before a wait has run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from penstock.analysis.frames import Frame, find_frames, has_control_flow
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.hazards import writes_state
from penstock.analysis.levels import find_sources
from penstock.analysis.state_order import state_waits
from penstock.analysis.thresholds import THREADED_ELEMENTS
from penstock.analysis.work import work_of
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.traits import SERIAL, is_free

Waits = int
"""A set of waits: each is one bit."""
NO_WAITS: Waits = 0
TRIFLE = float(THREADED_ELEMENTS)
"""The work, in element additions, that may wait together with what needs it: some 20 microseconds."""
CALL = TRIFLE / 128
"""The least work of a node."""
Counts = Callable[[Node, Node], bool]


def waiting_nodes(graph: StepGraph) -> set[Node]:
    """The nodes that may wait."""
    return {node for node in graph.nodes if node.op.traits.waits}


def waits_before(
    graph: StepGraph, frames: Mapping[Node, Frame], order: Iterable[tuple[Node, Node]] = ()
) -> dict[Node, Waits]:
    """For each node, the waits that come before it: nodes that may wait, and values of other devices. order: additional
    pairs that edges do not express.

    What takes next to no time, and cannot fail, comes as late as its users: then a variable is read after the wait, and
    no small node is left alone.
    """
    if not waiting_nodes(graph) and len({node.device for node in graph.nodes}) < 2:
        return dict.fromkeys(graph.nodes, NO_WAITS)
    return _Before(graph, frames, _is_awaited, order).with_late_trifles(frames)


def come_before(
    graph: StepGraph, frames: Mapping[Node, Frame], counts: Counts
) -> tuple[dict[Node, Waits], dict[Node, Waits]]:
    """The same for other things to wait for, and the bit of each: `counts(source, node)` says whether `node` waits for
    its predecessor."""
    found = _Before(graph, frames, counts)
    return found.found, found.bits


class _Before:
    """What comes before each node, on any path without back edges."""

    def __init__(
        self,
        graph: StepGraph,
        frames: Mapping[Node, Frame],
        counts: Counts,
        order: Iterable[tuple[Node, Node]] = (),
    ) -> None:
        self.bits: dict[Node, Waits] = {}
        sources = find_sources(graph, frames, counts, counts)
        for first, second in order:
            sources[second].append((first, counts(first, second)))
        self._sources = {node: [(s, self._bit(s) if n else NO_WAITS) for s, n in sources[node]] for node in graph.nodes}
        self.found = dict.fromkeys(graph.nodes, NO_WAITS)
        changed = bool(self.bits)
        while changed:  # one pass, and another if Exits of a loop come before its Enters
            changed = False
            for node, before in self._sources.items():
                waits = NO_WAITS
                for source, bit in before:
                    waits |= self.found[source] | bit
                changed = changed or waits != self.found[node]
                self.found[node] = waits

    def _bit(self, node: Node) -> Waits:
        return self.bits.setdefault(node, 1 << len(self.bits))

    def with_late_trifles(self, frames: Mapping[Node, Frame]) -> dict[Node, Waits]:
        """The waits, those of users for trifles."""
        found = self.found
        if not self.bits:
            return found
        trifles = self._trifles()
        needed: dict[Node, Waits] = {}
        for node in reversed(self._sources):
            if node in needed and node in trifles and (node not in frames or frames[node].parent is None):
                found[node] = needed[node]
            for source, _ in self._sources[node]:
                needed[source] = needed[source] & found[node] if source in needed else found[node]
        return found

    def _trifles(self) -> set[Node]:
        """The nodes that take next to no time, together with the trifles before them."""
        work: dict[Node, float] = {}
        for node, before in self._sources.items():
            total = _work(node) + sum(work.get(source, 0.0) for source, _ in before)
            if total <= TRIFLE:
                work[node] = total
        return set(work)


def _is_awaited(source: Node, node: Node) -> bool:
    if source.op.traits.waits:
        return True
    return source.device != node.device and source.op is not FEED and (not source.is_constant or bool(source.controls))


def _work(node: Node) -> float:
    """A node's work, infinite if it is not known, or if the node has an effect or may fail."""
    op = node.op
    if op is FEED or op.traits.waits or op.traits.refuses or op.name in PRIMITIVES or writes_state(node):
        return math.inf
    if op.traits.view or op.traits.holds == "variable" or (is_free(op) and not op.stateful):
        return 0.0
    if op.stateful or op.traits.work == SERIAL or not all(map(_is_never_refused, node.inputs)):
        return math.inf
    return CALL + work_of(node).possible


def _is_never_refused(edge: Edge) -> bool:
    """Whether kernels take all contents of such a value: numbers, or constants that were checked before."""
    return edge.dtype.is_floating or edge.node.is_constant


def phases(graph: StepGraph, frames: Mapping[Node, Frame]) -> dict[Node, int]:
    """Sorting nodes by these numbers puts each wait as late as possible. {}: nothing waits."""
    waiting = waiting_nodes(graph)
    if not waiting:
        return {}
    before = _in_order(graph, frames).with_late_trifles(frames)
    return {node: 2 * before[node].bit_count() + (node in waiting) for node in graph.nodes}


def in_turn(graph: StepGraph) -> StepGraph | None:
    """`graph` with its nodes in an order in which each wait comes as late as possible; None if its waits must run
    concurrently: neither of two comes after the other, or they are in loops."""
    waiting = waiting_nodes(graph)
    frames = find_frames(graph)[1] if has_control_flow(graph) else {}
    if any(frames[node].parent is not None for node in waiting if frames):
        return None
    order = _in_order(graph, frames)
    before = order.with_late_trifles(frames)
    counts = {node: waits.bit_count() for node, waits in before.items()}
    if {counts[node] for node in waiting} != set(range(len(waiting))) and not _exclude(graph, order, waiting):
        return None
    nodes = sorted(graph.nodes, key=lambda node: (counts[node], node in waiting))
    return StepGraph(nodes, graph.feeds, graph.fetches, graph.targets)


def _in_order(graph: StepGraph, frames: Mapping[Node, Frame]) -> _Before:
    """The waits of one device's graph, with uses of state in the order of building."""
    order = [(first, node) for node, before in state_waits(graph, frames).items() for first in before]
    return _Before(graph, frames, lambda source, node: source.op.traits.waits, order)


def _exclude(graph: StepGraph, order: _Before, waiting: set[Node]) -> bool:
    """Whether any two without an order exclude each other."""
    if not has_control_flow(graph) or len(waiting) > 64:
        return False
    try:
        guards = Guards(graph, find_frames(graph)[1]).of
    except Unstructured:
        return False
    return all(
        a is b
        or order.bits.get(a, NO_WAITS) & order.found[b]
        or order.bits.get(b, NO_WAITS) & order.found[a]
        or any((pred, not side) in guards[b] for pred, side in guards[a])
        for a in waiting
        for b in waiting
    )
