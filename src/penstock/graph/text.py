"""Nodes and graphs as text, one line a node: for errors, tests and `print`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.tensor.dtypes import DType

if TYPE_CHECKING:
    from penstock.graph.operation import Operation


def node_line(op: Operation) -> str:
    """`y = MatMul(x:0, W/read:0, ^init) transpose_b=True : float32 (2, 3) @ /device:CPU:0`."""
    inputs = [t.name for t in op._inputs] + [f"^{c.name}" for c in op._control_inputs]
    attrs = [f"{k}={_value(v)}" for k, v in op.attrs.items() if not isinstance(v, DType) and k != "_class"]
    outputs = ", ".join(f"{t.dtype.name} {t.shape}" for t in op._outputs)
    parts = [f"{op.name} = {op.type}({', '.join(inputs)})", *attrs]
    return " ".join(parts) + (f" : {outputs}" if outputs else "") + (f" @ {op.device}" if op.device else "")


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)}" if value.size > 8 else str(value.tolist())
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
