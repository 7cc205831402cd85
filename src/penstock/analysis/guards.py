"""Guards: the conditions under which each node and each value is alive within its frame.

A Switch adds a condition to the nodes after it, a Merge of both sides removes it again, and a loop starts without
conditions.
"""

from __future__ import annotations

from penstock.analysis.frames import NO_GUARD, Frame, Guard, is_loop_merge, is_regular
from penstock.graph.primitives import ENTERS, EXITS, MERGES, SWITCHES
from penstock.graph.step_graph import Edge, Node, StepGraph


class Unstructured(NotImplementedError):
    """The control flow has no structured form; the message says why."""


class Guards:
    """The guard of each node, and of each value: the conditions under which it is alive within its frame."""

    def __init__(self, graph: StepGraph, frames: dict[Node, Frame], strict: bool = True) -> None:
        """Without `strict`, nodes without a structured form get a separate condition instead of raising an
        exception."""
        self.frames = frames
        self._strict = strict
        self.of: dict[Node, Guard] = {}
        self.sides: dict[Node, tuple[Edge, int]] = {}
        """For a Merge of two branches: its predicate, and which input is the true side's."""
        irregular = [f for f in dict.fromkeys(frames.values()) if f.parent is not None and not is_regular(f)]
        if strict and irregular:
            raise Unstructured(f"{irregular[0].name!r} is no loop with a condition")
        for node in graph.nodes:
            self.of[node] = self._guard(node)
        if strict:
            self._check_ends()

    def _check_ends(self) -> None:
        """In each iteration there is one test, and the last one does nothing after it but leave."""
        for node, guard in self.of.items():
            frame = self.frames[node]
            if node is frame.loop_cond and guard:
                raise Unstructured(f"the condition of loop {frame.name!r} is not computed in every iteration")
            ended = frame.loop_cond is not None and (Edge(frame.loop_cond, 0), False) in guard
            if ended and node.op.name not in EXITS:
                raise Unstructured(f"{node.name} runs when the loop {frame.name!r} ends")

    def edge(self, edge: Edge) -> Guard:
        """The guard of a value in the frame of its consumers."""
        guard = self.of[edge.node]
        if edge.node.op.name in SWITCHES:
            return guard | {(predicate(edge.node.inputs[1]), edge.port == 1)}
        if edge.node.op.name in EXITS:
            return self.frames[edge.node].guard
        return guard

    def _guard(self, node: Node) -> Guard:
        name = node.op.name
        if name in ENTERS:
            frame = self.frames[node]
            frame.guard = frame.guard | self._union(node)
            return NO_GUARD
        if is_loop_merge(node):
            return NO_GUARD
        if name in MERGES:
            return self._merged(node)
        if name == "ControlTrigger":  # never dead: its guard is what the guards of its control inputs have in common
            guards = [self._control(c) for c in node.controls]
            return guards[0].intersection(*guards[1:]) if guards else NO_GUARD
        guard = self._union(node)
        if name in EXITS:
            cond = self.frames[node].loop_cond
            if self._strict and (cond is None or guard != {(Edge(cond, 0), False)}):
                raise Unstructured(f"{node.name} leaves its loop elsewhere than at the loop's condition")
        return guard

    def _union(self, node: Node) -> Guard:
        guard = NO_GUARD.union(*(self.edge(e) for e in node.inputs), *(self._control(c) for c in node.controls))
        if self._strict:
            for pred, side in guard:
                if (pred, not side) in guard:
                    raise Unstructured(f"{node.name} needs both sides of {pred.name}, so it never runs")
        return guard

    def _control(self, node: Node) -> Guard:
        return self.frames[node].guard if node.op.name in EXITS else self.of[node]

    def _merged(self, node: Node) -> Guard:
        if not self._strict:
            return frozenset({(Edge(node, 0), True)})
        if len(node.inputs) != 2:
            raise Unstructured(f"{node.name} merges {len(node.inputs)} inputs")
        a, b = (self.edge(edge) for edge in node.inputs)
        for pred, side in a:
            if (pred, not side) in b and a - {(pred, side)} == b - {(pred, not side)}:
                guard = a - {(pred, side)}
                controls = NO_GUARD.union(*(self._control(c) for c in node.controls))
                if controls - guard:
                    raise Unstructured(f"{node.name} waits for nodes of a branch")
                self.sides[node] = (pred, 0 if side else 1)
                return guard
        raise Unstructured(f"{node.name} merges other things than the two sides of one condition")


def predicate(edge: Edge) -> Edge:
    """The tensor that decides, traced back through identities so that two names of a condition are one."""
    while edge.node.op.name == "Identity" and not edge.node.inputs[0].dtype._is_ref_dtype:
        edge = edge.node.inputs[0]
    return edge
