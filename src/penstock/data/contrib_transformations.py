"""What tf.contrib.data has for `Dataset.apply`, and besides, without functions of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.data.structure import Structure
from penstock.data.transformations import common_shape, seed_pair
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.cast import cast
from penstock.ops.compare import less_equal
from penstock.ops.datasets.choosing import DIRECTED_INTERLEAVE_DATASET
from penstock.ops.datasets.iterators import DATASET_TO_SINGLE_ELEMENT
from penstock.ops.datasets.shuffling import RANDOM_DATASET, SHUFFLE_AND_REPEAT_DATASET
from penstock.ops.datasets.sliding_windows import SLIDING_WINDOW_DATASET
from penstock.ops.datasets.sources import RANGE_DATASET
from penstock.ops.datasets.windows import UNIQUE_DATASET
from penstock.ops.passing import ensure_shape
from penstock.ops.reduce import reduce_sum
from penstock.ops.scan import cumsum
from penstock.tensor.dtypes import as_dtype, float32, float64, int64
from penstock.tensor.shapes import TensorShape, as_shape

Transformation = Callable[[Any], Any]


@export("contrib.data.shuffle_and_repeat", "data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """Like `shuffle`, then `repeat`, with a new order each time."""

    def apply(dataset: DatasetBase) -> DatasetBase:
        size = convert_to_tensor(buffer_size, int64, name="buffer_size")
        times = convert_to_tensor(-1 if count is None else count, int64, name="count")
        seeds = seed_pair(seed)
        return dataset._derived(
            lambda: SHUFFLE_AND_REPEAT_DATASET(
                dataset._as_variant_tensor(), size, *seeds, times, **dataset.structure.attrs()
            )
        )

    return apply


@export("contrib.data.ignore_errors", "data.experimental.ignore_errors")
def ignore_errors() -> Transformation:
    """The elements that are not errors."""
    return lambda dataset: dataset.ignore_errors()


@export("contrib.data.sliding_window_batch")
def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of `window_size` elements that are `window_stride` apart, each `window_shift` (by default 1; formerly
    `stride`) elements, without what remains."""
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift if stride is None else stride
    given = {"window_size": window_size, "window_shift": 1 if shift is None else shift, "window_stride": window_stride}

    def apply(dataset: DatasetBase) -> DatasetBase:
        whole = dataset.structure
        batches = whole.with_shapes(nest.map_structure(lambda s: TensorShape([None]).concatenate(s), whole.shapes))
        lengths = [convert_to_tensor(value, int64, name=name) for name, value in given.items()]
        return dataset._derived(
            lambda: SLIDING_WINDOW_DATASET(dataset._as_variant_tensor(), *lengths, **batches.attrs()), batches
        )

    return apply


@export("contrib.data.unbatch", "data.experimental.unbatch")
def unbatch() -> Transformation:
    """The rows of the elements, one after another; all components of an element must have the same number."""
    return lambda dataset: dataset.unbatch()


@export("contrib.data.unique", "data.experimental.unique")
def unique() -> Transformation:
    """For `Dataset.apply`: the elements (int32, int64 or strings) that have not come before."""

    def apply(dataset: DatasetBase) -> DatasetBase:
        return dataset._derived(lambda: UNIQUE_DATASET(dataset._as_variant_tensor(), **dataset.structure.attrs()))

    return apply


@export("contrib.data.dense_to_sparse_batch", "data.experimental.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches of tensors of different sizes, as sparse tensors whose rows are as large as `row_shape`.

    A None dimension becomes the largest in the batch.
    """
    return lambda dataset: dataset.dense_to_sparse_batch(batch_size, row_shape)


@export("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Like `batch` with `drop_remainder`."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@export("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(batch_size: Any, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """Like `padded_batch` with `drop_remainder`."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


@export("contrib.data.enumerate_dataset", "data.experimental.enumerate_dataset")
def enumerate_dataset(start: int = 0) -> Transformation:
    """Pairs of a number, from `start` on, and an element."""
    return lambda dataset: dataset.enumerate(start)


@export("contrib.data.Counter", "data.experimental.Counter")
def Counter(start: Any = 0, step: Any = 1, dtype: Any = int64) -> Dataset:
    """Numbers from `start` on, each `step` more than the previous one, without end."""
    first, by = convert_to_tensor(start, int64, name="start"), convert_to_tensor(step, int64, name="step")
    last = convert_to_tensor(int64.min if (constant_value(by) or 0) < 0 else int64.max, int64)
    structure = Structure(as_dtype(dtype), TensorShape([]), Tensor)
    return Dataset._made(structure, lambda: RANGE_DATASET(first, last, by, **structure.attrs()))


@export("contrib.data.RandomDataset", "data.experimental.RandomDataset")
class RandomDataset(Dataset):
    """Random numbers without end: int64, each of 32 bits."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(Structure(int64, TensorShape([]), Tensor))
        self._seeds = seed_pair(seed)

    def _as_variant_tensor(self) -> Tensor:
        return RANDOM_DATASET(*self._seeds, **self.structure.attrs())


@export("contrib.data.get_single_element", "data.experimental.get_single_element")
def get_single_element(dataset: DatasetBase) -> Any:
    """The one element of `dataset`, as tensors; a step raises InvalidArgumentError if it does not have exactly one."""
    if not isinstance(dataset, DatasetBase):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    found = DATASET_TO_SINGLE_ELEMENT(dataset._as_variant_tensor(), **dataset.structure.attrs())
    return dataset.structure.pack(found if isinstance(found, list | tuple) else [found])


@export("contrib.data.choose_from_datasets", "data.experimental.choose_from_datasets")
def choose_from_datasets(datasets: Any, choice_dataset: DatasetBase) -> DatasetBase:
    """Repeatedly takes an element from the dataset among `datasets` whose number is the next element of
    `choice_dataset` (int64 scalars)."""
    if (choice_dataset.output_types, choice_dataset.output_classes) != (int64, Tensor) or not (
        choice_dataset.output_shapes.is_compatible_with([])
    ):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, list(datasets))


@export("contrib.data.sample_from_datasets", "data.experimental.sample_from_datasets")
def sample_from_datasets(datasets: Any, weights: Any = None, seed: Any = None) -> DatasetBase:
    """Repeatedly takes an element from a randomly chosen one of `datasets`: with equal probabilities, or according to
    `weights`.

    weights: a number for each dataset, or a dataset of such vectors.
    """
    parts = list(datasets)
    count = len(parts)
    drawn = RandomDataset(seed)
    if isinstance(weights, DatasetBase):
        both: Any = Dataset.zip((drawn, weights))
        return _directed(both.map(_chosen), parts)
    given = convert_to_tensor([1.0 / count] * count if weights is None else weights, name="weights")
    if given.dtype not in (float32, float64):
        raise TypeError("`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` elements.")
    if not given.shape.is_compatible_with([count]):
        raise ValueError(f"`weights` must be a vector of length `len(datasets)`, which is {count}.")
    return _directed(drawn.map(lambda number: _chosen(number, given)), parts)


def _chosen(number: Tensor, weights: Tensor) -> Tensor:
    """The choice that a random number of 32 bits makes."""
    weights = cast(weights, float64)
    at = cast(number, float64) * (2.0**-32) * reduce_sum(weights)
    return reduce_sum(cast(less_equal(cumsum(weights)[:-1], at), int64))


def _directed(selector: DatasetBase, parts: list[DatasetBase]) -> DatasetBase:
    if not parts:
        raise ValueError("`datasets` must be a non-empty list.")
    first = parts[0].structure
    shapes = first.shapes
    for part in parts[1:]:
        if (part.output_types, part.output_classes) != (first.types, first.classes):
            raise ValueError(
                f"All datasets must have the same type and class.\ndataset 0 ({parts[0]}) types = {first.types} ; "
                f"classes = {first.classes}\nanother ({part}) types = {part.output_types} ; "
                f"classes = {part.output_classes}"
            )
        shapes = nest.map_structure(common_shape, shapes, part.output_shapes)
    structure = first.with_shapes(shapes)
    return Dataset._made(
        structure,
        lambda: DIRECTED_INTERLEAVE_DATASET(
            selector._as_variant_tensor(), [part._as_variant_tensor() for part in parts], **structure.attrs()
        ),
    )


@export("contrib.data.assert_element_shape")
def assert_element_shape(expected_shapes: Any) -> Transformation:
    """The same elements, whose components must have `expected_shapes`: a step raises InvalidArgumentError for
    others."""

    def apply(dataset: DatasetBase) -> DatasetBase:
        wanted = list(map(as_shape, nest.flatten_up_to(dataset.output_types, expected_shapes)))
        for have, want in zip(nest.flatten(dataset.output_shapes), wanted, strict=True):
            if not have.is_compatible_with(want):
                raise ValueError(f"Shapes {have} and {want} are incompatible")

        def check(*parts: Any) -> Any:
            checked = [ensure_shape(part, shape) for part, shape in zip(nest.flatten(parts), wanted, strict=True)]
            return nest.pack_like(dataset.output_types, checked)

        known: Any = dataset
        return known.map(check)

    return apply


@export("contrib.data.prefetch_to_device", "data.experimental.prefetch_to_device")
def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """The same elements, computed ahead; must be the last transformation of a dataset.

    Steps move them to `device` when they use them there.
    """
    return lambda dataset: dataset.prefetch(1 if buffer_size is None else buffer_size)


@export("contrib.data.copy_to_device", "data.experimental.copy_to_device")
def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """The same elements. Steps move them to `target_device` when they use them there."""
    return lambda dataset: dataset
