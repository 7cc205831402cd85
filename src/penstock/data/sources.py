"""Datasets of tensors, numbers and file names: the methods of `tf.data.Dataset` that make one from scratch."""

from __future__ import annotations

import functools
from typing import Any, Self

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.structure import Structure, as_tensors, structure_of, to_component
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.functions import FunctionGraph
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph, name_scope
from penstock.ops.array import reshape, shape
from penstock.ops.basic import identity
from penstock.ops.compare import greater
from penstock.ops.datasets.sequences import ZIP_DATASET
from penstock.ops.datasets.sources import (
    RANGE_DATASET,
    SPARSE_TENSOR_SLICE_DATASET,
    TENSOR_DATASET,
    TENSOR_SLICE_DATASET,
)
from penstock.ops.files import matching_files
from penstock.ops.logging import Assert
from penstock.ops.sparse_serialize import serialize_many_sparse
from penstock.ops.string_joining import reduce_join, string_join
from penstock.tensor.dtypes import int64, string, variant
from penstock.tensor.shapes import TensorShape


class Sources(DatasetBase):
    """Class methods that make datasets."""

    @classmethod
    def from_tensors(cls, tensors: Any) -> Self:
        """One element: `tensors`, a nest of values that can be converted to tensors."""
        with name_scope(None, "from_tensors"):
            element = as_tensors(tensors)
            structure = structure_of(element)
            parts = [to_component(leaf) for leaf in nest.flatten(element)]
        return cls._made(
            structure,
            lambda: TENSOR_DATASET(parts, Toutput_types=structure.flat_types, output_shapes=structure.flat_shapes),
        )

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Self:
        """An element for each row of `tensors`, a nest of values that can be converted to tensors, with equal numbers
        of rows. A list of datasets has these as elements."""
        if isinstance(tensors, list) and tensors and all(isinstance(item, DatasetBase) for item in tensors):
            whole_list: Any = [cls.from_tensors(item) for item in tensors]
            joined: Self = functools.reduce(lambda some, more: some.concatenate(more), whole_list)
            return joined
        with name_scope(None, "from_tensor_slices"):
            element = as_tensors(tensors)
            whole = structure_of(element)
            parts = [_rows(leaf) for leaf in nest.flatten(element)]
        rows = parts[0].shape.with_rank_at_least(1)[0]
        for part in parts[1:]:
            rows.assert_is_compatible_with(part.shape.with_rank_at_least(1)[0])
        structure = whole.with_shapes(nest.map_structure(lambda s: s[1:], whole.shapes))
        return cls._made(
            structure,
            lambda: TENSOR_SLICE_DATASET(parts, **_component_attrs(structure)),
        )

    @classmethod
    def from_sparse_tensor_slices(cls, sparse_tensor: Any) -> Self:
        """The rows of a sparse tensor, each as three dense tensors: indices, values and shape (deprecated in TF)."""
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object.Was {sparse_tensor}.")
        rank = (sparse_tensor.indices.shape.with_rank(2)[1] - 1).merge_with(
            sparse_tensor.dense_shape.shape.with_rank(1)[0] - 1
        )
        shapes = (TensorShape([None, rank]), TensorShape([None]), TensorShape([rank]))
        structure = Structure((int64, sparse_tensor.dtype, int64), shapes, (Tensor, Tensor, Tensor))
        parts = (sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape)
        return cls._made(structure, lambda: SPARSE_TENSOR_SLICE_DATASET(*parts))

    @classmethod
    def range(cls, *args: Any) -> Self:
        """Numbers (int64) as in Python's range, from `stop`, or from `start, stop` and optionally `step`."""
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        numbers = [convert_to_tensor(value, int64) for value in (start, stop, step)]
        structure = Structure(int64, TensorShape([]), Tensor)
        return cls._made(structure, lambda: RANGE_DATASET(*numbers, **structure.attrs()))

    @classmethod
    def zip(cls, datasets: Any) -> Self:
        """Nests like `datasets` of one element from each, until one of them ends."""
        parts = nest.flatten(datasets)
        for part in parts:
            if isinstance(part, list):
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects. Nested "
                    "structures do not support Python lists; please use a tuple instead."
                )
            if not isinstance(part, DatasetBase):
                raise TypeError("The argument to `Dataset.zip()` must be a nested structure of `Dataset` objects.")
        structure = Structure(
            nest.pack_like(datasets, [part.output_types for part in parts]),
            nest.pack_like(datasets, [part.output_shapes for part in parts]),
            nest.pack_like(datasets, [part.output_classes for part in parts]),
        )
        return cls._made(
            structure, lambda: ZIP_DATASET([part._as_variant_tensor() for part in parts], **structure.attrs())
        )

    @classmethod
    def list_files(cls, file_pattern: Any, shuffle: bool | None = None, seed: int | None = None) -> Self:
        """The names of the files that match a pattern, or any of a vector of them: sorted, or in random order.

        A step that starts iterating raises InvalidArgumentError if no file matches; a one-shot iterator just ends, as
        TensorFlow's does, which copies the nodes of datasets without what they run after.
        """
        with name_scope(None, "list_files"):
            pattern = convert_to_tensor(file_pattern, string, name="file_pattern")
        structure = Structure(string, TensorShape([]), Tensor)

        def files() -> Tensor:
            found, graph = matching_files(pattern), get_default_graph()
            if isinstance(graph, FunctionGraph) and graph.by_value:
                return TENSOR_SLICE_DATASET([found], **_component_attrs(structure))
            message = string_join(["No files matched pattern: ", reduce_join(reshape(pattern, [-1]), separator=", ")])
            some = Assert(greater(shape(found)[0], 0), [message], summarize=1, name="assert_not_empty")
            with graph.control_dependencies([some]):
                found = identity(found)
            return TENSOR_SLICE_DATASET([found], **_component_attrs(structure))

        names = cls._made(structure, files)
        return names if shuffle is False else names.shuffle(_MOST_FILES, seed=seed)  # type: ignore[attr-defined]


_MOST_FILES = 1 << 31


def _component_attrs(structure: Structure) -> dict[str, Any]:
    return {"Toutput_types": structure.flat_types, "output_shapes": structure.flat_shapes}


def _rows(leaf: Any) -> Tensor:
    return serialize_many_sparse(leaf, out_type=variant) if isinstance(leaf, SparseTensor) else leaf
