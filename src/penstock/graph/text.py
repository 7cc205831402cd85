"""The graphs of steps as text, one line per node, for errors and tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.tensor.dtypes import DType

if TYPE_CHECKING:
    from penstock.graph.step_graph import Node, StepGraph


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
