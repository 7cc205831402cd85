"""Memory of a step (white paper sections 4.1 and 5.2): three ways of lowering its peak.

Gradients use the values of the forward computation in reverse order, so many of them are kept for long. Each of the
paper's three remedies is a pass here: a better order of execution, recomputing values instead of keeping them, and
moving values to the host while they are not needed. A pass changes nothing unless it lowers the predicted peak.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import torch

from penstock.analysis.frames import has_control_flow
from penstock.analysis.hazards import kept_reads
from penstock.analysis.peak_memory import Owners
from penstock.analysis.sizes import Sizes
from penstock.analysis.state_order import build_order
from penstock.graph.opdef import OpDef, parse_arg, parse_attr
from penstock.graph.rewrite import duplicate
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.graph.traits import Traits
from penstock.passes.nodes import is_pure
from penstock.passes.planned_memory import PlannedMemory
from penstock.runtime.kernels import KernelContext

# --- order ----------------------------------------------------------------------------------------------


def order_for_memory(graph: StepGraph, memory: PlannedMemory | None = None) -> StepGraph:
    """The nodes in an order that needs less memory, if one is found; otherwise `graph` itself.

    Of the nodes that could run next, it takes the one after which the least memory is held; nodes that free memory run
    at once. State is read and written in the order of building, and reads are used before they are overwritten, because
    copies would cost more than the order saves. Steps with control flow keep their order.
    """
    if has_control_flow(graph):
        return graph
    memory = memory or PlannedMemory()
    found = StepGraph(_order(graph, memory.sizes), graph.feeds, graph.fetches, graph.targets)
    return found if memory.of(found).saves(memory.of(graph)) else graph


def _order(graph: StepGraph, sizes: Sizes) -> list[Node]:
    copied, pairs = kept_reads(graph)
    owners = Owners(graph.nodes, copied)
    fetched = {made for edge in graph.fetches for made in owners.shown.get(edge, ())}
    sees = {
        node: {made for edge in node.inputs for made in owners.shown.get(edge, ())} - fetched for node in graph.nodes
    }
    users: dict[Edge, set[Node]] = {}  # for each allocation, the users that have not run
    for node, seen in sees.items():
        for made in seen:
            users.setdefault(made, set()).add(node)
    growth: dict[Node, float] = {}  # how much more memory is held after a node than before it, if it runs next
    for node in graph.nodes:
        kept = sum(sizes.bytes(made) for made in owners.made[node] if made in users or made in fetched)
        growth[node] = kept - sum(sizes.bytes(made) for made in sees[node] if len(users[made]) == 1)
    before = {node: {*(edge.node for edge in node.inputs), *node.controls} for node in graph.nodes}
    for first, second in (*build_order(graph, {}), *pairs):
        before[second].add(first)
    after: dict[Node, list[Node]] = {}
    for node, sources in before.items():
        for source in sources:
            after.setdefault(source, []).append(node)
    waiting = {node: len(sources) for node, sources in before.items()}
    index = {node: i for i, node in enumerate(graph.nodes)}
    ready = [(growth[node], index[node]) for node, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: dict[Node, None] = {}
    while ready:
        grows, i = heapq.heappop(ready)
        node = graph.nodes[i]
        if node in order or grows != growth[node]:
            continue  # it is pushed again with what it frees now
        order[node] = None
        for made in sees[node]:
            users[made].discard(node)
            if len(users[made]) == 1:
                (last,) = users[made]
                growth[last] -= sizes.bytes(made)
                if not waiting[last]:
                    heapq.heappush(ready, (growth[last], index[last]))
        for other in after.get(node, ()):
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, (growth[other], index[other]))
    return list(order)


# --- computing again ------------------------------------------------------------------------------------


def is_gradient(node: Node) -> bool:
    """Whether the node was built by tf.gradients."""
    return node.source is not None and node.source._original_op is not None


def recompute_for_gradients(graph: StepGraph, memory: PlannedMemory | None = None) -> StepGraph:
    """Recomputes cheap values of the forward computation for the gradients instead of keeping them.

    Results of products, convolutions, state and random ops are kept. Values between them are recomputed right before
    the first gradient that uses them. If the predicted peak does not fall, nothing is changed.
    """
    if has_control_flow(graph):
        return graph

    def cheap(node: Node) -> bool:
        if not is_pure(node) or node.controls or not node.dtypes:
            return False
        return node.op.flops_fn is None and not node.is_constant

    found = duplicate(graph)
    again: dict[Node, Node] = {}
    nodes: list[Node] = []

    def copy_of(edge: Edge, gates: tuple[Node, ...]) -> Edge:
        """The recomputed value, after `gates`."""
        node = edge.node
        if is_gradient(node) or not cheap(node):
            return edge
        if node not in again:
            inputs = tuple(copy_of(e, gates) for e in node.inputs)
            again[node] = Node(
                f"{node.name}/again", node.op, node.attrs, inputs, gates, node.device, node.dtypes, node.shapes,
                node.source,
            )  # fmt: skip
            nodes.append(again[node])
        return Edge(again[node], edge.port)

    latest: tuple[Node, ...] = ()  # of the gradients so far: some use none, so their inputs would be recomputed at once
    for node in found.nodes:
        if is_gradient(node):
            takes = tuple(e.node for e in node.inputs if is_gradient(e.node))[:1]
            node.inputs = tuple(copy_of(edge, takes or latest) for edge in node.inputs)
            latest = (node,) if takes else latest
        nodes.append(node)
    found.nodes = nodes
    memory = memory or PlannedMemory()
    return found if again and memory.of(found).saves(memory.of(graph)) else graph


# --- moving to the host ---------------------------------------------------------------------------------

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


def swap_to_host(graph: StepGraph, memory: PlannedMemory | None = None, least: float = SWAP_BYTES) -> StepGraph:
    """Keeps large values that gradients need only much later in host memory in the meantime.

    After the last use in the forward computation a value is copied out, and back in right before the first gradient
    that takes it. If the predicted peak does not fall, nothing is changed; this is always so if the device is the host.
    """
    if has_control_flow(graph):
        return graph
    memory = memory or PlannedMemory()
    position = {node: i for i, node in enumerate(graph.nodes)}
    users: dict[Edge, list[Node]] = {}
    for node in graph.nodes:
        for edge in dict.fromkeys(node.inputs):
            users.setdefault(edge, []).append(node)
    swaps: list[tuple[Edge, int, list[int]]] = []  # the value to move, after which node, and which gradients use it
    for edge, takers in users.items():
        if _can_leave(edge, memory.sizes, least) and edge not in graph.fetches:
            late = [position[node] for node in takers if is_gradient(node)]
            last = max(position[edge.node], *(position[node] for node in takers if not is_gradient(node)), -1)
            if late and min(late) - last >= SWAP_DISTANCE:
                swaps.append((edge, last, late))
    if not swaps:
        return graph
    found = _swapped(graph, swaps, position)
    return found if memory.of(found).saves(memory.of(graph)) else graph


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
