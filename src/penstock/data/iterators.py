"""Iterators over datasets in a graph (TF: tf.data.Iterator)."""

from __future__ import annotations

from typing import Any

from penstock.client.saveables import SaveableObject, SaveSpec
from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.structure import Structure, given_structure
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.functions import trace
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import add_to_collection, get_default_graph, name_scope
from penstock.ops.datasets.iterator_state import DESERIALIZE_ITERATOR, SERIALIZE_ITERATOR
from penstock.ops.datasets.iterators import (
    ITERATOR_FROM_STRING_HANDLE_V2,
    ITERATOR_GET_NEXT,
    ITERATOR_TO_STRING_HANDLE,
    ITERATOR_V2,
    MAKE_ITERATOR,
    ONE_SHOT_ITERATOR,
)
from penstock.tensor.dtypes import string

ITERATORS = "iterators"
"""The collection of all iterators' handles."""


@export("data.Iterator", "contrib.data.Iterator")
class Iterator:
    """The position of steps in a dataset: state of a session, like variables (TF: tf.data.Iterator)."""

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Any,
        output_classes: Any,
    ) -> None:
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        self._structure = Structure(output_types, output_shapes, output_classes)
        self._string_handle: Tensor | None = None
        add_to_collection(ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator that any dataset with this structure can initialise: see `make_initializer`."""
        structure = given_structure(output_types, output_shapes, output_classes)
        handle = ITERATOR_V2(container="", shared_name=shared_name or "", **structure.attrs())
        return _iterator(handle, None, structure)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator whose `string_handle` has this value in a step, which is usually fed."""
        structure = given_structure(output_types, output_shapes, output_classes)
        text = convert_to_tensor(string_handle, string)
        return _iterator(ITERATOR_FROM_STRING_HANDLE_V2(text, **structure.attrs()), None, structure)

    @property
    def initializer(self) -> Operation:
        """The operation that starts it over its dataset. Raises ValueError for an iterator that has none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: DatasetBase, name: str | None = None) -> Operation:
        """An operation that starts it over `dataset`. Raises TypeError for elements with a different structure."""
        with name_scope(name, "make_initializer") as scope:
            mine, given = self._structure, dataset.structure
            for what in ("types", "shapes", "classes"):
                wanted, have = getattr(mine, what), getattr(given, what)
                nest.assert_same_structure(wanted, have)
                if not all(map(_fits, nest.flatten(wanted), nest.flatten(have))):
                    raise TypeError(f"Expected output {what} {wanted!r} but got dataset with output {what} {have!r}.")
            with get_default_graph().colocate_with(self._iterator_resource.op):
                return MAKE_ITERATOR(dataset._as_variant_tensor(), self._iterator_resource, name=scope)

    def get_next(self, name: str | None = None) -> Any:
        """The next element, each time a step runs it. Raises OutOfRangeError at the end.

        Each call adds a node, which takes a separate element: call it once, outside training loops.
        """
        found = ITERATOR_GET_NEXT(self._iterator_resource, name=name, **self._structure.attrs())
        return self._structure.pack(found if isinstance(found, list | tuple) else [found])

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that refers to this iterator in a session: feed it to the handle of `from_string_handle`."""
        if name is None:
            if self._string_handle is None:
                self._string_handle = ITERATOR_TO_STRING_HANDLE(self._iterator_resource)
            return self._string_handle
        return ITERATOR_TO_STRING_HANDLE(self._iterator_resource, name=name)

    @property
    def output_types(self) -> Any:
        return self._structure.types

    @property
    def output_shapes(self) -> Any:
        return self._structure.shapes

    @property
    def output_classes(self) -> Any:
        return self._structure.classes

    @property
    def element_spec(self) -> Any:
        """An element's components as `tf.TensorSpec`s and `tf.SparseTensorSpec`s, in their structure."""
        return self._structure.specs()


def _iterator(handle: Tensor, initializer: Operation | None, structure: Structure) -> Iterator:
    return Iterator(handle, initializer, structure.types, structure.shapes, structure.classes)


def _fits(wanted: Any, have: Any) -> bool:
    return wanted.is_compatible_with(have) if hasattr(wanted, "is_compatible_with") else wanted is have


class IteratorSaveable(SaveableObject):
    """The position of the iterator with this handle, as something to save."""

    def __init__(self, handle: Tensor) -> None:
        self._handle = handle
        with get_default_graph().colocate_with(handle.op):
            state = SERIALIZE_ITERATOR(handle)
        super().__init__(handle.op, [SaveSpec(state, "", f"{handle.op.name}-state")], handle.op.name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        with get_default_graph().colocate_with(self._handle.op):
            return DESERIALIZE_ITERATOR(self._handle, restored_tensors[0])


@export("contrib.data.make_saveable_from_iterator", "data.experimental.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Iterator) -> SaveableObject:
    """An object that makes a `tf.train.Saver` save the position of `iterator`, including buffered elements and random
    state.

    Add it to the collection SAVEABLE_OBJECTS, or to a saver's `var_list`. A restored iterator continues with the same
    elements. It must iterate over the same dataset; restoring initialises it if its dataset does not depend on feeds.
    """
    return IteratorSaveable(iterator._iterator_resource)


@export("data.make_initializable_iterator")
def make_initializable_iterator(dataset: DatasetBase, shared_name: str | None = None) -> Iterator:
    """An iterator that starts over `dataset` each time its `initializer` runs."""
    structure = dataset.structure
    handle = ITERATOR_V2(container="", shared_name=shared_name or "", **structure.attrs())
    with get_default_graph().colocate_with(handle.op):
        initializer = MAKE_ITERATOR(dataset._as_variant_tensor(), handle)
    return _iterator(handle, initializer, structure)


@export("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: DatasetBase) -> Iterator:
    """An iterator that starts over `dataset` at its first use, and goes through it once.

    The dataset may only depend on constants, not on feeds or state.
    """
    try:
        factory = trace(lambda: [dataset._as_variant_tensor()], [], [], "_make_dataset", by_value=True)
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            raise
        raise ValueError(
            "Failed to create a one-shot iterator for a dataset. `Dataset.make_one_shot_iterator()` does not support "
            "datasets that capture stateful objects, such as a `Variable` or `LookupTable`. In these cases, consider "
            f"using `Dataset.make_initializable_iterator()`. (Original error: {error})"
        ) from None
    structure = dataset.structure
    return _iterator(ONE_SHOT_ITERATOR(dataset_factory=factory, **structure.attrs()), None, structure)
