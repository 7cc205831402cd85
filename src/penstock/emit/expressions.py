"""Element-wise ops in C: an expression for each, valid in both C and CUDA. It is next to its op::

    expression("Neg", "-{0}", "(@)(0 - (#){0})")

An expression computes one element. Its inputs are `{0}`, `{1}`, …; its functions are those of `codegen/c/preamble.py`.
Values are of the C types f32, f64, i32, i64 and u8 (TensorFlow's bool). Ints wrap around like torch's: they are added
as unsigned numbers, whose overflow C defines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.emit.site import Shape
from penstock.graph.opdef import registered_ops
from penstock.graph.step_graph import Node
from penstock.tensor.dtypes import DType, bool as bool_dtype, float32, float64, int32, int64

C_TYPES: dict[DType, str] = {float32: "f32", float64: "f64", int32: "i32", int64: "i64", bool_dtype: "u8"}
UNSIGNED = {"i32": "u32", "i64": "u64"}

BROADCAST = "broadcast"
SAME = "same"
BIAS = "bias"
SELECT = "select"
"""How the shape of a result is determined: inputs are broadcast; all have one shape; the second is a vector as long as
the first's last dimension; the condition of a Select is a scalar, has the shape of the others, or is a vector with one
element per row."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One element of an op's result. `weight`: its cost, where an addition is 1 and a copy 0."""

    text: str
    ctype: str
    shape: str
    weight: int
    alone: bool = False
    """Whether it is worth a cluster on its own, because torch's kernel takes three times as long."""


Rule = Callable[[Node], Expression | None]
_rules: dict[str, Rule] = {}
_ulps: dict[str, int] = {}
FUNCTION_WEIGHT = 8
"""The approximate weight of an exponential."""


def expresses(*ops: str, ulps: int = 0) -> Callable[[Rule], Rule]:
    """Decorator: the rule that returns the expression for a node of these ops, or None for types and attributes without
    one. It must be in the file that defines the ops.

    ulps: how far its numbers may be from those of torch's kernel, which is an ulp or two off itself; 0: they are equal.
    """

    def register(rule: Rule) -> Rule:
        for op in ops:
            if op in _rules:
                raise ValueError(f"{op} has an expression already")
            _rules[op], _ulps[op] = rule, ulps
        return rule

    return register


def expression(
    op: str,
    floats: str = "",
    ints: str = "",
    bools: str = "",
    shape: str = BROADCAST,
    weight: int = 1,
    alone: bool = False,
    ulps: int = 0,
) -> None:
    """Register the expression of an op: see `expresses` and `formula`."""
    expresses(op, ulps=ulps)(formula(floats, ints, bools, shape, weight, alone))


def formula(
    floats: str = "", ints: str = "", bools: str = "", shape: str = BROADCAST, weight: int = 1, alone: bool = False
) -> Rule:
    """A rule that chooses by the type of the first input; `@` is that type, `#` its unsigned counterpart."""

    def rule(node: Node) -> Expression | None:
        source = C_TYPES[node.inputs[0].dtype]
        text = floats if source in ("f32", "f64") else ints if source in UNSIGNED else bools
        if not text:
            return None
        text = text.replace("@", source).replace("#", UNSIGNED.get(source, source))
        return Expression(text, C_TYPES[node.dtypes[0]], shape, weight, alone)

    return rule


def express(node: Node) -> Expression | None:
    """The expression of `node`, None if its op, its types or its attributes have none."""
    rule = _rules.get(node.op.name)
    if rule is None or len(node.dtypes) != 1:
        return None
    if any(dtype not in C_TYPES for dtype in (*(e.dtype for e in node.inputs), *node.dtypes)):
        return None
    return rule(node)


def result_shape(rule: str, shapes: Sequence[Shape]) -> Shape | None:
    """The shape that an op with the rule BROADCAST, SAME, BIAS or SELECT makes of `shapes`, None if it refuses them."""
    first = shapes[0]
    if rule == BIAS:
        return first if len(first) >= 2 and shapes[1] == first[-1:] else None
    if all(shape == first for shape in shapes):
        return first
    if rule == SELECT:
        _, then, other = shapes
        return then if then == other and first in ((), then[:1]) else None
    if rule == SAME:
        return None
    rank = max(map(len, shapes))
    result = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def aligned(rule: str, index: int, shape: Shape, rank: int) -> Shape:
    """The shape of operand `index` with as many axes as the result has: those that it lacks come first, but for a
    Select's condition of rows."""
    more = (1,) * (rank - len(shape))
    return shape + more if rule == SELECT and index == 0 else more + shape


def has_expression(op: str) -> bool:
    """Whether a registered op has an expression for some types."""
    return op in _rules


def ulps_of(op: str) -> int:
    """Returns how far the expression of an op may be from torch's kernel."""
    return _ulps.get(op, 0)


def expressed_ops() -> list[str]:
    """The names of the ops that have one; imports all ops."""
    registered_ops()
    return list(_rules)


def literal(value: np.ndarray, ctype: str) -> str:
    """A scalar constant as C text, exact to the bit (except for the payload of NaNs)."""
    if ctype == "u8":
        return str(int(value))
    if ctype in UNSIGNED:
        return f"({ctype})({int(value) + 2**63}ULL - 9223372036854775808ULL)" if value < 0 else f"({ctype}){value}LL"
    number = float(value)
    if number != number:
        return f"NAN_{ctype}"
    if number in (np.inf, -np.inf):
        return f"({'-' if number < 0 else ''}INF_{ctype})"
    return f"({number.hex()}{'f' if ctype == 'f32' else ''})"
