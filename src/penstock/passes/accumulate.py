"""Sums of many values as chains of additions, so that each value is freed when it has been added.

AddN and sums of products need all their inputs at once. Gradients of what is used at every step of a sequence are such
sums, and their inputs become known one after another. TensorFlow's scheduling heuristics do the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.analysis.frames import has_control_flow
from penstock.analysis.sizes import Sizes
from penstock.graph.opdef import get_op
from penstock.graph.rewrite import rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.fused import ADD_PRODUCT
from penstock.tensor.shapes import TensorShape

LEAST_BYTES = 1 << 14
"""Sums of smaller values stay whole."""


def accumulate_sums(graph: StepGraph, sizes: Sizes) -> StepGraph:
    """`graph` with such sums in parts, each right after its last input; `graph` itself if there are none."""
    if has_control_flow(graph):
        return graph
    position = {node: i for i, node in enumerate(graph.nodes)}
    after: dict[Node, list[Node]] = {}
    last: dict[Node, Node] = {}
    for node in graph.nodes:
        terms = _terms(node)
        if len(terms) > 2 and not node.controls and any(sizes.bytes(e) >= LEAST_BYTES for e in node.inputs):
            terms.sort(key=lambda term: max(position[e.node] for e in term))
            parts = _chain(node, terms)
            at = 0
            for part in parts:
                at = max([at, *(position[e.node] for e in part.inputs if e.node in position)])
                after.setdefault(graph.nodes[at], []).append(part)
            last[node] = parts[-1]
    if not last:
        return graph
    nodes = [each for node in graph.nodes if node not in last for each in (node, *after.get(node, ()))]
    return rewritten(graph, {}, {Edge(n, 0): Edge(p, 0) for n, p in last.items()}, last, nodes)


def _terms(node: Node) -> list[tuple[Edge, ...]]:
    """The inputs of each term of a sum."""
    count = len(node.inputs)
    match node.op.name:
        case "AddN":
            return [(edge,) for edge in node.inputs]
        case "_ProductSum":
            return list(zip(node.inputs[: count // 2], node.inputs[count // 2 :], strict=True))
    return []


def _chain(node: Node, terms: list[tuple[Edge, ...]]) -> list[Node]:
    """The nodes that add `terms`, one after another."""
    attrs = {key: value for key, value in node.attrs.items() if key != "N"}
    parts: list[Node] = []
    if node.op.name == "AddN":
        op, sum_so_far = get_op("AddV2"), terms.pop(0)[0]
    else:
        zero = Node(
            f"{node.name}/zero", get_op("Const"),
            {"value": np.zeros((), node.dtypes[0].as_numpy_dtype), "dtype": node.dtypes[0]}, (), (), node.device,
            node.dtypes, (TensorShape(()),), node.source,
        )  # fmt: skip
        parts.append(zero)
        op, sum_so_far = ADD_PRODUCT, Edge(zero, 0)
    for i, term in enumerate(terms):
        parts.append(replace(node, name=f"{node.name}/part_{i}", op=op, attrs=attrs, inputs=(sum_so_far, *term)))
        sum_so_far = Edge(parts[-1], 0)
    return parts
