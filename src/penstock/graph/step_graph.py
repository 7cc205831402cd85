"""`StepGraph`: what one kind of step executes. Passes take one and return one; the plan is made from the last. They do
not modify their argument: `graph/rewrite.py` makes a graph in which some nodes are replaced.

It is the subgraph of section 4.2 of the paper: the client's graph cut at the feeds, reduced to what the fetches
need, with a `_Feed` node in place of each fed edge. Nodes here are light and independent of the client's graph;
`source` leads back to the user's line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.graph.opdef import OpDef, parse_arg, parse_attr
from penstock.graph.operation import Operation
from penstock.graph.traits import Traits
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_DTYPE = parse_attr("dtype: type")
FEED = OpDef("_Feed", (), (parse_arg("output: dtype", {"dtype": _DTYPE}),), {"dtype": _DTYPE}, traits=Traits(free=True))
"""The op of feed nodes: internal, so not registered; the plan turns them into parameters of the step."""


class Edge(NamedTuple):
    """Output `port` of `node`."""

    node: Node
    port: int

    @property
    def dtype(self) -> DType:
        return self.node.dtypes[self.port]

    @property
    def name(self) -> str:
        return f"{self.node.name}:{self.port}"


@dataclass(eq=False, slots=True)
class Node:
    """A node of a `StepGraph`. `dtypes` and `shapes` are those of its outputs; `device` is the requested one."""

    name: str
    op: OpDef
    attrs: dict[str, Any]
    inputs: tuple[Edge, ...]
    controls: tuple[Node, ...]
    device: str
    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]
    source: Operation | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it always returns its attribute `value`."""
        return self.op.traits.constant

    def grouped_inputs(self) -> Iterator[tuple[str, bool, tuple[Edge, ...]]]:
        """`(argument name, whether it is a list, its edges)` for each argument of the signature."""
        position = 0
        for arg in self.op.inputs:
            count = len(arg.dtypes(self.attrs))
            yield arg.name, arg.is_list, self.inputs[position : position + count]
            position += count

    def __repr__(self) -> str:
        return f"<Node {self.name} = {self.op.name}>"


@dataclass(eq=False, slots=True)
class StepGraph:
    """`nodes` in an order in which they can run, `feeds` in the caller's order, and what to fetch and to run."""

    nodes: list[Node]
    feeds: list[Node]
    fetches: list[Edge]
    targets: list[Node] = field(default_factory=list)

    def text(self) -> str:
        """One line per node, for tests and `print`."""
        lines = []
        for node in self.nodes:
            inputs = [e.name for e in node.inputs] + [f"^{c.name}" for c in node.controls]
            lines.append(f"{node.name} = {node.op.name}({', '.join(inputs)})")
        return "\n".join([*lines, "fetch " + ", ".join(e.name for e in self.fetches)])
