"""Windows over a dataset, each as a batch: SlidingWindowDataset (contrib.data.sliding_window_batch)."""

from __future__ import annotations

from typing import Any

from penstock.ops.datasets.base import DatasetState, dataset_of
from penstock.ops.datasets.batching import stacked
from penstock.ops.datasets.blocks import Block, Element
from penstock.ops.datasets.define import TYPES, dataset_kernel, define_dataset
from penstock.ops.datasets.windows import Windows, lengths
from penstock.runtime.kernels import KernelContext

_LENGTHS = "input_dataset: variant, window_size: int64, window_shift: int64, window_stride: int64"
SLIDING_WINDOW_DATASET = define_dataset(
    "SlidingWindowDataset", _LENGTHS, ["drop_remainder: bool = true", *TYPES], metadata=False
)
OLDER_SLIDING_WINDOW_DATASET = define_dataset("ExperimentalSlidingWindowDataset", _LENGTHS, TYPES, metadata=False)


class SlidingWindows(Windows):
    """Windows whose elements are stacked."""

    def element(self, rows: Block) -> Element:
        return stacked(rows)


@dataset_kernel(SLIDING_WINDOW_DATASET, OLDER_SLIDING_WINDOW_DATASET)
def sliding_window_dataset(ctx: KernelContext) -> Any:
    types = ctx["output_types"], ctx["output_shapes"]
    drop = ctx["drop_remainder"] if "drop_remainder" in ctx.node.attrs else True

    def windows(source: Any, size: Any, shift: Any, stride: Any) -> DatasetState:
        return SlidingWindows(dataset_of(source), *lengths(size, shift, stride), drop, *types)

    return windows
