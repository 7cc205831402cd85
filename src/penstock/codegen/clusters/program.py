"""`ClusterProgram`: what a cluster computes, independent of its graph, and the layout of its inputs.

A program is independent of sizes. For the shapes of one call, `fit` finds the common shape of all outputs, and for each
input how its elements are repeated to fill that shape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.codegen.compiled.elementwise import Element
from penstock.emit.expressions import C_TYPES, SELECT, Expression, express, literal, result_shape
from penstock.emit.site import Shape, Value
from penstock.graph.step_graph import Edge, StepGraph

FULL = "F"
SCALAR = "S"
REPEATED = "R"
EXPANDED = "E"
"""How an input fills the shape of the outputs: element-wise; with its one element; with element `(i // (inner *
repeat)) * inner + i % inner` at position i (rows, columns, and repetition in the middle); or in another way, for which
it is expanded first."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One member: `operands` are numbers of values, or C text of constants."""

    expression: Expression
    operands: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class ClusterProgram:
    """`inputs` are C types. Values are numbered: the inputs, then the results of the instructions, in order."""

    inputs: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]

    def ctype(self, value: int) -> str:
        if value < len(self.inputs):
            return self.inputs[value]
        return self.instructions[value - len(self.inputs)].expression.ctype

    def operands(self, value: int) -> tuple[int | str, ...]:
        return self.instructions[value - len(self.inputs)].operands

    def element(self, value: int, memory: Mapping[int, Value], names: Mapping[int, str]) -> Element:
        """Returns the element for a value in a loop that computes those in `names`. memory: where other values are
        stored."""
        operands = [o if isinstance(o, str) else names.get(o) or memory[o] for o in self.operands(value)]
        expression = self.instructions[value - len(self.inputs)].expression
        return Element(names[value], expression, tuple(operands), memory.get(value))

    @property
    def weight(self) -> int:
        """The cost of one element, where an addition is 1."""
        return sum(i.expression.weight for i in self.instructions) + 1


def program_of(body: StepGraph) -> ClusterProgram:
    """Returns the program of a cluster's body. Its constants, which are scalars, become part of the text."""
    values: dict[Edge, int | str] = {Edge(feed, 0): i for i, feed in enumerate(body.feeds)}
    instructions: list[Instruction] = []
    for node in body.nodes:
        expression = express(node)
        if node.is_constant:
            values[Edge(node, 0)] = literal(node.attrs["value"], C_TYPES[node.dtypes[0]])
        elif expression is not None:
            values[Edge(node, 0)] = len(body.feeds) + len(instructions)
            instructions.append(Instruction(expression, tuple(values[edge] for edge in node.inputs)))
    outputs = tuple(value for edge in body.fetches if isinstance(value := values[edge], int))
    return ClusterProgram(tuple(C_TYPES[feed.dtypes[0]] for feed in body.feeds), tuple(instructions), outputs)


@dataclass(frozen=True, slots=True)
class Fit:
    """How one call's shapes fit a program: the outputs' shape, how each input fills it (as a letter), and `(inner,
    repeat)` for each REPEATED one."""

    shape: Shape
    pattern: str
    layout: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def fit(program: ClusterProgram, shapes: Sequence[Shape]) -> Fit | None:
    """How inputs of `shapes` fit; None if the members' own kernels must run.

    They must run if an op would reject the shapes, or if outputs have different shapes.
    """
    values: list[Shape] = [tuple(shape) for shape in shapes]
    for instruction in program.instructions:
        operands = [() if isinstance(o, str) else values[o] for o in instruction.operands]
        found = result_shape(instruction.expression.shape, operands)
        if found is None or (instruction.expression.shape == SELECT and operands[0] not in ((), found)):
            return None  # a condition for rows is laid out differently from other inputs of its shape
        values.append(found)
    full = values[program.outputs[0]]
    if any(values[output] != full for output in program.outputs):
        return None
    pattern = ""
    layout: list[int] = []
    for shape in values[: len(shapes)]:
        way, numbers = _lay_out(shape, full)
        if not way:
            return None
        pattern += way
        layout += numbers
    return Fit(full, pattern, tuple(layout))


def _lay_out(shape: Shape, full: Shape) -> tuple[str, tuple[int, ...]]:
    """How `shape` fills `full`, and the numbers for it; ("", ()) if it does not."""
    size, whole = math.prod(shape), math.prod(full)
    if len(shape) > len(full):
        return "", ()
    aligned = (1,) * (len(full) - len(shape)) + shape
    if any(a not in (1, b) for a, b in zip(aligned, full, strict=True)):
        return "", ()
    if size == whole:
        return FULL, ()
    if size == 1:
        return SCALAR, ()
    repeated = [axis for axis, (a, b) in enumerate(zip(aligned, full, strict=True)) if a != b]
    first, last = repeated[0], repeated[-1]
    if any(aligned[axis] != 1 for axis in range(first, last + 1)):
        return EXPANDED, ()
    return REPEATED, (math.prod(full[last + 1 :]), math.prod(full[first : last + 1]))
