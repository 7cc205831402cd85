"""Ops that say how fast a dataset is to be computed, or what is to be recorded of it: their elements are their input's.

TensorFlow 1.14 and 1.15 put OptimizeDataset and ModelDataset before each iterator, so most exported graphs with
pipelines have them. What they advise (rewritten graphs, threads, budgets) is decided here by the datasets themselves.
"""

from __future__ import annotations

from typing import Any

from penstock.ops.datasets.base import DatasetState, dataset_of
from penstock.ops.datasets.define import TYPES, dataset_kernel, define_dataset
from penstock.runtime.kernels import KernelContext

_MODEL = ["algorithm: int = 0", "cpu_budget: int = 0", "ram_budget: int = 0", *TYPES]
MODEL_DATASET = define_dataset("ModelDataset", "input_dataset: variant", _MODEL, metadata=False)
OPTIMIZE_DATASET = define_dataset(
    "OptimizeDataset",
    "input_dataset: variant, optimizations: string",
    [*TYPES, "optimization_configs: list(string) = []"],
    metadata=False,
)
OPTIONS_DATASET = define_dataset("OptionsDataset", "input_dataset: variant", ["serialized_options: string", *TYPES])
FINALIZE_DATASET = define_dataset(
    "FinalizeDataset", "input_dataset: variant", ["has_captured_ref: bool = false", *TYPES], metadata=False
)
_THREADS = "input_dataset: variant, num_threads: int64"
_THREADS_OF_OPS = "input_dataset: variant, max_intra_op_parallelism: int64"
_TAGGED = "input_dataset: variant, tag: string"
_ADVICE = {
    "PrivateThreadPoolDataset": _THREADS,
    "MaxIntraOpParallelismDataset": _THREADS_OF_OPS,
    "LatencyStatsDataset": _TAGGED,
    "BytesProducedStatsDataset": _TAGGED,
    "NonSerializableDataset": "input_dataset: variant",
}
_OPS = [
    define_dataset(prefix + name, inputs, metadata=False)
    for name, inputs in _ADVICE.items()
    for prefix in ("", "Experimental")
]


@dataset_kernel(MODEL_DATASET, OPTIMIZE_DATASET, OPTIONS_DATASET, FINALIZE_DATASET, *_OPS)
def advised_dataset(ctx: KernelContext) -> Any:
    def state(source: Any, *_advice: Any) -> DatasetState:
        return dataset_of(source)

    return state
