"""The memory that a step would take if it were planned unchanged: used by passes that save memory and by
Session.explain.

The model is `analysis/peak_memory.py`; this file makes the kernels that determine what is computed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from penstock.analysis.hazards import is_state
from penstock.analysis.peak_memory import StepMemory, predict_planned
from penstock.analysis.sizes import Sizes
from penstock.graph.opdef import get_op, has_op
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager

_UNKNOWN = object()
"""A stand-in for a kernel that is only made with the plan."""
_CPU = torch.device("cpu")


class PlannedMemory:
    """Predictions for graphs that have most nodes in common: each node is analysed once."""

    def __init__(self, sizes: Sizes | None = None) -> None:
        self.sizes = sizes or Sizes()
        self._kernels: dict[Node, Any] = {}
        self._found: dict[StepGraph, StepMemory] = {}
        self._bodies: dict[Node, StepMemory] = {}
        self._state = SessionState(ResourceManager())  # not a session's: nothing here outlives the pass

    def of(self, graph: StepGraph) -> StepMemory:
        """The memory of `graph` in the order of its nodes."""
        if graph not in self._found:
            self._found[graph] = self._predict(graph, into_variables=True)
        return self._found[graph]

    def bodies(self, nodes: Iterable[Node]) -> Mapping[Node, StepMemory]:
        """For each region among `nodes` the memory of its own nodes, without its inputs."""
        found = {}
        for node in nodes:
            if node.op.name == "_Region":
                if node not in self._bodies:
                    self._bodies[node] = self._predict(node.attrs["body"], into_variables=False)
                found[node] = self._bodies[node]
        return found

    def _predict(self, graph: StepGraph, into_variables: bool) -> StepMemory:
        bodies = self.bodies(graph.nodes)
        return predict_planned(graph, self._kernels_of(graph.nodes), self.sizes, bodies, into_variables)

    def _kernels_of(self, nodes: Iterable[Node]) -> dict[Node, Any]:
        found = {}
        for node in nodes:
            if node.op is not FEED and node.op.name not in PRIMITIVES:
                if node not in self._kernels:
                    self._kernels[node] = self._make(node)
                found[node] = self._kernels[node]
        return found

    def _make(self, node: Node) -> Any:
        """The node's kernel, if making it has no side effects: no compiler, no random stream, no file."""
        name = node.op.name
        compiled = "body" in node.attrs or (has_op(name) and get_op(name) is not node.op)
        state = node.op.stateful or (bool(node.dtypes) and is_state(Edge(node, 0)))
        if compiled or (state and node.inputs):  # without inputs: a variable
            return _UNKNOWN
        try:
            return make_kernel(node, "CPU", _CPU, self._state)
        except Exception:  # which raises the error once the plan is made
            return _UNKNOWN
