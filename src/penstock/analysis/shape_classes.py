"""Which values of a graph have the same shape, even if it is unknown, such as that of a batch."""

from __future__ import annotations

from penstock.analysis.hazards import is_state
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import shape_class
from penstock.tensor.shapes import adds_nothing


class ShapeClasses:
    """A class for each value of `graph`; `same` says whether two values certainly have the same shape."""

    def __init__(self, graph: StepGraph) -> None:
        self._of: dict[Edge, Edge] = {}
        for node in graph.nodes:
            like = _like(node, self)
            if like is not None and not is_state(like):  # what a handle refers to may change its shape
                self._of[Edge(node, 0)] = self._of.get(like, like)

    def same(self, a: Edge, b: Edge) -> bool:
        if self._of.get(a, a) == self._of.get(b, b):
            return True
        one, other = a.node.shapes[a.port].tuple, b.node.shapes[b.port].tuple
        return one is not None and None not in one and one == other


def _like(node: Node, shapes: ShapeClasses) -> Edge | None:
    """The input whose shape the first output has."""
    found = shape_class(node.op)
    if found is None or not node.inputs:
        return None
    if found.kind == "first":
        return node.inputs[0]
    if found.kind == "broadcast":
        x, y = node.inputs
        of_x, of_y = x.node.shapes[x.port], y.node.shapes[y.port]
        if shapes.same(x, y) or adds_nothing(of_y, of_x):
            return x
        return y if adds_nothing(of_x, of_y) else None
    asked = next(edges[0].node for name, _, edges in node.grouped_inputs() if name == found.input)
    if asked.op.name == "Shape":
        return asked.inputs[0]
    if node.op.name == "Reshape" and _is_a_vector_again(node, asked):
        return node.inputs[0]
    return None


def _is_a_vector_again(reshape: Node, asked: Node) -> bool:
    """Whether `reshape` turns one dimension, of any size, into one."""
    before = reshape.inputs[0].node.shapes[reshape.inputs[0].port]
    return before.ndims == 1 and asked.is_constant and asked.attrs["value"].tolist() == [-1]
