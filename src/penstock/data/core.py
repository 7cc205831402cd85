"""A dataset in a graph: its nodes, and the structure of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from penstock.data.options import Options
from penstock.data.structure import Structure
from penstock.graph.operation import Tensor


class DatasetBase:
    """`tf.data.Dataset` without the methods that make other datasets from it.

    The nodes are made each time an iterator is: `as_variant` adds them to the graph that is then current (a function's
    graph, for a one-shot iterator), and returns the dataset's edge.

    A subclass may instead override `_as_variant_tensor`, `output_types`, `output_shapes` and `output_classes`.
    """

    _structure: Structure | None = None
    _as_variant: Callable[[], Tensor] | None = None
    _options: Options | None = None

    def __init__(self, structure: Structure | None = None, as_variant: Callable[[], Tensor] | None = None) -> None:
        self._structure = structure
        self._as_variant = as_variant

    def _as_variant_tensor(self) -> Tensor:
        if self._as_variant is None:
            raise NotImplementedError("Dataset._as_variant_tensor")
        return self._as_variant()

    @property
    def structure(self) -> Structure:
        """The nests of dtypes, shapes and classes, as one."""
        if self._structure is None:
            return Structure(self.output_types, self.output_shapes, self.output_classes)
        return self._structure

    @property
    def output_types(self) -> Any:
        """The dtypes of an element's components, in their structure."""
        return self._given("output_types").types

    @property
    def output_shapes(self) -> Any:
        """The shapes of an element's components, in their structure."""
        return self._given("output_shapes").shapes

    @property
    def output_classes(self) -> Any:
        """The classes of an element's components (tf.Tensor or tf.SparseTensor), in their structure."""
        return self._given("output_classes").classes

    @property
    def element_spec(self) -> Any:
        """An element's components as `tf.TensorSpec`s and `tf.SparseTensorSpec`s, in their structure."""
        return self.structure.specs()

    def _given(self, what: str) -> Structure:
        if self._structure is None:
            raise NotImplementedError(f"Dataset.{what}")
        return self._structure

    def _derived(self, as_variant: Callable[[], Tensor], structure: Structure | None = None) -> Self:
        """A dataset derived from this one, with the same structure of elements unless `structure` is given.

        Its class has all methods of this one's; a subclass's constructor is not called.
        """
        made = self._made(self.structure if structure is None else structure, as_variant)
        made._options = self._options
        return made

    @classmethod
    def _made(cls, structure: Structure, as_variant: Callable[[], Tensor]) -> Self:
        kind: Any = _with_methods(cls)
        made: Self = kind(structure, as_variant)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"


def _with_methods(kind: type) -> type:
    """tf.data.Dataset with the methods of `kind`, but without its constructor and nodes."""
    own = ("__init__", "_as_variant_tensor")
    return next(c for c in kind.__mro__ if all(getattr(c, name) is getattr(DatasetBase, name) for name in own))
