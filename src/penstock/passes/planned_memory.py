"""The memory that a step would take if it were planned unchanged: used by passes that save memory and by
Session.explain.

The model is `analysis/peak_memory.py`; this file makes the kernels that determine what is computed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch

from penstock.analysis.allocations import Allocations
from penstock.analysis.hazards import is_state, variable_of
from penstock.analysis.peak_memory import StepMemory, predict_planned
from penstock.analysis.sizes import Sizes
from penstock.graph.node_kernel import Memory, NodeKernel, abilities
from penstock.graph.opdef import get_op, has_op
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager
from penstock.runtime.stand_ins import StandInCall
from penstock.tensor.dtypes import DType, resource
from penstock.tensor.shapes import TensorShape

_UNKNOWN = object()
"""A stand-in for a kernel that is only made with the plan."""
_CPU = torch.device("cpu")
SMALL = 1 << 16
"""Bytes: with smaller inputs and results, what a kernel takes besides is not looked for."""


class PlannedMemory:
    """Predictions for graphs that have most nodes in common: each node is analysed once."""

    def __init__(self, sizes: Sizes | None = None) -> None:
        self.sizes = sizes or Sizes()
        self._kernels: dict[Node, Any] = {}
        self._found: dict[StepGraph, StepMemory] = {}
        self._inside: dict[Node, Memory | None] = {}
        self._alike: dict[Any, Memory | None] = {}
        self._state = SessionState(ResourceManager())  # not a session's: nothing here outlives the pass

    def of(self, graph: StepGraph) -> StepMemory:
        """The memory of `graph` in the order of its nodes."""
        if graph not in self._found:
            self._found[graph] = self._predict(graph, into_variables=True)
        return self._found[graph]

    def inside(self, nodes: Iterable[Node], kernels: Mapping[Node, Any]) -> dict[Node, Memory]:
        """What the kernels of `nodes` take while they run, besides inputs and results, as far as it is known."""
        found = {}
        for node in nodes:
            if node not in self._inside:
                self._inside[node] = self._take(node, abilities(kernels.get(node)))
            memory = self._inside[node]
            if memory is not None:
                found[node] = memory
        return found

    def _take(self, node: Node, kernel: NodeKernel) -> Memory | None:
        memory = kernel.memory() if kernel.memory is not None else None
        if memory is not None:
            return memory
        made = sum(self.sizes.bytes(Edge(node, port)) for port in range(len(node.dtypes)))
        if "body" in node.attrs:
            if node.op.name != "_Region":
                return None
            body = self._predict(node.attrs["body"], into_variables=False)
            return Memory(max(0, body.peak - int(made)), body.exact)
        if node.op.name in PRIMITIVES or node.op is FEED or node.op.aliases or node.is_constant:
            return None
        if max([made, *map(self._bytes, node.inputs)]) < SMALL:
            return None
        shapes = tuple(edge.node.shapes[edge.port].tuple for edge in node.inputs)
        key = (node.op, tuple(node.attrs.items()), shapes)
        try:
            hash(key)
        except TypeError:  # for example, an attribute that is a list
            return _allocated_inside(node)
        if key not in self._alike:
            self._alike[key] = _allocated_inside(node)
        return self._alike[key]

    def _bytes(self, edge: Edge) -> float:
        dtype, shape = _declared(edge)
        count = shape.num_elements()
        return float((count or 0) * dtype.size)

    def _predict(self, graph: StepGraph, into_variables: bool) -> StepMemory:
        kernels = self._kernels_of(graph.nodes)
        return predict_planned(graph, kernels, self.sizes, self.inside(graph.nodes, kernels), into_variables)

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
        compiled = name != "_Region" and ("body" in node.attrs or (has_op(name) and get_op(name) is not node.op))
        state = name != "_Region" and (node.op.stateful or (bool(node.dtypes) and is_state(Edge(node, 0))))
        if compiled or (state and node.inputs):  # without inputs: a variable
            return _UNKNOWN
        try:
            return make_kernel(node, "CPU", _CPU, self._state)
        except Exception:  # which raises the error once the plan is made
            return _UNKNOWN


def _declared(edge: Edge) -> tuple[DType, TensorShape]:
    """The dtype and shape of a value, or of the variable that a handle leads to."""
    variable = variable_of(edge) if edge.dtype == resource else None
    if variable is None:
        return edge.dtype.base_dtype, edge.node.shapes[edge.port]
    return variable.attrs["dtype"], variable.attrs["shape"]


def _is_harmless(node: Node) -> bool:
    """Whether running the node alone changes nothing: all state that it uses are variables, of which there are
    others."""
    states = [edge for edge in node.inputs if is_state(edge)]
    if node.op.traits.client or (node.op.stateful and not states):
        return False
    return all(variable_of(edge) is not None for edge in states)


def _allocated_inside(node: Node) -> Memory | None:
    """What a kernel that consists of several of torch's takes between them: it is run once, on zeros."""
    if not has_op(node.op.name) or not _is_harmless(node):
        return None
    counted = Allocations()
    try:
        call = StandInCall(replace(node, op=get_op(node.op.name)), "CPU", _CPU, _declared)  # torch's kernels
        with torch.inference_mode(), counted:
            made = call.run()
    except Exception:  # zeros are no input for it, or its shapes are unknown
        return None
    (use,) = counted.uses
    return Memory(use.peak - use.live) if made is not None and use.peak > use.live else None
