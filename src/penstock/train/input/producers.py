"""Queues of file names, numbers and slices, filled by a queue runner (TF: tf.train.string_input_producer and related
ops)."""

from __future__ import annotations

from typing import Any

from penstock.client.queues import FIFOQueue, QueueBase
from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import GraphKeys, add_to_collection, control_dependencies, name_scope
from penstock.ops.array import shape as shape_of, size
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.compare import greater
from penstock.ops.files import matching_files
from penstock.ops.gather import gather
from penstock.ops.logging import Assert
from penstock.ops.random import random_shuffle
from penstock.ops.sequences import range as range_of
from penstock.ops.summaries import SCALAR_SUMMARY
from penstock.tensor.dtypes import float32, int64, string
from penstock.tensor.shapes import TensorShape
from penstock.train.queue_runner import QueueRunner, add_queue_runner

_NO_STRINGS = "string_input_producer requires a non-null input tensor"


@export("train.match_filenames_once", "io.match_filenames_once")
def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """A local variable initialised to the names of the files that match `pattern`, or a vector of patterns.

    TF: tf.train.match_filenames_once.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            matching_files(pattern),
            name=scope,
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@export("train.limit_epochs")
def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns `tensor` `num_epochs` times, and then raises OutOfRangeError; without `num_epochs` there is no limit.

    A local variable, "epochs", counts. TF: tf.train.limit_epochs.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant(0, int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


@export("train.input_producer")
def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """A queue of the rows of `input_tensor`, in a new order in each epoch with `shuffle`.

    A queue runner fills it, `num_epochs` times or forever. `element_shape`: that of a row, if it is not known
    otherwise. `summary_name`: the name of a summary of how full the queue is. TF: tf.train.input_producer.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(TensorShape(element_shape))
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype.base_dtype], [shape], shared_name=shared_name, name=name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summarize(summary_name, cast(queue.size(), float32) * (1.0 / capacity))
        return queue


def summarize(name: str, value: Tensor) -> None:
    """Add a summary of a number to the collected ones."""
    with name_scope(name) as scope:
        add_to_collection(GraphKeys.SUMMARIES, SCALAR_SUMMARY(scope.rstrip("/"), value, name=scope))


@export("train.string_input_producer")
def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """A queue of the strings of a vector, mostly file names: see `input_producer`.

    Raises ValueError for an empty list, InvalidArgumentError in the step for an empty tensor. TF:
    tf.train.string_input_producer.
    """
    if not isinstance(string_tensor, Tensor | Variable) and not len(string_tensor):
        raise ValueError(_NO_STRINGS)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, string)
        with control_dependencies([Assert(greater(size(strings), 0), [_NO_STRINGS])]):
            strings = identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            summary_name=f"fraction_of_{capacity}_full",
            name=scope,
            cancel_op=cancel_op,
        )


@export("train.range_input_producer")
def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the numbers from 0 to `limit` - 1: see `input_producer` (TF: tf.train.range_input_producer)."""
    with name_scope(name, "input_producer", [limit]) as scope:
        summary = f"fraction_of_{capacity}_full"
        return input_producer(range_of(limit), [], num_epochs, shuffle, seed, capacity, shared_name, summary, scope)


@export("train.slice_input_producer")
def slice_input_producer(
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """A row of each tensor in a list, with the same index for all: see `input_producer` (TF:
    tf.train.slice_input_producer)."""
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = shape_of(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
