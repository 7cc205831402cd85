"""Constant folding (white paper section 5.1): what depends on constants alone is computed once, in the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.graph.opdef import Bound, PassThrough, get_op
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.control_flow import PRIMITIVES
from penstock.passes.rewrite import is_pure, remove_unused, replace_edges
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager
from penstock.runtime.values import constant_to_runtime, from_runtime
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

MOST_BYTES = 10 << 20
"""Results larger than this are computed in each step, not kept with the plan."""

_FROM_SHAPES = {"Shape", "Size", "Rank", "ShapeN"}
_CPU = torch.device("cpu")


def fold_constants(graph: StepGraph) -> StepGraph:
    """Nodes whose inputs are all constants become constants; so do shapes that are known before the step.

    A node that fails is left, so that the error comes in the step. In a graph with control flow, shapes are left alone:
    of a value in a branch that is not taken there is none.
    """
    branches = any(node.op.name in PRIMITIVES for node in graph.nodes)
    state = SessionState(ResourceManager())
    edges: dict[Edge, Edge] = {}
    made: list[Node] = []
    for node in graph.nodes:
        made.append(node)
        values = None
        if not node.controls and is_pure(node) and node.op.name != "Const":
            if node.op.name in _FROM_SHAPES and not branches and not any(_reads_state(e) for e in node.inputs):
                values = _known_shapes(node)
            if values is None:
                inputs = [edges.get(e, e) for e in node.inputs]
                if inputs and all(e.node.op.name == "Const" and not e.node.controls for e in inputs):
                    values = _computed(node, inputs, state)
        if values is None:
            continue
        for port, value in enumerate(values):
            name = node.name if port == 0 else f"{node.name}:{port}"
            constant = _constant(f"{name}/folded", value, node.dtypes[port], node)
            made.append(constant)
            edges[Edge(node, port)] = Edge(constant, 0)
    if not edges:
        return graph
    folded = StepGraph(made, graph.feeds, graph.fetches, graph.targets)
    # A control input from a node that was folded says nothing: a constant is always there.
    return remove_unused(replace_edges(folded, edges, {edge.node: None for edge in edges}))


def _constant(name: str, value: np.ndarray, dtype: DType, like: Node) -> Node:
    attrs = {"value": value, "dtype": dtype}
    shape = TensorShape(value.shape)
    return Node(name, get_op("Const"), attrs, (), (), like.device, (dtype,), (shape,), like.source)


def _reads_state(edge: Edge) -> bool:
    """Whether a value is that of a variable, under whatever name: using it says that it is initialised."""
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
    if node.op.name == "Size":
        return [np.array(shapes[0].num_elements(), dtype)]
    return [np.array(shape.as_list(), dtype) for shape in shapes]


def _computed(node: Node, inputs: list[Edge], state: SessionState) -> list[np.ndarray] | None:
    """The outputs of a node of constants; None where it is better left as it is."""
    sizes = [shape.num_elements() if shape.is_fully_defined() else None for shape in node.shapes]
    if not node.dtypes or any(
        s is not None and s * max(d.size, 1) > MOST_BYTES for s, d in zip(sizes, node.dtypes, strict=True)
    ):
        return None
    try:
        node.inputs = tuple(inputs)
        kernel: Any = make_kernel(node, "CPU", _CPU, state)
        if isinstance(kernel, Bound):  # the factory has seen that there is nothing left to compute
            return [np.array(from_runtime(kernel.value, node.dtypes[0]), node.dtypes[0].np)]
        if isinstance(kernel, PassThrough) or not callable(kernel) or hasattr(kernel, "start"):
            return None
        flat = [constant_to_runtime(e.node.attrs["value"], e.dtype, _CPU) for e in inputs]
        grouped: list[Any] = []
        position = 0
        for _, is_list, old in node.grouped_inputs():
            part = flat[position : position + len(old)]
            grouped.append(part if is_list else part[0])
            position += len(old)
        with torch.inference_mode():
            found = kernel(*grouped)
    except Exception:
        return None
    single = len(node.op.outputs) == 1 and not node.op.outputs[0].is_list
    outputs = [found] if single else list(found)
    arrays = [np.array(from_runtime(value, dtype), dtype.np) for value, dtype in zip(outputs, node.dtypes, strict=True)]
    if sum(array.nbytes for array in arrays) > MOST_BYTES:
        return None
    for array in arrays:
        array.flags.writeable = False
    return arrays
