"""The rules by which ops become ONNX nodes: `@lowers("Relu")` on a function of a `Site`, in the module of its family.

A rule returns the names of the node's outputs: one, or a list; None for an output that ONNX cannot hold. It raises
LookupError, saying why, for a node that ONNX cannot express.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.exporting.onnx.types import onnx_type
from penstock.graph.step_graph import Edge, Node
from penstock.tensor.dtypes import DType, float32, float64, int32, int64, string, uint8
from penstock.tensor.shapes import TensorShape

if TYPE_CHECKING:
    from penstock.exporting.onnx.lowering import Lowering

_FAMILIES = (
    "arithmetic", "arrays", "convolution", "drawing", "gathering", "images", "joining", "matrices", "normalization",
    "partitions", "pooling", "quantization", "reductions", "shapes", "slicing", "sorting", "suppression",
)  # fmt: skip
_CHOSEN = (uint8, int32, int64, float32, float64, string)
Rule = Callable[["Lowering", Node], Any]
_RULES: dict[str, Rule] = {}


@dataclass(frozen=True, slots=True)
class First:
    """The name of a value whose channels come after the batch."""

    name: str


class Site:
    """A node where it is lowered. Inputs are meant by their position."""

    def __init__(self, lowering: Lowering, node: Node) -> None:
        self.lowering, self.node = lowering, node

    def __getitem__(self, attr: str) -> Any:
        value = self.node.attrs[attr]
        return value.decode() if isinstance(value, bytes) else value

    @property
    def count(self) -> int:
        return len(self.node.inputs)

    def edge(self, index: int) -> Edge:
        return self.lowering.program.value(self.node.inputs[index])

    def input(self, index: int) -> str:
        return self.lowering.last(self.node.inputs[index])

    def inputs(self, *indices: int) -> list[str]:
        return [self.input(i) for i in (indices or range(self.count))]

    def first(self, index: int) -> str:
        return self.lowering.first(self.node.inputs[index])

    def is_first(self, index: int) -> bool:
        return self.lowering.is_first(self.node.inputs[index])

    def shape(self, index: int) -> TensorShape:
        """What is known of an input's shape."""
        edge = self.edge(index)
        here = self.node.inputs[index]
        known = edge.node.shapes[edge.port]
        return known if known.is_fully_defined() else here.node.shapes[here.port]

    def rank(self, index: int) -> int:
        rank = self.shape(index).ndims
        if rank is None:
            raise LookupError(f"the rank of {self.node.inputs[index].name} is not known")
        return rank

    def dtype(self, index: int) -> DType:
        return self.edge(index).dtype.base_dtype

    def value(self, index: int) -> np.ndarray | None:
        """The value of an input that is a constant."""
        edge = self.edge(index)
        return np.asarray(edge.node.attrs["value"]) if edge.node.is_constant else None

    def known(self, index: int, what: str) -> np.ndarray:
        """The value of an input that must be a constant."""
        found = self.value(index)
        if found is None:
            raise LookupError(f"{what} is computed in the step")
        return found

    def op(self, op: str, inputs: Sequence[str], outputs: int = 1, **attrs: Any) -> Any:
        return self.lowering.node(op, inputs, self.node.name, outputs, **attrs)

    def where(self, condition: str, yes: str, no: str, dtype: DType) -> str:
        """`yes` where `condition` is, else `no`; both are of `dtype`. onnxruntime's Where has few types."""
        if dtype in _CHOSEN:
            return str(self.op("Where", [condition, yes, no]))
        wide = float32 if dtype.is_floating else int64
        return self.cast(self.op("Where", [condition, self.cast(yes, wide), self.cast(no, wide)]), dtype)

    def scan_backwards(
        self, step: Callable[..., list[str]], start: str, rows: Sequence[str], made: Sequence[tuple[DType, int]]
    ) -> list[str]:
        """`step(state, *row)` of each row of `rows`, from the last to the first, gives the next state and a result: the
        last state, which is `start` before, and the results in the order of rows. made: the dtype and rank of both."""
        types = [(onnx_type(dtype), rank) for dtype, rank in made]
        return self.lowering.scan_backwards(step, start, rows, types, self.node.name)

    def ints(self, *values: int) -> str:
        """A vector of int64."""
        return self.lowering.constant(np.array(values, np.int64))

    def constant(self, value: Any, like: int | DType = 0) -> str:
        """A constant of the type of an input."""
        dtype = like if isinstance(like, DType) else self.dtype(like)
        return self.lowering.constant(np.asarray(value, dtype.as_numpy_dtype))

    def cast(self, name: str, dtype: DType) -> str:
        return str(self.op("Cast", [name], to=onnx_type(dtype)))

    def int64(self, index: int) -> str:
        """An input as int64, which ONNX wants for shapes and indices."""
        value = self.value(index)
        if value is not None:
            return self.lowering.constant(value.astype(np.int64))
        return self.input(index) if self.dtype(index) == int64 else self.cast(self.input(index), int64)

    def vector(self, index: int) -> str:
        """An input as a vector of int64, even if it is a scalar."""
        value = self.value(index)
        if value is not None:
            return self.lowering.constant(value.astype(np.int64).reshape(-1))
        return str(self.op("Reshape", [self.int64(index), self.ints(-1)]))

    def result(self, name: str, port: int = 0) -> str:
        """An int64 result as the node's type."""
        dtype = self.node.dtypes[port]
        return name if dtype.name == "int64" else self.cast(name, dtype)


def lowers(*ops: str) -> Callable[[Callable[[Site], Any]], Callable[[Site], Any]]:
    """Decorator: the rule of these ops."""

    def register(rule: Callable[[Site], Any]) -> Callable[[Site], Any]:
        for op in ops:
            _RULES[op] = lambda lowering, node: rule(Site(lowering, node))
        return rule

    return register


def rule_of(op: str) -> Rule | None:
    if not _RULES:
        for family in _FAMILIES:
            importlib.import_module(f"penstock.exporting.onnx.{family}")
    return _RULES.get(op)
