"""How much work a node is for the processor, in element additions, as far as its shapes say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import SERIAL, UNKNOWN_WORK, work_per_element

FLOPS = 16
"""How many operations of a product or a convolution take as long as one element of an addition: 64 x 64 x 64 is the
smallest product that benefits."""

UNSAID = 64.0
"""The largest likely work per element for ops that do not state it: those that clients define."""


class Work(NamedTuple):
    """Work that threads can share, in element additions."""

    known: float
    possible: float
    """The same including nodes about which little is known: an upper bound, infinite if a shape is unknown."""


NOTHING = Work(0.0, 0.0)


def largest(nodes: Iterable[Node]) -> Work:
    """The work of the largest of the nodes."""
    return Work(*map(max, zip(NOTHING, *map(work_of, nodes), strict=True)))


def work_of(node: Node) -> Work:
    """The work of a node; of one that replaces others, that of the largest of these."""
    body = node.attrs.get("body")
    if isinstance(body, StepGraph):  # others, which run separately until they are compiled
        return largest(body.nodes)
    inputs, outputs = node.inputs, [Edge(node, port) for port in range(len(node.dtypes))]
    weight = work_per_element(node.op)
    if node.op.flops_fn is None and weight == SERIAL:
        return NOTHING
    known = [_dims(edge) for edge in (*inputs, *outputs)]
    shapes = [dims for dims in known if dims is not None]
    if len(shapes) < len(known):
        return Work(0.0, math.inf)
    if node.op.flops_fn is not None:
        flops: float = node.op.flops_fn(node, shapes[: len(inputs)], shapes[len(inputs) :])
        return Work(flops / FLOPS, flops / FLOPS)
    elements = float(max(map(math.prod, shapes), default=0))
    if weight is None or weight == UNKNOWN_WORK:
        return Work(0.0, UNSAID * elements if weight is None else UNKNOWN_WORK)
    return Work(weight * elements, weight * elements)


def _dims(edge: Edge) -> tuple[int, ...] | None:
    """The dimensions of a value; None if they are unknown, empty if it is not a tensor."""
    if edge.dtype.base_dtype.torch is None:
        return ()
    dims = edge.node.shapes[edge.port].tuple
    return None if dims is None or None in dims else tuple(d for d in dims if d is not None)
