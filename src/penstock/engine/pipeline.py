"""The passes, in order: from the client's graph to the graph that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from penstock.analysis.sizes import Sizes
from penstock.codegen.compile_nodes import compile_nodes
from penstock.codegen.regions.regions import form_regions
from penstock.devices.device import Device
from penstock.engine.memory_limits import check_limits, limits_of
from penstock.engine.remedies import Passed, Remedies, Result, passed_by
from penstock.graph.operation import Operation, Tensor
from penstock.graph.step_graph import StepGraph
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
    "form_regions": lambda graph, memory: form_regions(graph, "auto"),
    "form_regions_at_once": lambda graph, memory: form_regions(graph, "on"),
    "compile": lambda graph, memory: compile_nodes(graph, "auto"),
    "compile_at_once": lambda graph, memory: compile_nodes(graph, "on"),
    "group_updates": _plain(group_updates),  # what regions did not take
}
REMEDIES = ("accumulate_sums", "recompute_for_gradients", "swap_to_host", "order_for_memory")
"""What lowers a step's memory (engine/remedies.py)."""
REGIONS = frozenset({"form_regions", "form_regions_at_once"})
ON_PARTS = frozenset({"form_regions", "form_regions_at_once", "compile", "compile_at_once", "group_updates"})
"""The passes that a task of a cluster runs on its own parts of a step."""
TRIED = 3
"""The alternatives of a remedy for which all passes are run."""
_AT_THE_END = ("order_for_memory",)
"""The remedies for the nodes that finally run; others come before nodes are compiled."""
DEFAULT = frozenset({*BEFORE_PLACING, "form_regions", "compile", "group_updates"})
"""The passes that run unless a ConfigProto says otherwise (session/options.py). Memory passes are off because they cost
time."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """The options of the passes from a session's ConfigProto (see session/options.py).

    devices: the session's, preferred first. strategy: None puts every node on the first device that it may be on. home:
    where unconstrained nodes go, if devices belong to several tasks. memory_budget: bytes for values on each device.
    """

    devices: Sequence[Device]
    soft_placement: bool = False
    log_placement: bool = False
    strategy: Strategy | None = None
    planning_seconds: float = PLANNING_SECONDS
    costs: CostModel = field(default_factory=CostModel)
    hardware: Hardware | None = None
    home: Home | None = None
    memory_budget: int | None = None
    compress: bool = False
    time_recvs: bool = False
    passes: Collection[str] = DEFAULT


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
    passed = [passed_by("prune", graph, show)]
    for name, transform in BEFORE_PLACING.items():
        if name in o.passes:
            graph = transform(graph, memory)
            passed.append(passed_by(name, graph, show))
    pinned = placement.devices if placement is not None else None
    graph = place(
        graph, o.devices, o.soft_placement, o.strategy, o.costs, o.hardware, pinned, o.home, o.planning_seconds
    )
    passed.append(passed_by("place", graph, show))
    if o.log_placement:
        log_placement(graph)
    names = [name for name in AFTER_PLACING if name in o.passes]

    def finish(graph: StepGraph, regions: bool) -> Result:
        return _run([name for name in names if regions or name not in REGIONS], graph, memory, show)

    remedies = [name for name in REMEDIES if name in o.passes]
    graph, rest = Remedies(memory, remedies, finish, show, o.memory_budget).apply(graph)
    check_limits(graph, memory, limits_of(o.devices, o.hardware))
    return Prepared(graph, [*passed, *rest])


def prepare_part(graph: StepGraph, passes: Collection[str]) -> StepGraph:
    """What one device runs of a step that was prepared and partitioned elsewhere."""
    names = [name for name in AFTER_PLACING if name in ON_PARTS and name in passes]
    return _run(names, graph, PlannedMemory(CostModel()), lambda graph: "")[0]


def _run(names: list[str], graph: StepGraph, memory: PlannedMemory, show: Callable[[StepGraph], str]) -> Result:
    """Runs the passes `names`."""
    passed = []
    for name in names:
        graph = AFTER_PLACING[name](graph, memory)
        passed.append(passed_by(name, graph, show))
    return graph, passed
