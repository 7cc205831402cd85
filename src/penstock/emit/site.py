"""A node of a step at its place in C: what emitters are given (`registry.py`)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.graph.step_graph import Edge, Node
from penstock.tensor.shapes import TensorShape

Shape = tuple[int, ...]


def known_sizes(shape: TensorShape) -> Shape:
    """A shape that is fully defined, as plain numbers."""
    return tuple(size for size in shape.as_list() if size is not None)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in C: `pointer` is an expression for the address of its elements, row-major without gaps.

    `ctype` is one of f32, f64, i32, i64, u8 (bool). A variable's buffer, and an output, may be written to. Where an
    input shares memory with a variable that the node changes, both have the same `pointer`.
    """

    pointer: str
    ctype: str
    shape: Shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.ctype in ("f32", "f64")

    def at(self, offset: str | int) -> str:
        """The address of the element `offset` places from the first."""
        return f"({self.pointer} + {offset})"

    def element(self, index: str | int) -> str:
        return f"({self.pointer})[{index}]"


@dataclass(slots=True)
class Site:
    """A node at its place in a C function.

    `inputs` and `outputs` are in the order of the node's edges; a reference or resource input is its variable's
    buffer, and an output that is a reference is no output here. An output shares memory with an input only where
    a loop adds up products: then the pointers of the first input and of the output are the same. `known` has values
    that are settled where the code is written, though their nodes are no constants: sizes, mostly.
    """

    node: Node
    inputs: list[Value]
    outputs: list[Value]
    known: Mapping[Edge, np.ndarray] = field(default_factory=dict)

    failed = "FAIL();"
    """The statement that ends the step because the node cannot compute what it was given. Nothing may have been
    written to a variable before it. The node's kernel then raises the error, from the same inputs."""

    def const(self, index: int) -> np.ndarray | None:
        """The value of input `index` if it is a constant of the graph, or known."""
        edge = self.node.inputs[index]
        value: np.ndarray | None = edge.node.attrs["value"] if edge.node.is_constant else self.known.get(edge)
        return value

    def numbers(self, index: int) -> list[int] | None:
        """`const(index)` as a list of ints, of a scalar or a vector."""
        value = self.const(index)
        return None if value is None else [int(v) for v in value.reshape(-1)]

    def number(self, index: int) -> int | None:
        """`const(index)` as an int; None of a vector, even of one element, which kernels refuse."""
        value = self.const(index)
        return None if value is None or value.ndim else int(value)


# --- names ------------------------------------------------------------------------------------------------

_numbers = itertools.count()
_LOCAL = re.compile(r"(\w+)\$\d+")


def local(name: str) -> str:
    """A name for what emitted statements declare. No two are alike, so none is captured, whatever text is put into
    another. Of `CFunction.emit` it gets a number that depends on the text alone."""
    return f"{name}${next(_numbers)}"


def numbered(text: str, names: dict[str, str]) -> str:
    """`text` with the names of `local` numbered in the order in which they come; `names` has those that came before."""
    return _LOCAL.sub(lambda found: names.setdefault(found[0], f"{found[1]}_{len(names)}"), text)


def uses(text: str, names: Mapping[str, str]) -> bool:
    """Whether one of these names of `local` is in `text`."""
    return bool(names) and any(found[0] in names for found in _LOCAL.finditer(text))
