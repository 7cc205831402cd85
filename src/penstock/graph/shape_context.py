"""Shape inference for one node: runs the op's shape rule and, for a new node, formats its errors."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from penstock.tensor.shapes import TensorShape, shape_of

if TYPE_CHECKING:
    import numpy as np

    from penstock.graph.operation import Operation

UNKNOWN = TensorShape(None)
SCALAR = TensorShape(())

_MOST_REPEATED = 1 << 20
"""The most elements that one value of a file stands for where a shape rule looks at them."""


class ShapeContext:
    """What a shape rule can use besides its inputs' shapes: attributes, and values known while building."""

    __slots__ = ("attrs", "op")

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.attrs = op.attrs

    def _input(self, name: str) -> Any:
        for arg, value in zip(self.op.op_def.inputs, self.op.input_values(), strict=True):
            if arg.name == name:
                return value
        raise LookupError(f"op {self.op.type} has no input {name!r}")

    def constant(self, name: str) -> np.ndarray | None:
        """The value of the input called `name` if it is known now, otherwise None.

        One value that a file says to stand for very many is data: no rule is to list it.
        """
        from penstock.graph.constants import constant_value

        value = constant_value(self._input(name))
        return None if value is not None and value.size > _MOST_REPEATED and not any(value.strides) else value

    def constant_shape(self, name: str) -> TensorShape:
        """The input called `name`, an int vector, read as a shape; dims that are not known now are None."""
        from penstock.graph.constants import constant_value_as_shape

        return constant_value_as_shape(self._input(name))


def infer_shapes(op: Operation) -> None:
    """Set the output shapes of `op`. Raises ValueError, naming node, shapes and lines, if its inputs disagree."""
    try:
        found = output_shapes(op)
    except ValueError as error:
        raise ValueError(_message(op, error)) from error.__cause__
    if found is not None:
        for tensor, shape in zip(op._outputs, found, strict=True):
            # A tensor's unknown sizes are its own: to programs, they are not equal to those of another tensor.
            tensor._shape = shape if shape.is_fully_defined() else shape_of(shape.tuple)


def output_shapes(op: Operation) -> list[TensorShape] | None:
    """The shapes that the rule of `op` returns for what is known about its inputs; None if it has no rule.

    Raises ValueError with the rule's message if the inputs disagree. Any other exception means an input or attribute
    that the rule did not expect, and also becomes a ValueError.
    """
    rule = op.op_def.shape_fn
    if rule is None:
        return None
    tensors = iter(op._inputs)
    shapes: list[Any] = [
        [t._shape for t in islice(tensors, len(arg.dtypes(op.attrs)))] if arg.is_list else next(tensors)._shape
        for arg in op.op_def.inputs
    ]
    try:
        found = rule(ShapeContext(op), *shapes)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(
            f"Inputs or attributes that {op.type} cannot have ({type(error).__name__}: {error})"
        ) from error
    if isinstance(found, TensorShape):
        found = [found]
    if found is None:
        found = []
    if len(found) != len(op._outputs):
        outputs = len(op._outputs)
        raise ValueError(f"Attributes that contradict each other: {outputs} outputs, of which {len(found)} have shapes")
    return list(found)


def _message(op: Operation, error: ValueError) -> str:
    shapes = ", ".join(str(t.shape) for t in op._inputs)
    lines = [f"{error} for '{op.name}' (op: '{op.type}') with input shapes: {shapes}."]
    if op.user_line:
        lines.append(f"  built at {op.user_line}")
    lines += [f"  input {t.name} {t.shape} built at {t.op.user_line}" for t in op._inputs if t.op.user_line]
    return "\n".join(lines)
