"""Lowering a whole graph to one segment: the same for plans, for regions and for the members of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from penstock.analysis.assigned import find_assigned
from penstock.analysis.frames import has_control_flow
from penstock.analysis.guards import Guards
from penstock.analysis.hazards import Hazards, find_hazards
from penstock.analysis.host_scalars import find_host_nodes
from penstock.analysis.in_place import InPlace, find_in_place
from penstock.analysis.structure import Statement, execution_order, structured
from penstock.codegen.python.segment import Param, Result, Segment, build_segment
from penstock.graph.step_graph import Node, StepGraph


@dataclass(frozen=True, slots=True)
class Lowered:
    """A graph with all that its segment is written from. `guards`: None without control flow."""

    graph: StepGraph
    kernels: Mapping[Node, Any]
    statements: list[Statement]
    guards: Guards | None
    order: list[tuple[Node, bool]]
    """The nodes as they run, and whether that is in a loop (analysis/structure.py)."""
    hazards: Hazards
    host: Set[Node]
    in_place: Mapping[Node, InPlace]

    def segment(self, params: list[Param], results: list[Result], observed: bool = False) -> Segment:
        """The graph's function of `params`; see `build_segment`."""
        reads = self.hazards.reads
        return build_segment(self.statements, self.kernels, params, results, reads, observed, self.host, self.in_place)


def lower(graph: StepGraph, kernels: Mapping[Node, Any], into_variables: bool = False) -> Lowered:
    """Find the order of `graph`, what must be copied, and what can be written in place.

    into_variables: results that are assigned to a variable may be computed in its memory (of steps only: what is read
    elsewhere must not change under it). `Unstructured` where control flow has no structured form.
    """
    statements: list[Statement] = list(graph.nodes)
    guards = None
    if has_control_flow(graph):
        statements, guards = structured(graph)
    order = list(execution_order(statements))
    frames = guards.frames if guards is not None else {}
    hazards = find_hazards(graph, order)
    assigned = find_assigned(graph, kernels, order) if into_variables and guards is None else {}
    in_place, kernels = find_in_place(graph, kernels, [node for node, _ in order], frames, assigned)
    host = find_host_nodes(graph, frames) if frames else frozenset()
    return Lowered(graph, kernels, statements, guards, order, hazards, host, in_place)
