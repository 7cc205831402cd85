"""An assertion about the shapes of several tensors, whose sizes have names (TF: tf.debugging.assert_shapes)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array import rank, shape as shape_of
from penstock.ops.basic import group
from penstock.ops.checks import Count, Text
from penstock.ops.compare import equal
from penstock.ops.control_flow.cond import cond
from penstock.ops.logging import Assert
from penstock.ops.shape_checks import assert_rank, assert_rank_at_least, assert_rank_in


class _Wanted(NamedTuple):
    """A tensor, its sizes (numbers or tensors), what they shall be, and whether it may have more axes before these."""

    tensor: Tensor
    sizes: Any
    symbols: tuple[Any, ...]
    innermost: bool

    def axis(self, place: int) -> int:
        return place - len(self.symbols) if self.innermost else place


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: Any, data: Any = None, summarize: Count = None, message: Text = None, name: Text = None
) -> Operation:
    """Fails unless tensors have the shapes of `shapes`: pairs (tensor, shape), or a dict of them.

    A shape is an iterable (or None: any) of numbers, of names of sizes, which must be the same wherever they are, and
    of "." or None for any size; it begins with `...` or "*" if there may be more axes before. A scalar has one axis of
    size one. Raises ValueError for sizes that are known and wrong, InvalidArgumentError in the step for others.
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    said = message or ""
    with name_scope(name, "assert_shapes", [data]):
        wanted = [_wanted(convert_to_tensor(tensor), shape, said) for tensor, shape in pairs if shape is not None]
        more = {"data": data, "summarize": summarize, "message": message, "name": name}
        ranks = [check for one in wanted for check in _rank_checks(one, more)]
        sizes = list(_size_checks(wanted, said, data, summarize))
        with control_dependencies(ranks):
            return group(*sizes)


def _wanted(tensor: Tensor, shape: Any, message: str) -> _Wanted:
    if not isinstance(shape, Iterable):
        raise ValueError(f"{message}.  Tensor {tensor.name}.  Specified shape must be an iterable, not {shape}")
    symbols = tuple(shape)
    for place, symbol in enumerate(symbols[1:], 1):
        if symbol is Ellipsis or _is(symbol, "*"):
            raise ValueError(
                f"{message}.  Tensor {tensor.name} specified shape index {place}.  Symbol `...` or `*` for a variable "
                "number of unspecified dimensions is only allowed as the first entry"
            )
    innermost = bool(symbols) and (symbols[0] is Ellipsis or _is(symbols[0], "*"))
    return _Wanted(tensor, _sizes(tensor), (symbols[1:] if innermost else symbols) or (1,), innermost)


def _is(symbol: Any, text: str) -> bool:
    return isinstance(symbol, str) and symbol == text


def _sizes(tensor: Tensor) -> Any:
    """The size of each axis: a number if it is known, otherwise a tensor; [1] of a scalar."""
    found = shape_of(tensor)
    if tensor.shape.ndims is None:
        return cond(equal(rank(tensor), 0), lambda: convert_to_tensor([1]), lambda: found)
    return [found[i] if size is None else size for i, size in enumerate(tensor.shape.as_list())] or [1]


def _rank_checks(one: _Wanted, more: dict[str, Any]) -> list[Operation]:
    count = len(one.symbols)
    if one.innermost:
        return [assert_rank_at_least(one.tensor, count, **more)] if count > 1 else []
    return [assert_rank(one.tensor, count, **more) if count > 1 else assert_rank_in(one.tensor, [0, 1], **more)]


def _size_checks(wanted: list[_Wanted], message: str, data: Any, summarize: Count) -> Iterable[Operation]:
    named: dict[Any, tuple[Any, str]] = {}
    for one in wanted:
        for place, symbol in enumerate(one.symbols):
            if symbol is None or _is(symbol, "."):
                continue
            axis = one.axis(place)
            actual, number = one.sizes[axis], _number(symbol)
            if number is None and symbol not in named:
                named[symbol] = (actual, f"Specified by tensor {one.tensor.name} dimension {axis}")
                continue
            size, why = named[symbol] if number is None else (number, "Specified explicitly")
            if isinstance(actual, int) and isinstance(size, int):
                if actual != size:
                    raise ValueError(
                        f"{message}.  {why}.  Tensor {one.tensor.name} dimension {axis} must have size {size}.  "
                        f"Received size {actual}, shape {one.tensor.shape}"
                    )
                continue
            shown = [message, why, f"Tensor {one.tensor.name} dimension", axis, "must have size", size]
            shown += ["Received shape: ", shape_of(one.tensor)]
            yield Assert(equal(actual, size), shown if data is None else data, summarize=summarize)


def _number(symbol: Any) -> int | None:
    """The size that a symbol is itself: a number, or text of one."""
    try:
        return int(symbol)
    except (ValueError, TypeError):
        return None
