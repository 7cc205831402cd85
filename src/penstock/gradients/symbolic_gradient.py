"""Gradients of calls: of functions with a gradient of their own, and of those that are called as nodes."""

from __future__ import annotations

from typing import Any

from penstock.gradients.gradients import gradients
from penstock.graph.convert import convert_to_tensor
from penstock.graph.graph_function import GraphFunction
from penstock.graph.inline import Body, inline, lowers
from penstock.graph.opdef import define_op, get_op, register_gradient
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.tensor.shapes import TensorShape

SYMBOLIC_GRADIENT = define_op(
    "SymbolicGradient",
    "input: Tin",
    "output: Tout",
    attrs=["Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"],
    aliases=True,
    work=SERIAL,
)
SYMBOLIC_GRADIENT.not_differentiable()  # its own gradient is that of what it is written with


@SYMBOLIC_GRADIENT.shape
def symbolic_gradient_shape(c: ShapeContext, inputs: list[TensorShape]) -> list[TensorShape]:
    """The gradients have the shapes of the function's inputs."""
    return [*inputs, *([UNKNOWN] * len(c.attrs["Tout"]))][: len(c.attrs["Tout"])]


@lowers("SymbolicGradient")
def lower_symbolic_gradient(op: Operation, inputs: list[Tensor]) -> Body:
    """The function's own gradient (the library of an imported graph names it), or else the nodes of the function, once
    more, and those of their gradients; zeros where there is none."""
    function: GraphFunction = op.attrs["f"]
    own = function.gradient
    if isinstance(own, GraphFunction) and len(own.arguments) == len(inputs):
        return inline(own, inputs)
    count = len(function.arguments)
    xs = [get_op("Identity")(tensor) for tensor in inputs[:count]]
    results, _ = inline(function, xs)
    found = gradients(results, xs, grad_ys=list(inputs[count:]))
    return [get_op("ZerosLike")(x) if g is None else convert_to_tensor(g) for x, g in zip(xs, found, strict=True)], []


def gradient_of_call(op: Operation, *grads: Any) -> list[Any]:
    """The gradient of a node that calls a function with a gradient of its own, or one that is not inlined."""
    function: GraphFunction = op.attrs["f"]
    own = function.gradient
    if own is None or isinstance(own, GraphFunction):
        return _called(op, function, own, list(grads))
    return _for_all(op, own(op, *grads))


register_gradient("PartitionedCall", gradient_of_call)
register_gradient("StatefulPartitionedCall", gradient_of_call)


def _for_all(op: Operation, found: Any) -> list[Any]:
    grads = list(found) if isinstance(found, list | tuple) else [found]
    return [*grads, *[None] * (len(op._inputs) - len(grads))]  # what is captured comes last


def _called(op: Operation, function: GraphFunction, own: GraphFunction | None, grads: list[Any]) -> list[Any]:
    inputs = [*op._inputs, *map(convert_to_tensor, grads)]
    if own is None:
        types = [t.dtype.base_dtype for t in op._inputs]
        return list(SYMBOLIC_GRADIENT(inputs, Tout=types, f=function))
    taken = inputs if len(inputs) == len(own.arguments) else [*inputs[: len(own.arguments) - len(grads)], *grads]
    return _for_all(op, get_op("PartitionedCall")(taken, Tout=[t.dtype for t in own.results], f=own))
