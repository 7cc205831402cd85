"""Python's operators on tensors and variables: `x + y` adds a node.

Each is written out so that readers can find it. Reflected ones build the other operand first, with the tensor's dtype,
as TF 1.x does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.graph.op_modules import MODULE_OF_OPERATOR

_F = TypeVar("_F", bound=Callable[..., Any])
_functions: dict[str, Callable[..., Any]] = {}


def operator_function(fn: _F) -> _F:
    """Decorator: a function that an operator calls by name, for operators that are more than one op.

    Ops import the graph, so they register themselves here.
    """
    _functions[fn.__name__] = fn
    return fn


def call(name: str, *args: Any) -> Any:
    """Calls the function registered under `name`, after importing its module."""
    if name not in _functions:
        importlib.import_module(MODULE_OF_OPERATOR[name])
    return _functions[name](*args)


class Operators:
    """Mixed into `Tensor` and `Variable`."""

    __slots__ = ()
    __array_priority__ = 100  # so that `ndarray + tensor` asks the tensor

    def __add__(self, other: Any) -> Any:
        return call("binary", "AddV2", "add", self, other)

    def __radd__(self, other: Any) -> Any:
        return call("reflected", "AddV2", "add", self, other)

    def __sub__(self, other: Any) -> Any:
        return call("binary", "Sub", "sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return call("reflected", "Sub", "sub", self, other)

    def __mul__(self, other: Any) -> Any:
        return call("binary", "Mul", "mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return call("reflected", "Mul", "mul", self, other)

    def __truediv__(self, other: Any) -> Any:
        return call("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return call("reflected_truediv", self, other)

    def __div__(self, other: Any) -> Any:
        """Python 2's `/`, a method that libraries copy to classes of their own."""
        return call("div", self, other)

    def __rdiv__(self, other: Any) -> Any:
        return call("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return call("binary", "FloorDiv", "floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return call("reflected", "FloorDiv", "floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        return call("binary", "FloorMod", "mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return call("reflected", "FloorMod", "mod", self, other)

    def __pow__(self, other: Any) -> Any:
        return call("binary", "Pow", "pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return call("reflected", "Pow", "pow", self, other)

    def __matmul__(self, other: Any) -> Any:
        return call("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return call("matmul", other, self)

    def __lt__(self, other: Any) -> Any:
        return call("binary", "Less", "Less", self, other)

    def __le__(self, other: Any) -> Any:
        return call("binary", "LessEqual", "LessEqual", self, other)

    def __gt__(self, other: Any) -> Any:
        return call("binary", "Greater", "Greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return call("binary", "GreaterEqual", "GreaterEqual", self, other)

    def __and__(self, other: Any) -> Any:
        return call("binary", "LogicalAnd", "and", self, other)

    def __rand__(self, other: Any) -> Any:
        return call("reflected", "LogicalAnd", "and", self, other)

    def __or__(self, other: Any) -> Any:
        return call("binary", "LogicalOr", "or", self, other)

    def __ror__(self, other: Any) -> Any:
        return call("reflected", "LogicalOr", "or", self, other)

    def __xor__(self, other: Any) -> Any:
        return call("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return call("logical_xor", other, self)

    def __invert__(self) -> Any:
        return call("logical_not", self)

    def __neg__(self) -> Any:
        return call("negative", self)

    def __abs__(self) -> Any:
        return call("abs", self)

    def __getitem__(self, item: Any) -> Any:
        return call("slice_tensor", self, item)
