"""MapAndBatchDataset: batches of a function's results for elements."""

from __future__ import annotations

from typing import Any

from penstock.ops.datasets.base import DatasetState, dataset_of
from penstock.ops.datasets.batching import Batches, stacked
from penstock.ops.datasets.blocks import Block, Element
from penstock.ops.datasets.calls import OTHERS, Call
from penstock.ops.datasets.define import at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.datasets.mapping import Map, parallel_calls
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

MAP_AND_BATCH_DATASET = define_dataset(
    "MapAndBatchDataset",
    "input_dataset: variant, other_arguments: Targuments, batch_size: int64, num_parallel_calls: int64, "
    "drop_remainder: bool",
    ["f: func", *OTHERS, "preserve_cardinality: bool = false"],
    typed=False,
)


@dataset_kernel(MAP_AND_BATCH_DATASET)
def map_and_batch_dataset(ctx: KernelContext) -> Any:
    function, dtypes, shapes = ctx.function("f"), ctx["output_types"], ctx["output_shapes"]
    single = [shape[1:] if shape.ndims else TensorShape(None) for shape in shapes]
    may_end = not ctx["preserve_cardinality"]

    def state(source: Any, others: Any, size: Any, parallel: Any, drop: Any) -> DatasetState:
        count = at_least(1, "batch_size", size, "batch_size must be greater than zero.")
        mapped = Map(dataset_of(source), Call(function, others), dtypes, single, parallel_calls(parallel), may_end)
        return Batches(mapped, count, scalar("drop_remainder", drop), _stacked, dtypes, shapes)

    return state


def _stacked(block: Block) -> Element:
    return stacked(block, "Cannot add tensor to the batch: number of elements does not match")
