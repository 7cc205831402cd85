"""Shape rules that many ops share. A rule is `fn(c, *input_shapes) -> TensorShape | list[TensorShape]`."""

from __future__ import annotations

from typing import Any

from penstock.graph.shape_context import SCALAR, UNKNOWN, ShapeContext
from penstock.tensor.shapes import TensorShape, broadcast_shape


def unchanged(c: ShapeContext, x: Any, *_: Any) -> TensorShape:
    """The shape of the first input."""
    return x


def scalar(c: ShapeContext, *_: Any) -> TensorShape:
    return SCALAR


def unknown(c: ShapeContext, *_: Any) -> list[TensorShape]:
    """Nothing is known of any output before the op runs."""
    return [UNKNOWN] * len(c.op._outputs)


def no_outputs(c: ShapeContext, *_: Any) -> list[TensorShape]:
    return []


def broadcast(c: ShapeContext, x: TensorShape, y: TensorShape) -> TensorShape:
    """NumPy's broadcasting of two inputs."""
    return broadcast_shape(x, y)


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


def from_shape_input(c: ShapeContext, *_: Any) -> TensorShape:
    """The value of the input called `shape`."""
    return c.constant_shape("shape")
