"""The passes, in order: from the client's graph to the graph that a plan is made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock.devices.device import Device
from penstock.graph.operation import Operation, Tensor
from penstock.graph.step_graph import StepGraph
from penstock.graph.verify import CHECK, verify
from penstock.passes.common_subexpressions import merge_common_subexpressions
from penstock.passes.fold_constants import fold_constants
from penstock.passes.memory import order_for_memory, recompute_for_gradients, swap_to_host
from penstock.passes.prune import prune
from penstock.placement.cost_model import CostModel
from penstock.placement.hardware import Hardware
from penstock.placement.place import log_placement, place
from penstock.placement.strategies import Strategy


@dataclass(slots=True)
class StepOptions:
    """What the passes are to do, as a session's ConfigProto says (see session/options.py).

    devices: the session's, first choice first. strategy: None puts every node on the first device that it may be on.
    placed: the devices of nodes that hold state, by name, which must be the same in all steps.
    """

    devices: Sequence[Device]
    soft_placement: bool = False
    log_placement: bool = False
    strategy: Strategy | None = None
    costs: CostModel = field(default_factory=CostModel)
    hardware: Hardware | None = None
    placed: dict[str, str] = field(default_factory=dict)
    compress: bool = False
    time_recvs: bool = False
    fold_constants: bool = True
    merge_common: bool = True
    memory: Sequence[str] = ()


def prepare(feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation], options: StepOptions) -> StepGraph:
    """Everything that happens to a graph between `Session.run` and the plan, in order."""
    graph = _checked(prune(feeds, fetches, targets), "prune")
    o = options
    if o.fold_constants:
        graph = _checked(fold_constants(graph), "fold_constants")
    if o.merge_common:
        graph = _checked(merge_common_subexpressions(graph), "merge_common_subexpressions")
    graph = place(graph, o.devices, o.soft_placement, o.strategy, o.costs, o.hardware, o.placed)
    if o.log_placement:
        log_placement(graph)
    graph = _checked(graph, "place")
    for name in o.memory:
        graph = _checked(MEMORY_PASSES[name](graph, o.costs), name)
    return graph


MEMORY_PASSES: dict[str, Callable[[StepGraph, CostModel], StepGraph]] = {
    "recompute_for_gradients": recompute_for_gradients,
    "swap_to_host": swap_to_host,
    "order_for_memory": order_for_memory,
}
"""Off unless asked for (RewriterConfig.memory_optimization), since they cost time."""


def _checked(graph: StepGraph, after: str) -> StepGraph:
    if CHECK:
        verify(graph, after)
    return graph
