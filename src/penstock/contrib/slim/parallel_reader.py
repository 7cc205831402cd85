"""Several readers that read different files at once into one queue (TF: tf.contrib.slim.parallel_reader)."""

from __future__ import annotations

from typing import Any

from penstock import gfile
from penstock.client.queues import FIFOQueue, QueueBase, RandomShuffleQueue
from penstock.client.readers import ReaderBase
from penstock.contrib.slim.prefetch_queue import summarize_fullness
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.add_n import add_n
from penstock.tensor.dtypes import string
from penstock.train.input.producers import string_input_producer
from penstock.train.queue_runner import QueueRunner, add_queue_runner

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(ReaderBase):
    """`num_readers` readers that put what they read into `common_queue`, each in a thread of a queue runner.

    A shuffling queue shuffles the records of all files.
    """

    def __init__(
        self, reader_class: Any, common_queue: QueueBase, num_readers: int = 4, reader_kwargs: Any = None
    ) -> None:
        """TypeError unless the queue takes (key, value), two strings."""
        if len(common_queue.dtypes) != 2 or not all(dtype.is_compatible_with(string) for dtype in common_queue.dtypes):
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        # There is no one handle of all readers, so the base class has nothing to keep.
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value): a record that one of the readers has read, of the files that are named in `queue`."""
        self._fill_from(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """(keys, values) of up to `num_records` records: fewer at the end."""
        self._fill_from(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _fill_from(self, queue: Any) -> None:
        enqueue_ops = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, enqueue_ops))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records all readers have read."""
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files all readers have read to their ends."""
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Any = None,
    shuffle: bool = True,
    dtypes: Any = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """(key, value): the next record of the files, `num_epochs` times or for ever.

    data_sources: a list of names and patterns, or one. shuffle: both the files and the records, of which `capacity`
    wait, and `min_after_dequeue` stay for the next to be drawn from.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(files, num_epochs, shuffle, seed, name="filenames")
        types = dtypes or [string, string]
        queue: QueueBase
        if shuffle:
            queue = RandomShuffleQueue(capacity, min_after_dequeue, types, seed=seed, name="common_queue")
        else:
            queue = FIFOQueue(capacity, types, name="common_queue")
        summarize_fullness(queue, capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def single_pass_read(data_sources: Any, reader_class: Any, reader_kwargs: Any = None, scope: str | None = None) -> Any:
    """(key, value): the next record of the files, in order, once."""
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(names)


def get_data_files(data_sources: Any) -> list[str]:
    """The files that names and patterns with *, ? or [ stand for. ValueError where there are none."""
    if isinstance(data_sources, list | tuple):
        files = [name for source in data_sources for name in get_data_files(source)]
    else:
        pattern = any(mark in data_sources for mark in "*?[")
        files = gfile.Glob(data_sources) if pattern else [data_sources]
    if not files:
        raise ValueError(f"No data files found in {data_sources}")
    return files
