"""Who shares memory with whom in a step: decides which reads of state need a copy, and which fetches.

Reading a variable gives its buffer, and assignments write to that buffer in place. What was read must keep the
value of its moment, so a read is copied when the order of the step puts a write between it and its last use. In
most steps updates come last and nothing is copied. White paper section 2 has the happens-before of control edges;
between them, nodes run in the order in which they were built.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.tensor.dtypes import resource


def is_state(edge: Edge) -> bool:
    """Whether the edge carries a handle of state (a reference or a resource), not a value."""
    dtype = edge.dtype
    return bool(dtype._is_ref_dtype) or dtype == resource


@dataclass(slots=True)
class Hazards:
    """`reads`: `(node, index of the input read)` pairs to copy. `fetches`: for each fetch, whether to copy it."""

    reads: set[tuple[Node, int]]
    fetches: list[bool]


def find_hazards(graph: StepGraph) -> Hazards:
    """Analyse a step whose nodes run in the order of `graph.nodes`."""
    return _Analysis(graph).run()


class _Analysis:
    def __init__(self, graph: StepGraph) -> None:
        self.graph = graph
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.consumers: dict[Edge, list[Node]] = {}
        for node in graph.nodes:
            for edge in node.inputs:
                self.consumers.setdefault(edge, []).append(node)
        self.fetched = set(graph.fetches)
        self.roots: dict[Edge, frozenset[Node]] = {}
        for node in graph.nodes:
            self._find_roots(node)

    def _find_roots(self, node: Node) -> None:
        """The nodes whose memory the outputs of `node` may show: its own, or those of the inputs it aliases."""
        roots = frozenset((node,))
        if node.op.aliases:
            roots = frozenset().union(*(self.roots.get(edge, frozenset()) for edge in node.inputs)) or roots
        for port in range(len(node.dtypes)):
            self.roots[Edge(node, port)] = roots

    def run(self) -> Hazards:
        writes = self._writes()
        copied: set[tuple[Node, int]] = set()
        if writes:
            for node in self.graph.nodes:
                for index in state_reads(node):
                    if self._overwritten(node, index, writes):
                        copied.add((node, index))
        return Hazards(copied, self._fetch_copies(copied))

    def _writes(self) -> dict[Node, list[int]]:
        """For each root of state, the positions of the nodes that may write to it."""
        writes: dict[Node, list[int]] = {}
        for node in self.graph.nodes:
            names = [name for name, _, edges in node.grouped_inputs() for _ in edges]
            for name, edge in zip(names, node.inputs, strict=True):
                if is_state(edge) and name not in node.op.reads and not _takes_value(node, name):
                    for root in self.roots[edge]:
                        writes.setdefault(root, []).append(self.position[node])
        return writes

    def _overwritten(self, node: Node, index: int, writes: dict[Node, list[int]]) -> bool:
        """Whether a write comes between the read of `node.inputs[index]` and the last use of what was read."""
        start = self.position[node]
        end = max([start, *(self._last_use(Edge(node, port)) for port in range(len(node.dtypes)))])
        for root in self.roots[node.inputs[index]]:
            positions = writes.get(root, [])
            at = bisect_left(positions, start)
            if at < len(positions) and positions[at] <= end:
                return True
        return False

    def _last_use(self, edge: Edge) -> int:
        """The position of the last node that may see the memory of `edge`, if `edge` may show an input's memory."""
        if not edge.node.op.aliases or is_state(edge):
            return -1
        if edge in self.fetched:
            return len(self.graph.nodes)
        last = -1
        for consumer in self.consumers.get(edge, ()):
            last = max(last, self.position[consumer])
            for port in range(len(consumer.dtypes)):
                last = max(last, self._last_use(Edge(consumer, port)))
        return last

    def _fetch_copies(self, copied: set[tuple[Node, int]]) -> list[bool]:
        """Copy what shows memory of a feed, a constant, a variable, or of another fetch."""
        seen: set[Node] = set()
        copies = []
        for edge in self.graph.fetches:
            roots = self.roots[edge]
            shared = any(
                r.op is FEED or r.op.name == "Const" or is_state(Edge(r, 0)) or r in seen for r in roots if r.dtypes
            )
            copies.append(shared)
            seen |= roots
        return copies


def _takes_value(node: Node, name: str) -> bool:
    """Whether the argument wants a value: a reference given to it is read."""
    arg = next(arg for arg in node.op.inputs if arg.name == name)
    return not arg.is_ref and arg.dtype != resource and arg.type_list_attr is None


def state_reads(node: Node) -> list[int]:
    """The inputs of `node` through which it reads state as a value."""
    names = [name for name, _, edges in node.grouped_inputs() for _ in edges]
    return [
        i
        for i, (name, edge) in enumerate(zip(names, node.inputs, strict=True))
        if is_state(edge)
        and (name in node.op.reads or _takes_value(node, name))
        and any(not is_state(Edge(node, port)) for port in range(len(node.dtypes)))
    ]
