"""Which values of a graph have the same shape, whatever it is: more than static shapes say of batches."""

from __future__ import annotations

from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.tensor.shapes import adds_nothing

_OF_FIRST = frozenset({
    "Abs", "AddN", "BiasAdd", "Cast", "Ceil", "Cos", "Elu", "EluGrad", "Erf", "Exp", "Expm1", "Floor", "Identity",
    "Log", "Log1p", "LogSoftmax", "Neg", "OnesLike", "Reciprocal", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "Round",
    "Rsqrt", "RsqrtGrad", "Selu", "Sigmoid", "SigmoidGrad", "Sign", "Sin", "Softmax", "Softplus", "Sqrt", "SqrtGrad",
    "Square", "StopGradient", "Tanh", "TanhGrad", "ZerosLike",
})  # fmt: skip
"""Ops whose result has the shape of their first input; if the others do not fit, they fail."""

_BROADCAST = frozenset({"Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference"})

_OF_A_SHAPE = {"Reshape": 1, "BroadcastTo": 1, "Fill": 0}
"""Ops whose result has the shape that one of their inputs says."""


class ShapeClasses:
    """A class for each value of `graph`; `same` says whether two values have one shape for sure."""

    def __init__(self, graph: StepGraph) -> None:
        self._of: dict[Edge, Edge] = {}
        for node in graph.nodes:
            like = _like(node, self)
            if like is not None:
                self._of[Edge(node, 0)] = self._of.get(like, like)

    def same(self, a: Edge, b: Edge) -> bool:
        if self._of.get(a, a) == self._of.get(b, b):
            return True
        one, other = a.node.shapes[a.port].tuple, b.node.shapes[b.port].tuple
        return one is not None and None not in one and one == other


def _like(node: Node, shapes: ShapeClasses) -> Edge | None:
    """The input that the first output has the shape of."""
    if node.op.name in _OF_FIRST:
        return node.inputs[0]
    if node.op.name in _BROADCAST:
        x, y = node.inputs
        of_x, of_y = x.node.shapes[x.port], y.node.shapes[y.port]
        if shapes.same(x, y) or adds_nothing(of_y, of_x):
            return x
        if adds_nothing(of_x, of_y):
            return y
    if node.op.name in _OF_A_SHAPE:
        asked = node.inputs[_OF_A_SHAPE[node.op.name]].node
        if asked.op.name == "Shape":
            return asked.inputs[0]
        if node.op.name == "Reshape" and _is_a_vector_again(node, asked):
            return node.inputs[0]
    return None


def _is_a_vector_again(reshape: Node, asked: Node) -> bool:
    """Whether `reshape` makes one dimension, whatever it is, of one."""
    before = reshape.inputs[0].node.shapes[reshape.inputs[0].port]
    return before.ndims == 1 and asked.op.name == "Const" and asked.attrs["value"].tolist() == [-1]
