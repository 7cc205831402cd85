"""Elements by keys: tf.contrib.data.group_by_window, group_by_reducer and bucket_by_sequence_length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.functional import traced_with_state
from penstock.data.structure import Structure
from penstock.data.traced import is_scalar, traced
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.ops.cast import cast
from penstock.ops.checks import assert_less
from penstock.ops.compare import greater_equal
from penstock.ops.datasets.grouping import GROUP_BY_REDUCER_DATASET, GROUP_BY_WINDOW_DATASET
from penstock.ops.gather import gather
from penstock.ops.reduce import reduce_sum
from penstock.tensor.dtypes import int32, int64, variant
from penstock.tensor.shapes import TensorShape

Fn = Callable[..., Any]
Transformation = Callable[[Any], Any]
_KEY = Structure(int64, TensorShape([]), Tensor)


@export("contrib.data.group_by_window", "data.experimental.group_by_window")
def group_by_window(
    key_func: Fn, reduce_func: Fn, window_size: Any = None, window_size_func: Fn | None = None
) -> Transformation:
    """For `Dataset.apply`: elements with the same `key_func` (an int64 scalar) are collected until there are
    `window_size`, or `window_size_func(key)`, of them; `reduce_func(key, dataset of these)` returns a dataset, whose
    elements are those of the result.
    """
    if (window_size is not None) == (window_size_func is not None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_of = window_size_func or (lambda key: window_size)

    def apply(dataset: DatasetBase) -> DatasetBase:
        element = dataset.structure
        key = traced(_int64(key_func), [element], "group_by_window_key")
        if not is_scalar(key.structure, int64):
            raise ValueError("`key_func` must return a single tf.int64 scalar tensor.")
        size = traced(_int64(size_of), [_KEY], "group_by_window_size")
        if not is_scalar(size.structure, int64):
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        window = Structure(variant, TensorShape([]), Tensor)
        reduce = traced(
            lambda key, inside: reduce_func(key, dataset._made(element, lambda: inside)),
            [_KEY, window],
            "group_by_window_reduce",
            gives_dataset=True,
        )
        return dataset._derived(
            lambda: GROUP_BY_WINDOW_DATASET(
                dataset._as_variant_tensor(),
                key.captured,
                reduce.captured,
                size.captured,
                key_func=key.function,
                reduce_func=reduce.function,
                window_size_func=size.function,
                **reduce.structure.attrs(),
            ),
            reduce.structure,
        )

    return apply


def _int64(function: Fn) -> Fn:
    """`function`, whose numbers become int64: by themselves they would become int32."""

    def converted(*element: Any) -> Any:
        found = function(*element)
        return convert_to_tensor(found, int64) if isinstance(found, int | np.integer) else found

    return converted


@export("contrib.data.Reducer", "data.experimental.Reducer")
class Reducer:
    """How elements with the same key are reduced to one: `init_func(key)`, then `reduce_func(state, element)` for each,
    and at the end `finalize_func(state)`."""

    def __init__(self, init_func: Fn, reduce_func: Fn, finalize_func: Fn) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


@export("contrib.data.group_by_reducer", "data.experimental.group_by_reducer")
def group_by_reducer(key_func: Fn, reducer: Reducer) -> Transformation:
    """For `Dataset.apply`: one element for each key that `key_func` returns (an int64 scalar), in the order of keys."""

    def apply(dataset: DatasetBase) -> DatasetBase:
        element = dataset.structure
        key = traced(key_func, [element], "group_by_reducer_key")
        if not is_scalar(key.structure, int64):
            raise ValueError("`key_func` must return a single tf.int64 scalar tensor.")
        init = traced(reducer.init_func, [_KEY], "group_by_reducer_init")
        reduce, state = traced_with_state(
            reducer.reduce_func, init.structure, element, "group_by_reducer_reduce", lambda result: result
        )
        final = traced(reducer.finalize_func, [state], "group_by_reducer_finalize")
        return dataset._derived(
            lambda: GROUP_BY_REDUCER_DATASET(
                dataset._as_variant_tensor(),
                key.captured,
                init.captured,
                reduce.captured,
                final.captured,
                key_func=key.function,
                init_func=init.function,
                reduce_func=reduce.function,
                finalize_func=final.function,
                **final.structure.attrs(),
            ),
            final.structure,
        )

    return apply


@export("contrib.data.bucket_by_sequence_length", "data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Fn,
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """For `Dataset.apply`: padded batches of elements of similar length, which `element_length_func` returns (int32).

    A bucket is the range between two of `bucket_boundaries`, below the first or from the last on; each has a batch
    size. With `pad_to_bucket_boundary` elements are padded to one less than the next boundary, and there must be none
    from the last on. `no_padding`: the elements of a bucket must have the same length, or be sparse. `drop_remainder`:
    no batches smaller than their bucket's size at the end.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    boundaries = [int(b) for b in bucket_boundaries]

    def bucket_of(*element: Any) -> Tensor:
        length = cast(element_length_func(*element), int32)
        return reduce_sum(cast(greater_equal(length, constant(boundaries, int32)), int64))

    def size_of(bucket: Tensor) -> Tensor:
        return gather(constant(list(bucket_batch_sizes), int64), bucket)

    def batched(bucket: Tensor, window: Any) -> Any:
        size = size_of(bucket)
        if no_padding:
            return window.batch(size, drop_remainder)
        wanted = padded_shapes
        if wanted is None:
            wanted = window.output_shapes
        bound = None
        if pad_to_bucket_boundary:
            message = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            check = assert_less(bucket, constant(len(boundaries), int64), message=message)
            with control_dependencies([check]):
                bound = gather(constant(boundaries, int64), bucket) - 1
        shapes = [_filled(TensorShape(shape), bound) for shape in nest.flatten_up_to(window.output_types, wanted)]
        return window.padded_batch(size, nest.pack_like(window.output_types, shapes), padding_values, drop_remainder)

    def apply(dataset: DatasetBase) -> Any:
        if not no_padding and SparseTensor in nest.flatten(dataset.output_classes):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        return group_by_window(bucket_of, batched, window_size_func=size_of)(dataset)

    return apply


def _filled(shape: TensorShape, bound: Tensor | None) -> Any:
    """A padded shape, with `bound`, if there is one, for unknown dimensions."""
    if bound is None or not shape.ndims:
        return shape
    return convert_to_tensor([bound if d is None else constant(d, int64) for d in shape.as_list()], int64)
