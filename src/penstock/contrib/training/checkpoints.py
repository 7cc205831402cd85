"""Waiting for checkpoints, and placing variables by size (TF: tf.contrib.training)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.state import latest_checkpoint
from penstock.export import export
from penstock.graph.operation import Operation


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: Any, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The latest checkpoint of a directory once it differs from `last_checkpoint`; None after `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while (found := latest_checkpoint(checkpoint_dir)) is None or found == last_checkpoint:
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)
    return found


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """For `replica_device_setter(ps_strategy=…)`: each variable goes to the task with the least load so far.

    load_fn: the load of an op, such as `byte_size_load_fn`.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Operation) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Operation) -> float:
    """The bytes of a variable's value; raises ValueError for an unknown shape."""
    output = op.outputs[0]
    shape = op.attrs.get("shape") if op.type == "VarHandleOp" else output.shape
    dtype = op.attrs["dtype"] if op.type == "VarHandleOp" else output.dtype.base_dtype
    size = None if shape is None else shape.num_elements()
    if size is None:
        raise ValueError(f"The shape of {op.name} must be known to determine its size")
    return float(size * dtype.size)
