"""Loops over elements in C: several element-wise nodes of the same shape become one loop, with its values in
registers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.emit.expressions import Expression, aligned
from penstock.emit.site import Shape, Value, local
from penstock.emit.tools import block, loop, merged, offset


@dataclass(frozen=True, slots=True)
class Element:
    """One node of a loop. `name` is computed from `operands`: values in memory, C text of constants, or names of
    earlier elements. `stored`: where it is written, if it is used outside the loop."""

    name: str
    expression: Expression
    operands: tuple[Value | str, ...]
    stored: Value | None = None


def one_round(
    elements: Sequence[Element], reads: Mapping[tuple[str, int], str], targets: Mapping[str, str]
) -> list[str]:
    """Returns the statements that compute one element of each of `elements`.

    reads: C text for operands in memory, by the name of the element and the operand's index. targets: C text for where
    an element is stored. Stores come last, because an output may share memory with an input.
    """
    lines = []
    for e in elements:
        texts = [o if isinstance(o, str) else reads[e.name, i] for i, o in enumerate(e.operands)]
        lines.append(f"const {e.expression.ctype} {e.name} = {e.expression.text.format(*texts)};")
    return [*lines, *(f"{target} = {name};" for name, target in targets.items())]


def loop_text(shape: Shape, elements: Sequence[Element], rounds: str = "") -> str:
    """Returns a C block that computes `elements`, all of `shape`. rounds: C text for the end of its last axis, if
    shorter."""
    steps_of: dict[tuple[str, int], tuple[Value, tuple[int, ...]]] = {}
    for element in elements:
        for index, operand in enumerate(element.operands):
            if isinstance(operand, Value):
                padded = aligned(element.expression.shape, index, operand.shape, len(shape))
                steps_of[element.name, index] = operand, _strides(padded, shape)
    reads = list(dict.fromkeys(steps_of.values()))
    sizes, rows = merged(shape, *(steps for _, steps in reads))
    if not sizes:  # one element
        sizes, rows = [1], [[0] for _ in reads]
    outer, i, at = [local("i") for _ in sizes[1:]], local("i"), local("at")
    lines = [f"const i64 {at} = {offset(outer, [math.prod(sizes[axis + 1 :]) for axis in range(len(outer))])};"]
    here: dict[tuple[Value, tuple[int, ...]], str] = {}
    for (value, steps), row in zip(reads, rows, strict=True):
        name, place = local("r"), f"(const {value.ctype} *){value.pointer} + {offset(outer, row[:-1])}"
        if row[-1]:
            lines.append(f"const {value.ctype} *const {name} = {place};")
            here[value, steps] = f"{name}[{offset([i], row[-1:])}]"
        else:
            lines.append(f"const {value.ctype} {name} = *({place});")
            here[value, steps] = name
    targets: dict[str, str] = {}
    for element in elements:
        if element.stored is not None:
            name = local("w")
            targets[element.name] = f"{name}[{i}]"
            lines.append(f"{element.stored.ctype} *const {name} = {element.stored.pointer} + {at};")
    statements = one_round(elements, {operand: here[read] for operand, read in steps_of.items()}, targets)
    text = block(*lines, loop(i, rounds or sizes[-1], *statements, vector=True))
    for name, size in reversed(list(zip(outer, sizes, strict=False))):
        text = loop(name, size, text)
    return text


def _strides(padded: Shape, shape: Shape) -> tuple[int, ...]:
    """Returns the stride of each axis of `shape` in a tensor of shape `padded`: 0 if the axis is repeated."""
    return tuple(
        0 if size == 1 and whole != 1 else math.prod(padded[axis + 1 :])
        for axis, (size, whole) in enumerate(zip(padded, shape, strict=True))
    )
