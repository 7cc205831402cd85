"""Putting one node in place of each region, with the region's nodes as its body."""

from __future__ import annotations

from dataclasses import replace

from penstock.analysis.hazards import is_state
from penstock.codegen.regions.writable import is_shared, updates_variable, variable_of
from penstock.graph.opdef import ArgDef, OpDef
from penstock.graph.rewrite import Order, copy, rewritten
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.traits import Traits


def replace_regions(graph: StepGraph, regions: list[list[Node]], order: Order, mode: str) -> StepGraph:
    """`graph` with a `_Region` node in place of each of `regions`, whose nodes are in an order in which they can run.

    order: nodes of which the first must stay before the second.
    """
    home = {node: i for i, members in enumerate(regions) for node in members}
    outside: dict[Edge, None] = {edge: None for edge in graph.fetches if edge.node in home}
    for node in graph.nodes:
        for edge in node.inputs:
            copied = edge.node.is_constant and node in home
            if edge.node in home and home.get(node) != home[edge.node] and not copied:
                outside[edge] = None
    nodes: dict[Node, Node] = {}
    edges: dict[Edge, Edge] = {}
    named = {edge: _unnamed(edge) for edge in outside}
    for i, members in enumerate(regions):
        outputs = list(dict.fromkeys(source for source in named.values() if home.get(source.node) == i))
        made = _region(members, outputs, mode)
        nodes |= dict.fromkeys(members, made)
        edges |= {edge: Edge(made, port) for port, edge in enumerate(outputs)}
    edges |= {edge: edges.get(source, source) for edge, source in named.items()}
    every = dict.fromkeys(nodes.get(n, n) for n in graph.nodes)
    order = [(nodes.get(a, a), nodes.get(b, b)) for a, b in order if a not in nodes or nodes[a] is not nodes.get(b)]
    return rewritten(graph, edges=edges, controls=nodes, nodes=every, order=order)


def _unnamed(edge: Edge) -> Edge:
    """What a value was before Identities gave it another name: two names of one condition must stay one.

    Of a handle the variable itself, since no region gives handles. An Identity that reads a variable is more than that.
    """
    while (
        edge.node.op.name == "Identity" and not edge.node.controls and is_state(edge) == is_state(edge.node.inputs[0])
    ):
        edge = edge.node.inputs[0]
    return edge


def _region(members: list[Node], outputs: list[Edge], mode: str) -> Node:
    """The node for `members`, with a graph of copies of them as its body."""
    inside = set(members)
    inputs = list(dict.fromkeys(e for n in members for e in n.inputs if e.node not in inside))
    constants = [e.node for e in inputs if e.node.is_constant]
    values = [e for e in inputs if not is_state(e) and not e.node.is_constant]
    states = [e for e in inputs if is_state(e)]
    controls = dict.fromkeys(c for n in members for c in n.controls if c not in inside)
    controls |= dict.fromkeys(c for c in constants if not is_shared(c))  # one that waits says more than its value
    body = _body(members, inputs, values, outputs)
    written = {e for n in members if updates_variable(n) for e in n.inputs if is_state(e)}
    op = _region_op(values, states, outputs, {e for e in states if e not in written})
    last = outputs[-1].node if outputs else members[-1]
    return Node(
        f"{last.name}/region", op, {"body": body, "mode": mode}, (*values, *states), tuple(controls), members[0].device,
        tuple(e.dtype for e in outputs), tuple(e.node.shapes[e.port] for e in outputs), last.source,
    )  # fmt: skip


def _body(members: list[Node], inputs: list[Edge], values: list[Edge], outputs: list[Edge]) -> StepGraph:
    """The members as a graph of their own, fed with `values`, with copies of the constants and variables they take."""
    copies: dict[Node, Node] = {}
    edges: dict[Edge, Edge] = {}
    for e in values:
        feed = Node(e.name, FEED, {"dtype": e.dtype}, (), (), "", (e.dtype,), (e.node.shapes[e.port],), e.node.source)
        edges[e] = Edge(feed, 0)
    feeds = [edge.node for edge in edges.values()]
    for e in inputs:
        if e not in edges:
            source = variable_of(e) or e.node
            copies.setdefault(source, replace(source, controls=(), inputs=()))
            edges[e] = Edge(copies[source], 0)
    for node in members:
        copies[node] = copy(node)
    for node in members:
        copies[node].inputs = tuple(edges.get(e) or Edge(copies[e.node], e.port) for e in node.inputs)
        copies[node].controls = tuple(copies[c] for c in node.controls if c in copies)
    fetches = [Edge(copies[e.node], e.port) for e in outputs]
    return StepGraph([*feeds, *copies.values()], feeds, fetches)


def _region_op(values: list[Edge], states: list[Edge], outputs: list[Edge], read: set[Edge]) -> OpDef:
    """`_Region` with the signature of one node: internal, hence in no registry."""
    from penstock.codegen.regions.region_kernel import region_kernel

    arguments = [ArgDef(f"x{i}", dtype=e.dtype) for i, e in enumerate(values)]
    arguments += [ArgDef(f"s{i}", dtype=e.dtype.base_dtype, is_ref=e.dtype._is_ref_dtype) for i, e in enumerate(states)]
    op = OpDef(
        "_Region",
        tuple(arguments),
        tuple(ArgDef(f"y{i}", dtype=e.dtype) for i, e in enumerate(outputs)),
        {},
        stateful=len(read) < len(states),
        reads=frozenset(f"s{i}" for i, e in enumerate(states) if e in read),
        traits=Traits(allocates=False),
    )
    op.kernel()(region_kernel)
    return op
