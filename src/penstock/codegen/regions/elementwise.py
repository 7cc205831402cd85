"""Loops over elements in C: several element-wise nodes of one shape as one loop, whose values stay in registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.emit.expressions import BIAS, SAME, SELECT, Expression
from penstock.emit.site import Shape, Value, local
from penstock.emit.tools import block, loop, merged, offset


@dataclass(frozen=True, slots=True)
class Element:
    """One node of a loop: `name`, which is `site.local`, is computed from `operands`: values in memory, C text of
    constants, or names of elements before it. `stored`: where it goes, if it is needed outside the loop."""

    name: str
    expression: Expression
    operands: tuple[Value | str, ...]
    stored: Value | None


def fits(expression: Expression, shapes: Sequence[Shape], result: Shape) -> bool:
    """Whether an op with this expression takes operands of `shapes` and gives `result`; all sizes are known."""
    first = shapes[0]
    if expression.shape == BIAS:
        return first == result and len(first) >= 2 and shapes[1] == first[-1:]
    if expression.shape == SELECT:
        condition, then, other = shapes
        rows = len(condition) == 1 and len(then) > 1 and condition[0] == then[0]
        return then == other == result and (condition in ((), result) or rows)
    if expression.shape == SAME:
        return all(shape == result for shape in shapes)
    return result == tuple(np.broadcast_shapes(*shapes)) if _broadcast(shapes) else False


def _broadcast(shapes: Sequence[Shape]) -> bool:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return all(len(set(sizes) - {1}) <= 1 for sizes in zip(*padded, strict=True))


def loop_text(shape: Shape, elements: Sequence[Element]) -> str:
    """A C block that computes `elements`, each for all of `shape`."""
    reads: dict[tuple[Value, tuple[int, ...]], str] = {}
    for element in elements:
        for index, operand in enumerate(element.operands):
            if isinstance(operand, Value):
                steps = _strides(_padded(element.expression, index, operand.shape, len(shape)), shape)
                reads.setdefault((operand, steps), local("r"))
    sizes, rows = merged(shape, *(steps for _, steps in reads))
    if not sizes:  # one element
        sizes, rows = [1], [[0] for _ in reads]
    row_of = dict(zip(reads, rows, strict=True))
    outer, i, at = [local("i") for _ in sizes[1:]], local("i"), local("at")
    lines = [f"const i64 {at} = {offset(outer, [math.prod(sizes[axis + 1 :]) for axis in range(len(outer))])};"]
    for (value, steps), name in reads.items():
        start = offset(outer, row_of[value, steps][:-1])
        lines.append(f"const {value.ctype} *const {name} = (const {value.ctype} *){value.pointer} + {start};")
    targets: dict[str, str] = {}
    for element in elements:
        if element.stored is not None:
            targets[element.name] = name = local("w")
            lines.append(f"{element.stored.ctype} *const {name} = {element.stored.pointer} + {at};")
    rounds = []
    for element in elements:
        texts = []
        for index, operand in enumerate(element.operands):
            if isinstance(operand, Value):
                steps = _strides(_padded(element.expression, index, operand.shape, len(shape)), shape)
                step = row_of[operand, steps][-1]
                texts.append(f"{reads[operand, steps]}[{offset([i], [step])}]")
            else:
                texts.append(operand)
        rounds.append(f"const {element.expression.ctype} {element.name} = {element.expression.text.format(*texts)};")
        if element.name in targets:
            rounds.append(f"{targets[element.name]}[{i}] = {element.name};")
    text = block(*lines, loop(i, sizes[-1], *rounds, vector=True))
    for name, size in reversed(list(zip(outer, sizes, strict=False))):
        text = loop(name, size, text)
    return text


def _padded(expression: Expression, index: int, shape: Shape, rank: int) -> Shape:
    """The shape of operand `index` with as many axes as the result has."""
    if expression.shape == SELECT and index == 0 and len(shape) == 1:
        return shape + (1,) * (rank - 1)
    return (1,) * (rank - len(shape)) + shape


def _strides(padded: Shape, shape: Shape) -> tuple[int, ...]:
    """The step of each axis of `shape` through a tensor of the shape `padded`: 0 where it is repeated."""
    return tuple(
        0 if size == 1 and whole != 1 else math.prod(padded[axis + 1 :])
        for axis, (size, whole) in enumerate(zip(padded, shape, strict=True))
    )
