"""The passes, in order: from the client's graph to the graph that a plan is made from."""

from __future__ import annotations

from penstock.graph.operation import Operation, Tensor
from penstock.graph.step_graph import StepGraph
from penstock.graph.verify import CHECK, verify
from penstock.passes.assign_devices import assign_devices
from penstock.passes.prune import prune


def prepare(
    feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation], soft_placement: bool = False
) -> StepGraph:
    """Everything that happens to a graph between `Session.run` and the plan, in order."""
    graph = _checked(prune(feeds, fetches, targets), "prune")
    return _checked(assign_devices(graph, soft_placement), "assign_devices")


def _checked(graph: StepGraph, after: str) -> StepGraph:
    if CHECK:
        verify(graph, after)
    return graph
