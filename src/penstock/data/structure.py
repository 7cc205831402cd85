"""The structure of a dataset's elements: nests of dtypes, shapes and classes, and elements as tensors.

A component is a tensor on a dataset's edges. A sparse one is represented by a vector of three variants, a dataset by a
scalar variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.data import nest
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.sparse_serialize import deserialize_sparse, serialize_sparse
from penstock.tensor.dtypes import DType, as_dtype, variant
from penstock.tensor.shapes import TensorShape, as_shape, unknown_shape
from penstock.tensor.specs import SparseTensorSpec, TensorSpec


class DatasetSpec:
    """A dataset as a component of elements. It stands for itself in the nests of types, shapes and classes.

    structure: of the elements of such datasets, which become datasets of class `kind` again.
    """

    def __init__(self, structure: Structure, kind: Any) -> None:
        self.structure, self.kind = structure, kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.structure == other.structure

    def __hash__(self) -> int:
        return hash(DatasetSpec)

    def is_compatible_with(self, other: object) -> bool:
        return self == other

    def __repr__(self) -> str:
        return f"DatasetSpec(types={self.structure.types}, shapes={self.structure.shapes})"


@dataclass(frozen=True)
class Structure:
    """Three nests of the same structure: `DType`s, `TensorShape`s, and tf.Tensor or tf.SparseTensor."""

    types: Any
    shapes: Any
    classes: Any

    @property
    def flat_types(self) -> list[DType]:
        """The dtypes of the components on edges: attribute `output_types`."""
        pairs = zip(nest.flatten(self.types), nest.flatten(self.classes), strict=True)
        return [variant if _is_variant(kind) else dtype for dtype, kind in pairs]

    @property
    def flat_shapes(self) -> list[TensorShape]:
        """The shapes of the components on edges: attribute `output_shapes`."""
        pairs = zip(nest.flatten(self.shapes), nest.flatten(self.classes), strict=True)
        return [_shape_on_edge(shape, kind) for shape, kind in pairs]

    def attrs(self) -> dict[str, Any]:
        """The attributes of nearly all dataset ops."""
        return {"output_types": self.flat_types, "output_shapes": self.flat_shapes}

    def with_shapes(self, shapes: Any) -> Structure:
        return Structure(self.types, shapes, self.classes)

    def specs(self) -> Any:
        """The nest of descriptions that is TensorFlow's `element_spec`."""
        parts = zip(nest.flatten(self.types), nest.flatten(self.shapes), nest.flatten(self.classes), strict=True)
        return nest.pack_like(self.types, [_spec(*part) for part in parts])

    def pack(self, tensors: Sequence[Tensor]) -> Any:
        """An element from its components on edges."""
        parts = zip(
            tensors, nest.flatten(self.types), nest.flatten(self.shapes), nest.flatten(self.classes), strict=True
        )
        return nest.pack_like(self.types, [_unpacked(*part) for part in parts])

    def flatten(self, element: Any) -> list[Tensor]:
        """The components on edges of an element. Raises TypeError or ValueError if it has a different structure."""
        return [to_component(leaf) for leaf in nest.flatten_up_to(self.types, element)]


def structure_of(element: Any) -> Structure:
    """The structure of an element whose leaves are tensors."""

    leaves = [_leaf_structure(leaf) for leaf in nest.flatten(element)]
    return Structure(*(nest.pack_like(element, [leaf[part] for leaf in leaves]) for part in range(3)))


def _leaf_structure(leaf: Any) -> tuple[Any, Any, Any]:
    """The dtype, shape and class of a component; a dataset is described by a `DatasetSpec` for all three."""
    if is_dataset(leaf):
        found = DatasetSpec(leaf.structure, type(leaf))
        return found, found, found
    if isinstance(leaf, SparseTensor):
        return leaf.dtype, leaf.get_shape(), SparseTensor
    return leaf.dtype.base_dtype, leaf.shape, Tensor


def given_structure(output_types: Any, output_shapes: Any = None, output_classes: Any = None) -> Structure:
    """The structure that a user specifies; shapes and classes may be omitted."""
    types = nest.map_structure(as_dtype, output_types)
    if output_shapes is None:
        shapes = nest.map_structure(lambda _: unknown_shape(), types)
    else:
        shapes = nest.pack_like(types, map(as_shape, nest.flatten_up_to(types, output_shapes)))
    classes = nest.map_structure(lambda _: Tensor, types) if output_classes is None else output_classes
    nest.assert_same_structure(types, classes)
    return Structure(types, shapes, classes)


def as_tensors(element: Any, names: str = "component") -> Any:
    """Converts a user's element to one whose leaves are tensors or sparse tensors."""
    leaves = [_as_leaf(leaf, f"{names}_{i}") for i, leaf in enumerate(nest.flatten(element))]
    return nest.pack_like(element, leaves)


def is_dataset(leaf: Any) -> bool:
    """Whether a component is a dataset: by its method, as datasets are built of this module."""
    return hasattr(leaf, "_as_variant_tensor") and not isinstance(leaf, type)


def to_component(leaf: Any) -> Tensor:
    if is_dataset(leaf):
        variant_of: Tensor = leaf._as_variant_tensor()
        return variant_of
    return serialize_sparse(leaf, out_type=variant) if isinstance(leaf, SparseTensor) else convert_to_tensor(leaf)


def _as_leaf(leaf: Any, name: str) -> Any:
    if isinstance(leaf, SparseTensorValue):
        return SparseTensor.from_value(leaf)
    return leaf if isinstance(leaf, SparseTensor) or is_dataset(leaf) else convert_to_tensor(leaf, name=name)


def _spec(dtype: Any, shape: Any, kind: Any) -> Any:
    if isinstance(kind, DatasetSpec):
        return kind
    return SparseTensorSpec(shape, dtype) if kind is SparseTensor else TensorSpec(shape, dtype)


def _is_variant(kind: Any) -> bool:
    return kind is SparseTensor or isinstance(kind, DatasetSpec)


def _shape_on_edge(shape: Any, kind: Any) -> TensorShape:
    if isinstance(kind, DatasetSpec):
        return TensorShape([])
    return unknown_shape() if kind is SparseTensor else shape


def _unpacked(tensor: Tensor, dtype: DType, shape: TensorShape, kind: Any) -> Any:
    if isinstance(kind, DatasetSpec):
        return kind.kind._made(kind.structure, lambda: tensor)
    if kind is not SparseTensor:
        tensor.set_shape(shape)
        return tensor
    found = deserialize_sparse(tensor, dtype, shape.ndims)
    found._static_shape = shape
    return found
