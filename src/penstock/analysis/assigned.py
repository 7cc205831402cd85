"""Assignments whose value is computed in the variable's own memory: `v = v * decay` of a large variable.

Otherwise the value would be computed in new memory and then copied: twice the memory traffic. A node may write into the
variable if the assignment runs next and the variable's old value is not used after the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.analysis.hazards import find_reads, is_state
from penstock.graph.opdef import Bound, PassThrough
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph

_AS_IT_LIES = ("same", "value")
"""Views that show all of their input, with the same layout."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """A node may write over its inputs `indices`, which show the variable that its result is assigned to.

    lock: the lock that the assignment takes, if any. The node then takes it as well.
    """

    indices: tuple[int, ...]
    lock: AbstractContextManager[Any] | None

    def guarding(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """Returns `kernel`, called while holding the lock."""
        lock = self.lock
        if lock is None:
            return kernel

        def run(*values: Any) -> Any:
            with lock:
                return kernel(*values)

        return run


def find_assigned(
    graph: StepGraph, kernels: Mapping[Node, Any], order: Sequence[tuple[Node, bool]]
) -> dict[Node, Assigned]:
    """The nodes of a graph without control flow, which runs in `order`, whose results can be computed in a variable."""
    if not any(node.op.traits.assigns for node in graph.nodes):
        return {}
    runs = [node for node, _ in order if _runs(node, kernels)]
    takers: dict[Edge, int] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            takers[edge] = takers.get(edge, 0) + 1
    for edge in graph.fetches:
        takers[edge] = takers.get(edge, 0) + 1
    pairs = [
        (node, assign)
        for node, assign in pairwise(runs)
        if assign.op.traits.assigns and assign.inputs[1] == Edge(node, 0) and takers[Edge(node, 0)] == 1
    ]
    if not pairs:
        return {}
    reads, roots = find_reads(graph, order)
    position = {node: i for i, (node, _) in enumerate(order)}
    found: dict[Node, Assigned] = {}
    for node, assign in pairs:
        variable = assign.inputs[0].node
        state = kernels.get(variable)
        whole = tuple(i for i, edge in enumerate(node.inputs) if _is_all_of(edge, variable))
        shown = [i for i, edge in enumerate(node.inputs) if variable in roots[edge]]
        start, end = position[node], position[assign]
        seen = any(variable in read.roots and read.start < end and read.last > start for read in reads)
        if len(node.dtypes) == 1 and len(whole) == len(shown) == 1 and not seen and isinstance(state, Bound):
            found[node] = Assigned(whole, state.value.lock if assign.attrs.get("use_locking", True) else None)
    return found


def _runs(node: Node, kernels: Mapping[Node, Any]) -> bool:
    """Whether a kernel is called for the node."""
    kernel = kernels.get(node)
    return node.op is FEED or not (kernel is None or isinstance(kernel, (Bound, PassThrough)))


def _is_all_of(edge: Edge, variable: Node) -> bool:
    """Whether a value is the whole content of `variable`, with the same layout."""
    while not is_state(edge) and edge.node.op.traits.view in _AS_IT_LIES and len(edge.node.dtypes) == 1:
        edge = edge.node.inputs[0]
    return edge.node is variable
