"""From a program of nested blocks to an ONNX graph, by the rules of ops (`rules.py`).

Images: TensorFlow's convolutions mostly have the channels last, ONNX's have them first. A value that a convolution made
is kept with the channels first as long as its users can take it so; it is transposed when one cannot, once.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from penstock.exporting.array_shapes import written_shapes
from penstock.exporting.onnx.rules import First, rule_of
from penstock.exporting.onnx.types import dims_of, onnx_type
from penstock.exporting.program import Block, Conditional, Loop, Program
from penstock.exporting.unsupported import Unsupported
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

OPSET = 18
IR_VERSION = 9
_SMALL = 4096


class Lowering:
    """The ONNX graph so far. `elements`: the types of the elements of arrays, by the edge that holds an array."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.problems: list[tuple[Node, str]] = []
        self.elements: dict[Edge, DType] = {}
        self.written = written_shapes(program)
        self.initializers: list[Any] = []
        self._known: dict[Any, str] = {}
        self._kept: list[np.ndarray] = []
        self._names: dict[str, int] = {}
        self._nodes: list[Any] = []
        self._last: ChainMap[Edge, str] = ChainMap()
        self._first: ChainMap[Edge, str] = ChainMap()

    # --- values -----------------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        count = self._names.get(wanted, 0)
        self._names[wanted] = count + 1
        return f"{wanted}__{count}" if count else wanted

    def last(self, edge: Edge) -> str:
        """The name of a value, as it is in TensorFlow."""
        edge = self.program.value(edge)
        if edge not in self._last:
            if edge in self._first:
                rank = edge.node.shapes[edge.port].ndims
                assert rank is not None, "what has channels first has a rank"
                perm = [0, *range(2, rank), 1]
                self._last[edge] = self.node("Transpose", [self._first[edge]], edge.node.name, perm=perm)
            elif edge.node.is_constant:
                return self.constant(np.asarray(edge.node.attrs["value"]), edge.node.name)
            else:
                raise LookupError(f"{edge.name} has no value that ONNX can hold")
        return self._last[edge]

    def first(self, edge: Edge) -> str:
        """The name of a value of at least three dimensions, with the channels, which are last, after the batch."""
        edge = self.program.value(edge)
        if edge not in self._first:
            rank = edge.node.shapes[edge.port].ndims
            if rank is None:
                raise LookupError(f"the rank of {edge.name} is not known")
            perm = [0, rank - 1, *range(1, rank - 1)]
            self._first[edge] = self.node("Transpose", [self.last(edge)], edge.node.name, perm=perm)
        return self._first[edge]

    def is_first(self, edge: Edge) -> bool:
        """Whether a value is there with the channels first."""
        return self.program.value(edge) in self._first

    def bind(self, edge: Edge, name: str | First) -> None:
        if isinstance(name, First):
            self._first[edge] = name.name
        else:
            self._last[edge] = name

    def constant(self, value: np.ndarray, name: str = "const") -> str:
        """An initializer; equal small ones are one."""
        if value.dtype.kind in "SU" or value.dtype == object:
            value = value.astype(object)
            if not all(isinstance(text, str | bytes) for text in value.ravel()):
                raise LookupError("ONNX has no values of such a type")
            key: Any = ("string", value.shape, tuple(value.ravel()))
        else:
            key = value.dtype.str, value.shape, value.tobytes() if value.nbytes <= _SMALL else id(value)
        if key not in self._known:
            self._known[key] = self.name(name)
            self._kept.append(value)  # whose id is a key
            self.initializers.append(numpy_helper.from_array(value, self._known[key]))
        return self._known[key]

    def node(self, op: str, inputs: Sequence[str], name: str, outputs: int = 1, **attrs: Any) -> Any:
        """Adds a node; returns the name of its output, or a list of them."""
        made = [self.name(name if outputs == 1 else f"{name}_{i}") for i in range(outputs)]
        self._nodes.append(helper.make_node(op, list(inputs), made, name=self.name(f"{name}/{op}"), **attrs))
        return made[0] if outputs == 1 else made

    def scan_backwards(
        self,
        step: Callable[..., list[str]],
        start: str,
        rows: Sequence[str],
        types: Sequence[tuple[int, int]],
        name: str,
    ) -> list[str]:
        """See `Site.scan_backwards`."""
        outside, self._nodes = self._nodes, []
        taken = [self.name(f"{name}_taken") for _ in range(len(rows) + 1)]
        made = step(*taken)
        outputs = [
            helper.make_tensor_value_info(value, kind, [None] * rank)
            for value, (kind, rank) in zip(made, types, strict=True)
        ]
        inputs = [onnx.ValueInfoProto(name=value) for value in taken]
        body = helper.make_graph(self._nodes, f"{name}_step", inputs, outputs)
        self._nodes = outside
        attrs = {"num_scan_inputs": len(rows), "scan_input_directions": [1] * len(rows), "scan_output_directions": [1]}
        found: list[str] = self.node("Scan", [start, *rows], name, 2, body=body, **attrs)
        return found

    # --- steps ------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for step in block.steps:
            match step:
                case Node():
                    self._lower(step)
                case Conditional():
                    self._guarded(step.node, step.outputs, lambda step=step: self._conditional(step))
                case Loop():
                    self._guarded(step.node, step.outputs, lambda step=step: self._loop(step))

    def _lower(self, node: Node) -> None:
        if node.is_constant or node.op is FEED:
            return
        outputs = [Edge(node, port) for port in range(len(node.dtypes))]

        def apply() -> None:
            rule = rule_of(node.op.name)
            if rule is None:
                raise LookupError("ONNX has no such op")
            found = rule(self, node)
            for edge, name in zip(outputs, found if isinstance(found, list) else [found], strict=True):
                if name is not None:
                    self.bind(edge, name)

        self._guarded(node, outputs, apply)

    def _guarded(self, node: Node, outputs: Iterable[Edge], apply: Any) -> None:
        """Problems are collected, so that one error names them all."""
        try:
            apply()
        except LookupError as error:
            if not any(node is other for other, _ in self.problems):
                self.problems.append((node, str(error.args[0])))
            for edge in outputs:
                self.bind(edge, f"missing {edge.name}")

    def _scoped(self) -> tuple[Any, Any]:
        before = self._last, self._first
        self._last, self._first = self._last.new_child(), self._first.new_child()
        return before

    def _inside(self, block: Block, name: str, results: Sequence[Edge]) -> Any:
        """A block as a graph without inputs."""
        outside, self._nodes = self._nodes, []
        before = self._scoped()
        self.block(block)
        graph = self.graph(name, [], results)
        self._last, self._first = before
        self._nodes = outside
        return graph

    def graph(self, name: str, inputs: list[Any], results: Sequence[Edge], names: Sequence[str] = ()) -> Any:
        """The nodes so far that results need, as a graph. names: of the outputs."""
        outputs = []
        for i, edge in enumerate(results):
            output = names[i] if names else self.name(f"{name}_result")
            self._nodes.append(helper.make_node("Identity", [self.last(edge)], [output]))
            shape = edge.node.shapes[edge.port] if names else TensorShape(None)
            outputs.append(helper.make_tensor_value_info(output, self.type_of(edge), dims_of(shape, output)))
        return helper.make_graph(_needed(self._nodes, outputs), name, inputs, outputs)

    def type_of(self, edge: Edge) -> int:
        edge = self.program.value(edge)
        return onnx_type(self.elements.get(edge, edge.dtype))

    def _conditional(self, step: Conditional) -> None:
        branches = []
        for side, block in (("then", step.then), ("else", step.otherwise)):
            branches.append(self._inside(block, f"{step.node.name}_{side}", block.results))
            for edge, result in zip(step.outputs, block.results, strict=True):
                self._same_elements(edge, result)
        pred = self.last(step.pred)
        attrs = {"then_branch": branches[0], "else_branch": branches[1]}
        found = self.node("If", [pred], step.node.name, len(step.outputs), **attrs)
        for edge, name in zip(step.outputs, found if len(step.outputs) > 1 else [found], strict=True):
            self.bind(edge, name)

    def _same_elements(self, edge: Edge, other: Edge) -> None:
        found = self.elements.get(self.program.value(other))
        if found is not None:
            self.elements[edge] = found

    def _loop(self, step: Loop) -> None:
        inits = [self.last(edge) for edge in step.inits]
        for edge, output, init in zip(step.variables, step.outputs, step.inits, strict=True):
            self._same_elements(edge, init)
            self._same_elements(output, init)
        begins = self._tested(step, inits)
        name = step.node.name
        outside, self._nodes = self._nodes, []
        before = self._scoped()
        variables = [self.name(f"{name}_variable") for _ in inits]
        counted = [self.name(f"{name}_iteration"), self.name(f"{name}_goes_on")]
        types = [TensorProto.INT64, TensorProto.BOOL, *map(self.type_of, step.variables)]
        inputs = [
            helper.make_tensor_value_info(n, t, () if i < 2 else None)
            for i, (n, t) in enumerate(zip([*counted, *variables], types, strict=True))
        ]
        for edge, variable in zip(step.variables, variables, strict=True):
            self.bind(edge, variable)
        self.block(step.condition)
        self.block(step.body)
        nexts = [self.last(edge) for edge in step.body.results]
        goes_on = self._tested(step, nexts)
        results = [self.name(f"{name}_next") for _ in range(len(nexts) + 1)]
        for result, source in zip(results, [goes_on, *nexts], strict=True):
            self._nodes.append(helper.make_node("Identity", [source], [result]))
        outputs = [helper.make_tensor_value_info(n, t, None) for n, t in zip(results, types[1:], strict=True)]
        body = helper.make_graph(_needed(self._nodes, outputs), f"{name}_body", inputs, outputs)
        self._last, self._first = before
        self._nodes = outside
        found = self.node("Loop", ["", begins, *inits], name, len(inits), body=body)
        for edge, output in zip(step.outputs, found if len(inits) > 1 else [found], strict=True):
            self.bind(edge, output)

    def _tested(self, step: Loop, values: Sequence[str]) -> str:
        """The condition of a loop whose variables have these values."""
        before = self._scoped()
        for edge, value in zip(step.variables, values, strict=True):
            self.bind(edge, value)
        self.block(step.condition)
        found = self.last(step.condition.results[0])
        self._last, self._first = before
        return found

    def used(self, graph: Any) -> list[Any]:
        """The constants that a graph takes."""
        names = names_used(graph)
        return [constant for constant in self.initializers if constant.name in names]

    def finished(self) -> None:
        """Raises Unsupported with all that was found."""
        if self.problems:
            raise Unsupported(self.problems, "ONNX")


def _needed(nodes: list[Any], outputs: Sequence[Any]) -> list[Any]:
    """Without nodes whose outputs nobody uses."""
    used = {value.name for value in outputs}
    kept = []
    for node in reversed(nodes):
        if used.intersection(node.output):
            kept.append(node)
            used.update(node.input)
            for attr in node.attribute:
                if attr.type == onnx.AttributeProto.GRAPH:
                    used |= names_used(attr.g)
    return kept[::-1]


def names_used(graph: Any) -> set[str]:
    """All names that nodes of a graph take, those of its own included."""
    used: set[str] = set()
    for node in graph.node:
        used.update(node.input)
        for attr in node.attribute:
            if attr.type == onnx.AttributeProto.GRAPH:
                used |= names_used(attr.g)
    return used
