"""A graph as a program of nested blocks, in which loops and conditionals are steps: the form that ONNX and torch have.

Frames (`analysis/frames.py`) become `Loop`s, Merges of the two sides of a condition become `Conditional`s; blocks use
values of the blocks around them. Only what results need is there. Nodes that only move values (Identity, Switch, Enter,
…) are gone: `Program.value` says which edge an edge shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.analysis.frames import NO_GUARD, Condition, Frame, Guard, find_frames, is_back_edge, is_loop_merge
from penstock.analysis.guards import Guards, Unstructured, predicate
from penstock.exporting.unsupported import Unsupported
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

PASSING = frozenset(
    {"Identity", "StopGradient", "PreventGradient", "CheckNumerics", "Snapshot", "EnsureShape", "LoopCond", "IdentityN"}
    | {"PlaceholderWithDefault", "ReadVariableOp", "RefIdentity"}
    | SWITCHES
    | NEXT_ITERATIONS
    | EXITS
)
"""Ops whose outputs are their inputs, or (Switch) their first input."""


@dataclass(eq=False, slots=True)
class Block:
    """`steps` in order, then `results`."""

    steps: list[Step] = field(default_factory=list)
    results: list[Edge] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Conditional:
    """`outputs` are the results of `then` if `pred`, a scalar, is true, otherwise those of `otherwise`."""

    pred: Edge
    then: Block
    otherwise: Block
    outputs: list[Edge]
    node: Node


@dataclass(eq=False, slots=True)
class Loop:
    """`variables` begin as `inits` and become the results of `body`, as long as the result of `condition` is true;
    then `outputs` are what they are. The body also uses what the condition computes."""

    inits: list[Edge]
    variables: list[Edge]
    condition: Block
    body: Block
    outputs: list[Edge]
    node: Node


Step = Node | Conditional | Loop
_Place = tuple[Frame, Guard]
_Group = tuple[Frame, Guard, Edge, int]


class Program:
    """The program of a graph: `block`."""

    def __init__(self, graph: StepGraph) -> None:
        self._shows: dict[Edge, Edge] = {}
        self.feeds = [Edge(node, 0) for node in graph.feeds]
        self.block = _Builder(self, graph).block

    def value(self, edge: Edge) -> Edge:
        """The edge whose value `edge` has: of a step's outputs, a feed, or a loop's variable."""
        while edge in self._shows:
            edge = self._shows[edge]
        return edge

    def show(self, edge: Edge, other: Edge) -> None:
        """`edge` has the value of `other`."""
        self._shows[edge] = other

    def inputs(self, node: Node) -> list[Edge]:
        return [self.value(edge) for edge in node.inputs]


class _Builder:
    """Puts each node that is needed into the block of its frame and guard."""

    def __init__(self, program: Program, graph: StepGraph) -> None:
        self._program = program
        self._root, self._frames = find_frames(graph)
        try:
            self._guards = Guards(graph, self._frames)
        except Unstructured as error:
            raise Unsupported([(graph.fetches[0].node, f"the control flow around it: {error}")]) from None
        self._done: set[Node | Frame | _Group] = set(graph.feeds)
        self._open: dict[_Place, Block] = {}
        self._levels = self._find_levels(graph)
        self._groups: dict[_Group, list[Node]] = {}
        for node in graph.nodes:
            if node in self._guards.sides:
                self._groups.setdefault(self._group(node), []).append(node)
        self._loop_vars = {m: Edge(m, 0) for m in graph.nodes if is_loop_merge(m)}
        self.block = self._filled((self._root, NO_GUARD), graph.fetches)

    def _find_levels(self, graph: StepGraph) -> dict[Node, int]:
        """How many conditionals come one after the other until each node: those of one level cannot need each
        other."""
        levels = dict.fromkeys(graph.nodes, 0)
        changed = True
        while changed:
            changed = False
            for node in graph.nodes:
                before = [e.node for i, e in enumerate(node.inputs) if not is_back_edge(node, i)]
                if node.op.name in EXITS:
                    before += self._frames[node].enters
                if node in self._guards.sides:
                    before.append(self._guards.sides[node][0].node)
                level = max((levels[n] for n in before), default=0) + (node in self._guards.sides)
                changed |= level != levels[node]
                levels[node] = level
        return levels

    def _group(self, merge: Node) -> _Group:
        """Merges of one group are one conditional."""
        pred = self._guards.sides[merge][0]
        return self._frames[merge], self._guards.of[merge], pred, self._levels[merge]

    def _filled(self, place: _Place, results: Sequence[Edge]) -> Block:
        """A block of its own: a conditional that the one being filled needs may have the same predicate, and so the
        same place."""
        before = self._open.get(place)
        block = self._open[place] = Block()
        self._need(results)
        block.results = [self._program.value(edge) for edge in results]
        if before is None:
            del self._open[place]
        else:
            self._open[place] = before
        return block

    def _need(self, edges: Sequence[Edge]) -> None:
        """Have what computes `edges` in the open blocks. Nodes wait on a list, as graphs are deeper than Python's
        stack."""
        pending = [(edge.node, False) for edge in reversed(edges)]
        while pending:
            node, ready = pending.pop()
            if node in self._done:
                continue
            needed = self._needs(node)
            if not ready and needed:
                pending.append((node, True))
                pending += [(n, False) for n in needed if n not in self._done]
                continue
            self._done.add(node)
            self._put(node)

    def _needs(self, node: Node) -> list[Node]:
        if node in self._loop_vars or node in self._guards.sides:
            return []
        if node.op.name in EXITS:
            return [enter.inputs[0].node for enter in self._frames[node].enters]
        return [edge.node for edge in node.inputs[: 1 if node.op.name in SWITCHES else None]]

    def _put(self, node: Node) -> None:
        show, name = self._program.show, node.op.name
        if node in self._loop_vars:
            return
        if name in ENTERS:
            show(Edge(node, 0), node.inputs[0])
        elif node in self._guards.sides:
            self._conditional(node)
        elif name in EXITS:
            self._loop(self._frames[node])
        elif name in MERGES:
            raise Unsupported([(node, "merges other things than the two sides of a condition")])
        elif name in PASSING:
            for port in range(len(node.dtypes)):
                show(Edge(node, port), node.inputs[port if name == "IdentityN" else 0])
        else:
            self._block_of(node).steps.append(node)

    def _block_of(self, node: Node) -> Block:
        place = self._frames[node], self._guards.of[node]
        if place not in self._open:
            raise Unsupported([(node, "it runs in a branch, and its value is used outside of it")])
        return self._open[place]

    # --- conditionals -----------------------------------------------------------------------------------

    def _conditional(self, merge: Node) -> None:
        group = self._group(merge)
        if group in self._done:
            return
        self._done.add(group)
        frame, guard, pred, _ = group
        merges = self._groups[group]
        self._need([pred])
        true_index = {m: self._guards.sides[m][1] for m in merges}
        sides = []
        for side in (True, False):
            condition: Condition = (pred, side)
            wanted = [m.inputs[true_index[m] if side else 1 - true_index[m]] for m in merges]
            sides.append(self._filled((frame, guard | {condition}), wanted))
        outputs = [Edge(m, 0) for m in merges]
        step = Conditional(self._program.value(predicate(pred)), sides[0], sides[1], outputs, merge)
        self._block_of(merge).steps.append(step)

    # --- loops ------------------------------------------------------------------------------------------

    def _loop(self, frame: Frame) -> None:
        if frame in self._done:
            return
        self._done.add(frame)
        assert frame.loop_cond is not None and frame.parent is not None, "guards have seen it"
        alive: Condition = (Edge(frame.loop_cond, 0), True)
        self._need([enter.inputs[0] for enter in frame.enters])
        for enter in frame.enters:
            self._program.show(Edge(enter, 0), enter.inputs[0])
            self._done.add(enter)
        inits = [next(e for e in m.inputs if e.node.op.name in ENTERS) for m in frame.merges]
        nexts = [next(e for e in m.inputs if e.node.op.name in NEXT_ITERATIONS) for m in frame.merges]
        condition = self._open[frame, NO_GUARD] = Block()
        self._need([frame.loop_cond.inputs[0]])
        condition.results = [self._program.value(frame.loop_cond.inputs[0])]
        body = self._filled((frame, frozenset({alive})), nexts)  # may add to what is computed before the condition
        del self._open[frame, NO_GUARD]
        variables = [Edge(m, 0) for m in frame.merges]
        outputs = [Edge(_stand_in(m, f"{m.name}/last", m.dtypes[0], m.shapes[0]), 0) for m in frame.merges]
        value, left = self._program.value, dict(zip(variables, outputs, strict=True))
        for node in frame.exits:
            self._done.add(node)
            found = value(node.inputs[0])
            if found not in left and self._frames.get(found.node) is frame:
                raise Unsupported([(node, "what leaves the loop is no variable of the loop")])
            self._program.show(Edge(node, 0), left.get(found, found))
        block = self._open.get((frame.parent, frame.guard))
        if block is None:
            raise Unsupported([(frame.exits[0], "its loop runs in a branch, and its value is used outside of it")])
        block.steps.append(Loop([value(e) for e in inits], variables, condition, body, outputs, frame.exits[0]))


def _stand_in(like: Node, name: str, dtype: DType, shape: TensorShape) -> Node:
    """A node whose output stands for a value that no single node computes."""
    return Node(name, FEED, {"dtype": dtype}, (), (), "", (dtype,), (shape,), like.source)
