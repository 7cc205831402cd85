"""Graphs of steps written as text, for tests of what works on a `StepGraph`: a graph in, the structure out, as text.

A line is a node: its name, op, inputs, control inputs after `^`, attributes, dtype and shape, device::

    x = Feed : float32[2]
    two = Const value=2.0 : float32
    y = Mul(x, two) @ 1
    m = Merge(e, n)               # n may come later: what closes a loop
    late = NoOp(^y)
    fetch y, m:1
    target late

What follows from the inputs is left out: attributes, dtypes, and shapes. `@ 1` is the second CPU device.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.graph.attributes import check_attr, complete_attrs
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.primitives import MERGES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.transfer_ops import RECV, RECV_CONTROL, SEND, SEND_CONTROL
from penstock.graph.verify import verify
from penstock.passes.infer_shapes import infer_shapes
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape

_LINE = re.compile(
    r"(?P<name>[\w/]+) = (?P<op>\w+)(?:\((?P<inputs>[^)]*)\))?(?P<attrs>(?: \w+=\S+)*)"
    r"(?: : (?P<dtype>\w+)(?:\[(?P<dims>[\d,?]*)\])?)?(?: @ (?P<device>\d+))?"
)

_INTERNAL = {"Feed": FEED, **{op.name: op for op in (SEND, RECV, SEND_CONTROL, RECV_CONTROL)}}

COUNTER = """
    zero = Const value=0 : int32
    one = Const value=1 : int32
    limit = Const value=3 : int32
    enter = Enter(zero) frame_name=loop
    merge = Merge(enter, next)
    less = Less(merge, limit)
    cond = LoopCond(less)
    switch = Switch(merge, cond)
    add = Add(switch:1, one)
    next = NextIteration(add)
    exit = Exit(switch:0)
"""
"""The lines of a loop that counts to three."""


def device(index: int) -> str:
    return f"/job:localhost/replica:0/task:0/device:CPU:{index}"


def tidy(text: str) -> str:
    """`text` as it stands in a test, without what indents it."""
    return textwrap.dedent(text).strip("\n").rstrip()


def lines(found: Iterable[str]) -> str:
    return "\n".join(found)


def step_graph(text: str) -> StepGraph:
    """The graph that `text` says (see above), well-formed and with the shapes that follow."""
    graph = StepGraph([], [], [])
    nodes: dict[str, Node] = {}
    waiting: list[tuple[Node, list[str]]] = []
    for line in filter(None, (line.split("#")[0].strip() for line in text.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "fetch":
            graph.fetches += [_edge(name, nodes) for name in rest.split(", ")]
        elif word == "target":
            graph.targets += [nodes[name] for name in rest.split(", ")]
        else:
            node, inputs = _node(line, nodes)
            nodes[node.name] = node
            graph.nodes.append(node)
            waiting.append((node, inputs))
    for node, inputs in waiting:
        node.inputs = tuple(_edge(name, nodes) for name in inputs)
    graph.feeds = [node for node in graph.nodes if node.op is FEED]
    verify(graph, "step_graph")
    return infer_shapes(graph)


def _node(line: str, nodes: dict[str, Node]) -> tuple[Node, list[str]]:
    """The node of a line, without inputs; and their names."""
    found = _LINE.fullmatch(line)
    assert found, f"no line of a graph: {line!r}"
    op = _INTERNAL.get(found["op"]) or get_op(found["op"])
    words = [word.strip() for word in (found["inputs"] or "").split(",") if word.strip()]
    inputs = [word for word in words if not word.startswith("^")]
    shape = TensorShape([None if d == "?" else int(d) for d in (found["dims"] or "").split(",") if d])
    said = dict(word.split("=", 1) for word in (found["attrs"] or "").split())
    attrs = _attrs(op, said, found["dtype"], shape, _known(inputs, nodes))
    dtypes = tuple(dtype for arg in op.outputs for dtype in arg.dtypes(attrs))
    declares = not inputs and len(dtypes) == 1 and found["dtype"] is not None
    shapes = [shape if declares else TensorShape(None)] * len(dtypes)
    if op.name in MERGES:
        shapes[1] = TensorShape([])  # which input came
    where = "" if found["device"] is None else device(int(found["device"]))
    controls = tuple(nodes[word[1:]] for word in words if word.startswith("^"))
    return Node(found["name"], op, attrs, (), controls, where, dtypes, tuple(shapes)), inputs


def _known(names: list[str], nodes: dict[str, Node]) -> list[Edge]:
    """The inputs; for one that comes later, the first, whose dtype it has."""
    return [_edge(name if name.split(":")[0] in nodes else names[0], nodes) for name in names]


def _attrs(op: OpDef, said: dict[str, str], dtype: str | None, shape: TensorShape, inputs: list[Edge]) -> Any:
    attrs = {n: check_attr(op, op.attrs[n], _literal(v)) if n in op.attrs else v for n, v in said.items()}
    if dtype is not None:
        attrs |= {name: as_dtype(dtype) for name in ("dtype", "T") if name in op.attrs and name not in said}
    if "shape" in op.attrs:
        attrs["shape"] = shape
    if op.name == "Const":
        attrs["value"] = np.broadcast_to(np.array(attrs["value"], dtype), shape.as_list()).copy()
    for arg in op.inputs:
        if arg.number_attr is not None:
            attrs[arg.number_attr] = len(inputs)
            attrs.setdefault(str(arg.type_attr), inputs[0].dtype.base_dtype)
    return complete_attrs(op, inputs, attrs) | attrs  # type: ignore[arg-type]


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _edge(text: str, nodes: dict[str, Node]) -> Edge:
    name, _, port = text.partition(":")
    return Edge(nodes[name], int(port or 0))


def named(graph: StepGraph) -> dict[str, Node]:
    return {node.name: node for node in graph.nodes}


def names(nodes: Iterable[Node]) -> str:
    return ", ".join(node.name for node in nodes)


def edge_text(edge: Edge) -> str:
    """`x`, or `x:1` for what is not a node's only or first output."""
    return edge.name if edge.port else edge.node.name


def node_text(node: Node) -> str:
    """A node as `step_graph` reads it, without attributes, dtype and device."""
    inputs = [edge_text(edge) for edge in node.inputs] + [f"^{control.name}" for control in node.controls]
    return f"{node.name} = {'Feed' if node.op is FEED else node.op.name}({', '.join(inputs)})"


def graph_text(graph: StepGraph) -> str:
    """A graph as `step_graph` reads it, likewise."""
    ends = [f"fetch {', '.join(map(edge_text, graph.fetches))}"] if graph.fetches else []
    ends += [f"target {names(graph.targets)}"] if graph.targets else []
    return lines([*map(node_text, graph.nodes), *ends])
