"""A queue of whole batches, made ahead of the step that takes them (TF: tf.contrib.slim.prefetch_queue)."""

from __future__ import annotations

from typing import Any

from penstock.client.queues import FIFOQueue, PaddingFIFOQueue, QueueBase
from penstock.graph.scopes import name_scope
from penstock.ops.cast import cast
from penstock.tensor.dtypes import float32
from penstock.train.input.producers import summarize
from penstock.train.queue_runner import QueueRunner, add_queue_runner

__all__ = ["prefetch_queue"]


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue that `num_threads` threads of a queue runner fill with `tensors`, a list or a dictionary.

    `dequeue` gives them back in the same form. dynamic_pad: for shapes that are not fully known.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    components = list(tensors) if names is None else [tensors[key] for key in names]
    with name_scope(name, "prefetch_queue", components):
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        dtypes, shapes = [each.dtype for each in components], [each.shape for each in components]
        queue = kind(capacity, dtypes, shapes, names=names, shared_name=shared_name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue(tensors)] * num_threads))
        summarize_fullness(queue, capacity)
        return queue


def summarize_fullness(queue: QueueBase, capacity: int) -> None:
    """A summary of the part of `capacity` that is in use."""
    summarize(f"fraction_of_{capacity}_full", cast(queue.size(), float32) * (1.0 / capacity))
