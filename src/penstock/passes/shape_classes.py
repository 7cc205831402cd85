"""Which values of a graph have the same shape, whatever it is: more than static shapes say of batches."""

from __future__ import annotations

from penstock.graph.step_graph import Edge, Node, StepGraph

_OF_FIRST = frozenset({
    "Abs", "AddN", "BiasAdd", "Cast", "Ceil", "Cos", "Elu", "EluGrad", "Erf", "Exp", "Expm1", "Floor", "Identity",
    "Log", "Log1p", "LogSoftmax", "Neg", "OnesLike", "Reciprocal", "Relu", "Relu6", "Relu6Grad", "ReluGrad", "Round",
    "Rsqrt", "RsqrtGrad", "Selu", "Sigmoid", "SigmoidGrad", "Sign", "Sin", "Softmax", "Softplus", "Sqrt", "SqrtGrad",
    "Square", "StopGradient", "Tanh", "TanhGrad", "ZerosLike",
})  # fmt: skip
"""Ops whose result has the shape of their first input; if the others do not fit, they fail."""

_BROADCAST = frozenset({"Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "SquaredDifference"})


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
        if shapes.same(x, y) or _adds_nothing(y, x):
            return x
        if _adds_nothing(x, y):
            return y
    return None


def _adds_nothing(small: Edge, large: Edge) -> bool:
    """Whether broadcasting against `small` leaves the shape of `large` for sure."""
    a, b = small.node.shapes[small.port].tuple, large.node.shapes[large.port].tuple
    if a == ():
        return True
    if a is None or b is None or len(a) > len(b):
        return False
    return all(s == 1 or (s is not None and s == d) for s, d in zip(reversed(a), reversed(b), strict=False))
