"""A replica's step, from a simulated step of a graph that updates variables."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from penstock.analysis.hazards import is_state, state_reads, updates_variable, variable_of
from penstock.graph.step_graph import Edge, Node
from penstock.placement.timeline import Timeline
from penstock.placement.training.replica import Part, ReplicaStep


@dataclass(slots=True)
class _Use:
    """What a step does with a variable. need: when the longest forward node that uses it begins. ready: when all is
    there from which it is updated. The bytes are those that would go to another device if the variable were there."""

    state: float
    need: float = float("inf")
    longest: float = -1.0
    ready: float = 0.0
    pull: float = 0.0
    push: float = 0.0
    read: set[Edge] = field(default_factory=set)


def replica_step(timeline: Timeline, examples: float) -> ReplicaStep:
    """The parts of a step that has been simulated on the devices of one replica. Raises ValueError if it updates no
    variable with what it computes."""
    problem = timeline.problem
    ends = dict(zip(problem.nodes, timeline.ends, strict=True))
    durations = {node: ends[node] - start for node, start in zip(problem.nodes, timeline.starts, strict=True)}
    updaters = dict.fromkeys(node for node in problem.nodes if updates_variable(node))
    size = dict(zip(problem.values, problem.value_bytes, strict=True))
    uses = {
        node: _Use(problem.state_bytes[i]) for i, node in enumerate(problem.nodes) if node.op.traits.holds == "variable"
    }
    end = max((ends[node] for node in problem.nodes if node not in updaters), default=0.0)
    turn = _turn(timeline, end)
    for i, node in enumerate(problem.nodes):
        if node not in updaters:
            _reads(timeline, i, uses, size, turn)
    for node in updaters:
        _updates(node, uses, size, ends)
    if not any(use.pull and use.push for use in uses.values()):
        raise ValueError("the step updates no variable with what it computes from it: it is no step of training")
    update = sum(durations[node] for node in updaters)
    launches = sum(
        min(problem.hardware.devices[device].speeds.launch, durations[node])
        for node, device in zip(problem.nodes, timeline.placement, strict=True)
        if durations[node]
    )
    return ReplicaStep(
        _parts(timeline, uses, turn, end),
        examples,
        update / len(set(timeline.placement)),
        launches / len(set(timeline.placement)),
        max(timeline.peak),
        len(problem.hardware.devices),
    )


def _updates(node: Node, uses: dict[Node, _Use], size: dict[Edge, float], ends: dict[Node, float]) -> None:
    """What it takes goes to variables that are computed with; an optimizer's own are with them."""
    written = [uses[v] for v in {variable_of(edge) for edge in node.inputs if is_state(edge)} if v in uses]
    values = [edge for edge in node.inputs if not is_state(edge) and not edge.node.is_constant]
    for use in [use for use in written if use.pull]:
        use.ready = max([use.ready, *(ends[edge.node] for edge in values)])
        fresh = set(values) - use.read
        use.push += sum(size.get(edge, 0.0) for edge in fresh)
        use.read |= fresh


def _reads(timeline: Timeline, i: int, uses: dict[Node, _Use], size: dict[Edge, float], turn: float) -> None:
    node = timeline.problem.nodes[i]
    for index in state_reads(node):
        variable = variable_of(node.inputs[index])
        if variable not in uses:
            continue
        use = uses[variable]
        for k in _computing(timeline, i):
            start = timeline.starts[k]
            longest = timeline.ends[k] - start
            if start < turn and longest > use.longest:
                use.need, use.longest = start, longest
        if node.op.traits.part:  # rows of it, which are looked up where it is
            use.pull += sum(size.get(Edge(node, port), 0.0) for port in range(len(node.dtypes)))
        elif Edge(variable, 0) not in use.read:
            use.pull += use.state
            use.read.add(Edge(variable, 0))


def _computing(timeline: Timeline, i: int) -> set[int]:
    """Node i, or if it takes no time those after it that do."""
    found, seen, stack = set[int](), {i}, [i]
    while stack:
        k = stack.pop()
        if timeline.ends[k] > timeline.starts[k]:
            found.add(k)
        else:
            fresh = [after for after in timeline.problem.consumers[k] if after not in seen]
            seen.update(fresh)
            stack += fresh
    return found


def _parts(timeline: Timeline, uses: dict[Node, _Use], turn: float, end: float) -> tuple[Part, ...]:
    """One for each variable that is computed with, in the order in which they are needed."""
    needed = sorted((use for use in uses.values() if use.need < float("inf")), key=lambda use: use.need)
    slots = sum(use.state for use in uses.values() if use.need == float("inf"))
    weights = sum(use.state for use in needed) or 1.0
    cuts = [min(use.need, turn) for use in needed[1:]] + [turn]
    carried, kept = _alive(timeline, cuts, turn)
    parts: list[Part] = []
    begin = 0.0
    ready = [0.0] * len(needed)
    latest = turn
    for k in range(len(needed) - 1, -1, -1):  # backward, gradients come in the opposite order
        latest = max(latest, min(needed[k].ready, end))
        ready[k] = latest
    for k, (use, cut) in enumerate(zip(needed, cuts, strict=True)):
        following = ready[k + 1] if k + 1 < len(needed) else turn
        last = end if k == 0 else ready[k]
        backward = max(0.0, last - following)
        state = use.state + slots * use.state / weights
        parts.append(Part(max(0.0, cut - begin), backward, use.pull, use.push, carried[k], kept[k], state))
        begin = max(begin, cut)
    return tuple(parts)


def _turn(timeline: Timeline, end: float) -> float:
    """When the step begins to compute backward: when the last node has ended that gradients are computed from. Nodes of
    gradients that need nothing, such as shapes, may run much earlier."""
    problem = timeline.problem
    gradient = [_is_gradient(node) for node in problem.nodes]
    used = [i for i, mine in enumerate(gradient) if not mine and any(gradient[k] for k in problem.consumers[i])]
    return max((timeline.ends[i] for i in used), default=end / 3)  # backward takes about twice as long


def _is_gradient(node: Node) -> bool:
    """Whether it computes a gradient: by what `tf.gradients` notes, or by its name, for graphs that were imported."""
    noted = node.source is not None and node.source._original_op is not None
    return noted or node.name.startswith("gradients") or "/gradients" in node.name


def _alive(timeline: Timeline, cuts: list[float], turn: float) -> tuple[list[float], list[float]]:
    """For each part, which ends at a cut: the bytes that later parts take of what is there by then, and the bytes that
    are kept from within it until the step computes backward."""
    problem = timeline.problem
    carried, kept = [0.0] * len(cuts), [0.0] * len(cuts)
    for i, size in enumerate(problem.output_bytes):
        made = timeline.ends[i]
        if not size or made > turn or problem.everywhere[i]:
            continue
        used = [timeline.starts[k] for k in problem.viewers[i]]
        forward = [start for start in used if start < turn]
        first = _index(cuts, made)
        if any(start >= turn for start in used):
            kept[first] += size
        for k in range(first, _index(cuts, max(forward, default=0.0))):
            carried[k] += size
    return carried, kept


def _index(cuts: list[float], when: float) -> int:
    """The part that something at this time belongs to."""
    return min(bisect_left(cuts, when), len(cuts) - 1)
