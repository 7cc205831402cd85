"""Lowering a whole graph to one segment: the same for plans, for regions and for the members of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from penstock.analysis.guards import Guards
from penstock.analysis.hazards import Hazards
from penstock.analysis.host_scalars import find_host_nodes
from penstock.analysis.in_place import InPlace
from penstock.analysis.schedule import make_schedule
from penstock.analysis.structure import Statement
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
    """Find the order of `graph`, what must be copied, and what can be written in place: see `make_schedule`."""
    found = make_schedule(graph, kernels, into_variables)
    host = find_host_nodes(graph, found.guards.frames) if found.guards is not None else frozenset()
    return Lowered(
        graph, found.kernels, found.statements, found.guards, found.order, found.hazards, host, found.in_place
    )
