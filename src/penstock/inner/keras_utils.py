"""What layers are written with inside TensorFlow's Keras (TF: tensorflow.python.keras.utils.tf_utils)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.client.variable import Variable
from penstock.graph.constants import constant_value as value_of
from penstock.graph.operation import Tensor
from penstock.ops.control_flow.cond import cond
from penstock.tensor.shapes import TensorShape


def smart_cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """true_fn() or false_fn(): one of them if `pred` is known, otherwise a `tf.cond`."""
    known = constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def constant_value(pred: Any) -> Any:
    """The value of a bool, 0, 1 or a constant; None for another tensor or a variable."""
    if isinstance(pred, Variable):
        return None
    return value_of(pred) if isinstance(pred, Tensor) else bool(pred)


def is_tensor_or_variable(x: Any) -> bool:
    return isinstance(x, Tensor | Variable)


is_symbolic_tensor = is_tensor_or_variable


def register_symbolic_tensor_type(cls: type) -> None:
    """Layers take what converts to a tensor: nothing needs to be registered."""


def shape_type_conversion(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `compute_output_shape`: it gets the shape as a tuple, and what it returns is a TensorShape."""

    @functools.wraps(fn)
    def converted(instance: Any, input_shape: Any) -> Any:
        given = None if input_shape is None else convert_shapes(input_shape, to_tuples=True)
        found = fn(instance, given)
        return None if found is None else convert_shapes(found, to_tuples=False)

    return converted


def convert_shapes(input_shape: Any, to_tuples: bool = True) -> Any:
    """A shape as a tuple of ints and Nones, or as a TensorShape; a list or tuple of shapes with each of them so."""
    if isinstance(input_shape, list | tuple) and not all(d is None or isinstance(d, int) for d in input_shape):
        return type(input_shape)(convert_shapes(each, to_tuples) for each in input_shape)
    shape = TensorShape(input_shape)
    return tuple(shape.as_list()) if to_tuples else shape
