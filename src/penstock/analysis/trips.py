"""How often loops go round, where the graph says so: loops that count up or down to a constant."""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.analysis.frames import Frame
from penstock.graph.primitives import ENTERS, EXITS, MERGES, NEXT_ITERATIONS
from penstock.graph.step_graph import Edge, Node

_STEPS = {"Add": 1, "AddV2": 1, "Sub": -1}
_TESTS = {"Less": (1, 0), "LessEqual": (1, 1), "Greater": (-1, 0), "GreaterEqual": (-1, 1)}
"""For each comparison of a counter with a limit the direction in which it ends, and whether the limit is reached."""
_CHAIN = 64
"""The most values that are followed for one number."""


class Trips:
    """The iterations of the loops of a graph. `frames`: of its nodes."""

    def __init__(self, frames: Mapping[Node, Frame]) -> None:
        self._frames = frames
        self._found: dict[Frame, int | None] = {}

    def of(self, frame: Frame) -> int | None:
        """How often the body of a loop runs each time the loop is entered; None if that is not known."""
        if frame not in self._found:
            self._found[frame] = None  # for loops that depend on themselves
            condition = frame.loop_cond
            self._found[frame] = self._until(condition.inputs[0], frame) if condition is not None else None
        return self._found[frame]

    def in_all(self, frame: Frame, outside: Frame | None = None) -> int | None:
        """How often the body runs in one iteration of the loop `outside`, or in one step."""
        total = 1
        while frame.parent is not None and frame is not outside:
            trips = self.of(frame)
            if trips is None:
                return None
            total, frame = total * trips, frame.parent
        return total

    def _until(self, test: Edge, frame: Frame) -> int | None:
        """The iterations until `test` is false."""
        node = test.node
        if node.op.name == "LogicalAnd":
            left, right = (self._until(edge, frame) for edge in node.inputs)
            return None if left is None or right is None else min(left, right)
        if node.op.name not in _TESTS:
            return None
        sign, reached = _TESTS[node.op.name]
        counter, limit = self._counter(node.inputs[0], frame), self.number(node.inputs[1])
        if counter is None or limit is None or counter[1] * sign <= 0:
            return None
        start, step = counter
        far = (limit - start) * sign
        return max(0, (math.floor(far / abs(step)) + 1) if reached else math.ceil(far / abs(step)))

    def _counter(self, edge: Edge, frame: Frame) -> tuple[float, float] | None:
        """The first value of a loop variable and what each iteration adds to it."""
        merge = edge.node
        if merge.op.name not in MERGES or self._frames.get(merge) is not frame or len(merge.inputs) != 2:
            return None
        first, back = sorted(merge.inputs, key=lambda e: e.node.op.name in NEXT_ITERATIONS)
        if first.node.op.name not in ENTERS or back.node.op.name not in NEXT_ITERATIONS:
            return None
        added = back.node.inputs[0].node
        if added.op.name not in _STEPS or len(added.inputs) != 2:
            return None
        own, step, start = _origin(added.inputs[0]), self.number(added.inputs[1]), self.number(first.node.inputs[0])
        if own.node.op.name != "Switch" or own.node.inputs[0] != Edge(merge, 0) or step is None or start is None:
            return None
        return start, step * _STEPS[added.op.name]

    def number(self, edge: Edge) -> float | None:
        """The value of a scalar, if it is known: of a constant, or of a counter after its loop."""
        for _ in range(_CHAIN):
            edge = _origin(edge)
            node = edge.node
            if node.is_constant:
                value = node.attrs["value"]
                return float(value) if value.ndim == 0 and value.dtype.kind in "iuf" else None
            if node.op.name in ENTERS:
                edge = node.inputs[0]
            elif node.op.name in EXITS:
                return self._last(node)
            else:
                return None
        return None

    def _last(self, node: Node) -> float | None:
        switch = node.inputs[0].node
        if switch.op.name != "Switch":
            return None
        frame = self._frames[node]
        counter, trips = self._counter(switch.inputs[0], frame), self.of(frame)
        return None if counter is None or trips is None else counter[0] + trips * counter[1]


def _origin(edge: Edge) -> Edge:
    while edge.node.op.name == "Identity":
        edge = edge.node.inputs[0]
    return edge
