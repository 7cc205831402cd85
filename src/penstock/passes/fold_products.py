"""Products by constant matrices take in the bias and the activation that follow them: the dense layers and projections
of trained models that have been frozen.

Only large products: the others are better off in regions (`codegen/regions/`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np

from penstock.emit.site import known_sizes
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.einsum import parse
from penstock.ops.fused_convolution import ACTIVATIONS
from penstock.ops.fused_product import PACKED_PRODUCT
from penstock.passes.fuse import Uses
from penstock.passes.nodes import constant_of, constant_vector
from penstock.tensor.dtypes import float32
from penstock.tensor.shapes import same_sizes

LEAST = 1 << 21
"""Multiplications from which the product is worth a kernel of its own."""
PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum"}
_SUMS = {"Add", "AddV2", "BiasAdd"}


@dataclass(frozen=True, slots=True)
class LargeProduct:
    """Of `left`, whose last dimensions are summed over, and a matrix of n columns (turned: rows), which may have
    several dimensions instead."""

    left: Edge
    matrix: Edge
    n: int
    turned: bool

    @classmethod
    def of(cls, node: Node) -> LargeProduct | None:
        """What a node computes, if it is that and large, as far as is known."""
        if node.op.name not in PRODUCTS or node.dtypes != (float32,) or len(node.inputs) != 2 or node.controls:
            return None
        left, matrix = node.inputs
        of_left, of_matrix = (edge.node.shapes[edge.port] for edge in (left, matrix))
        if not of_left.is_fully_defined() or not of_matrix.is_fully_defined() or not of_left.ndims:
            return None
        split = _split(node, of_left.ndims, of_matrix.ndims)
        if split is None:
            return None
        dims = known_sizes(of_matrix)
        n = math.prod(dims[:split] if split < 0 else dims[split:])
        k = math.prod(dims) // max(n, 1)
        if (of_left.num_elements() or 0) * n < LEAST or (of_left.num_elements() or 0) % max(k, 1):
            return None
        return cls(left, matrix, n, split < 0)


def _split(node: Node, left_rank: int, rank: int | None) -> int | None:
    """Where the matrix's dimensions change from those that are summed over to those that are kept, positive; or
    negative, if those that are kept come first. None if the node computes something else."""
    attrs = node.attrs
    if node.op.name == "Einsum":
        (left, right), out = parse(attrs["equation"].decode(), 2)
        if "." in left + right + out or len({*right}) < len(right) or len({*left}) < len(left):
            return None
        summed = "".join(letter for letter in left if letter in right)
        kept = "".join(letter for letter in right if letter not in summed)
        plain = summed and kept and left.endswith(summed) and out == left[: -len(summed)] + kept
        if not plain:
            return None
        return len(summed) if right == summed + kept else -len(summed) if right == kept + summed else None
    if rank != 2 or attrs.get("transpose_a") or attrs.get("adj_x"):
        return None
    if node.op.name == "BatchMatMul" and left_rank != 2:
        return None
    return -1 if attrs.get("transpose_b") or attrs.get("adj_y") else 1


def fold_products(graph: StepGraph) -> StepGraph:
    """`graph` with each large product by a constant matrix and what follows it as one node."""
    products = [(node, found) for node in graph.nodes if (found := LargeProduct.of(node)) is not None]
    products = [(node, found) for node, found in products if constant_of(found.matrix) is not None]
    if not products:
        return graph
    users: dict[Edge, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for edge in node.inputs:
            users[edge].append(node)
    uses = Uses(graph)
    instead: dict[Node, Node] = {}
    biases: dict[Node, Node] = {}
    for node, found in products:
        end, bias, activation = _chain(node, found.n, users, uses)
        biases[end] = constant_vector(f"{node.name}/bias", bias, node)
        attrs = {
            "T": float32,
            "turned": found.turned,
            "activation": activation.encode(),
            "dims": end.shapes[0].as_list(),
            **{name: end.attrs[name] for name in ("_class",) if name in end.attrs},
        }
        inputs = (_unshaped(found.left, node, instead), found.matrix, Edge(biases[end], 0))
        instead[end] = replace(end, op=PACKED_PRODUCT, attrs=attrs, inputs=inputs, shapes=end.shapes[:1])
    nodes = [made for node in graph.nodes for made in ((biases[node], node) if node in biases else (node,))]
    return remove_unused(rewritten(graph, instead, nodes=nodes))


def _chain(node: Node, n: int, users: dict[Edge, list[Node]], uses: Uses) -> tuple[Node, np.ndarray, str]:
    """The last of the nodes after a product that its kernel computes, too; their bias and their activation."""
    end, bias = node, np.zeros(n, np.float32)
    while True:
        after = users[Edge(end, 0)]
        if len(after) != 1 or not uses.only(Edge(end, 0), 1):
            return end, bias, ""
        user = after[0]
        name = user.op.name
        if user.controls or user.device != node.device or not user.shapes or not user.shapes[0].is_fully_defined():
            return end, bias, ""
        if name in ACTIVATIONS:
            return user, bias, name
        if name in _SUMS:
            other = user.inputs[1] if user.inputs[0].node is end else user.inputs[0]
            added = _per_column(other, n, list(known_sizes(user.shapes[0])))
            if (
                added is None
                or user.attrs.get("data_format") == b"NCHW"
                or not same_sizes(user.shapes[0], end.shapes[0])
            ):
                return end, bias, ""
            bias = bias + added
        elif name not in ("Reshape", "Identity") or user.inputs[0].node is not end:
            return end, bias, ""
        end = user


def _per_column(edge: Edge, n: int, dims: list[int]) -> np.ndarray | None:
    """A constant of which each row of n columns gets the same numbers, as a vector."""
    value = constant_of(edge)
    if value is None or value.size != n or value.dtype != np.float32 or value.ndim > len(dims):
        return None
    sizes = list(value.shape)
    while len(sizes) > 1 and sizes[0] == 1:
        sizes = sizes[1:]
    return value.reshape(n) if dims[len(dims) - len(sizes) :] == sizes else None


def _unshaped(edge: Edge, user: Node, replaced: Container[Node]) -> Edge:
    """A product's left factor before it was reshaped: its kernel does that itself."""
    node = edge.node
    while node.op.name == "Reshape" and node not in replaced and node.device == user.device and not node.controls:
        edge = node.inputs[0]
        node = edge.node
    return edge
