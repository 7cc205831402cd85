"""Keeping values that gradients need much later in host memory in the meantime (white paper section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from penstock.analysis.frames import has_control_flow
from penstock.analysis.sizes import Sizes
from penstock.graph.opdef import OpDef, parse_arg, parse_attr
from penstock.graph.rewrite import duplicate
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import Traits
from penstock.passes.nodes import is_pure
from penstock.passes.recompute import is_gradient
from penstock.runtime.kernels import KernelContext

_T = {"T": parse_attr("T: type")}
_COPIES = Traits(work=1.0, allocates=False)
SWAP_OUT = OpDef("_SwapOut", (parse_arg("tensor: T", _T),), (parse_arg("copy: T", _T),), _T, traits=_COPIES)
SWAP_IN = OpDef("_SwapIn", (parse_arg("copy: T", _T),), (parse_arg("tensor: T", _T),), _T, traits=_COPIES)


@SWAP_OUT.kernel()
def swap_out_kernel(ctx: KernelContext) -> Any:
    def swap_out(value: torch.Tensor) -> torch.Tensor:
        if not value.is_cuda:
            return value.clone()  # devices that are the host: only for tests
        return torch.empty(value.shape, dtype=value.dtype, pin_memory=True).copy_(value, non_blocking=True)

    return swap_out


@SWAP_IN.kernel()
def swap_in_kernel(ctx: KernelContext) -> Any:
    device = ctx.device
    return lambda value: value.to(device, non_blocking=True, copy=True)


SWAP_BYTES = 1 << 20
"""Tensors below this size stay where they are."""
SWAP_DISTANCE = 20
"""And so do those that are needed again within this many nodes."""


def swap_to_host(graph: StepGraph, sizes: Sizes, least: float = SWAP_BYTES) -> StepGraph:
    """Keeps large values that gradients need only much later in host memory in the meantime.

    After the last use in the forward computation a value is copied out, and back in right before the first gradient
    that takes it. This saves nothing if the device is the host.
    """
    if has_control_flow(graph):
        return graph
    position = {node: i for i, node in enumerate(graph.nodes)}
    users: dict[Edge, list[Node]] = {}
    for node in graph.nodes:
        for edge in dict.fromkeys(node.inputs):
            users.setdefault(edge, []).append(node)
    swaps: list[tuple[Edge, int, list[int]]] = []  # the value to move, after which node, and which gradients use it
    for edge, takers in users.items():
        if _can_leave(edge, sizes, least) and edge not in graph.fetches:
            late = [position[node] for node in takers if is_gradient(node)]
            last = max(position[edge.node], *(position[node] for node in takers if not is_gradient(node)), -1)
            if late and min(late) - last >= SWAP_DISTANCE:
                swaps.append((edge, last, late))
    if not swaps:
        return graph
    return _swapped(graph, swaps, position)


def _swapped(graph: StepGraph, swaps: list[tuple[Edge, int, list[int]]], position: Mapping[Node, int]) -> StepGraph:
    """A copy of `graph` with `swaps`: a value, the node after which it is moved, and the gradients that use it.

    Nodes are given by their numbers in `position`.
    """
    found = duplicate(graph)
    nodes = found.nodes
    follow: dict[Node, list[Node]] = {}
    lead: dict[Node, list[Node]] = {}
    for old, at, late in swaps:
        last, first = nodes[at], nodes[min(late)]
        edge = Edge(nodes[position[old.node]], old.port)
        source = edge.node
        attrs, kinds = {"T": edge.dtype}, ((edge.dtype,), (source.shapes[edge.port],))
        waits = (last,) if last is not source else ()
        out = Node(f"{source.name}/swap_out_{edge.port}", SWAP_OUT, attrs, (edge,), waits, source.device, *kinds,
                   source.source)  # fmt: skip
        gates = tuple(e.node for e in first.inputs if is_gradient(e.node))[:1]
        back = Node(f"{source.name}/swap_in_{edge.port}", SWAP_IN, attrs, (Edge(out, 0),), gates, first.device, *kinds,
                    source.source)  # fmt: skip
        follow.setdefault(last, []).append(out)
        lead.setdefault(first, []).append(back)
        for node in (nodes[i] for i in late):
            node.inputs = tuple(Edge(back, 0) if e == edge else e for e in node.inputs)
    found.nodes = [each for node in nodes for each in (*lead.get(node, ()), node, *follow.get(node, ()))]
    return found


def _can_leave(edge: Edge, sizes: Sizes, least: float) -> bool:
    """Whether moving a value to the host may be worthwhile: it has its own memory and at least `least` bytes."""
    source = edge.node
    if is_gradient(source) or not is_pure(source) or source.op.aliases or source.is_constant:
        return False
    return edge.dtype.torch is not None and sizes.bytes(edge) >= least
