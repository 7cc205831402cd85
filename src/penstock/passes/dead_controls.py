"""Removes control edges without effect, and nodes that others only wait for.

Gradients of one node are tied together by control edges (`tf.gradients(gate_gradients=...)`), so that an unused
gradient of an image would be computed in each step, only to be waited for and discarded.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.analysis.frames import NO_GUARD, Frame, Guard, find_frames, has_control_flow
from penstock.analysis.guards import Guards
from penstock.analysis.hazards import is_state, writes_state
from penstock.analysis.state_order import unordered_reads
from penstock.graph.primitives import EXITS, PRIMITIVES
from penstock.graph.rewrite import copy, remove_unused, rewritten
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.graph.traits import gives_back, lives_for_a_step
from penstock.passes.nodes import is_pure, only_waiting
from penstock.tensor.dtypes import resource


def skip_dead_controls(graph: StepGraph) -> StepGraph:
    """Keeps all effects and their order, without nodes that are only waited for."""
    alive = _RunsWhenever(graph)
    kept: dict[Node, tuple[Node, ...]] = {}
    edges: dict[Edge, Edge] = {}
    if not alive.changes_in_loops:
        kept = _kept_controls(graph, alive)
        edges = _passed_identities(graph, kept)
    instead: dict[Node, Node] = {}
    taken = {edges.get(edge, edge).node for edge in graph.fetches} | set(graph.targets)
    for node in reversed(graph.nodes):
        sources = [edges.get(edge, edge).node for edge in node.inputs]
        controls = kept.get(node, node.controls)
        if node not in taken and _only_waited_for(node, sources):
            # A NoOp that waits for what the node would have waited for is in the same branches and iterations.
            waits = [wait for s in sources for wait in (kept.get(s, s.controls) if s.is_constant else [s])]
            instead[node] = only_waiting(node, tuple(dict.fromkeys([*controls, *waits])))
            continue
        if controls != node.controls:
            made = instead[node] = copy(node)
            made.controls = controls
        taken.update(sources)
    return remove_unused(rewritten(graph, instead, edges))


def _only_waited_for(node: Node, sources: list[Node]) -> bool:
    if not is_pure(node) or node.op.traits.refuses == "always" or not node.dtypes:
        return False
    return not any(source.op.name in PRIMITIVES for source in sources)  # they decide what is dead


class _RunsWhenever:
    """Which nodes run whenever another does: in the same iterations of the same loop, under conditions that hold for
    it."""

    def __init__(self, graph: StepGraph) -> None:
        self._frames: dict[Node, Frame] = {}
        self._guards: dict[Node, Guard] = {}
        self.changes_in_loops = False
        """Whether effects of one iteration may have to come before those of the next."""
        self._reads: set[Node] = set()
        if not has_control_flow(graph):
            return
        self._frames = find_frames(graph)[1]
        guards = Guards(graph, self._frames, strict=False)
        self._guards = guards.of
        self._value_guards = guards.edge
        self._reads = {n for n in unordered_reads(graph, self._frames) if not lives_for_a_step(n.op)}
        self.changes_in_loops = any(
            _has_effect(n) and self.in_loop(n) for n in graph.nodes if not lives_for_a_step(n.op)
        )

    def reads_in_loops(self) -> dict[Node, list[Node]]:
        """For each Exit, the reads in its loop that must have run before it."""
        found: dict[Node, list[Node]] = {}
        for node in self._reads:
            frame: Frame | None = self._frames[node]
            while frame is not None:
                for leaves in frame.exits:
                    found.setdefault(leaves, []).append(node)
                frame = frame.parent
        return found

    def has_effect(self, node: Node) -> bool:
        """Whether later nodes depend on `node` having run: it changes something, or reads what is changed later."""
        taken_back = bool(self._frames) and gives_back(node.op) and self.in_loop(node)
        return node in self._reads or (_has_effect(node) and not taken_back)

    def in_loop(self, node: Node) -> bool:
        return bool(self._frames) and self._frames[node].parent is not None

    def with_values_of(self, control: Node, node: Node) -> bool:
        """Whether `control` runs whenever the inputs of `node` arrive; there must be at least one."""
        if not self._frames:
            return True
        values = [edge for edge in node.inputs if edge.node.inputs or edge.node.controls]
        if not values or control.op.name in PRIMITIVES or self._frames[control] is not self._frames[node]:
            return False
        return self._guards[control] <= NO_GUARD.union(*map(self._value_guards, values))


def _kept_controls(graph: StepGraph, alive: _RunsWhenever) -> dict[Node, tuple[Node, ...]]:
    """The control inputs that stay, for nodes that have any: the others do not add effects that come before the node.

    Reading a variable is not an effect: reads and writes of a variable keep the order in which they were built, which
    is the order of the graph's nodes, even without control edges. But if a variable is used in loops or branches, only
    edges order a read before a write.
    """
    bits = {node: 1 << i for i, node in enumerate(filter(alive.has_effect, graph.nodes))}
    in_loops = alive.reads_in_loops()
    effects: dict[Node, int] = {}  # a bit for each effect that comes before a node, and for its own
    found: dict[Node, tuple[Node, ...]] = {}
    targets = set(graph.targets)
    for node in graph.nodes:
        before = 0
        for edge in node.inputs:
            before |= effects.get(edge.node, 0)  # in loops, only reads must come before what follows
        for read in in_loops.get(node, ()):
            before |= bits[read]
        kept = []
        for control in node.controls:
            if effects[control] & ~before or node in targets or not alive.with_values_of(control, node):
                kept.append(control)
                before |= effects[control]
        if node.controls:
            found[node] = tuple(kept)
        effects[node] = before | bits.get(node, 0)
    return found


def _has_effect(node: Node) -> bool:
    if node.op is FEED or node.op.traits.placeholder:
        return False
    if node.op.traits.refuses == "always" or writes_state(node):
        return True
    uses_state = any(map(is_state, node.inputs)) or any(d._is_ref_dtype or d == resource for d in node.dtypes)
    return node.op.stateful and not uses_state


def _passed_identities(graph: StepGraph, controls: Mapping[Node, tuple[Node, ...]]) -> dict[Edge, Edge]:
    """Replaces an Identity that waits for nothing by its input. `controls`: which nodes wait, and for what.

    TensorFlow's gradients of loops have one before each Exit, for which no place is in a structured loop.
    """
    edges: dict[Edge, Edge] = {}
    users = _kinds_of_users(graph)
    kept = {edge.node for edge in graph.fetches} | set(graph.targets)
    for node in graph.nodes:
        if node.op.name == "Identity" and is_pure(node) and not controls.get(node) and node not in kept:
            (source,) = node.inputs
            if source.node.op.name in PRIMITIVES and not (users[node] and users[node] <= EXITS):
                continue  # marks what is used in a loop or a branch
            says_more = any(key.startswith("_") and key != "_class" for key in node.attrs)
            if node.device in ("", source.node.device) and not says_more:
                edges[Edge(node, 0)] = edges.get(source, source)
    return edges


def _kinds_of_users(graph: StepGraph) -> dict[Node, set[str]]:
    """The ops that use the values of each node, or wait for it."""
    found: dict[Node, set[str]] = {node: set() for node in graph.nodes}
    for node in graph.nodes:
        for source in (*(edge.node for edge in node.inputs), *node.controls):
            found[source].add(node.op.name)
    return found
