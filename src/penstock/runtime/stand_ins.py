"""Running a kernel outside any step, on zeros of the right shapes instead of its inputs.

On torch's "meta" device, tensors have no contents at all, and a kernel that looks at them fails. (On a CPU, torch
imports its compiler for that, which takes seconds.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from penstock.analysis.hazards import is_state
from penstock.graph.node_kernel import NodeKernel
from penstock.graph.step_graph import Edge, Node
from penstock.runtime.kernels import SessionState, make_kernel
from penstock.runtime.resources import ResourceManager, VariableState
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape


def _as_declared(edge: Edge) -> tuple[DType, TensorShape]:
    return edge.dtype.base_dtype, edge.node.shapes[edge.port]


@dataclass(slots=True)
class StandInCall:
    """A call of the kernel of `node` with stand-ins. Making it, too, raises whatever is in the way."""

    node: Node
    kernel_type: str
    device: torch.device
    declared: Callable[[Edge], tuple[DType, TensorShape]] = _as_declared
    """The dtype and shape of a value, or of the variable that a handle leads to."""
    states: dict[VariableState, Any] = field(default_factory=dict)
    """The variables that it takes, and the contents that they began with."""
    _call: Callable[..., Any] | None = field(init=False)
    _inputs: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        kernel = make_kernel(self.node, self.kernel_type, self.device, SessionState(ResourceManager()))
        self._call = kernel.call if isinstance(kernel, NodeKernel) else None
        self._inputs = [
            [self._stand_in(e) for e in edges] if is_list else self._stand_in(edges[0])
            for _, is_list, edges in self.node.grouped_inputs()
        ]

    def run(self) -> tuple[Any, ...]:
        """The results, in inference mode as in steps; none if there is nothing to call."""
        if self._call is None:
            return ()
        with torch.inference_mode():
            found = self._call(*self._inputs)
        return found if isinstance(found, tuple) else (found,) * len(self.node.dtypes)

    def _stand_in(self, edge: Edge) -> Any:
        dtype, shape = self.declared(edge)
        if dtype.torch is None or not shape.is_fully_defined():
            raise TypeError(f"no tensor is a {dtype.name} of shape {shape}")
        with torch.inference_mode():
            value = torch.zeros(cast("list[int]", shape.as_list()), dtype=dtype.torch, device=self.device)
        if not is_state(edge):
            return value
        state = VariableState(edge.name, dtype, shape)
        state.value = self.states[state] = value
        return state
