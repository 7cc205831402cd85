"""The rules that kernels keep to, checked call by call in the reference executor: a kernel does not write to its
inputs, and its outputs share memory with inputs only if its op says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from penstock.graph.step_graph import Node


def copied(value: Any) -> Any:
    """A copy that shares no memory; handles of state refer to the same state."""
    return (
        value.clone() if isinstance(value, torch.Tensor) else value.copy() if isinstance(value, np.ndarray) else value
    )


def broken_rule(node: Node, taken: Sequence[Any], before: Sequence[Any], given: Sequence[Any]) -> str:
    """What a call of the kernel of `node` did that it must not; "" if nothing.

    taken: its inputs after the call; before: copies of them from before. given: its outputs.
    """
    for index, (after, was) in enumerate(zip(taken, before, strict=True)):
        if not same_bits(after, was):
            return f"wrote to its input {index} ({node.inputs[index].name})"
    if node.op.aliases or node.op.stateful:
        return ""
    for index, value in enumerate(taken):
        if any(_share(value, output) for output in given):
            return (
                f"returned memory of its input {index} ({node.inputs[index].name}), "
                f"although {node.op.name} is not defined with aliases=True"
            )
    return ""


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values of a kernel have the same bits; true of what has none, such as handles."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.equal(_bits(a), _bits(b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
    return type(a) is type(b)


def _bits(value: torch.Tensor) -> torch.Tensor:
    if not value.numel():
        return torch.empty(0, dtype=torch.uint8)  # NumPy's empty arrays have strides of 0, which torch does not view so
    return value.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


def _share(a: Any, b: Any) -> bool:
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.numel() and b.numel()):
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
