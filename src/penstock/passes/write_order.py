"""Which writes of reference variables a graph orders before which nodes by data and control edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.analysis.frames import Frame, Guard, find_frames, is_loop_merge
from penstock.analysis.guards import Guards, Unstructured
from penstock.analysis.hazards import writes_state
from penstock.graph.primitives import ENTERS, MERGES
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.verify import BACK


class WriteOrder:
    """Writes are numbered as they were built, and a set of them is an int, with a bit for each.

    own: the bit of a write. writes: the bits of a variable's writes. frames: the loop of each node, if there are writes
    in loops. any: whether a node comes after any write.
    """

    def __init__(self, graph: StepGraph) -> None:
        self.own: dict[Node, int] = {}
        self.writes: dict[Node, int] = {}
        self.frames: dict[Node, Frame] = {}
        self._graph = graph
        self._guards: Guards | None = None
        self._has_guards = True
        self._variables: dict[Node, frozenset[Node]] = {}
        first = len(graph.nodes)
        for i, node in enumerate(graph.nodes):
            refs = [edge.node for edge in node.inputs if edge.node.dtypes[edge.port]._is_ref_dtype]
            if not refs:
                if node.dtypes and node.dtypes[0]._is_ref_dtype:
                    self._variables[node] = frozenset((node,))
                continue
            found = frozenset[Node]().union(*(self._variables.get(ref, frozenset()) for ref in refs))
            self._variables[node] = found
            if writes_state(node):
                first = min(first, i)
                self.own[node] = 1 << len(self.own)
                for variable in found:
                    self.writes[variable] = self.writes.get(variable, 0) | self.own[node]
        after: dict[Node, int] = {}
        self._after: dict[Frame | None, dict[Node, int]] = {None: after}
        if self._spread(graph.nodes[first:], after, None):
            self.frames = find_frames(graph)[1]
            while self._spread(graph.nodes, after, None):
                pass
        self.any = len(after) > len(self.own) or any(after[node] != bit for node, bit in self.own.items())

    def _spread(self, nodes: Sequence[Node], after: dict[Node, int], loop: Frame | None) -> bool:
        """Propagates along the edges in order, except back edges of `loop` and the loops around it. Returns whether
        other back edges propagated more."""
        more = False
        for node in nodes:
            if loop is not None and node.op.name in BACK and self.frames[node] in _around(loop):
                continue
            found = self.own.get(node, 0)
            for edge in node.inputs:
                found |= after.get(edge.node, 0)
            if found and node.op.name in MERGES and not is_loop_merge(node):
                found = self._merged(node, found, after)
            for control in node.controls:
                found |= after.get(control, 0)
            if found and after.get(node) != found:
                after[node] = found
                more = more or node.op.name in BACK
        return more

    def _merged(self, node: Node, found: int, after: dict[Node, int]) -> int:
        """Writes that have happened whichever input arrives, and those that have happened only if a particular one
        does."""
        parts = [after.get(edge.node, 0) for edge in node.inputs]
        guards = self._all_guards() if any(part != found for part in parts) else None
        if guards is not None:
            for write, bit in self.own.items():
                others = [e for e, part in zip(node.inputs, parts, strict=True) if found & bit and not part & bit]
                if not all(_exclude(guards.edge(edge), self._guard(guards, write, node)) for edge in others):
                    found &= ~bit
        return found

    def _all_guards(self) -> Guards | None:
        if self._guards is None and self._has_guards:
            try:
                self._guards = Guards(self._graph, find_frames(self._graph)[1])
            except Unstructured:
                self._has_guards = False
        return self._guards

    def _guard(self, guards: Guards, write: Node, node: Node) -> Guard:
        """The conditions under which `write` happens in the iteration that `node` runs in, including loops inside
        it."""
        frame, guard = guards.frames[write], guards.of[write]
        while frame is not guards.frames[node] and frame.parent is not None:
            frame, guard = frame.parent, frame.guard
        return guard

    def variable(self, ref: Edge) -> Node | None:
        """The variable that a reference leads to, if there is only one and it can be read anywhere."""
        found = self._variables[ref.node]
        only = next(iter(found)) if len(found) == 1 else None
        return only if only is None or not (self.frames and only.controls) else None

    def loop(self, node: Node) -> Frame | None:
        """The loop whose iteration the node runs in; it does not matter if writes stay in their iteration."""
        frame = self.frames.get(node)
        if frame is not None and node.op.name in ENTERS:
            return outside(frame)
        return frame if frame is not None and frame.parent is not None else None

    def written_in(self, loop: Frame) -> int:
        """The writes in `loop`."""
        return sum(bit for write, bit in self.own.items() if loop in _around(self.frames[write]))

    def before(self, variable: Node, nodes: Iterable[Node], loop: Frame | None) -> int:
        """The writes of `variable` that have happened when `nodes` have run, in this iteration of `loop` if there is
        one."""
        after = self._after.get(loop)
        if after is None:
            after = self._after[loop] = {}
            while self._spread(self._graph.nodes, after, loop):
                pass
        found = 0
        for node in nodes:
            found |= after.get(node, 0)
        return found & self.writes.get(variable, 0)


def _exclude(a: Guard, b: Guard) -> bool:
    """Whether two nodes never both run."""
    return any((condition, not side) in b for condition, side in a)


def outside(loop: Frame) -> Frame | None:
    """The loop that a loop is in."""
    return loop.parent if loop.parent is not None and loop.parent.parent is not None else None


def depth(loop: Frame | None) -> int:
    """How deeply the contents of `loop` are nested."""
    return 0 if loop is None else 1 + depth(outside(loop))


def _around(loop: Frame) -> list[Frame]:
    """The loop, or the step, and the loops around it."""
    further = outside(loop)
    return [loop, *(_around(further) if further is not None else ())]
