"""Reads of reference variables show the updates that the graph orders before their consumers.

In TensorFlow the value of a read (and an Identity, a Reshape or a loop constant of it) is the variable's own memory, so
a node that waits for an update sees it, no matter when the read ran. Here a read keeps its value (hazards.py). This
pass makes the two agree: if a write comes before a node on a path of the graph, but after the read whose value the node
uses, the node gets its own read. If the graph does not order them, the order of building holds. This defines what steps
mean and is not an optimisation, so it always runs, and runs first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.analysis.frames import Frame, has_control_flow
from penstock.graph.primitives import EXITS, MERGES, SWITCHES
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import shows_input
from penstock.graph.verify import BACK
from penstock.passes.fresh_reads import FreshReads
from penstock.passes.write_order import WriteOrder, depth, outside

_MOST_ROUNDS = 8


def see_updates(graph: StepGraph) -> StepGraph:
    """Returns the same object if no consumer of a read waits for a later write, which holds for nearly every graph."""
    if not any(node.dtypes and node.dtypes[0]._is_ref_dtype for node in graph.nodes):
        return graph
    order = WriteOrder(graph)
    shows = _Shows(graph, order) if order.any else None
    if shows is None or not shows.late:
        return graph
    variables = {edge: tuple(read.variable for read in shown.reads) for edge, shown in shows.of.items()}
    fresh = FreshReads(graph, variables, {edge for edge, shown in shows.of.items() if shown.certain})
    before = {late.node: list(dict.fromkeys(_before(late.node))) for late in shows.late}
    taken: dict[Node, list[Edge]] = {}
    for late in shows.late:
        node = late.node
        inputs = taken.setdefault(node, list(node.inputs))
        edge = value = inputs[late.index]
        for read in late.reads:
            waits = [n for n in before[node] if order.before(read.variable, [n], read.loop) & ~read.seen]
            when = late.moment, order.before(read.variable, waits, read.loop)
            value = fresh.read(node, edge, value, read.variable, read.reshaped, waits, when)
        inputs[late.index] = value
    made = {node: replace(node, inputs=tuple(inputs)) for node, inputs in taken.items()}
    return remove_unused(rewritten(graph, made, nodes=fresh.nodes()))


def _before(node: Node) -> list[Node]:
    """The nodes that have run when `node` starts."""
    return [*(edge.node for edge in node.inputs), *node.controls]


@dataclass(frozen=True, slots=True)
class _Read:
    """A read of `variable` that a value may show.

    seen: the writes before it in its own iteration of `loop`. reshaped: whether the value has a different shape or
    type.
    """

    variable: Node
    seen: int
    loop: Frame | None = None
    reshaped: bool = False

    def either(self, other: _Read) -> _Read:
        """What holds for both: one of the two loops is in the other."""
        loop = self.loop if depth(self.loop) < depth(other.loop) else other.loop
        return _Read(self.variable, self.seen & other.seen, loop, self.reshaped or other.reshaped)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a value shows: the one read if `certain`, otherwise one of `reads`, each of a different variable, or
    none."""

    reads: tuple[_Read, ...]
    certain: bool = True

    def each(self, change: Callable[[_Read], _Read]) -> _Shown:
        return _Shown(tuple(map(change, self.reads)), self.certain)


@dataclass(frozen=True, slots=True)
class _Late:
    """`node`, before which `moment` writes were built, would see later writes of `reads` in its `index`-th input."""

    node: Node
    index: int
    reads: tuple[_Read, ...]
    moment: int


class _Shows:
    """`of`: what each value shows when it is made. `late`: nodes that use a value that is older than what they must
    see."""

    def __init__(self, graph: StepGraph, order: WriteOrder) -> None:
        self.of: dict[Edge, _Shown] = {}
        self.late: list[_Late] = []
        self._order = order
        self._moment = 0  # how many writes were built before
        self._keeps_order = not has_control_flow(graph)
        loops = any(node.op.name in BACK for node in graph.nodes)
        self._first = loops
        for _ in range(_MOST_ROUNDS if loops else 1):
            before = dict(self.of)
            self.late.clear()
            self._moment = 0
            for node in graph.nodes:
                self._take(node)
                self._moment += node in order.own
            if not self._first and before == self.of:
                break
            self._first = False

    def _take(self, node: Node) -> None:
        name = node.op.name
        if name in MERGES:
            self._merge(node)
            return
        for index, edge in enumerate(node.inputs):
            if index and name in SWITCHES:
                continue  # the branch was decided when the predicate was made
            if edge.node.dtypes[edge.port]._is_ref_dtype:
                shown = self._read(node, edge) if shows_input(node.op) else None
            else:
                shown = self.of.get(edge)
                shown = self._seen(node, index, shown) if shown is not None else None
            if shown is not None and shows_input(node.op):
                self._pass_on(node, index, shown)

    def _read(self, node: Node, ref: Edge) -> _Shown | None:
        variable = self._order.variable(ref)
        if variable is None or node.dtypes[0]._is_ref_dtype:
            return None
        return _Shown((self._read_by(node, variable),))

    def _read_by(self, node: Node, variable: Node) -> _Read:
        """Unconditional nodes run in the order in which they were built."""
        loop = self._order.loop(node)
        if self._keeps_order:
            return _Read(variable, (1 << self._moment) - 1, loop)
        return _Read(variable, self._order.before(variable, _before(node), loop), loop)

    def _seen(self, node: Node, index: int, shown: _Shown) -> _Shown:
        """What the input shows when the node runs."""
        before = _before(node)
        late = tuple(r for r in shown.reads if self._order.before(r.variable, before, r.loop) & ~r.seen)
        if not late:
            return shown
        self.late.append(_Late(node, index, late, self._moment))
        return shown.each(lambda r: replace(self._read_by(node, r.variable), reshaped=r.reshaped) if r in late else r)

    def _pass_on(self, node: Node, index: int, shown: _Shown) -> None:
        if node.op.name == "IdentityN":
            self.of[Edge(node, index)] = shown
        elif not index:
            if node.op.name in EXITS:
                shown = shown.each(lambda read: self._earlier(node, read))
            elif node.op.traits.view == "reshaped":
                shown = shown.each(lambda read: replace(read, reshaped=True))
            for port in range(len(node.dtypes)):
                self.of[Edge(node, port)] = shown

    def _merge(self, node: Node) -> None:
        reads: dict[Node, _Read] = {}
        certain = True
        for edge in node.inputs:
            shown = self.of.get(edge)
            if shown is None:
                certain = certain and self._first and edge.node.op.name in BACK
                continue
            certain = certain and shown.certain
            for read in shown.reads:
                if edge.node.op.name in BACK:
                    read = self._earlier(edge.node, read)
                reads[read.variable] = read.either(reads.get(read.variable, read))
        if reads:
            self.of[Edge(node, 0)] = _Shown(tuple(reads.values()), certain and len(reads) == 1)

    def _earlier(self, node: Node, read: _Read) -> _Read:
        """`read`, which `node` carries out of its iteration: it is older than the loop's later writes."""
        loop = self._order.loop(node)
        if loop is None or read.loop is not loop:
            return read
        return replace(read, seen=read.seen & ~self._order.written_in(loop), loop=outside(loop))
