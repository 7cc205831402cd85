"""Threads of a dataset's own (TF: tensorflow.contrib.data.python.ops.threadpool, no public name)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.data.options import Options


@dataclass(frozen=True, slots=True)
class PrivateThreadPool:
    """How many threads a dataset is to have."""

    num_threads: int
    display_name: str | None = None
    max_intra_op_parallelism: int = 1


def override_threadpool(dataset: Any, thread_pool: PrivateThreadPool) -> Any:
    """The dataset, whose parallel transformations have these threads: the option `private_threadpool_size`."""
    options = Options()
    options.experimental_threading.private_threadpool_size = thread_pool.num_threads
    options.experimental_threading.max_intra_op_parallelism = thread_pool.max_intra_op_parallelism
    return dataset.with_options(options)
