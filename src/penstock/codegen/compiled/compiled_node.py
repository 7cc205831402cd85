"""Replaces several nodes by one, whose body is a graph of copies of them, with feeds for its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.analysis.hazards import is_state, updates_variable, variable_of
from penstock.graph.opdef import ArgDef, Kernel, OpDef
from penstock.graph.rewrite import Order, copy, remove_unused, rewritten
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.traits import Traits
from penstock.runtime.kernels import KernelContext


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of compiled node: the name of its op, and its kernel factory.

    has_own: whether its body has a copy of a constant, which is then not an input. gives: whether it must have an
    output; if no other node uses its values, the last one is its output.
    """

    op: str
    factory: Callable[[KernelContext], Kernel]
    has_own: Callable[[Node], bool]
    traits: Traits
    gives: bool = False


def replace_groups(graph: StepGraph, groups: list[list[Node]], order: Order, mode: str, kind: Kind) -> StepGraph:
    """Returns `graph` with each of `groups` replaced by one node.

    The members of a group must be in an order in which they can run. order: pairs of nodes whose order must be kept.
    """
    home = {node: i for i, members in enumerate(groups) for node in members}
    outside: dict[Edge, None] = {edge: None for edge in graph.fetches if edge.node in home}
    for node in graph.nodes:
        for edge in node.inputs:
            copied = edge.node.is_constant and node in home
            if edge.node in home and home.get(node) != home[edge.node] and not copied:
                outside[edge] = None
    nodes: dict[Node, Node] = {}
    edges: dict[Edge, Edge] = {}
    named = {edge: _unnamed(edge) for edge in outside}
    taken = set(named.values())
    for members in groups:
        outputs = [edge for node in members for port in range(len(node.dtypes)) if (edge := Edge(node, port)) in taken]
        if kind.gives and not outputs:
            outputs = [Edge(members[-1], 0)]
        made = _compiled_node(members, outputs, mode, kind)
        nodes |= dict.fromkeys(members, made)
        edges |= {edge: Edge(made, port) for port, edge in enumerate(outputs)}
    edges |= {edge: edges.get(source, source) for edge, source in named.items()}
    every = dict.fromkeys(nodes.get(n, n) for n in graph.nodes)
    order = [(nodes.get(a, a), nodes.get(b, b)) for a, b in order if a not in nodes or nodes[a] is not nodes.get(b)]
    return remove_unused(rewritten(graph, edges=edges, controls=nodes, nodes=every, order=order))


def _unnamed(edge: Edge) -> Edge:
    """Returns the input of a chain of Identities, so that the same condition does not get two names.

    For a handle it returns the variable itself, because compiled nodes do not output handles. An Identity that reads a
    variable does more than rename it, and is kept.
    """
    while (
        edge.node.op.name == "Identity" and not edge.node.controls and is_state(edge) == is_state(edge.node.inputs[0])
    ):
        edge = edge.node.inputs[0]
    return edge


def _compiled_node(members: list[Node], outputs: list[Edge], mode: str, kind: Kind) -> Node:
    """Returns the node that replaces `members`."""
    inside = set(members)
    inputs = list(dict.fromkeys(e for n in members for e in n.inputs if e.node not in inside))
    own = [e.node for e in inputs if kind.has_own(e.node)]
    values = [e for e in inputs if not is_state(e) and not kind.has_own(e.node)]
    states = [e for e in inputs if is_state(e)]
    # A constant with control inputs also orders nodes.
    controls = dict.fromkeys(c for n in [*members, *own] for c in n.controls if c not in inside)
    body = _body(members, inputs, values, outputs)
    written = {e for n in members if updates_variable(n) for e in n.inputs if is_state(e)}
    op = _op(kind, values, states, outputs, {e for e in states if e not in written})
    last = outputs[-1].node if outputs else members[-1]
    return Node(
        f"{last.name}/{kind.op[1:].lower()}", op, {"body": body, "mode": mode}, (*values, *states), tuple(controls),
        members[0].device, tuple(e.dtype for e in outputs), tuple(e.node.shapes[e.port] for e in outputs), last.source,
    )  # fmt: skip


def _body(members: list[Node], inputs: list[Edge], values: list[Edge], outputs: list[Edge]) -> StepGraph:
    """Returns the members as a separate graph, fed with `values`, with copies of constants and variables they use."""
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


def _op(kind: Kind, values: list[Edge], states: list[Edge], outputs: list[Edge], read: set[Edge]) -> OpDef:
    """Returns the op of one compiled node, with its signature. It is not in the registry."""
    arguments = [ArgDef(f"x{i}", dtype=e.dtype) for i, e in enumerate(values)]
    arguments += [ArgDef(f"s{i}", dtype=e.dtype.base_dtype, is_ref=e.dtype._is_ref_dtype) for i, e in enumerate(states)]
    op = OpDef(
        kind.op,
        tuple(arguments),
        tuple(ArgDef(f"y{i}", dtype=e.dtype) for i, e in enumerate(outputs)),
        {},
        stateful=len(read) < len(states),
        reads=frozenset(f"s{i}" for i, e in enumerate(states) if e in read),
        traits=kind.traits,
    )
    op.kernel()(kind.factory)
    return op
