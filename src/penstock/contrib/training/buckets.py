"""Batches of similar elements, in particular of similar length (TF: tf.contrib.training.bucket and related ops)."""

from __future__ import annotations

import itertools
from typing import Any

from penstock import errors
from penstock.client.queues import FIFOQueue, PaddingFIFOQueue, QueueBase
from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.basic import group, no_op
from penstock.ops.cast import cast
from penstock.ops.compare import equal, less_equal
from penstock.ops.control_flow.cond import cond
from penstock.ops.reduce import reduce_sum
from penstock.tensor.dtypes import float32, int32
from penstock.tensor.shapes import TensorShape
from penstock.train.input.batch_queues import (
    as_given,
    checked_keep,
    component_lists,
    converted,
    dtypes_of,
    shapes_of,
)
from penstock.train.input.kept_sparse import keep_sparse, taken_sparse, when
from penstock.train.input.producers import summarize
from penstock.train.queue_runner import QueueRunner, add_queue_runner

_ENDS = (errors.OutOfRangeError, errors.CancelledError)
"""How a thread learns that its input has ended: from its source, or from a queue that another thread has closed."""


def _for_each(what: str, given: Any, count: int) -> list[Any]:
    """One value for each bucket: a list unchanged, anything else repeated."""
    if not isinstance(given, list | tuple):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"The list {what} ({given}) must have exactly num_buckets ({count}) elements.")
    return list(given)


@export("contrib.training.bucket")
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches of `tensors`, each with elements of one bucket, selected by `which_bucket`: (that number, the batch).

    batch_size, bucket_capacities: for all buckets, or a list with one for each. `capacity`: the number of batches that
    may wait. See tf.train.maybe_batch for the other arguments. TF: tf.contrib.training.bucket.
    """
    if num_buckets <= 1:
        raise ValueError(f"num_buckets must be > 1, saw: {num_buckets}")
    sizes = _for_each("batch_size", batch_size, num_buckets)
    capacities = _for_each("bucket_capacities", bucket_capacities or capacity, num_buckets)
    (components,) = component_lists([tensors])
    with name_scope(name, "bucket", components) as scope:
        components = [converted(tensor) for tensor in components]
        if not components:
            raise ValueError("Expected at least one tensor in bucket().")
        keep = checked_keep(keep_input, enqueue_many=False)
        stored, kept = keep_sparse(components, False, keep)
        types, element_shapes = dtypes_of([stored]), shapes_of([stored], shapes, False)
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues: list[QueueBase] = [
            kind(
                size, types, element_shapes, shared_name=shared_name and f"{shared_name}_{i}", name=f"bucket_queue_{i}"
            )
            for i, size in enumerate(capacities)
        ]
        same = all(isinstance(size, int) and size == sizes[0] for size in sizes) and not allow_smaller_final_batch
        rows = TensorShape([sizes[0] if same else None])
        batches = PaddingFIFOQueue(
            capacity,
            [int32, *types],
            [TensorShape([]), *(rows.concatenate(shape) for shape in element_shapes)],
            shared_name=shared_name,
            name="top_queue",
        )
        _fill(queues, stored, convert_to_tensor(which_bucket, int32), keep, num_threads)
        _move(queues, batches, sizes, allow_smaller_final_batch)
        for i, queue in enumerate(queues):
            summarize(f"bucket/{scope}size_{i}", cast(queue.size(), float32))
        summarize(f"bucket/{scope}fraction_of_{capacity}_full", cast(batches.size(), float32) * (1.0 / capacity))
        number, *batch = batches.dequeue(name="dequeue_top")
        return number, as_given(tensors, taken_sparse(batch, kept))


def _fill(queues: list[QueueBase], element: list[Tensor], which: Tensor, keep: Tensor, threads: int) -> None:
    """Threads that put elements into their buckets, and close all of them at the end."""

    def enqueue_to(i: int) -> Any:
        return cond(equal(which, i), lambda: queues[i].enqueue(element), no_op)

    enqueue = when(keep, lambda: group(*(enqueue_to(i) for i in range(len(queues))), name="group_enqueue"), no_op)
    runner = QueueRunner(
        queues[0],
        [enqueue] * threads,
        close_op=_close(queues, False),
        cancel_op=_close(queues, True),
        queue_closed_exception_types=_ENDS,
    )
    add_queue_runner(runner)


def _close(queues: list[QueueBase], cancel: bool) -> Operation:
    return group(*(queue.close(cancel_pending_enqueues=cancel) for queue in queues))


def _move(queues: list[QueueBase], batches: QueueBase, sizes: list[Any], smaller: bool) -> None:
    """A thread for each bucket that makes batches of its elements."""
    moves = []
    for i, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        batch = (queue.dequeue_up_to if smaller else queue.dequeue_many)(size, name=f"dequeue_bucket_{i}")
        moves.append(batches.enqueue([constant(i), *(batch if isinstance(batch, list) else [batch])]))
    add_queue_runner(QueueRunner(batches, moves, queue_closed_exception_types=_ENDS))


@export("contrib.training.bucket_by_sequence_length")
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Any,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches of `tensors`, each of elements of similar length: (their lengths, the batch).

    Lengths below the first of `bucket_boundaries`, which increase, are in the first bucket, and so on; batch_size and
    bucket_capacities may be lists with one for each. `input_length` is an int32 scalar. See `bucket`.
    TF: tf.contrib.training.bucket_by_sequence_length.
    """
    boundaries = list(bucket_boundaries or ())
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    if not all(isinstance(boundary, int) for boundary in boundaries):
        raise TypeError(f"bucket_boundaries must contain only integers: {boundaries}")
    if any(a >= b for a, b in itertools.pairwise(boundaries)):
        raise ValueError(f"Buckets must sequentially increase in size: {boundaries}")
    count = len(boundaries) + 1
    for what, given in (("batch_size", batch_size), ("bucket_capacities", bucket_capacities)):
        if isinstance(given, list | tuple) and len(given) != count:
            raise ValueError(f"len({what}) must equal len(bucket_boundaries)+1 but was: {len(given)} vs {count}")
    (components,) = component_lists([tensors])
    if shapes is not None:
        shapes = [[], *shapes]
    with name_scope(name, "bucket_by_sequence_length", [input_length, *components]) as scope:
        length = convert_to_tensor(input_length, int32, name="input_length")
        which = reduce_sum(cast(less_equal(constant(boundaries, int32), length), int32))
        _, found = bucket(
            [length, *components],
            which,
            batch_size,
            count,
            num_threads,
            capacity,
            bucket_capacities,
            shapes,
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
            name=scope,
        )
        return found[0], as_given(tensors, found[1:])
