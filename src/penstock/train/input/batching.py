"""Batches of a pipeline's elements (TF: tf.train.batch, tf.train.shuffle_batch and related ops)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.train.input.batch_queues import in_order, make_batches, shuffled

# --- in order -------------------------------------------------------------------------------------------


@export("train.batch")
def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of `tensors`, a list or dictionary; `num_threads` threads run steps that each produce an element.

    A queue of `capacity` elements is between those threads and the steps that take batches, which are of the type of
    `tensors` (a list of one is a tensor). With `enqueue_many` each row of the tensors is an element. `shapes`: those of
    elements, if they are not known otherwise; `dynamic_pad` pads the elements of a batch to the largest. After the
    threads have ended, raises OutOfRangeError; `allow_smaller_final_batch` returns the rest first. TF: tf.train.batch.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_batch")
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch`, only with elements for which `keep_input` is true: bool, a scalar, or [n] with `enqueue_many`.

    TF: tf.train.maybe_batch.
    """
    make, summary = in_order(capacity, dynamic_pad, shared_name)
    return make_batches(
        "batch",
        [tensors],
        batch_size,
        keep_input,
        make,
        summary,
        num_threads,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


@export("train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch`, with a thread for each entry of `tensors_list`, for example readers of several files.

    TF: tf.train.batch_join.
    """
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch_join`, only with elements for which `keep_input` is true (TF: tf.train.maybe_batch_join)."""
    make, summary = in_order(capacity, dynamic_pad, shared_name)
    return make_batches(
        "batch_join",
        tensors_list,
        batch_size,
        keep_input,
        make,
        summary,
        1,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


# --- in any order ---------------------------------------------------------------------------------------


@export("train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `batch`, in random order: each element is drawn from more than `min_after_dequeue` in the queue.

    TF: tf.train.shuffle_batch.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `shuffle_batch`, only with elements for which `keep_input` is true (TF: tf.train.maybe_shuffle_batch)."""
    make, summary = shuffled(capacity, min_after_dequeue, seed, shared_name)
    return make_batches(
        "shuffle_batch",
        [tensors],
        batch_size,
        keep_input,
        make,
        summary,
        num_threads,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )


@export("train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `shuffle_batch`, with a thread for each entry of `tensors_list` (TF: tf.train.shuffle_batch_join)."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export("train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like `shuffle_batch_join`, only with elements for which `keep_input` is true (TF:
    tf.train.maybe_shuffle_batch_join)."""
    make, summary = shuffled(capacity, min_after_dequeue, seed, shared_name)
    return make_batches(
        "shuffle_batch_join",
        tensors_list,
        batch_size,
        keep_input,
        make,
        summary,
        1,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        name,
    )
