"""Parts of steps as they travel to the tasks that run them: plain records, cut off from the client's graph.

A node's `source` becomes a `Built`: the name and the line that errors show. Ops travel by name, functions as messages
of a GraphDef's library, large constants by their digest: the task has them already (`constants.py`).
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto import function_pb2

from penstock import errors
from penstock.cluster.constants import Digest, digest_of, is_large
from penstock.graph.graph_def import library_def
from penstock.graph.graph_function import GraphFunction, library_of
from penstock.graph.importer import import_graph_def
from penstock.graph.library import Library
from penstock.graph.opdef import OpDef, get_op, has_op
from penstock.graph.operation import Operation
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.partition.partition import Partition
from penstock.runtime.failures import node_error
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape


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
    constants: dict[bytes, tuple[Any, Node]]
    """Its large constants by digest, each with a node that has it. They do not travel with the part."""

    def __reduce__(self) -> Any:
        fields = self.device, self.nodes, self.feeds, self.fetches, self.targets, self.takes, self.gives
        return ShippedPart, (*fields, {})


class _Function:
    """A graph function as the messages of its library."""

    def __init__(self, function: GraphFunction) -> None:
        self.name = function.name
        self.library = library_def(library_of(function.graph) | {function.name: function}).SerializeToString()

    def read(self) -> GraphFunction:
        library = function_pb2.FunctionDefLibrary.FromString(self.library)
        return Library(library, import_graph_def).get(self.name)


def check_travels(part: Partition) -> None:
    """Raises InvalidArgumentError, naming node and device, for what can only run in the client's process."""
    for node in part.graph.nodes:
        if any(op.traits.client for op in _ops_of(node)):
            wrong = errors.InvalidArgumentError(
                None,
                None,
                f"{node.name} uses a Python function of the client's process, so it cannot run on {part.device}. Place "
                "it on the client's own task: that of a tf.train.Server in the client's process, which is the "
                "session's target.",
            )
            raise node_error(wrong, node, [])


def _ops_of(node: Node) -> Iterator[OpDef]:
    """Its op, and those of its functions."""
    yield node.op
    for value in node.attrs.values():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, GraphFunction):
                for function in (each, *library_of(each.graph).values()):
                    yield from (operation.op_def for operation in function.graph.get_operations())


def pack(part: Partition, takes: list[int], gives: list[int]) -> ShippedPart:
    graph = part.graph
    number = {node: i for i, node in enumerate(graph.nodes)}
    constants: dict[bytes, tuple[Any, Node]] = {}
    return ShippedPart(
        part.device,
        [_packed(node, number, constants) for node in graph.nodes],
        [number[node] for node in graph.feeds],
        [(number[edge.node], edge.port) for edge in graph.fetches],
        [number[node] for node in graph.targets],
        takes,
        gives,
        constants,
    )


def unpack(shipped: ShippedPart, constants: Mapping[bytes, Any]) -> Partition:
    """constants: at least the large ones of this part. Raises NotImplementedError for an op that this process does not
    have."""
    reader = _Reader(shipped.device, constants)
    nodes = [reader.node(fields) for fields in shipped.nodes]
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


def _packed(node: Node, number: dict[Node, int], constants: dict[bytes, tuple[Any, Node]]) -> tuple[Any, ...]:
    built = _built(node.source, node.device)
    if node.op is FEED:
        tensor = node.attrs["tensor"]
        attrs = node.attrs | {"tensor": (tensor.name, tensor.dtype, tensor.shape)}
    else:
        attrs = {key: _packed_value(value, node, constants) for key, value in node.attrs.items()}
    return (
        node.name,
        _named(node.op),
        attrs,
        [(number[edge.node], edge.port) for edge in node.inputs],
        [number[control] for control in node.controls],
        node.dtypes,
        node.shapes,
        built,
    )


@functools.cache
def _named(op: OpDef) -> str | tuple[str, str]:
    """The name of an op of the registry; for one that passes add to steps, the module and the name that it has there,
    as pickle names functions."""
    if has_op(op.name):
        return op.name
    for module in [name for name in list(sys.modules) if name.startswith("penstock.")]:
        for name, value in vars(sys.modules[module]).items():
            if value is op:
                return module, name
    raise errors.InternalError(None, None, f"{op.name} cannot travel to other tasks: no module has it under a name.")


def _op(name: str | tuple[str, str]) -> OpDef:
    if isinstance(name, str):
        return get_op(name)
    module, attribute = name
    found: OpDef = getattr(importlib.import_module(module), attribute)
    return found


def _built(source: Operation | Built | None, device: str) -> Built | None:
    if source is None or isinstance(source, Built):
        return source
    return Built(source.name, source.type, source.user_line, device, _built(source._original_op, device))


def _packed_value(value: Any, node: Node, constants: dict[bytes, tuple[Any, Node]]) -> Any:
    if isinstance(value, GraphFunction):
        return _Function(value)
    if is_large(value):
        digest = digest_of(value)
        constants[digest] = value, node
        return Digest(digest)
    return [_packed_value(item, node, constants) for item in value] if isinstance(value, list) else value


class _Reader:
    """Makes the nodes of one part."""

    def __init__(self, device: str, constants: Mapping[bytes, Any]) -> None:
        self._device, self._constants = device, constants
        self._functions: dict[str, GraphFunction] = {}

    def node(self, fields: tuple[Any, ...]) -> Node:
        name, op_name, attrs, _, _, dtypes, shapes, built = fields
        op = _op(op_name)
        if op is FEED:
            source = built or Built(name, op.name, "", self._device)
            fed_name, dtype, shape = attrs["tensor"]
            attrs = attrs | {"tensor": Fed(fed_name, dtype, shape, source)}
        else:
            attrs = {key: self._value(value) for key, value in attrs.items()}
        return Node(name, op, attrs, (), (), self._device, dtypes, shapes, built)

    def _value(self, value: Any) -> Any:
        if isinstance(value, _Function):
            if value.name not in self._functions:
                self._functions[value.name] = value.read()
            return self._functions[value.name]
        if isinstance(value, Digest):
            return self._constants[value.bytes]
        return [self._value(item) for item in value] if isinstance(value, list) else value
