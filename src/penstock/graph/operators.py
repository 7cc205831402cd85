"""Python's operators on tensors and variables: `x + y` adds a node.

Every one is written out, so that a reader finds it. Reflected ones build the other operand first, with the
tensor's dtype, as TF 1.x does.
"""

from __future__ import annotations

from typing import Any


def _binary(op: str, name: str, x: Any, y: Any) -> Any:
    from penstock.graph.convert import DtypeMismatchError, convert_to_tensor
    from penstock.graph.opdef import get_op
    from penstock.graph.scopes import name_scope

    if _defers_to(x, y):
        return NotImplemented
    with name_scope(None, name, [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        try:
            y = convert_to_tensor(y, dtype=x.dtype.base_dtype, name="y")
        except TypeError as error:
            if isinstance(error, DtypeMismatchError) or not hasattr(type(y), f"__r{name}__"):
                raise
            return NotImplemented  # what is no tensor may know what to do with one
        return get_op(_of_type(op, x))(x, y, name=scope)


def _reflected(op: str, name: str, y: Any, x: Any) -> Any:
    from penstock.graph.convert import convert_to_tensor
    from penstock.graph.opdef import get_op
    from penstock.graph.scopes import name_scope

    with name_scope(None, name, [x, y]) as scope:
        y = convert_to_tensor(y, name="y")
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        return get_op(_of_type(op, x))(x, y, name=scope)


def _of_type(op: str, x: Any) -> str:
    """Strings are joined by the older of the two additions."""
    return "Add" if op == "AddV2" and x.dtype.base_dtype == "string" else op


def _defers_to(x: Any, y: Any) -> bool:
    """Sparse tensors define their own reflected operators."""
    from penstock.graph.composite import SparseTensor

    return isinstance(y, SparseTensor) and not isinstance(x, SparseTensor)


class Operators:
    """Mixed into `Tensor` and `Variable`."""

    __slots__ = ()
    __array_priority__ = 100  # so that `ndarray + tensor` asks the tensor

    def __add__(self, other: Any) -> Any:
        return _binary("AddV2", "add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _reflected("AddV2", "add", self, other)

    def __sub__(self, other: Any) -> Any:
        return _binary("Sub", "sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _reflected("Sub", "sub", self, other)

    def __mul__(self, other: Any) -> Any:
        return _binary("Mul", "mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _reflected("Mul", "mul", self, other)

    def __truediv__(self, other: Any) -> Any:
        from penstock.ops.math import truediv

        return truediv(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        from penstock.graph.convert import convert_to_tensor
        from penstock.ops.math import truediv

        y = convert_to_tensor(self)
        return truediv(convert_to_tensor(other, dtype=y.dtype.base_dtype), y)

    def __floordiv__(self, other: Any) -> Any:
        return _binary("FloorDiv", "floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _reflected("FloorDiv", "floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        return _binary("FloorMod", "mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _reflected("FloorMod", "mod", self, other)

    def __pow__(self, other: Any) -> Any:
        return _binary("Pow", "pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _reflected("Pow", "pow", self, other)

    def __matmul__(self, other: Any) -> Any:
        from penstock.ops.math import matmul

        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from penstock.ops.math import matmul

        return matmul(other, self)

    def __lt__(self, other: Any) -> Any:
        return _binary("Less", "Less", self, other)

    def __le__(self, other: Any) -> Any:
        return _binary("LessEqual", "LessEqual", self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary("Greater", "Greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary("GreaterEqual", "GreaterEqual", self, other)

    def __and__(self, other: Any) -> Any:
        return _binary("LogicalAnd", "and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _reflected("LogicalAnd", "and", self, other)

    def __or__(self, other: Any) -> Any:
        return _binary("LogicalOr", "or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _reflected("LogicalOr", "or", self, other)

    def __xor__(self, other: Any) -> Any:
        from penstock.ops.math import logical_xor

        return logical_xor(self, other)

    def __rxor__(self, other: Any) -> Any:
        from penstock.ops.math import logical_xor

        return logical_xor(other, self)

    def __invert__(self) -> Any:
        from penstock.ops.math import logical_not

        return logical_not(self)

    def __neg__(self) -> Any:
        from penstock.ops.math import negative

        return negative(self)

    def __abs__(self) -> Any:
        from penstock.ops.math import abs as tensor_abs

        return tensor_abs(self)

    def __getitem__(self, item: Any) -> Any:
        from penstock.ops.slicing import slice_tensor

        return slice_tensor(self, item)
