"""Nodes and graphs as text, one line per node, for errors, tests and `print`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.tensor.dtypes import DType

if TYPE_CHECKING:
    from penstock.graph.operation import Operation
    from penstock.graph.step_graph import Node, StepGraph


def node_line(op: Operation) -> str:
    """`y = MatMul(x:0, W/read:0, ^init) transpose_b=True : float32 (2, 3) @ /device:CPU:0`."""
    inputs = [t.name for t in op._inputs] + [f"^{c.name}" for c in op._control_inputs]
    attrs = [f"{k}={_value(v)}" for k, v in op.attrs.items() if not isinstance(v, DType) and k != "_class"]
    outputs = ", ".join(f"{t.dtype.name} {t.shape}" for t in op._outputs)
    parts = [f"{op.name} = {op.type}({', '.join(inputs)})", *attrs]
    return " ".join(parts) + (f" : {outputs}" if outputs else "") + (f" @ {op.device}" if op.device else "")


def step_text(graph: StepGraph) -> str:
    """The graph of a step, one line per node; the members of a node that replaces others are indented below it."""
    lines = list(_lines(graph, ""))
    return "\n".join([*lines, "fetch " + ", ".join(edge.name for edge in graph.fetches)])


def _lines(graph: StepGraph, indent: str) -> Iterator[str]:
    for node in graph.nodes:
        yield indent + _step_line(node)
        if "body" in node.attrs:
            yield from _lines(node.attrs["body"], indent + "    ")


def _step_line(node: Node) -> str:
    inputs = [edge.name for edge in node.inputs] + [f"^{control.name}" for control in node.controls]
    attrs = [f"{k}={_value(v)}" for k, v in node.attrs.items() if k in node.op.attrs and not isinstance(v, DType)]
    outputs = ", ".join(f"{d.name} {s}" for d, s in zip(node.dtypes, node.shapes, strict=True))
    parts = [f"{node.name} = {node.op.name}({', '.join(inputs)})", *attrs]
    return " ".join(parts) + (f" : {outputs}" if outputs else "") + (f" @ {node.device}" if node.device else "")


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)}" if value.size > 8 else str(value.tolist())
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
