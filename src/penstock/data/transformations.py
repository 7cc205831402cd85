"""Datasets derived from others without a function: the methods of `tf.data.Dataset` that do not take one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.options import Options
from penstock.data.structure import DatasetSpec, Structure
from penstock.graph.composite import SparseTensor
from penstock.graph.constants import constant_value, constant_value_as_shape
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_seed
from penstock.ops.datasets.batching import BATCH_DATASET_V2, PADDED_BATCH_DATASET_V2
from penstock.ops.datasets.caching import CACHE_DATASET
from penstock.ops.datasets.prefetching import PREFETCH_DATASET
from penstock.ops.datasets.sequences import (
    CONCATENATE_DATASET,
    REPEAT_DATASET,
    SHARD_DATASET,
    SKIP_DATASET,
    TAKE_DATASET,
)
from penstock.ops.datasets.shuffling import SHUFFLE_DATASET
from penstock.ops.datasets.windows import WINDOW_DATASET
from penstock.tensor.dtypes import DType, bool as boolean, int64, string
from penstock.tensor.shapes import TensorShape, as_shape


class Transformations(DatasetBase):
    """Methods that make one dataset from another."""

    def repeat(self, count: Any = None) -> Self:
        """The elements `count` times; forever if that is None or -1."""
        times = convert_to_tensor(-1 if count is None else count, int64, name="count")
        return self._derived(lambda: REPEAT_DATASET(self._as_variant_tensor(), times, **self.structure.attrs()))

    def take(self, count: Any) -> Self:
        """The first `count` elements; all if that is -1."""
        number = convert_to_tensor(count, int64, name="count")
        return self._derived(lambda: TAKE_DATASET(self._as_variant_tensor(), number, **self.structure.attrs()))

    def skip(self, count: Any) -> Self:
        """All except the first `count` elements; none if that is -1."""
        number = convert_to_tensor(count, int64, name="count")
        return self._derived(lambda: SKIP_DATASET(self._as_variant_tensor(), number, **self.structure.attrs()))

    def shard(self, num_shards: Any, index: Any) -> Self:
        """Each `num_shards`th element, from number `index`."""
        count = convert_to_tensor(num_shards, int64, name="num_shards")
        number = convert_to_tensor(index, int64, name="index")
        known, at = constant_value(count), constant_value(number)
        if known is not None and known < 1:
            raise ValueError("num_shards must be >= 1")
        if at is not None and (at < 0 or (known is not None and at >= known)):
            raise ValueError(f"index must be >= 0 and < num_shards: got {at}, with {known}")
        return self._derived(lambda: SHARD_DATASET(self._as_variant_tensor(), count, number, **self.structure.attrs()))

    def concatenate(self, dataset: DatasetBase) -> Self:
        """The elements of this dataset, then those of `dataset`, which must have the same structure and types."""
        first, second = self.structure, dataset.structure
        for what in ("types", "classes"):
            mine, others = getattr(first, what), getattr(second, what)
            if nest.flatten(mine) != nest.flatten(others) or not _same_structure(mine, others):
                raise TypeError(f"Two datasets to concatenate have different {what} {mine} and {others}")
        shapes = nest.map_structure(common_shape, first.shapes, second.shapes)
        structure = first.with_shapes(shapes)
        return self._derived(
            lambda: CONCATENATE_DATASET(self._as_variant_tensor(), dataset._as_variant_tensor(), **structure.attrs()),
            structure,
        )

    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None) -> Self:
        """Shuffles: each element is drawn from the next `buffer_size` that have not been drawn yet.

        Each iteration (of `repeat`) has a new order unless `reshuffle_each_iteration` is False.
        """
        size = convert_to_tensor(buffer_size, int64, name="buffer_size")
        seeds = seed_pair(seed)
        again = reshuffle_each_iteration is None or bool(reshuffle_each_iteration)
        return self._derived(
            lambda: SHUFFLE_DATASET(
                self._as_variant_tensor(), size, *seeds, reshuffle_each_iteration=again, **self.structure.attrs()
            )
        )

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Self:
        """Stacks `batch_size` elements along a new first dimension.

        The last batch may be smaller, unless `drop_remainder`.
        """
        size, drop = batch_arguments(batch_size, drop_remainder)
        structure = batched(self.structure, size, drop)
        return self._derived(
            lambda: BATCH_DATASET_V2(self._as_variant_tensor(), size, drop, **structure.attrs()), structure
        )

    def window(self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False) -> Self:
        """Windows of `size` elements that are `stride` apart, as elements with a dataset for each component.

        A window begins `shift` elements after the one before (None: `size`). At the end windows are smaller, unless
        `drop_remainder`. To make tensors of them: `flat_map(lambda window: window.batch(size))`.
        """
        length = convert_to_tensor(size, int64, name="window_size")
        numbers = [
            length if shift is None else convert_to_tensor(shift, int64, name="shift"),
            convert_to_tensor(stride, int64, name="stride"),
            convert_to_tensor(drop_remainder, boolean, name="drop_remainder"),
        ]
        whole, kind = self.structure, type(self._derived(self._as_variant_tensor))
        parts = zip(*(nest.flatten(nests) for nests in (whole.types, whole.shapes, whole.classes)), strict=True)
        specs = nest.pack_like(whole.types, [DatasetSpec(Structure(*part), kind) for part in parts])
        structure = Structure(specs, specs, specs)
        return self._derived(
            lambda: WINDOW_DATASET(self._as_variant_tensor(), length, *numbers, **structure.attrs()), structure
        )

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None, drop_remainder: Any = False
    ) -> Self:
        """Like `batch`, after padding elements at their ends.

        padded_shapes: a shape for each component to pad to; a dimension of None or -1 is padded to the largest in the
        batch. padding_values: the values to pad with; for None, 0 or the empty string.
        """
        types, classes = self.output_types, self.output_classes
        if SparseTensor in nest.flatten(classes):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        size, drop = batch_arguments(batch_size, drop_remainder)
        shapes = nest.flatten_up_to(types, padded_shapes)
        known = [_as_known_shape(*pair) for pair in zip(shapes, nest.flatten(self.output_shapes), strict=True)]
        tensors = [_shape_tensor(shape) for shape in shapes]
        flat_types = nest.flatten(types)
        values = _default_paddings(flat_types) if padding_values is None else nest.flatten_up_to(types, padding_values)
        paddings = list(map(_padding_value, values, flat_types))
        whole = batched(Structure(types, nest.pack_like(types, known), classes), size, drop)
        return self._derived(
            lambda: PADDED_BATCH_DATASET_V2(
                self._as_variant_tensor(),
                size,
                tensors,
                paddings,
                drop,
                Toutput_types=whole.flat_types,
                output_shapes=whole.flat_shapes,
            ),
            whole,
        )

    def prefetch(self, buffer_size: Any) -> Self:
        """The same elements, up to `buffer_size` of which are computed ahead by a thread.

        None or -1 leaves the number to Penstock.
        """
        size = convert_to_tensor(-1 if buffer_size is None else buffer_size, int64, name="buffer_size")
        return self._derived(lambda: PREFETCH_DATASET(self._as_variant_tensor(), size, **self.structure.attrs()))

    def cache(self, filename: Any = "") -> Self:
        """The same elements, computed once: kept in memory, or in a file whose name begins with `filename`."""
        name = convert_to_tensor(filename, string, name="filename")
        return self._derived(lambda: CACHE_DATASET(self._as_variant_tensor(), name, **self.structure.attrs()))

    def with_options(self, options: Options) -> Self:
        """The same elements, with `options` added to those of this dataset (see `tf.data.Options`)."""
        found = self._derived(self._as_variant_tensor)
        found._options = self.options().merge(options)
        return found

    def options(self) -> Options:
        """The options of this dataset."""
        return Options() if self._options is None else self._options

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        """The result of `transformation_func` for this dataset, which must be a dataset."""
        found = transformation_func(self)
        if not isinstance(found, DatasetBase):
            raise TypeError("`transformation_func` must return a Dataset.")
        return found


# --- arguments ------------------------------------------------------------------------------------------


def seed_pair(seed: Any) -> tuple[Tensor, Tensor]:
    """The two seeds of a random dataset: both 0 if neither the graph nor `seed` has one."""
    if isinstance(seed, Tensor):
        return convert_to_tensor(0, int64, name="seed"), convert_to_tensor(seed, int64, name="seed2")
    first, second = get_seed(seed)
    return convert_to_tensor(first or 0, int64, name="seed"), convert_to_tensor(second or 0, int64, name="seed2")


def batch_arguments(batch_size: Any, drop_remainder: Any) -> tuple[Tensor, Tensor]:
    size = convert_to_tensor(batch_size, int64, name="batch_size")
    return size, convert_to_tensor(drop_remainder, boolean, name="drop_remainder")


def batched(structure: Structure, size: Tensor, drop: Tensor) -> Structure:
    """The shape of batches. Their size is known if none is smaller. Raises TypeError for datasets, as of `window`."""
    if any(isinstance(kind, DatasetSpec) for kind in nest.flatten(structure.classes)):
        raise TypeError(
            "Elements that are datasets cannot be batched: make tensors of them first, as in "
            "dataset.window(size).flat_map(lambda window: window.batch(size))"
        )
    count = constant_value(size) if constant_value(drop) else None
    lead = TensorShape([None if count is None else int(count)])
    return structure.with_shapes(nest.map_structure(lead.concatenate, structure.shapes))


def _same_structure(a: Any, b: Any) -> bool:
    try:
        nest.assert_same_structure(a, b)
    except (TypeError, ValueError):
        return False
    return True


def common_shape(a: Any, b: Any) -> Any:
    """What both shapes have in common."""
    if isinstance(a, DatasetSpec):
        return a
    if a.ndims is None or a.ndims != b.ndims:
        return TensorShape(None)
    return TensorShape([m if m == n else None for m, n in zip(a.as_list(), b.as_list(), strict=True)])


def _shape_tensor(shape: Any) -> Tensor:
    """A padded shape as a vector in which -1 means unknown."""
    if isinstance(shape, Tensor):
        found = convert_to_tensor(shape)
        if found.dtype != int64 or found.shape.ndims not in (None, 1):
            raise TypeError(f"Padded shape {shape} must be a 1-D tensor of tf.int64 values.")
        return found
    dims = as_shape([None if d is not None and d == -1 else d for d in _dims(shape)]).as_list()
    return convert_to_tensor(np.array([-1 if d is None else d for d in dims], np.int64), name="padded_shape")


def _dims(shape: Any) -> list[Any]:
    if isinstance(shape, TensorShape):
        if shape.ndims is None:
            raise ValueError("A padded shape has to have a rank")
        return shape.as_list()
    return [shape] if isinstance(shape, int) else list(shape)


def _as_known_shape(shape: Any, of: TensorShape) -> TensorShape:
    """What is known about a component that is padded to `shape`. Raises ValueError if its rank differs."""
    if isinstance(shape, Tensor):
        found = constant_value_as_shape(shape)
    else:
        found = TensorShape([None if d is not None and d == -1 else d for d in _dims(shape)])
    if of.ndims is not None and found.ndims is not None:
        if of.ndims != found.ndims:
            raise ValueError(
                f"The padded shape {found} is not compatible with the corresponding input component shape {of}."
            )
        for have, want in zip(of.as_list(), found.as_list(), strict=True):
            if have is not None and want is not None and want < have:
                raise ValueError(
                    f"The padded shape {found} is not compatible with the corresponding input component shape {of}."
                )
    return found


def _default_paddings(dtypes: list[DType]) -> list[Any]:
    return [None] * len(dtypes)


def _padding_value(value: Any, dtype: DType) -> Tensor:
    if value is None:
        value = "" if dtype == string else np.zeros((), dtype.as_numpy_dtype)
    found = convert_to_tensor(value, name="padding_value")
    if not found.shape.is_compatible_with(TensorShape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {value}")
    if found.dtype != dtype:
        raise TypeError(f"Padding value tensor ({found}) does not match output type: {dtype}")
    return found
