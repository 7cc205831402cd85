"""Functions of elements as graph functions: called once with tensors in the structure that the user's code expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.structure import Structure, as_tensors, structure_of, to_component
from penstock.graph.functions import trace
from penstock.graph.graph_function import GraphFunction
from penstock.graph.operation import Tensor


@dataclass(frozen=True)
class Traced:
    """A function of the components of an element (or of several arguments), and the structure of its result."""

    function: GraphFunction
    structure: Structure

    @property
    def captured(self) -> list[Tensor]:
        return self.function.captured


def traced(fn: Callable[..., Any], given: Sequence[Structure], name: str, *, gives_dataset: bool = False) -> Traced:
    """`fn`, called with an argument for each of `given`. Raises TypeError unless its result is valid.

    A single argument that is a tuple is passed as separate arguments, as in TensorFlow. gives_dataset: the result is a
    dataset, and the structure is that of its elements.
    """
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable: Dataset.{name}() takes a function of an element")
    found: list[Structure] = []
    sizes = [len(structure.flat_types) for structure in given]

    def call(*tensors: Tensor) -> list[Tensor]:
        parts, position = [], 0
        for structure, size in zip(given, sizes, strict=True):
            parts.append(structure.pack(tensors[position : position + size]))
            position += size
        result = fn(*parts[0]) if len(parts) == 1 and type(parts[0]) is tuple else fn(*parts)
        if gives_dataset:
            if not isinstance(result, DatasetBase):
                raise TypeError("`map_func` must return a `Dataset` object.")
            found.append(result.structure)
            return [result._as_variant_tensor()]
        # A list is what py_func returns for several results; it is not converted to a tensor.
        element = as_tensors(tuple(result) if isinstance(result, list) else result)
        found.append(structure_of(element))
        return [to_component(leaf) for leaf in nest.flatten(element)]

    dtypes = [dtype for structure in given for dtype in structure.flat_types]
    shapes = [shape for structure in given for shape in structure.flat_shapes]
    function = trace(call, dtypes, shapes, f"Dataset_{name}_{getattr(fn, '__name__', 'function')}")
    return Traced(function, found[-1])


def is_scalar(structure: Structure, dtype: Any) -> bool:
    """Whether elements are a scalar of `dtype`, as far as is known."""
    if nest.is_nest(structure.types) or structure.classes is not Tensor:
        return False
    fits: bool = structure.types == dtype and structure.shapes.is_compatible_with([])
    return fits
