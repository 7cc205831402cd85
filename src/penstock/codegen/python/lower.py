"""Lowering a whole graph to one segment: the same for plans, for regions and for the members of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from penstock.analysis.host_scalars import find_host_nodes
from penstock.analysis.schedule import Schedule, make_schedule
from penstock.codegen.python.segment import Param, Result, Segment, build_segment
from penstock.graph.step_graph import Node, StepGraph


@dataclass(frozen=True, slots=True)
class Lowered:
    """The input for generating a graph's segment. `host`: the nodes that compute with Python numbers."""

    schedule: Schedule
    host: Set[Node]

    def segment(self, params: list[Param], results: list[Result], observed: bool = False) -> Segment:
        """The graph's function of `params`; see `build_segment`."""
        s = self.schedule
        return build_segment(s.statements, s.kernels, params, results, s.hazards.reads, observed, self.host, s.in_place)


def lower(graph: StepGraph, kernels: Mapping[Node, Any], into_variables: bool = False) -> Lowered:
    """Find the order of `graph`, what must be copied, and what can be computed in place: see `make_schedule`."""
    schedule = make_schedule(graph, kernels, into_variables)
    guards = schedule.guards
    return Lowered(schedule, find_host_nodes(graph, guards.frames) if guards is not None else frozenset())
