"""The size of a model (TF: tf.contrib.slim.model_analyzer)."""

from __future__ import annotations

from typing import Any


def tensor_description(var: Any) -> str:
    """A description such as "(float32 1x8x8x1024)"."""
    dims = "?" if var.shape.ndims is None else "x".join("?" if d is None else str(d) for d in var.shape.as_list())
    return f"({var.dtype.base_dtype.name} {dims})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """The number of elements in all outputs of a graph, except those of unknown shape."""
    total = 0
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    for operation in graph.get_operations():
        size = sum(output.shape.num_elements() or 0 for output in operation.outputs)
        total += size
        if print_info:
            described = ", ".join(tensor_description(x) for x in operation.outputs if x.shape.ndims)
            print(f"{operation.name}\t-> {described} [{size}]")
    return total


def analyze_vars(variables: Any, print_info: bool = False) -> tuple[int, int]:
    """The number of elements and bytes of `variables`; with `print_info`, prints those of each."""
    total = total_bytes = 0
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    for variable in variables:
        size = variable.shape.num_elements() or 0
        total += size
        total_bytes += size * variable.dtype.size
        if print_info:
            print(variable.name, tensor_description(variable), f"[{size}, bytes: {size * variable.dtype.size}]")
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes
