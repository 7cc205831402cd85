"""What an exported model calls its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph


def named(tensors: Any, graph: Any = None) -> dict[str, Tensor]:
    """Tensors by the names that they have in a model. A string is the name of one in `graph` (the default one)."""
    if isinstance(tensors, Mapping):
        return {str(name): _tensor(tensor, graph) for name, tensor in tensors.items()}
    listed = list(tensors) if isinstance(tensors, list | tuple) else [tensors]
    found: dict[str, Tensor] = {}
    for tensor in (_tensor(each, graph) for each in listed):
        name = tensor.op.name if not tensor.value_index else f"{tensor.op.name}_{tensor.value_index}"
        if name in found:
            raise ValueError(f"{tensor.name!r} is there twice: give names to both, in a dict")
        found[name] = tensor
    return found


def _tensor(value: Any, graph: Any) -> Tensor:
    """As `session.run` reads what it is to fetch or feed: "x:0" is a name, and so is "x" for the first output of x."""
    if not isinstance(value, str):
        return convert_to_tensor(value)
    graph = graph or get_default_graph()
    return graph.get_tensor_by_name(value if ":" in value else f"{value}:0")
