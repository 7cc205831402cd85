"""Memory of a step (white paper sections 4.1 and 5.2): predicting the peak, and three ways of lowering it.

Gradients use what the forward computation made, in reverse order, so much has to be kept for long. The paper names
three remedies, each of which is a pass here: a better order of execution, computing again instead of keeping, and
moving to the host what is not needed for a while.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from penstock.analysis.frames import has_control_flow
from penstock.analysis.sizes import FREE, Sizes
from penstock.analysis.state_order import order_state
from penstock.graph.opdef import OpDef, parse_arg, parse_attr
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.passes.rewrite import duplicate, is_pure

# --- predicting -----------------------------------------------------------------------------------------


class _Sizes:
    """The bytes that each node's outputs take: nothing for views, constants, and state, which are there anyway."""

    def __init__(self, nodes: Sequence[Node], costs: Sizes) -> None:
        self.of: dict[Node, float] = {}
        self.root: dict[Node, Node] = {}
        for node in nodes:
            self.root[node] = self.root.get(node.inputs[0].node, node) if node.op.aliases and node.inputs else node
            held = node.op is FEED or node.op.name in FREE or node.op.aliases or node.op.name == "_SwapOut"
            self.of[node] = 0.0 if held else sum(costs.bytes(Edge(node, p)) for p in range(len(node.dtypes)))


def predicted_peak(graph: StepGraph, costs: Sizes | None = None, nodes: Sequence[Node] | None = None) -> float:
    """The most bytes that values of the step take at once when its nodes run in order, beside its variables and feeds.

    A value is freed after its last use; what shows another's memory keeps that alive. Unknown dimensions are guessed as
    the cost model does.
    """
    order = list(graph.nodes if nodes is None else nodes)
    sizes = _Sizes(order, costs or Sizes())
    last = {node: i for i, node in enumerate(order)}
    for i, node in enumerate(order):
        for edge in node.inputs:
            last[sizes.root[edge.node]] = i
    for edge in graph.fetches:
        last[sizes.root[edge.node]] = len(order)
    frees: dict[int, float] = {}
    for node, when in last.items():
        if sizes.root[node] is node:
            frees[when] = frees.get(when, 0.0) + sizes.of[node]
    now = peak = 0.0
    for i, node in enumerate(order):
        now += sizes.of[node]
        peak = max(peak, now)
        now -= frees.get(i, 0.0)
    return peak


# --- order ----------------------------------------------------------------------------------------------


def order_for_memory(graph: StepGraph, costs: Sizes | None = None) -> StepGraph:
    """The nodes in an order that needs less memory, where one is found; else as they were.

    Of the nodes that could run next, the one after which least is held; what frees memory comes at once. State is
    read and written in the order in which that was built. Steps with control flow keep their order.
    """
    if has_control_flow(graph):
        return graph
    order_state(graph, {})
    costs = costs or Sizes()
    sizes = _Sizes(graph.nodes, costs)
    index = {node: i for i, node in enumerate(graph.nodes)}
    users: dict[Node, set[Node]] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            users.setdefault(sizes.root[edge.node], set()).add(node)
    for edge in graph.fetches:
        users.setdefault(sizes.root[edge.node], set()).add(edge.node)  # never freed: its own maker stays in the set
    waiting: dict[Node, int] = {}
    consumers: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        before = {*(e.node for e in node.inputs), *node.controls}
        waiting[node] = len(before)
        for other in before:
            consumers.setdefault(other, []).append(node)
    fetched = {sizes.root[edge.node] for edge in graph.fetches}

    def growth(node: Node) -> float:
        freed = 0.0
        for root in {sizes.root[edge.node] for edge in node.inputs}:
            if root not in fetched and users[root] == {node}:
                freed += sizes.of[root]
        return sizes.of[node] - freed

    ready = [node for node in graph.nodes if not waiting[node]]
    order: list[Node] = []
    while ready:
        best = min(ready, key=lambda node: (growth(node), index[node]))
        ready.remove(best)
        order.append(best)
        for root in {sizes.root[edge.node] for edge in best.inputs}:
            users[root].discard(best)
        for consumer in consumers.get(best, ()):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                ready.append(consumer)
    if predicted_peak(graph, costs, order) >= predicted_peak(graph, costs):
        return graph
    return StepGraph(order, graph.feeds, graph.fetches, graph.targets)


# --- computing again ------------------------------------------------------------------------------------


def is_gradient(node: Node) -> bool:
    """Whether the node was built by tf.gradients."""
    return node.source is not None and node.source._original_op is not None


def recompute_for_gradients(graph: StepGraph, costs: Sizes | None = None) -> StepGraph:
    """Cheap values of the forward computation are computed a second time for the gradients, instead of being kept.

    Kept are results of products and convolutions, of state, and of chance; what is in between is made again from
    them, right before the first gradient that takes it. Where the predicted peak does not fall, nothing is changed.
    """
    if has_control_flow(graph):
        return graph
    costs = costs or Sizes()

    def cheap(node: Node) -> bool:
        if not is_pure(node) or node.controls or not node.dtypes:
            return False
        return node.op.flops_fn is None and node.op.name != "Const"

    found = duplicate(graph)
    again: dict[Node, Node] = {}
    nodes: list[Node] = []

    def copy_of(edge: Edge, gates: tuple[Node, ...]) -> Edge:
        """The value made again, after `gates`."""
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

    for node in found.nodes:
        if is_gradient(node):
            gates = tuple(e.node for e in node.inputs if is_gradient(e.node))[:1]
            node.inputs = tuple(copy_of(edge, gates) for edge in node.inputs)
        nodes.append(node)
    found.nodes = nodes
    return found if again and predicted_peak(found, costs) < predicted_peak(graph, costs) else graph


# --- moving to the host ---------------------------------------------------------------------------------

_T = {"T": parse_attr("T: type")}
SWAP_OUT = OpDef("_SwapOut", (parse_arg("tensor: T", _T),), (parse_arg("copy: T", _T),), _T)
SWAP_IN = OpDef("_SwapIn", (parse_arg("copy: T", _T),), (parse_arg("tensor: T", _T),), _T)


@SWAP_OUT.kernel()
def swap_out_kernel(n: Any) -> Any:
    def swap_out(value: torch.Tensor) -> torch.Tensor:
        if not value.is_cuda:
            return value.clone()  # the host's memory is what there is; for tests
        return torch.empty(value.shape, dtype=value.dtype, pin_memory=True).copy_(value, non_blocking=True)

    return swap_out


@SWAP_IN.kernel()
def swap_in_kernel(n: Any) -> Any:
    device = n.device
    return lambda value: value.to(device, non_blocking=True, copy=True)


SWAP_BYTES = 1 << 20
"""Tensors below this size stay where they are."""
SWAP_DISTANCE = 20
"""And those that are needed again within so many nodes."""


def swap_to_host(graph: StepGraph, costs: Sizes | None = None, least: float = SWAP_BYTES) -> StepGraph:
    """Large values that gradients need only much later are kept in host memory meanwhile.

    After the last use in the forward computation a value is copied out, and back in right before the first gradient
    that takes it.
    """
    if has_control_flow(graph):
        return graph
    costs = costs or Sizes()
    position = {node: i for i, node in enumerate(graph.nodes)}
    users: dict[Edge, list[Node]] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            users.setdefault(edge, []).append(node)
    follow: dict[Node, list[Node]] = {}
    lead: dict[Node, list[Node]] = {}
    for edge, takers in users.items():
        source = edge.node
        if is_gradient(source) or not is_pure(source) or source.op.aliases or source.op.name == "Const":
            continue
        if edge in graph.fetches or costs.bytes(edge) < least or edge.dtype.torch is None:
            continue
        late = [node for node in takers if is_gradient(node)]
        early = [node for node in takers if not is_gradient(node)]
        if not late:
            continue
        last = max([source, *early], key=position.__getitem__)
        first = min(late, key=position.__getitem__)
        if position[first] - position[last] < SWAP_DISTANCE:
            continue
        attrs, kinds = {"T": edge.dtype}, ((edge.dtype,), (source.shapes[edge.port],))
        waits = (last,) if last is not source else ()
        out = Node(f"{source.name}/swap_out_{edge.port}", SWAP_OUT, attrs, (edge,), waits, source.device, *kinds,
                   source.source)  # fmt: skip
        gates = tuple(e.node for e in first.inputs if is_gradient(e.node))[:1]
        back = Node(f"{source.name}/swap_in_{edge.port}", SWAP_IN, attrs, (Edge(out, 0),), gates, first.device, *kinds,
                    source.source)  # fmt: skip
        follow.setdefault(last, []).append(out)
        lead.setdefault(first, []).append(back)
        for node in late:
            node.inputs = tuple(Edge(back, 0) if e == edge else e for e in node.inputs)
    if not follow:
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += lead.get(node, [])
        nodes.append(node)
        nodes += follow.get(node, [])
    return StepGraph(nodes, graph.feeds, graph.fetches, graph.targets)
