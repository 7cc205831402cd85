"""Parts of steps as they travel to the tasks that run them: plain records, cut off from the client's graph.

A node's `source` becomes a `Built`: the name and the line that errors show. Ops travel by name, functions as messages
of a GraphDef's library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto import function_pb2

from penstock.graph import transfer_ops
from penstock.graph.graph_def import library_def
from penstock.graph.graph_function import GraphFunction, library_of
from penstock.graph.importer import import_graph_def
from penstock.graph.library import Library
from penstock.graph.opdef import OpDef, get_op, has_op
from penstock.graph.operation import Operation
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.ops import fused, fused_losses, fused_moments
from penstock.partition.partition import Partition
from penstock.passes import save_memory
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

_INTERNAL = {
    op.name: op
    for module in (fused, fused_losses, fused_moments, save_memory, transfer_ops)
    for op in vars(module).values()
    if isinstance(op, OpDef) and not has_op(op.name)
}
"""Ops that passes add to steps, which are in no registry."""


@dataclass(frozen=True, slots=True)
class Named:
    """What an error says about its node, in place of a NodeDef; the client finds the node by it."""

    name: str
    op: str
    device: str


@dataclass(slots=True)
class Built:
    """Where a node comes from, in a process that does not have the client's graph."""

    name: str
    type: str
    user_line: str
    device: str
    _original_op: Built | None = None

    @property
    def node_def(self) -> Named:
        return Named(self.name, self.type, self.device)


@dataclass(slots=True)
class Fed:
    """The tensor that a feed replaces."""

    name: str
    dtype: DType
    shape: TensorShape
    op: Built


@dataclass(slots=True)
class ShippedPart:
    """A `Partition`, whose nodes refer to each other by number."""

    device: str
    nodes: list[tuple[Any, ...]]
    feeds: list[int]
    fetches: list[tuple[int, int]]
    targets: list[int]
    takes: list[int]
    """The positions of its feeds among the values that the task gets."""
    gives: list[int]
    """The positions of its fetches among the values that the task returns."""


class _Function:
    """A graph function as the messages of its library."""

    def __init__(self, function: GraphFunction) -> None:
        self.name = function.name
        self.library = library_def(library_of(function.graph) | {function.name: function}).SerializeToString()

    def read(self) -> GraphFunction:
        library = function_pb2.FunctionDefLibrary.FromString(self.library)
        return Library(library, import_graph_def).get(self.name)


def pack(part: Partition, takes: list[int], gives: list[int]) -> ShippedPart:
    graph = part.graph
    number = {node: i for i, node in enumerate(graph.nodes)}
    return ShippedPart(
        part.device,
        [_packed(node, number) for node in graph.nodes],
        [number[node] for node in graph.feeds],
        [(number[edge.node], edge.port) for edge in graph.fetches],
        [number[node] for node in graph.targets],
        takes,
        gives,
    )


def unpack(shipped: ShippedPart) -> Partition:
    """Raises NotImplementedError for an op that this process does not have."""
    functions: dict[str, GraphFunction] = {}
    nodes = [_unpacked(fields, shipped.device, functions) for fields in shipped.nodes]
    for node, fields in zip(nodes, shipped.nodes, strict=True):
        node.inputs = tuple(Edge(nodes[i], port) for i, port in fields[3])
        node.controls = tuple(nodes[i] for i in fields[4])
    graph = StepGraph(
        nodes,
        [nodes[i] for i in shipped.feeds],
        [Edge(nodes[i], port) for i, port in shipped.fetches],
        [nodes[i] for i in shipped.targets],
    )
    return Partition(shipped.device, graph, shipped.takes, shipped.gives)


def _packed(node: Node, number: dict[Node, int]) -> tuple[Any, ...]:
    built = _built(node.source, node.device)
    if node.op is FEED:
        tensor = node.attrs["tensor"]
        attrs = node.attrs | {"tensor": (tensor.name, tensor.dtype, tensor.shape)}
    else:
        attrs = {key: _packed_value(value) for key, value in node.attrs.items()}
    return (
        node.name,
        node.op.name,
        attrs,
        [(number[edge.node], edge.port) for edge in node.inputs],
        [number[control] for control in node.controls],
        node.dtypes,
        node.shapes,
        built,
    )


def _built(source: Operation | Built | None, device: str) -> Built | None:
    if source is None or isinstance(source, Built):
        return source
    return Built(source.name, source.type, source.user_line, device, _built(source._original_op, device))


def _packed_value(value: Any) -> Any:
    if isinstance(value, GraphFunction):
        return _Function(value)
    return [_packed_value(item) for item in value] if isinstance(value, list) else value


def _unpacked(fields: tuple[Any, ...], device: str, functions: dict[str, GraphFunction]) -> Node:
    name, op_name, attrs, _, _, dtypes, shapes, built = fields
    op = FEED if op_name == FEED.name else _INTERNAL.get(op_name) or get_op(op_name)
    if op is FEED:
        source = built or Built(name, op_name, "", device)
        fed_name, dtype, shape = attrs["tensor"]
        attrs = attrs | {"tensor": Fed(fed_name, dtype, shape, source)}
    else:
        attrs = {key: _unpacked_value(value, functions) for key, value in attrs.items()}
    return Node(name, op, attrs, (), (), device, dtypes, shapes, built)


def _unpacked_value(value: Any, functions: dict[str, GraphFunction]) -> Any:
    if isinstance(value, _Function):
        if value.name not in functions:
            functions[value.name] = value.read()
        return functions[value.name]
    return [_unpacked_value(item, functions) for item in value] if isinstance(value, list) else value
