"""Batches of records of files through queues (TF: tf.contrib.learn.io.read_batch_examples, read_batch_features).

Queue runners fill the queues; `num_epochs` counts in a local variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock import errors, gfile
from penstock.client.queues import FIFOQueue
from penstock.client.readers import TFRecordReader
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.cast import cast
from penstock.ops.gather import boolean_mask
from penstock.ops.parsing import parse_example
from penstock.tensor.dtypes import float32
from penstock.train.input.batching import batch_join, shuffle_batch_join
from penstock.train.input.producers import string_input_producer, summarize
from penstock.train.queue_runner import QueueRunner, add_queue_runner

_KEY = "__key__"
"""Where the keys are among parsed examples while they are batched."""


@export("contrib.learn.read_batch_examples")
def read_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: Any = 1,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """The records of `read_keyed_batch_examples`, without their keys."""
    return read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads, read_batch_size,
        parse_fn=parse_fn, name=name, seed=seed,
    )[1]  # fmt: skip


@export("contrib.learn.read_keyed_batch_examples")
def read_keyed_batch_examples(
    file_pattern: Any,
    batch_size: Any,
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    num_threads: int = 1,
    read_batch_size: Any = 1,
    filter_fn: Callable[[Any, Any], Any] | None = None,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """(keys, records) of files, both [batch_size] strings; shuffled if `randomize_input`.

    file_pattern: a pattern, or a list of them. reader: makes a reader, such as `tf.TFRecordReader`; one for each of
    `num_threads`, reading `read_batch_size` records at once. filter_fn: from keys and records to a mask of those to
    keep. parse_fn: from a record to a tensor or a dict of them, which are batched instead. With `num_epochs`, the last
    batch may be smaller. Raises ValueError for no files, and for numbers that are not positive or do not fit.
    """
    names = _names_of_files(file_pattern, randomize_input)
    _check(batch_size, queue_capacity, read_batch_size, num_threads, num_epochs)
    with name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with name_scope("file_name_queue") as queue_scope:
            files = string_input_producer(
                constant(names, name="input"), num_epochs, randomize_input, seed, name=queue_scope
            )
        with name_scope("read"):
            examples = [_read(files, reader(), read_batch_size, filter_fn, parse_fn) for _ in range(num_threads)]
        many, smaller = _several(read_batch_size), num_epochs is not None
        if randomize_input:
            waiting = int(queue_capacity * 0.4)
            if not isinstance(batch_size, Tensor):
                waiting = max(queue_capacity - 3 * batch_size, batch_size)
            found = shuffle_batch_join(
                examples, batch_size, queue_capacity, waiting, seed, many, allow_smaller_final_batch=smaller, name=scope
            )
        else:
            found = batch_join(
                examples, batch_size, queue_capacity, many, allow_smaller_final_batch=smaller, name=scope
            )
    return (found.pop(_KEY), found) if isinstance(found, dict) else found


def _names_of_files(pattern: Any, shuffled: bool) -> list[str]:
    if isinstance(pattern, list) and not pattern:
        raise ValueError("No files given to dequeue_examples.")
    patterns = pattern if isinstance(pattern, list) else [pattern]
    names = [name for one in patterns for name in gfile.Glob(one)]
    if not names:
        raise ValueError(f"No files match {pattern}.")
    return names if shuffled else sorted(names)


def _check(batch_size: Any, capacity: Any, at_once: Any, threads: Any, epochs: Any) -> None:
    if not capacity or capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {capacity}.")
    if batch_size is None or (not isinstance(batch_size, Tensor) and not 0 < batch_size < capacity):
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {capacity}.")
    if at_once is None or (not isinstance(at_once, Tensor) and at_once <= 0):
        raise ValueError(f"Invalid read_batch_size {at_once}.")
    if not threads or threads <= 0:
        raise ValueError(f"Invalid num_threads {threads}.")
    if epochs is not None and epochs <= 0:
        raise ValueError(f"Invalid num_epochs {epochs}.")


def _several(at_once: Any) -> bool:
    """Whether a reader returns vectors of records; one that may return either returns vectors."""
    return isinstance(at_once, Tensor) or at_once > 1


def _read(files: Any, reader: Any, at_once: Any, filter_fn: Any, parse_fn: Any) -> Any:
    """A thread's (keys, records), or what its records are parsed to, in which keys are among a dict's values."""
    keys, records = reader.read_up_to(files, at_once) if _several(at_once) else reader.read(files)
    if filter_fn:
        mask = filter_fn(keys, records)
        keys, records = boolean_mask(keys, mask), boolean_mask(records, mask)
    parsed = parse_fn(records) if parse_fn else records
    if isinstance(parsed, dict):
        parsed[_KEY] = keys
        return parsed
    return keys, parsed


@export("contrib.learn.read_batch_features")
def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    feature_queue_capacity: int = 100,
    reader_num_threads: int = 1,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: Any = None,
) -> dict[str, Any]:
    """The features of `read_keyed_batch_features`, without keys."""
    return read_keyed_batch_features(
        file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity, reader_num_threads,
        feature_queue_capacity, num_enqueue_threads, parse_fn, name, read_batch_size,
    )[1]  # fmt: skip


@export("contrib.learn.read_batch_record_features")
def read_batch_record_features(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    name: str | None = "dequeue_record_examples",
) -> dict[str, Any]:
    """`read_batch_features` of TFRecord files."""
    return read_batch_features(
        file_pattern, batch_size, features, TFRecordReader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads=reader_num_threads, name=name,
    )  # fmt: skip


@export("contrib.learn.read_keyed_batch_features")
def read_keyed_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[[], Any],
    randomize_input: bool = True,
    num_epochs: int | None = None,
    queue_capacity: int = 10000,
    reader_num_threads: int = 1,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
    read_batch_size: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """(keys, {name: tensor or SparseTensor}): batches of serialized Examples, parsed by `features` in a queue.

    See `read_keyed_batch_examples` and `tf.parse_example`. By default `read_batch_size` is the batch size.
    """
    with name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, examples = read_keyed_batch_examples(
            file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, reader_num_threads,
            batch_size if read_batch_size is None else read_batch_size, parse_fn=parse_fn, name=scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(examples, features), keys, feature_queue_capacity, num_enqueue_threads, scope
        )


def queue_parsed_features(
    parsed_features: Mapping[str, Any],
    keys: Any = None,
    feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2,
    name: str | None = None,
) -> tuple[Any, dict[str, Any]]:
    """(keys, features) as they come from a queue that threads fill with the given ones."""
    names = sorted(parsed_features)
    given = [parsed_features[one] for one in names] + ([] if keys is None else [keys])
    with name_scope(name, "queue_parsed_features", given):
        tensors = [tensor for one in given for tensor in _parts(one)]
        queue = FIFOQueue(feature_queue_capacity, [tensor.dtype.base_dtype for tensor in tensors])
        summarize(
            f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full",
            cast(queue.size(), float32) * (1.0 / feature_queue_capacity),
        )
        filling = [queue.enqueue(tensors) for _ in range(num_enqueue_threads)]
        ends = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(queue, filling, queue_closed_exception_types=ends))
        taken = queue.dequeue()
        found = iter(taken if isinstance(taken, list) else [taken])
        made = [_like(one, found) for one in given]
    return (None if keys is None else made.pop()), dict(zip(names, made, strict=True))


def _parts(value: Any) -> list[Tensor]:
    return [value.indices, value.values, value.dense_shape] if isinstance(value, SparseTensor) else [value]


def _like(value: Any, taken: Any) -> Any:
    """The next of the tensors that were taken, with the shapes of those that were put there."""
    tensors = []
    for part in _parts(value):
        tensor = next(taken)
        tensor.set_shape(part.shape)
        tensors.append(tensor)
    return SparseTensor(*tensors) if isinstance(value, SparseTensor) else tensors[0]
