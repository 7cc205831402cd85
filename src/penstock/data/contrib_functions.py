"""Other functions for `Dataset.apply` that take functions of elements (TF: tf.contrib.data)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data import nest
from penstock.data.core import DatasetBase
from penstock.data.functional import traced_with_state
from penstock.data.structure import as_tensors, to_component
from penstock.data.traced import traced
from penstock.data.transformations import batch_arguments, batched
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.ops.datasets.filtering import SCAN_DATASET
from penstock.ops.datasets.interleaving_ahead import PARALLEL_INTERLEAVE_DATASET
from penstock.ops.datasets.map_and_batch import MAP_AND_BATCH_DATASET
from penstock.tensor.dtypes import bool as boolean, int64

Fn = Callable[..., Any]
Transformation = Callable[[Any], Any]


@export("contrib.data.parallel_interleave", "data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Fn,
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """For `Dataset.apply`: as `Dataset.interleave`, with the datasets read ahead, each in its own thread.

    The order is the same unless it is `sloppy`: then available elements come before those that have to be waited for.
    `buffer_output_elements` (by default 2 * block_length) are read ahead from each dataset.
    """

    def apply(dataset: DatasetBase) -> DatasetBase:
        found = traced(map_func, [dataset.structure], "parallel_interleave", gives_dataset=True)
        cycle, block = (convert_to_tensor(x, int64) for x in (cycle_length, block_length))
        loose = convert_to_tensor(sloppy, boolean)
        buffer = convert_to_tensor(
            2 * block_length if buffer_output_elements is None else buffer_output_elements, int64
        )
        ahead = convert_to_tensor(
            2 * cycle_length if prefetch_input_elements is None else prefetch_input_elements, int64
        )
        return dataset._derived(
            lambda: PARALLEL_INTERLEAVE_DATASET(
                dataset._as_variant_tensor(),
                found.captured,
                cycle,
                block,
                loose,
                buffer,
                ahead,
                f=found.function,
                **found.structure.attrs(),
            ),
            found.structure,
        )

    return apply


@export(
    "contrib.data.map_and_batch",
    "data.experimental.map_and_batch",
    "data.experimental.map_and_batch_with_legacy_function",
)
def map_and_batch(
    map_func: Fn,
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """For `Dataset.apply`: `map` and `batch` combined, with as many concurrent calls as make `num_parallel_batches` (by
    default 1) batches, or `num_parallel_calls`."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive.")

    def apply(dataset: DatasetBase) -> DatasetBase:
        found = traced(map_func, [dataset.structure], "map_and_batch")
        size, drop = batch_arguments(batch_size, drop_remainder)
        if num_parallel_calls is None:
            parallel = size * convert_to_tensor(num_parallel_batches or 1, int64)
        else:
            parallel = convert_to_tensor(num_parallel_calls, int64, name="num_parallel_calls")
        structure = batched(found.structure, size, drop)
        return dataset._derived(
            lambda: MAP_AND_BATCH_DATASET(
                dataset._as_variant_tensor(),
                found.captured,
                size,
                parallel,
                drop,
                f=found.function,
                **structure.attrs(),
            ),
            structure,
        )

    return apply


@export("contrib.data.scan", "data.experimental.scan")
def scan(initial_state: Any, scan_func: Fn) -> Transformation:
    """For `Dataset.apply`: `scan_func(state, element)` returns the next state and an element, as a pair."""

    def pair(result: Any) -> Any:
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError("The scan function must return a pair comprising the new state and the output value.")
        return result[0]

    def apply(dataset: DatasetBase) -> DatasetBase:
        state = as_tensors(initial_state, "initial_state")
        found, _ = traced_with_state(scan_func, state, dataset.structure, "scan", pair)
        structure = type(found.structure)(
            found.structure.types[1], found.structure.shapes[1], found.structure.classes[1]
        )
        start = [to_component(leaf) for leaf in nest.flatten(state)]
        return dataset._derived(
            lambda: SCAN_DATASET(
                dataset._as_variant_tensor(), start, found.captured, f=found.function, **structure.attrs()
            ),
            structure,
        )

    return apply


@export("data.experimental.take_while")
def take_while(predicate: Fn) -> Transformation:
    """For `Dataset.apply`: the elements before the first for which `predicate` returns False."""
    return lambda dataset: dataset.take_while(predicate)
