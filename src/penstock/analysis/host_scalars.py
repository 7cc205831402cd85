"""Loop counters and loop conditions as Python numbers.

Adding two 0-d tensors costs ten times as much as adding two ints, and in a light loop the counter costs more than the
work. So the integer and boolean scalars that a loop's condition is computed from are Python numbers, computed by
expressions of the generated function. If other nodes use one of them, it is converted to a tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from penstock.analysis.frames import Frame, is_loop_merge
from penstock.graph.primitives import ENTERS, MERGES, NEXT_ITERATIONS, SWITCHES
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.tensor.dtypes import DType, bool as bool_dtype, int32, int64

_BITS = {int32: 32, int64: 64}

EXPRESSIONS: dict[str, str] = {
    "Add": "{0} + {1}",
    "AddV2": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Maximum": "max({0}, {1})",
    "Minimum": "min({0}, {1})",
    "Less": "{0} < {1}",
    "LessEqual": "{0} <= {1}",
    "Greater": "{0} > {1}",
    "GreaterEqual": "{0} >= {1}",
    "Equal": "{0} == {1}",
    "NotEqual": "{0} != {1}",
    "LogicalAnd": "{0} and {1}",
    "LogicalOr": "{0} or {1}",
    "LogicalNot": "not {0}",
}
_WRAPS = frozenset({"Add", "AddV2", "Sub", "Mul"})
_PASSES = ENTERS | MERGES | SWITCHES | NEXT_ITERATIONS | {"Identity", "LoopCond"}


def find_host_nodes(graph: StepGraph, frames: dict[Node, Frame]) -> set[Node]:
    """The nodes in loops that compute on the host: those that loop conditions and counters depend on."""
    found: set[Node] = set()
    pending = [n for n in graph.nodes if (n.op.name == "LoopCond" or _is_counter(n, frames)) and _on_host(n, frames)]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += [edge.node for edge in _values(node) if _on_host(edge.node, frames)]
    return found


def _is_counter(node: Node, frames: dict[Node, Frame]) -> bool:
    """Whether `node` is a loop variable that is computed on the host in each iteration."""
    backs = [e.node for e in node.inputs if e.node.op.name in NEXT_ITERATIONS] if is_loop_merge(node) else []
    return bool(backs) and all(_on_host(back.inputs[0].node, frames) for back in backs)


def _values(node: Node) -> tuple[Edge, ...]:
    """The inputs that the output of `node` is computed from."""
    return node.inputs[:1] if node.op.name in SWITCHES else node.inputs


def _on_host(node: Node, frames: dict[Node, Frame]) -> bool:
    name = node.op.name
    if (name not in EXPRESSIONS and name not in _PASSES) or frames[node].parent is None or node.op.stateful:
        return False
    if name in MERGES and not is_loop_merge(node):
        return False
    edges = [*_values(node), Edge(node, 0)]
    return all(e.dtype in (int32, int64, bool_dtype) and e.node.shapes[e.port].tuple == () for e in edges)


def expression(node: Node, operands: list[str]) -> str:
    """The Python expression for a host node; ints wrap around as in tensors."""
    text = EXPRESSIONS[node.op.name].format(*(o if o.isidentifier() or o.isdigit() else f"({o})" for o in operands))
    if node.op.name not in _WRAPS:
        return text
    half = 1 << (_BITS[node.dtypes[0]] - 1)
    return f"({text} + {half} & {2 * half - 1}) - {half}"


@functools.cache
def tensor_of(dtype: DType) -> Callable[[Any], torch.Tensor]:
    """Returns a function that converts a Python number to a 0-d tensor. Small ones are made once, because kernels do
    not write to inputs."""
    torch_dtype = dtype.torch
    small = [torch.tensor(i, dtype=torch_dtype) for i in range(2 if dtype == bool_dtype else 1024)]
    count = len(small)

    def convert(value: Any) -> torch.Tensor:
        return small[value] if 0 <= value < count else torch.tensor(value, dtype=torch_dtype)

    return convert
