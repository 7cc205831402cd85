"""Reads that a pass adds to a graph, for nodes that must see the current value of a variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.graph.opdef import get_op
from penstock.graph.primitives import ENTERS, MERGES, NEXT_ITERATIONS, PRIMITIVES, SWITCHES
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.tensor.dtypes import DType, bool as bool_dtype, int32
from penstock.tensor.shapes import TensorShape

_SCALAR = TensorShape(())
_OWN = 0
"""The tag of a value that does not show a variable."""
_LOOPS = ENTERS | NEXT_ITERATIONS
"""The inputs of a loop's Merge: its tag has the same kinds."""


class FreshReads:
    """A graph to which reads are added. A read runs in the frame of the node that needs it, and only if that node is
    alive.

    shown: the variables that a value may show, for values that show any; certain: values that certainly show theirs.
    """

    def __init__(self, graph: StepGraph, shown: Mapping[Edge, Sequence[Node]], certain: set[Edge]) -> None:
        self._graph, self._shown, self._certain = graph, shown, certain
        self._control_flow = any(node.op.name in PRIMITIVES for node in graph.nodes)
        self._before: dict[Node, list[Node]] = {}
        self._behind: dict[Node, list[Node]] = {}
        self._reads: dict[object, Edge] = {}
        self._alive: dict[Edge, Node] = {}
        self._tags: dict[Edge, Edge] = {}
        self._numbers: dict[Node, int] = {}
        self._count = 0

    def nodes(self) -> list[Node]:
        """The nodes of the graph and the reads."""
        nodes: list[Node] = []
        for node in self._graph.nodes:
            nodes += [*self._before.get(node, ()), node, *self._behind.get(node, ())]
        return nodes

    def read(
        self, node: Node, edge: Edge, value: Edge, variable: Node, reshaped: bool, waits: list[Node], when: object
    ) -> Edge:
        """What `node` takes instead of `value`: if `edge` shows `variable`, the variable's current value.

        reshaped: whether the shape or type of `edge` differs from the variable's. waits: what the read waits for. when:
        reads with the same `when` are merged if they are unconditional.
        """
        place = self._before.setdefault(node, [])
        if edge not in self._certain:
            return self._choose(place, node, edge, value, variable, reshaped, waits)
        if self._control_flow:
            waits = list(dict.fromkeys([self._alive_with(edge), *waits]))
            when = (when, *waits)
        if (variable, when) not in self._reads:
            self._reads[variable, when] = self._read(place, node, variable, waits)
        fresh = self._reads[variable, when]
        return self._like(place, node, fresh, edge) if reshaped else fresh

    def _choose(
        self, place: list[Node], node: Node, edge: Edge, value: Edge, variable: Node, reshaped: bool, waits: list[Node]
    ) -> Edge:
        """A conditional: the variable's current value if `edge` shows it, otherwise `value`."""
        held = self._identity(place, node, value, waits)
        number = self._const(place, node, self._number(variable), [held.node])
        attrs: dict[str, Any] = {"T": int32, "incompatible_shape_error": True}
        is_it = self._new(place, node, "Equal", attrs, [self._tag(edge), number], [], [bool_dtype], [_SCALAR])
        shape = edge.node.shapes[edge.port]
        dtype = edge.dtype
        sides = self._new(place, node, "Switch", {"T": dtype}, [held, is_it], [], [dtype] * 2, [shape] * 2)
        here = self._identity(place, node, Edge(sides.node, 1), [])
        fresh = self._read(place, node, variable, [here.node])
        if reshaped:
            fresh = self._like(place, node, fresh, here)
        attrs = {"T": dtype, "N": 2}
        return self._new(place, node, "Merge", attrs, [sides, fresh], [], [dtype, int32], [shape, _SCALAR])

    def _read(self, place: list[Node], node: Node, variable: Node, waits: list[Node]) -> Edge:
        found = self._identity(place, node, Edge(variable, 0), waits)
        found.node.device = variable.device
        found.node.attrs["_class"] = [b"loc:@" + variable.name.encode()]
        return found

    def _like(self, place: list[Node], node: Node, value: Edge, edge: Edge) -> Edge:
        """`value` in the type and shape of `edge`."""
        if value.dtype != edge.dtype:
            attrs = {"T": value.dtype, "type": edge.dtype}
            value = self._new(place, node, "Bitcast", attrs, [value], [], [edge.dtype], [TensorShape(None)])
        shape = edge.node.shapes[edge.port]
        attrs = {"T": edge.dtype, "out_type": int32}
        dims = self._new(place, node, "Shape", attrs, [edge], [], [int32], [TensorShape([shape.ndims])])
        attrs = {"T": edge.dtype, "Tshape": int32}
        return self._new(place, node, "Reshape", attrs, [value, dims], [], [edge.dtype], [shape])

    # --- which variable a value shows -----------------------------------------------------------------

    def _tag(self, edge: Edge) -> Edge:
        """The number of the variable that a value shows; it takes the same path as the value."""
        if edge in self._tags:
            return self._tags[edge]
        node = edge.node
        place = self._behind.setdefault(node, [])
        variables = self._shown.get(edge, ())
        if (not variables or edge in self._certain) and node.op.name not in _LOOPS:
            number = self._number(variables[0]) if variables else _OWN
            waits = [self._alive_with(edge)] if node.inputs or node.controls else []
            self._tags[edge] = self._const(place, node, number, waits)
        elif node.op.name in PRIMITIVES:
            inputs = node.inputs
            ports = 2 if node.op.name in MERGES | SWITCHES else 1
            dtypes = [int32] * ports
            clone = self._new(
                place, node, node.op.name, {**node.attrs, "T": int32}, [], node.controls, dtypes, [_SCALAR] * ports
            )
            for port in range(ports):
                self._tags[Edge(node, port)] = Edge(clone.node, port)
            taken = inputs if node.op.name in MERGES else inputs[:1]
            clone.node.inputs = (*map(self._tag, taken), *inputs[len(taken) :])
        else:
            tag = self._tag(node.inputs[edge.port if node.op.name == "IdentityN" else 0])
            if node.controls or len(node.inputs) > 1:  # which decide whether it arrives, as they do for the value
                tag = self._identity(place, node, tag, [node])
            self._tags[edge] = tag
        return self._tags[edge]

    def _number(self, variable: Node) -> int:
        return self._numbers.setdefault(variable, _OWN + 1 + len(self._numbers))

    # --- nodes ----------------------------------------------------------------------------------------

    def _alive_with(self, edge: Edge) -> Node:
        """A node to wait for that is alive if the value of `edge` is. (A Switch is, on both of its sides.)"""
        if edge.node.op.name not in SWITCHES:
            return edge.node
        if edge not in self._alive:
            place = self._behind.setdefault(edge.node, [])
            self._alive[edge] = self._identity(place, edge.node, edge, []).node
        return self._alive[edge]

    def _identity(self, place: list[Node], node: Node, edge: Edge, waits: Sequence[Node]) -> Edge:
        dtype = edge.dtype.base_dtype
        shape = edge.node.shapes[edge.port]
        return self._new(place, node, "Identity", {"T": dtype}, [edge], waits, [dtype], [shape])

    def _const(self, place: list[Node], node: Node, number: int, waits: Sequence[Node]) -> Edge:
        attrs = {"value": np.array(number, np.int32), "dtype": int32}
        return self._new(place, node, "Const", attrs, [], waits, [int32], [_SCALAR])

    def _new(
        self, place: list[Node], node: Node, op: str, attrs: dict[str, Any], inputs: Sequence[Edge],
        controls: Sequence[Node], dtypes: Sequence[DType], shapes: Sequence[TensorShape],
    ) -> Edge:  # fmt: skip
        """A node on behalf of `node`, with its frame, line and device."""
        name = f"_{op}_{self._count}_for_{node.name}"
        self._count += 1
        made = Node(
            name,
            get_op(op),
            attrs,
            tuple(inputs),
            tuple(controls),
            node.device,
            tuple(dtypes),
            tuple(shapes),
            node.source,
        )
        place.append(made)
        return Edge(made, 0)
