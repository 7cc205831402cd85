"""Shape rules that many ops share. A rule is `fn(c, *input_shapes) -> TensorShape | list[TensorShape]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.graph.traits import ShapeClass, ShapeRule, of_class
from penstock.tensor.shapes import TensorShape, broadcast_shape

of_first = of_class(ShapeClass("first"))
"""Decorator: a rule whose first output has the shape of the first input, whatever it checks besides."""


_ELEMENT_WISE = of_class(ShapeClass("first", element_wise=True))


def of_value(name: str) -> Callable[[ShapeRule], ShapeRule]:
    """Decorator: a rule whose first output has the shape that is the value of the input called `name`."""
    return of_class(ShapeClass("asked", name))


@_ELEMENT_WISE
def unchanged(c: ShapeContext, x: Any, *_: Any) -> TensorShape:
    """The shape of the first input."""
    return x


def scalar(c: ShapeContext, *_: Any) -> TensorShape:
    return SCALAR


def unknown(c: ShapeContext, *_: Any) -> list[TensorShape]:
    """Nothing is known about any output before the op runs."""
    return [UNKNOWN] * len(c.op._outputs)


def no_outputs(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return []


@of_class(ShapeClass("broadcast", element_wise=True))
def broadcast(c: ShapeContext, x: TensorShape, y: TensorShape) -> TensorShape:
    """NumPy's broadcasting of two inputs."""
    return broadcast_shape(x, y)


@_ELEMENT_WISE
def same(c: ShapeContext, *shapes: Any) -> TensorShape:
    """All inputs (and the members of list inputs) have one shape, which is the output's."""
    merged = UNKNOWN
    for shape in shapes:
        for one in shape if isinstance(shape, list) else [shape]:
            merged = merged.merge_with(one)
    return merged


def from_attr(c: ShapeContext, *_: Any) -> TensorShape:
    """The `shape` attribute."""
    return c.attrs["shape"]


@of_value("shape")
def from_shape_input(c: ShapeContext, *_: Any) -> TensorShape:
    """The value of the input called `shape`."""
    return c.constant_shape("shape")
