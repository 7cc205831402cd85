"""How a graph runs as one segment: in which order, what is copied, and what is computed in place.

Plans, regions and clusters are lowered from it (codegen/python/lower.py), and memory is predicted from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.analysis.assigned import find_assigned
from penstock.analysis.frames import has_control_flow
from penstock.analysis.guards import Guards
from penstock.analysis.hazards import Hazards, find_hazards
from penstock.analysis.in_place import InPlace, find_in_place
from penstock.analysis.structure import Statement, execution_order, structured
from penstock.graph.step_graph import Node, StepGraph


@dataclass(frozen=True, slots=True)
class Schedule:
    """`kernels`: the given ones, except that kernels that choose for themselves what to overwrite know which inputs
    they may. `guards`: None without control flow."""

    kernels: Mapping[Node, Any]
    statements: list[Statement]
    guards: Guards | None
    order: list[tuple[Node, bool]]
    """The nodes in execution order, and whether each is in a loop (structure.py)."""
    hazards: Hazards
    in_place: Mapping[Node, InPlace]


def make_schedule(graph: StepGraph, kernels: Mapping[Node, Any], into_variables: bool = False) -> Schedule:
    """The schedule of `graph`. Raises `Unstructured` if its control flow has no structured form.

    into_variables: results that are assigned to a variable may be computed in its memory (only for whole steps:
    elsewhere, memory that was read must not change).
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
    return Schedule(kernels, statements, guards, order, hazards, in_place)
