"""Invariants of a `StepGraph`: what every pass may rely on and must preserve.

Checked between passes when PENSTOCK_CHECK=1 is in the environment (tests set it).
"""

from __future__ import annotations

import os

from penstock.graph.primitives import NEXT_ITERATIONS
from penstock.graph.step_graph import FEED, Node, StepGraph

BACK = NEXT_ITERATIONS
"""Ops whose outputs close loops: their consumers come before them."""

CHECK = os.environ.get("PENSTOCK_CHECK", "") not in ("", "0")
_WINDOW = 5


def verify(graph: StepGraph, after: str) -> None:
    """Raise AssertionError, with the nodes around the culprit, if `graph` is not well-formed.

    `after` names the pass that made it.
    """
    seen: set[Node] = set()
    names: set[str] = set()
    for i, node in enumerate(graph.nodes):
        problem = _problem(node, seen, names)
        if problem:
            raise AssertionError(f"after pass {after!r}: {node.name}: {problem}\n{_window(graph, i)}")
        seen.add(node)
        names.add(node.name)
    for what, nodes in [
        ("fetched", [e.node for e in graph.fetches]),
        ("fed", graph.feeds),
        ("targeted", graph.targets),
    ]:
        missing = [node.name for node in nodes if node not in seen]
        if missing:
            raise AssertionError(f"after pass {after!r}: {what} but not in the graph: {', '.join(missing)}")
    for edge in graph.fetches:
        if not 0 <= edge.port < len(edge.node.dtypes):
            raise AssertionError(f"after pass {after!r}: the fetch {edge.name} is no output of its node")


def _problem(node: Node, seen: set[Node], names: set[str]) -> str:
    if node.name in names:
        return "a second node of this name"
    if len(node.dtypes) != len(node.shapes):
        return f"{len(node.dtypes)} output dtypes and {len(node.shapes)} shapes"
    for edge in node.inputs:
        if edge.node not in seen and edge.node.op.name not in BACK:
            return f"its input {edge.name} does not come before it"
        if not 0 <= edge.port < len(edge.node.dtypes):
            return f"its input {edge.name} is no output of {edge.node.name}"
    for control in node.controls:
        if control not in seen:
            return f"its control input {control.name} does not come before it"
    return "" if node.op is FEED else _signature_problem(node)


def _signature_problem(node: Node) -> str:
    wanted = [d.base_dtype for arg in node.op.inputs for d in arg.dtypes(node.attrs)]
    have = [edge.dtype.base_dtype for edge in node.inputs]
    if wanted != have:
        return f"takes {[d.name for d in wanted]} but is given {[d.name for d in have]}"
    gives = [d for arg in node.op.outputs for d in arg.dtypes(node.attrs)]
    if list(node.dtypes) != gives:
        return f"gives {[d.name for d in gives]} but says {[d.name for d in node.dtypes]}"
    return ""


def _window(graph: StepGraph, i: int) -> str:
    """The nodes around the `i`-th, which is marked by an arrow."""
    first = max(0, i - _WINDOW)
    lines = []
    for k, node in enumerate(graph.nodes[first : i + _WINDOW + 1], first):
        inputs = ", ".join([e.name for e in node.inputs] + [f"^{c.name}" for c in node.controls])
        lines.append(f"{'->' if k == i else '  '} {node.name} = {node.op.name}({inputs})")
    return "\n".join(lines)
