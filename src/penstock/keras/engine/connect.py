"""Functions of tf between layers: each of their nodes becomes a layer of its own, as in TensorFlow from 1.13 on."""

from __future__ import annotations

from typing import Any

from penstock.graph.composite import SparseTensor
from penstock.graph.operation import Operation
from penstock.keras.engine.node import history_of
from penstock.keras.named import named

_OF_CONTROL_FLOW = frozenset(
    f"{ref}{kind}" for ref in ("", "Ref") for kind in ("Switch", "Merge", "Enter", "Exit", "NextIteration")
) | {"LoopCond"}


def connect(tensors: list[Any]) -> None:
    """Give each of `tensors` a history, if any of them is computed from a layer's result.

    Of what is computed from no layer's result, only a tensor among `tensors` gets a layer; for the others it is a
    constant. Loops and conditionals have no history: they must be in a Lambda layer.
    """
    tensors = [x for x in tensors if not isinstance(x, SparseTensor)]
    for tensor in tensors:
        _connect_inputs(tensor.op)
    if any(history_of(x) is not None for x in tensors):
        for tensor in tensors:
            if history_of(tensor) is None and tensor.op.type not in _OF_CONTROL_FLOW:
                named("layers", "TensorFlowOpLayer").of(tensor.op)


def _connect_inputs(op: Operation) -> None:
    """Visit the nodes before `op`, then `op`: each node once, however often layers are called."""
    pending = [(op, False)]
    while pending:
        op, visited = pending.pop()
        if visited:
            connected = any(history_of(x) is not None for x in op.inputs)
            if connected and op.type not in _OF_CONTROL_FLOW:
                named("layers", "TensorFlowOpLayer").of(op)
        elif any(not hasattr(x, "_keras_history") for x in op.outputs):
            for x in op.outputs:
                if not hasattr(x, "_keras_history"):
                    # None: it is known to have none, unless it is connected below.
                    x._keras_history = None  # type: ignore[attr-defined]
            pending.append((op, True))
            pending += [(x.op, False) for x in op.inputs if not hasattr(x, "_keras_history")]
