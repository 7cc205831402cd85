"""Constant folding (white paper section 5.1): what depends only on constants is computed once, when the plan is
made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from penstock.analysis.frames import has_control_flow
from penstock.analysis.kept_for_gradients import popped_values
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.opdef import Bound, PassThrough, get_op
from penstock.graph.primitives import ENTERS, MERGES, SWITCHES
from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import FEED, Edge, Node, StepGraph
from penstock.passes.infer_shapes import infer_shapes, is_settled
from penstock.passes.nodes import is_pure, only_waiting
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager
from penstock.runtime.values import constant_to_runtime, from_runtime
from penstock.tensor.dtypes import DType, variant
from penstock.tensor.shapes import TensorShape

MOST_BYTES = 10 << 20
"""Results larger than this, and than what they are computed from, are computed in each step, not kept with the plan."""

_CPU = torch.device("cpu")


def fold_constants(graph: StepGraph) -> StepGraph:
    """Nodes whose inputs are all constants become constants; so do shapes that are known before the step. Checks that
    always succeed are removed.

    A node that fails is left, so that the step raises the error. A constant waits for what its node would have waited
    for. With control flow, the shape of a value also waits for the value: in a branch that is not taken there is none,
    and in a loop there is one in each iteration.

    Constants may tell further shapes (that of a Reshape to a computed shape), and those further constants.
    """
    while True:
        folding = _Folding(graph)
        for node in graph.nodes:
            folding.take(node)
        folded = folding.finished()
        graph = infer_shapes(folded) if folding.tells_shapes(folded) else folded
        if graph is folded:
            return graph


class _Folding:
    """Folds a graph node by node: `made` are the nodes so far; `edges` and `controls` are the replacements for folded
    ones."""

    def __init__(self, graph: StepGraph) -> None:
        self._graph = graph
        self._branches = has_control_flow(graph)
        self._popped = popped_values(graph)
        self._state = SessionState(ResourceManager())
        self._made: list[Node] = []
        self._edges: dict[Edge, Edge] = {}
        self._controls: dict[Node, Node | None] = {}
        self._alive: dict[Edge, Node] = {}

    def take(self, node: Node) -> None:
        self._made.append(node)
        if node in self._popped:
            self._take_pop(node, self._popped[node])
            return
        if node.op.name == "TensorArraySizeV3":
            self._take_size(node)
            return
        inputs = [self._edges.get(edge, edge) for edge in node.inputs]
        if node.op.traits.checks and _is_true(inputs[0].node):
            self._skip(node)
            return
        constant = all(edge.node.is_constant for edge in inputs) and bool(node.dtypes) and not node.is_constant
        constant = constant and variant not in node.dtypes  # what variants hold is for kernels only
        if not (constant or node.op.traits.of_shapes):
            return
        if node.op.name == "Enter" and node.attrs["is_constant"]:
            self._fold(node, [inputs[0].node.attrs["value"]], [node])  # it tells the loop that its iteration has begun
        if not is_pure(node):
            return
        waits = self._waits(node)
        values = self._shapes(node, inputs)
        if values is not None:
            waits += [self._whatever_lives_with(edge) for edge in inputs if self._branches and edge.node.op is not FEED]
        elif constant:
            values = _computed(node, inputs, self._state)
            waits += [control for edge in inputs for control in edge.node.controls]
        if values is not None:
            # A control input from a constant that waits for nothing has no effect: the constant is always available.
            constant_of = self._fold(node, values, waits)
            self._controls[node] = constant_of if waits else None

    def finished(self) -> StepGraph:
        if not (self._edges or self._controls):
            return self._graph
        return remove_unused(rewritten(self._graph, edges=self._edges, controls=self._controls, nodes=self._made))

    def _take_pop(self, node: Node, pushed: Edge) -> None:
        """A constant that a loop pushes in each iteration is there without a stack."""
        constant = self._edges.get(pushed, pushed).node
        if constant.is_constant:
            waits = self._waits(node)
            if not waits or node.inputs[0].node.op.name not in ENTERS:  # an Enter is alive in every iteration
                waits.append(self._whatever_lives_with(node.inputs[0]))
            self._fold(node, [constant.attrs["value"]], waits)

    def _take_size(self, node: Node) -> None:
        """An array that cannot grow has the size that it was made with."""
        handle = node.inputs[0]
        while handle.node.op.name == "TensorArrayGradV3" or (
            handle.node.op.traits.view == "same" and handle.node.op.name not in MERGES
        ):
            handle = handle.node.inputs[0]
        if handle.node.op.traits.holds != "array" or handle.node.attrs.get("dynamic_size"):
            return
        size = handle.node.inputs[0]
        constant = self._edges.get(size, size).node
        if constant.is_constant and constant.attrs["value"].ndim == 0:
            waits = self._waits(node) + ([self._whatever_lives_with(node.inputs[1])] if self._branches else [])
            self._controls[node] = self._fold(node, [constant.attrs["value"]], waits) if waits else None

    def _waits(self, node: Node) -> list[Node]:
        """What a node waits for now."""
        return [waited for c in node.controls if (waited := self._controls.get(c, c)) is not None]

    def tells_shapes(self, graph: StepGraph) -> bool:
        """Whether a node of unknown shape takes a value that has become a constant."""
        made = {edge.node.name for edge in self._edges.values()}  # the nodes themselves may have been copied since
        return any(edge.node.name in made and not is_settled(node) for node in graph.nodes for edge in node.inputs)

    def _skip(self, node: Node) -> None:
        """Remove a check. With control flow, what waits for it still waits for its inputs, which may be dead."""
        waits = self._waits(node)
        if self._branches:
            waits += [self._whatever_lives_with(edge) for edge in node.inputs]
        self._controls[node] = None
        if waits:
            self._controls[node] = made = only_waiting(node, tuple(dict.fromkeys(waits)))
            self._made.append(made)

    def _fold(self, node: Node, values: list[np.ndarray], waits: list[Node]) -> Node:
        """Constants of the outputs of `node`; returns one of them."""
        for port, value in enumerate(values):
            name = node.name if port == 0 else f"{node.name}:{port}"
            constant = _constant(f"{name}/folded", value, node.dtypes[port], node, tuple(dict.fromkeys(waits)))
            self._made.append(constant)
            self._edges[Edge(node, port)] = Edge(constant, 0)
        return constant

    def _shapes(self, node: Node, inputs: list[Edge]) -> list[np.ndarray] | None:
        """The results of a node that depends only on the shapes of its inputs, if they are known.

        Without control flow, a shape waits for nothing. The shape of a variable therefore has to stay: reading it
        checks that it is initialised.
        """
        if not node.op.traits.of_shapes or (not self._branches and any(map(_reads_state, inputs))):
            return None
        return _known_shapes(node)

    def _whatever_lives_with(self, edge: Edge) -> Node:
        """A node to wait for that has run when the value of an edge exists. (A Switch has, for both of its outputs.)"""
        node = edge.node
        if node.op.name not in SWITCHES:
            return node
        if edge not in self._alive:
            attrs, dtypes, shapes = {"T": edge.dtype}, (edge.dtype,), (node.shapes[edge.port],)
            name = f"{node.name}:{edge.port}/alive"
            alive = Node(name, get_op("Identity"), attrs, (edge,), (), node.device, dtypes, shapes, node.source)
            self._made.append(alive)
            self._alive[edge] = alive
        return self._alive[edge]


def _constant(name: str, value: np.ndarray, dtype: DType, like: Node, controls: tuple[Node, ...]) -> Node:
    attrs = {"value": value, "dtype": dtype}
    shape = TensorShape(value.shape)
    return Node(name, get_op("Const"), attrs, (), controls, like.device, (dtype,), (shape,), like.source)


def _is_true(node: Node) -> bool:
    return node.is_constant and np.shape(node.attrs["value"]) == () and bool(node.attrs["value"])


def _reads_state(edge: Edge) -> bool:
    """Whether a value is that of a variable, possibly renamed: using it checks that it is initialised."""
    while edge.node.op.name == "Identity" and not edge.node.inputs[0].dtype._is_ref_dtype:
        edge = edge.node.inputs[0]
    return edge.node.op.stateful or any(e.dtype._is_ref_dtype for e in edge.node.inputs)


def _known_shapes(node: Node) -> list[np.ndarray] | None:
    shapes = [e.node.shapes[e.port] for e in node.inputs]
    dtype = node.dtypes[0].as_numpy_dtype
    if node.op.name == "Rank":
        return None if shapes[0].ndims is None else [np.array(shapes[0].ndims, dtype)]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    known: list[Any] = [s.num_elements() if node.op.name == "Size" else s.as_list() for s in shapes]
    if any(size > np.iinfo(dtype).max for each in known for size in np.ravel(np.array(each, object))):
        return None  # the kernel will report it
    return [np.array(each, dtype) for each in known]


def _computed(node: Node, inputs: list[Edge], state: SessionState) -> list[np.ndarray] | None:
    """The outputs of a node whose inputs are constants; None if it is better left unchanged."""
    most = max(MOST_BYTES, sum(e.node.attrs["value"].nbytes for e in inputs))
    sizes = [shape.num_elements() if shape.is_fully_defined() else None for shape in node.shapes]
    if not node.dtypes or any(
        s is not None and s * max(d.size, 1) > most for s, d in zip(sizes, node.dtypes, strict=True)
    ):
        return None
    try:
        kernel = make_kernel(replace(node, inputs=tuple(inputs)), "CPU", _CPU, state)
        if isinstance(kernel, Bound):  # the factory has found that there is nothing to compute
            return [np.array(from_runtime(kernel.value, node.dtypes[0]), node.dtypes[0].np)]
        if isinstance(kernel, PassThrough):
            return [inputs[0].node.attrs["value"]]
        if not isinstance(kernel, NodeKernel) or kernel.start is not None:
            return None
        flat = [constant_to_runtime(e.node.attrs["value"], e.dtype, _CPU) for e in inputs]
        grouped: list[Any] = []
        position = 0
        for _, is_list, old in node.grouped_inputs():
            part = flat[position : position + len(old)]
            grouped.append(part if is_list else part[0])
            position += len(old)
        with torch.inference_mode():
            found = kernel.call(*grouped)
    except Exception:
        return None
    single = len(node.op.outputs) == 1 and not node.op.outputs[0].is_list
    outputs = [found] if single else list(found)
    arrays = [np.array(from_runtime(value, dtype), dtype.np) for value, dtype in zip(outputs, node.dtypes, strict=True)]
    if sum(array.nbytes for array in arrays) > most:
        return None
    for array in arrays:
        array.flags.writeable = False
    return arrays
