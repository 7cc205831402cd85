"""Where handles of state come from: inside loops and conditionals they arrive through ops of control flow."""

from __future__ import annotations

from penstock.graph.functions import FunctionGraph
from penstock.graph.operation import Operation, Tensor

_PASSES_HANDLES = frozenset(
    f"{ref}{kind}" for ref in ("", "Ref") for kind in ("Identity", "Enter", "Switch", "Merge", "Exit", "NextIteration")
)


def maker_of(handle: Tensor, also: frozenset[str] = frozenset()) -> Operation:
    """The op that made `handle`, seen through ops of control flow, and those whose type is in `also`.

    What a function captured is looked for in the graph around the function.
    """
    seen = set()
    while handle not in seen:
        seen.add(handle)
        if handle.op.type in _PASSES_HANDLES or handle.op.type in also:
            handle = handle.op._inputs[0]
        elif isinstance(handle.graph, FunctionGraph):
            handle = handle.graph.source_of(handle)
    return handle.op
