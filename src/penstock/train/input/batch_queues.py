"""A queue, the threads that fill it, and the batches that are taken from it: what tf.train.batch and related ops do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arithmetic import maximum
from penstock.ops.basic import no_op
from penstock.ops.cast import cast
from penstock.ops.partition import dynamic_partition
from penstock.tensor.dtypes import DType, float32, int32
from penstock.tensor.shapes import TensorShape
from penstock.train.input.kept_sparse import keep_sparse_of_all, taken_sparse, when
from penstock.train.input.producers import summarize
from penstock.train.queue_runner import QueueRunner, add_queue_runner

MakeQueue = Callable[[list[DType], list[Any]], QueueBase]


def make_batches(
    default_name: str,
    tensors_list: Any,
    batch_size: Any,
    keep_input: Any,
    make_queue: MakeQueue,
    summary: tuple[str, Callable[[QueueBase], Tensor]],
    threads: int,
    enqueue_many: bool,
    shapes: Any,
    allow_smaller_final_batch: bool,
    name: str | None,
) -> Any:
    """Batches of elements from each of `tensors_list`, produced by this many `threads` for each."""
    lists = component_lists(tensors_list)
    with name_scope(name, default_name, [*(t for tensors in lists for t in tensors), keep_input]) as scope:
        lists = [[converted(tensor) for tensor in tensors] for tensors in lists]
        if not lists[0]:
            raise ValueError(f"Expected at least one tensor in {default_name}().")
        keep = checked_keep(keep_input, enqueue_many)
        stored, kept = keep_sparse_of_all(lists, enqueue_many, keep)
        queue = make_queue(dtypes_of(stored), shapes_of(stored, shapes, enqueue_many))
        ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in stored]
        add_queue_runner(QueueRunner(queue, ops * threads))
        summary_name, measure = summary
        summarize(summary_name, measure(queue))
        dequeue = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        found = dequeue(batch_size, name=scope)
        batch = taken_sparse(found if isinstance(found, list) else [found], kept)
        return as_given(tensors_list[0], batch)


def as_given(tensors: Any, batch: list[Any]) -> Any:
    """`batch`, a list of components, in the structure of `tensors`."""
    if isinstance(tensors, dict):
        return dict(zip(sorted(tensors, key=str), batch, strict=True))
    return batch if len(batch) > 1 else batch[0]


def component_lists(tensors_list: Any) -> list[list[Any]]:
    """The components of each entry, in the order of their keys if it is a dictionary."""
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if not isinstance(tensors_list[0], dict):
        return [list(tensors) for tensors in tensors_list]
    if any(set(tensors) != set(tensors_list[0]) for tensors in tensors_list[1:]):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [[tensors[key] for key in sorted(tensors, key=str)] for tensors in tensors_list]


def converted(tensor: Any) -> Any:
    """A tensor, sparse or not."""
    return tensor if isinstance(tensor, SparseTensor | IndexedSlices) else convert_to_tensor(tensor)


def checked_keep(keep_input: Any, enqueue_many: bool) -> Tensor:
    """A scalar, or for rows a vector; raises ValueError for anything else."""
    keep = convert_to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def dtypes_of(lists: list[list[Tensor]]) -> list[DType]:
    """The dtype of each component, which all lists must agree on."""
    types, *others = ([tensor.dtype for tensor in tensors] for tensors in lists)
    for found in others:
        if found != types:
            have, want = (", ".join(dtype.name for dtype in each) for each in (types, found))
            raise TypeError(f"Expected types to be consistent: {have} vs. {want}.")
    return types


def shapes_of(lists: list[list[Tensor]], shapes: Any, enqueue_many: bool) -> Any:
    """The shape of each component of an element, which all lists must agree on."""
    if shapes is not None:
        return shapes
    for tensor in (tensor for tensors in lists for tensor in tensors):
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    found = []
    for components in zip(*lists, strict=True):
        each = [c.shape.with_rank_at_least(1)[1:] if enqueue_many else c.shape for c in components]
        for shape in each[1:]:
            each[0].merge_with(shape)
        found.append(TensorShape(each[0].as_list()))
    return found


def _enqueue(queue: QueueBase, tensors: list[Tensor], enqueue_many: bool, keep: Tensor) -> Any:
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.ndims == 1:
        chosen = cast(keep, int32)
        return enqueue([dynamic_partition(tensor, chosen, 2)[1] for tensor in tensors])
    return when(keep, lambda: enqueue(tensors), no_op)


def in_order(
    capacity: int, dynamic_pad: bool, shared_name: str | None
) -> tuple[MakeQueue, tuple[str, Callable[[QueueBase], Tensor]]]:
    """A queue that keeps the order, and a summary of how full it is."""
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    summary = f"fraction_of_{capacity}_full", lambda queue: cast(queue.size(), float32) * (1.0 / capacity)
    return lambda dtypes, shapes: kind(capacity, dtypes, shapes, shared_name=shared_name), summary


def shuffled(
    capacity: int, least: int, seed: int | None, shared_name: str | None
) -> tuple[MakeQueue, tuple[str, Callable[[QueueBase], Tensor]]]:
    """A queue that returns its elements in random order, and a summary of how many more than the minimum it has."""
    if capacity <= least:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {least}.")
    room = capacity - least

    def make(dtypes: list[DType], shapes: Any) -> QueueBase:
        return RandomShuffleQueue(capacity, least, dtypes, shapes, seed=seed, shared_name=shared_name)

    def measure(queue: QueueBase) -> Tensor:
        return cast(maximum(0, queue.size() - least), float32) * (1.0 / room)

    return make, (f"fraction_over_{least}_of_{room}_full", measure)
