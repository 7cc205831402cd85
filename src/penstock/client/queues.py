"""Queues in a graph (TF: tf.QueueBase, tf.FIFOQueue, tf.RandomShuffleQueue, tf.PaddingFIFOQueue, tf.PriorityQueue)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, get_seed, name_scope
from penstock.ops.gather import gather
from penstock.ops.stacking import stack
from penstock.tensor.dtypes import DType, as_dtype, int64, resource
from penstock.tensor.shapes import TensorShape, as_shape

Names = Sequence[str] | None


@export("QueueBase", "queue.QueueBase", "io.QueueBase")
class QueueBase:
    """A queue of elements, each a tuple of tensors, that outlasts a step (TF: tf.QueueBase).

    A step that enqueues waits while the queue is full, one that dequeues while it has too few elements. With `names`,
    elements are dictionaries. Waiting steps end with CancelledError when their session is closed.
    """

    def __init__(self, dtypes: Sequence[Any], shapes: Any, names: Names, queue_ref: Tensor) -> None:
        self._dtypes = list(dtypes)
        if shapes is not None and len(shapes) != len(self._dtypes):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, "
                f"received len(shapes)={len(shapes)}, len(dtypes)={len(self._dtypes)}"
            )
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(dtypes)
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError(
                "Queue names must have the same length as dtypes,"
                f"received len(names)={len(names)},len {len(self._dtypes)}"
            )
        self._names = list(names) if names is not None else None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: list[QueueBase]) -> QueueBase:
        """The queue among `queues`, which have the same components, that `index` selects in each step."""
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == q.dtypes for q in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == q.names for q in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_common, each) for each in zip(*(q.shapes for q in queues), strict=True)]
        selected = gather(stack([q.queue_ref for q in queues]), index)
        return QueueBase(first.dtypes, shapes, first.names, selected)

    @property
    def queue_ref(self) -> Tensor:
        return self._queue_ref

    @property
    def name(self) -> str:
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        return self._names

    # --- enqueueing -------------------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Add an element. The step waits while the queue is full; raises CancelledError if it is closed."""
        with name_scope(name, f"{self._name}_enqueue", _listed(vals)) as scope:
            components = self._components(vals)
            for value, shape in zip(components, self._shapes, strict=False):
                value.shape.assert_is_compatible_with(shape)
            return self._op("QueueEnqueue")(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Add an element for each row of `vals`; waits until there is room for all. Elements added so far can be
        dequeued."""
        with name_scope(name, f"{self._name}_EnqueueMany", _listed(vals)) as scope:
            components = self._components(vals)
            size = components[0].shape.with_rank_at_least(1)[:1]
            for value, shape in zip(components, self._shapes, strict=False):
                rows = value.shape.with_rank_at_least(1)
                size = size.merge_with(rows[:1])
                rows[1:].assert_is_compatible_with(shape)
            return self._op("QueueEnqueueMany")(self._queue_ref, components, name=scope)

    def _components(self, vals: Any) -> list[Tensor]:
        """The components in `vals`: a tensor, a list of tensors, or with names a dictionary."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[k] for k in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        pairs = enumerate(zip(_listed(vals), self._dtypes, strict=False))
        return [convert_to_tensor(value, dtype=dtype, name=f"component_{i}") for i, (value, dtype) in pairs]

    # --- dequeueing -------------------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Remove and return one element: a tensor, a list of tensors, or with names a dictionary.

        The step waits while there is none; raises OutOfRangeError if the queue is closed and empty.
        """
        found = self._op("QueueDequeue")(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._with_shapes(found, self._shapes)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Remove `n` elements and return them as a batch. Raises OutOfRangeError if the queue is closed and has
        fewer."""
        found = self._op("QueueDequeueMany")(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueMany"
        )
        return self._with_shapes(found, self._batched(constant_value(found[0].op.inputs[1])))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Like `dequeue_many`, but takes what is left of a closed queue, unless it is empty."""
        found = self._op("QueueDequeueUpTo")(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueUpTo"
        )
        return self._with_shapes(found, self._batched(None))

    def _batched(self, size: Any) -> list[TensorShape]:
        return [TensorShape([size]).concatenate(shape) for shape in self._shapes]

    def _with_shapes(self, tensors: list[Tensor], shapes: list[TensorShape]) -> Any:
        for tensor, shape in zip(tensors, shapes, strict=True):
            tensor.set_shape(shape)
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors

    # --- the queue itself -------------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Close the queue to new elements, after waiting enqueues, or with `cancel_pending_enqueues` cancelling
        them."""
        return self._op("QueueClose")(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close"
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        found: Tensor = self._op("QueueIsClosed")(self._queue_ref, name=name or f"{self._name}_Is_Closed")
        return found

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in the queue; int32."""
        found: Tensor = self._op("QueueSize")(self._queue_ref, name=name or f"{self._name}_Size")
        return found

    def _op(self, name: str) -> OpDef:
        return get_op(name + "V2" if self._queue_ref.dtype == resource else name)


@export("FIFOQueue", "queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue whose oldest element comes out first (TF: tf.FIFOQueue).

    With `shapes`, one for each of `dtypes`, elements have these shapes and can be dequeued as batches.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shape_list(shapes)
        called = _name_list(names, types)
        with control_dependencies(None):  # the queue exists for all steps, wherever it is built
            ref = get_op("FIFOQueueV2")(
                component_types=types, shapes=known, capacity=capacity, shared_name=shared_name, name=name
            )
        super().__init__(types, known, called, ref)


@export("RandomShuffleQueue", "queue.RandomShuffleQueue", "io.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in random order (TF: tf.RandomShuffleQueue).

    While it is open, `min_after_dequeue` elements stay in it: dequeueing waits for more.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shape_list(shapes)
        called = _name_list(names, types)
        seed1, seed2 = get_seed(seed)
        if seed1 is not None and seed is None and shared_name is not None:
            # All graphs that share the queue use the same seeds, whatever else they contain.
            seed2 = int(hashlib.md5(f"{seed1}{shared_name}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
        ref = get_op("RandomShuffleQueueV2")(
            component_types=types,
            shapes=known,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1 or 0,
            seed2=seed2 or 0,
            shared_name=shared_name,
            name=name,
        )
        super().__init__(types, known, called, ref)


@export("PaddingFIFOQueue", "queue.PaddingFIFOQueue", "io.PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue that pads with zeros: dimensions of `shapes` may be None (TF: tf.PaddingFIFOQueue)."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shape_list(shapes, partial=True) or []
        called = _name_list(names, types)
        if len(types) != len(known):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and {len(known)} shapes."
            )
        ref = get_op("PaddingFIFOQueueV2")(
            component_types=types, shapes=known, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(types, known, called, ref)


@export("PriorityQueue", "queue.PriorityQueue", "io.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose element with the lowest priority number comes out first (TF: tf.PriorityQueue).

    The priority is an int64 before the components of `types`.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "priority_queue",
    ) -> None:
        dtypes = _types(types)
        known = _shape_list(shapes)
        ref = get_op("PriorityQueueV2")(
            component_types=dtypes, shapes=known or [], capacity=capacity, shared_name=shared_name, name=name
        )
        dtypes = [int64, *dtypes]
        super().__init__(dtypes, [TensorShape([]), *known] if known else None, _name_list(names, dtypes), ref)


# --- arguments ------------------------------------------------------------------------------------------


def _listed(vals: Any) -> list[Any]:
    if isinstance(vals, dict):
        return list(vals.values())
    return list(vals) if isinstance(vals, list | tuple) else [vals]


def _types(dtypes: Any) -> list[DType]:
    given = dtypes if isinstance(dtypes, list | tuple) else [dtypes]
    return [as_dtype(dtype).base_dtype for dtype in given]


def _shape_list(shapes: Any, partial: bool = False) -> list[TensorShape] | None:
    if partial and (
        not isinstance(shapes, list | tuple)
        or not shapes
        or any(shape is None or isinstance(shape, int) for shape in shapes)
    ):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, list | tuple):
        raise TypeError(f"Shapes must be a TensorShape or a list or tuple of TensorShapes, got {type(shapes)} instead.")
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]  # one shape
    found = [as_shape(shape) for shape in shapes]
    if not partial and not all(shape.is_fully_defined() for shape in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if any(shape.ndims is None for shape in found):
        raise ValueError(f"All shapes must have a defined rank: {found}")
    return found


def _name_list(names: Any, dtypes: list[DType]) -> list[str] | None:
    if names is None:
        return None
    found = list(names) if isinstance(names, list | tuple) else [names]
    if len(found) != len(dtypes):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(found)},len(dtypes)={len(dtypes)}"
        )
    return found


def _common(a: TensorShape, b: TensorShape) -> TensorShape:
    """What the shapes of two queues agree on."""
    return a.most_specific_compatible_shape(b)
