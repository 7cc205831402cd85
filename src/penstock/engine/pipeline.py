"""The passes, in order: from the client's graph to the graph that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from penstock.analysis.peak_memory import StepMemory, in_units
from penstock.analysis.sizes import Sizes
from penstock.codegen.compile_nodes import compile_nodes
from penstock.codegen.regions.regions import form_regions
from penstock.devices.device import Device
from penstock.graph.operation import Operation, Tensor
from penstock.graph.step_graph import StepGraph
from penstock.graph.verify import CHECK, verify
from penstock.passes.common_subexpressions import merge_common_subexpressions
from penstock.passes.dead_controls import skip_dead_controls
from penstock.passes.fold_constants import fold_constants
from penstock.passes.fuse import fuse
from penstock.passes.fuse_lookups import fuse_lookups
from penstock.passes.fuse_moments import fuse_moments
from penstock.passes.group_updates import group_updates
from penstock.passes.infer_shapes import infer_shapes
from penstock.passes.planned_memory import PlannedMemory
from penstock.passes.prune import prune
from penstock.passes.reduced_precision import emulate_float16, use_bfloat16, use_float16
from penstock.passes.save_memory import order_for_memory, recompute_for_gradients, swap_to_host
from penstock.passes.see_updates import see_updates
from penstock.passes.simplify import simplify
from penstock.passes.unused_stacks import drop_unused_stacks
from penstock.placement.choice import PLANNING_SECONDS, Strategy
from penstock.placement.constraints import Home
from penstock.placement.cost_model import CostModel
from penstock.placement.hardware import Hardware
from penstock.placement.place import Placement, log_placement, place

Pass = Callable[[StepGraph, PlannedMemory], StepGraph]


def _plain(transform: Callable[[StepGraph], StepGraph]) -> Pass:
    return lambda graph, memory: transform(graph)


def _sized(transform: Callable[[StepGraph, Sizes], StepGraph]) -> Pass:
    return lambda graph, memory: transform(graph, memory.sizes)


BEFORE_PLACING: dict[str, Pass] = {
    "infer_shapes": _plain(infer_shapes),
    "fold_constants": _plain(fold_constants),
    "drop_unused_stacks": _plain(drop_unused_stacks),
    "merge_common_subexpressions": _plain(merge_common_subexpressions),
    "skip_dead_controls": _plain(skip_dead_controls),
    "simplify": _plain(simplify),
    "fuse": _plain(fuse),  # before placing, so that the numbers do not depend on where nodes are placed
    "fuse_moments": _plain(fuse_moments),
    "fuse_lookups": _plain(fuse_lookups),
}
AFTER_PLACING: dict[str, Pass] = {
    "use_float16": _sized(use_float16),
    "emulate_float16": _sized(emulate_float16),
    "use_bfloat16": _sized(use_bfloat16),
    "fuse_placed": _plain(fuse),  # instead of "fuse" if precision is reduced, which needs to see single products
    "recompute_for_gradients": recompute_for_gradients,
    "swap_to_host": swap_to_host,
    "form_regions": lambda graph, memory: form_regions(graph, "auto"),
    "form_regions_at_once": lambda graph, memory: form_regions(graph, "on"),
    "compile": lambda graph, memory: compile_nodes(graph, "auto"),
    "compile_at_once": lambda graph, memory: compile_nodes(graph, "on"),
    "group_updates": _plain(group_updates),  # what regions did not take
    "order_for_memory": order_for_memory,  # of the nodes that finally run
}
ON_PARTS = frozenset({"form_regions", "form_regions_at_once", "compile", "compile_at_once", "group_updates"})
"""The passes that a task of a cluster runs on its own parts of a step."""
SAVE_MEMORY = ("recompute_for_gradients", "swap_to_host", "order_for_memory")
DEFAULT = frozenset({*BEFORE_PLACING, "form_regions", "compile", "group_updates"})
"""The passes that run unless a ConfigProto says otherwise (session/options.py). Memory passes are off because they cost
time."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of the passes from a session's ConfigProto (see session/options.py).

    devices: the session's, preferred first. strategy: None puts every node on the first device that it may be on. home:
    where unconstrained nodes go, if devices belong to several tasks.
    """

    devices: Sequence[Device]
    soft_placement: bool = False
    log_placement: bool = False
    strategy: Strategy | None = None
    planning_seconds: float = PLANNING_SECONDS
    costs: CostModel = field(default_factory=CostModel)
    hardware: Hardware | None = None
    home: Home | None = None
    compress: bool = False
    time_recvs: bool = False
    passes: Collection[str] = DEFAULT


@dataclass(frozen=True, slots=True)
class Passed:
    """The result of a pass: the number of nodes, and (for SAVE_MEMORY) the step's memory without and with it.

    `text`: the graph as text, if requested.
    """

    name: str
    nodes: int
    text: str = ""
    memory: tuple[StepMemory, StepMemory] | None = None


def pass_line(passed: Sequence[Passed]) -> str:
    """One line: `12 nodes, simplify 12 -> 9, order_for_memory 3.1 MB -> 2 MB`."""
    before = passed[0].nodes
    text = f"{before} nodes"
    for each in passed[1:]:
        if each.nodes != before:
            text += f", {each.name} {before} -> {each.nodes}"
            before = each.nodes
        if each.memory is not None:
            about = "" if all(memory.exact for memory in each.memory) else "about "
            text += f", {each.name} {about}{' -> '.join(in_units(memory.peak) for memory in each.memory)}"
    return text


@dataclass(slots=True)
class Prepared:
    """The graph that a plan is made from, and the result of each pass, in order."""

    graph: StepGraph
    passed: list[Passed]


def prepare(
    feeds: list[Tensor],
    fetches: list[Tensor],
    targets: list[Operation],
    options: StepOptions,
    fed: Sequence[tuple[int, ...]] = (),
    placement: Placement | None = None,
    show: Callable[[StepGraph], str] = lambda graph: "",
) -> Prepared:
    """Runs everything between `Session.run` and the plan, in order.

    `fed`: the shapes of the values that the step is for, in the order of `feeds`; without it, any shapes that fit.
    `placement`: where state already is. `show`: makes the text of a graph, which is kept for each pass.
    """
    o = options
    memory = PlannedMemory(o.costs)
    graph = see_updates(prune(feeds, fetches, targets, fed))
    passed = [_passed("prune", graph, show)]
    for name, transform in BEFORE_PLACING.items():
        if name in o.passes:
            graph = transform(graph, memory)
            passed.append(_passed(name, graph, show))
    pinned = placement.devices if placement is not None else None
    graph = place(
        graph, o.devices, o.soft_placement, o.strategy, o.costs, o.hardware, pinned, o.home, o.planning_seconds
    )
    passed.append(_passed("place", graph, show))
    if o.log_placement:
        log_placement(graph)
    graph, rest = _after_placing([name for name in AFTER_PLACING if name in o.passes], graph, memory, show)
    return Prepared(graph, [*passed, *rest])


def prepare_part(graph: StepGraph, passes: Collection[str]) -> StepGraph:
    """What one device runs of a step that was prepared and partitioned elsewhere."""
    names = [name for name in AFTER_PLACING if name in ON_PARTS and name in passes]
    return _after_placing(names, graph, PlannedMemory(CostModel()), lambda graph: "")[0]


def _after_placing(
    names: list[str], graph: StepGraph, memory: PlannedMemory, show: Callable[[StepGraph], str]
) -> tuple[StepGraph, list[Passed]]:
    """Runs the passes `names`. The result of one that saves memory is only kept if the step uses less after all passes
    have run."""
    passed: list[Passed] = []
    for i, name in enumerate(names):
        found = AFTER_PLACING[name](graph, memory)
        if name not in SAVE_MEMORY:
            graph = found
            passed.append(_passed(name, graph, show))
            continue
        left, kept = _passed(name, found, show), _passed(name, graph, show)
        plain, after_plain = _after_placing(names[i + 1 :], graph, memory, show)
        before = memory.of(plain)
        if found is not graph:
            saving, after = _after_placing(names[i + 1 :], found, memory, show)
            if memory.of(saving).saves(before):
                return saving, [*passed, replace(left, memory=(before, memory.of(saving))), *after]
        return plain, [*passed, replace(kept, memory=(before, before)), *after_plain]
    return graph, passed


def _passed(name: str, graph: StepGraph, show: Callable[[StepGraph], str]) -> Passed:
    """The result of the pass `name`; raises an error if it is invalid."""
    if CHECK:
        verify(graph, name)
    return Passed(name, len(graph.nodes), show(graph))
