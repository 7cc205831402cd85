"""A node of a step at its place in C: the argument of emitters (`registry.py`)."""

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
    """A fully defined shape as plain numbers."""
    return tuple(size for size in shape.as_list() if size is not None)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in C: `pointer` is an expression for the address of its elements, row-major without gaps.

    `ctype` is one of f32, f64, i32, i64, u8 (bool). A variable's buffer and an output may be written to. If an input
    shares memory with a variable that the node changes, both have the same `pointer`.
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
        """The address of the element at `offset` from the first."""
        return f"({self.pointer} + {offset})"

    def element(self, index: str | int) -> str:
        return f"({self.pointer})[{index}]"


@dataclass(slots=True)
class Site:
    """A node at its place in a C function.

    `inputs` and `outputs` are in the order of the node's edges; a reference or resource input is its variable's buffer,
    and reference outputs are omitted. An output shares memory with an input only if a loop accumulates products: then
    the first input and the output have the same pointer. `known` has values that are known when the code is written
    although their nodes are not constants: mostly sizes.
    """

    node: Node
    inputs: list[Value]
    outputs: list[Value]
    known: Mapping[Edge, np.ndarray] = field(default_factory=dict)

    failed = "FAIL();"
    """The statement that ends the step because the node cannot compute its inputs. No variable may have been written to
    before it. The node's kernel then raises the error, from the same inputs."""

    def const(self, index: int) -> np.ndarray | None:
        """The value of input `index` if it is a constant of the graph, or known."""
        edge = self.node.inputs[index]
        value: np.ndarray | None = edge.node.attrs["value"] if edge.node.is_constant else self.known.get(edge)
        return value

    def numbers(self, index: int) -> list[int] | None:
        """`const(index)`, a scalar or a vector, as a list of ints."""
        value = self.const(index)
        return None if value is None else [int(v) for v in value.reshape(-1)]

    def number(self, index: int) -> int | None:
        """`const(index)` as an int; None for a vector, even of one element, which kernels reject."""
        value = self.const(index)
        return None if value is None or value.ndim else int(value)


# --- names ------------------------------------------------------------------------------------------------

_numbers = itertools.count()
_LOCAL = re.compile(r"(\w+)\$\d+")


def local(name: str) -> str:
    """A unique name for a declaration in emitted statements, so that texts can be nested without clashes.
    `CFunction.emit` replaces it by a number that depends only on the text."""
    return f"{name}${next(_numbers)}"


def numbered(text: str, names: dict[str, str]) -> str:
    """`text` with the names of `local` numbered in order of appearance; `names` has those that came before."""
    return _LOCAL.sub(lambda found: names.setdefault(found[0], f"{found[1]}_{len(names)}"), text)


def uses(text: str, names: Mapping[str, str]) -> bool:
    """Whether `text` contains one of these names of `local`."""
    return bool(names) and any(found[0] in names for found in _LOCAL.finditer(text))
