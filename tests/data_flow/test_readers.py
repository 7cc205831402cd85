"""Readers: records of the files whose names are in a queue. What they give was compared with TensorFlow 2.21."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from penstock.ops.data_flow.queue_elements import Fifo
from penstock.ops.data_flow.queue_state import Queue, QueueSpec
from penstock.ops.io.reader_state import Reader
from penstock.ops.io.reader_work import itself


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Three files of three records: 00, 01, 02, 10, …"""
    names = [f"{tmp_path}/r{i}" for i in range(3)]
    for i, name in enumerate(names):
        with tf.python_io.TFRecordWriter(name) as writer:
            for j in range(3):
                writer.write(f"{i}{j}")
    return names


def queue_of(sess: tf.Session, names: list[str], close: bool = True) -> tf.FIFOQueue:
    queue = tf.FIFOQueue(10, [tf.string], [[]])
    sess.run(queue.enqueue_many([names]))
    if close:
        sess.run(queue.close())
    return queue


def values(found: Any) -> Any:
    return [part if isinstance(part, bytes) else part.tolist() for part in found]


def test_a_reader_gives_the_records_of_a_file_after_the_other(files: list[str]) -> None:
    a, b, c = (name.encode() for name in files)
    reader = tf.TFRecordReader()
    with tf.Session() as sess:
        queue = queue_of(sess, files)
        one, two, five = reader.read(queue), reader.read_up_to(queue, 2), reader.read_up_to(queue, 5)
        numbers = [reader.num_records_produced(), reader.num_work_units_completed()]
        assert sess.run(numbers) == [0, 0]
        assert values(sess.run(one)) == [a + b":0", b"00"]
        assert values(sess.run(two)) == [[a + b":18", a + b":36"], [b"01", b"02"]]
        assert sess.run(numbers) == [3, 0]
        assert values(sess.run(two)) == [[b + b":0", b + b":18"], [b"10", b"11"]]
        assert sess.run(numbers) == [5, 1]
        assert values(sess.run(five)) == [[b + b":36"], [b"12"]]
        assert sess.run(numbers) == [6, 2]
        assert values(sess.run(one)) == [c + b":0", b"20"]
        assert values(sess.run(reader.read_up_to(queue, 0))) == [[], []]
        sess.run(reader.reset())
        assert sess.run(numbers) == [0, 0]
        with pytest.raises(tf.errors.OutOfRangeError, match=r"is closed and has insufficient elements \(requested 1"):
            sess.run(one)


def test_shapes_and_names_are_tensorflows() -> None:
    reader, queue = tf.FixedLengthRecordReader(3), tf.FIFOQueue(3, tf.string)
    assert reader.reader_ref.op.type == reader.reader_ref.op.name == "FixedLengthRecordReaderV2"
    key, value = reader.read(queue)
    assert (key.name, value.name, key.shape, value.shape) == ("ReaderReadV2:0", "ReaderReadV2:1", (), ())
    assert [part.shape.as_list() for part in reader.read_up_to(queue, 4)] == [[None], [None]]


@pytest.mark.parametrize(
    ("make", "data", "records"),
    [
        (tf.TextLineReader, b"a\nb\n\nd", [(b":1", b"a"), (b":2", b"b"), (b":3", b""), (b":4", b"d")]),
        (lambda: tf.TextLineReader(skip_header_lines=2), b"a\nb\n\nd", [(b":3", b""), (b":4", b"d")]),
        (lambda: tf.FixedLengthRecordReader(2, 1, 1, hop_bytes=3), b"0123456", [(b":0", b"12"), (b":1", b"45")]),
        (tf.WholeFileReader, b"a\nb", [(b"", b"a\nb")]),
        (tf.WholeFileReader, b"", [(b"", b"")]),
        (tf.TextLineReader, b"", []),
    ],
)
def test_kinds_of_readers(
    make: Callable[[], tf.ReaderBase], data: bytes, records: list[tuple[bytes, bytes]], tmp_path: Path
) -> None:
    (tmp_path / "data").write_bytes(data)
    name = str(tmp_path / "data")
    reader = make()
    with tf.Session() as sess:
        queue = queue_of(sess, [name, name])
        read = reader.read(queue)
        found = [tuple(values(sess.run(read))) for _ in range(2 * len(records))]
        assert found == 2 * [(name.encode() + key, value) for key, value in records]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(read)
        assert sess.run(reader.num_work_units_completed()) == 2


def test_an_identity_reader_gives_what_is_in_the_queue() -> None:
    reader = tf.IdentityReader()
    with tf.Session() as sess:
        queue = queue_of(sess, ["a", "b", "c"])
        assert values(sess.run(reader.read(queue))) == [b"a", b"a"]
        assert values(sess.run(reader.read_up_to(queue, 3))) == [[b"b"], [b"b"]]
        assert sess.run(reader.serialize_state()) == b'\x08\x02\x10\x02\x18\x02"\x01b'  # as TensorFlow's


def test_readers_of_early_graphs_read_as_well(files: list[str]) -> None:
    queue = get_op("FIFOQueue")(component_types=[tf.string], shapes=[[]])
    with tf.Session() as sess:
        for kind, first in (
            ("TFRecordReader", b"00"),
            ("TextLineReader", None),
            ("FixedLengthRecordReader", None),
            ("WholeFileReader", None),
            ("IdentityReader", files[0].encode()),
        ):
            sess.run(get_op("QueueEnqueueMany")(queue, [tf.constant(files)]))
            reader = get_op(kind)(**({"record_bytes": 3} if kind.startswith("Fixed") else {}))
            value = get_op("ReaderRead")(reader, queue)[1]
            found = sess.run(value)
            assert first in (None, found)
            state = sess.run(get_op("ReaderSerializeState")(reader))
            assert len(sess.run(get_op("ReaderReadUpTo")(reader, queue, tf.constant(1, tf.int64)))[0]) == 1
            sess.run(get_op("ReaderRestoreState")(reader, state))
            assert sess.run(get_op("ReaderNumRecordsProduced")(reader)) == 1
            sess.run(get_op("ReaderReset")(reader))
            assert sess.run(get_op("ReaderNumWorkUnitsCompleted")(reader)) == 0
            size = sess.run(get_op("QueueSize")(queue))
            sess.run(get_op("QueueDequeueMany")(queue, size, component_types=[tf.string]))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_a_restored_reader_goes_on_at_the_next_record(compression: str, tmp_path: Path) -> None:
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    records = [b"%d" % i * (i % 50) for i in range(2000)]
    options = tf.python_io.TFRecordOptions(compression)
    for name in names:
        with tf.python_io.TFRecordWriter(name, options) as writer:
            for record in records:
                writer.write(record)
    reader, other = tf.TFRecordReader(options=options), tf.TFRecordReader(options=options)
    state = tf.placeholder(tf.string, [])
    restore = other.restore_state(state)
    with tf.Session() as sess:
        queue, rest = queue_of(sess, names), queue_of(sess, names[1:])
        sess.run(reader.read_up_to(queue, 777))
        sess.run(reader.read(queue))
        sess.run(restore, {state: sess.run(reader.serialize_state())})
        assert sess.run(other.num_records_produced()) == 778
        assert sess.run(other.read(rest))[1] == records[778]
        found: list[bytes] = []
        while len(found) < 3221:
            found += sess.run(other.read_up_to(rest, 1000))[1].tolist()
        assert found == [*records[779:], *records]
        assert sess.run([other.num_records_produced(), other.num_work_units_completed()]) == [4000, 1]


@pytest.mark.parametrize(
    ("state", "said"),
    [(b"\xff", "Could not parse state for TFRecordReader"), (b"\x08\x03\x10\x01", "Inconsistent work started")],
)
def test_a_state_that_is_none_changes_nothing(state: bytes, said: str, files: list[str]) -> None:
    reader = tf.TFRecordReader()
    with tf.Session() as sess:
        read = reader.read(queue_of(sess, files))
        sess.run(read)
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            sess.run(reader.restore_state(state))
        assert sess.run(read)[1] == b"01"


def test_files_that_are_missing_or_damaged_are_named_and_the_others_read(files: list[str], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"this is no record, is it?")
    reader = tf.TFRecordReader()
    with tf.Session() as sess:
        queue = queue_of(sess, [f"{tmp_path}/nowhere", str(damaged), *files])
        read = reader.read(queue)
        with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
            sess.run(read)
        for _ in range(2):
            with pytest.raises(tf.errors.DataLossError, match=r"corrupted record at 0 of .*/damaged"):
                sess.run(read)
        sess.run(reader.reset())
        assert sess.run(read)[1] == b"00"
        assert sess.run(reader.num_records_produced()) == 1


def test_a_queue_of_something_else_is_refused() -> None:
    queue = tf.FIFOQueue(3, [tf.int32], [[]])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="single string component"):
        sess.run(tf.TFRecordReader().read(queue))


def test_a_read_waits_for_a_file_name(files: list[str]) -> None:
    reader = tf.TFRecordReader()
    name = tf.placeholder(tf.string, [])
    found: list[bytes] = []
    with tf.Session() as sess:
        queue = queue_of(sess, [], close=False)
        read, put = reader.read(queue), queue.enqueue(name)
        threads = [threading.Thread(target=lambda: found.append(sess.run(read)[1])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for file in files[1:]:
            sess.run(put, {name: file})
        for thread in threads:
            thread.join(30)
        assert sorted(found) == [b"10", b"11", b"12", b"20"]
        assert sess.run(read)[1] == b"21"


def test_a_read_that_is_given_up_has_taken_nothing() -> None:
    queue = Queue("queue", QueueSpec("FIFOQueue", (tf.string,), (tf.TensorShape([]),), 10), Fifo)
    reader = Reader("IdentityReader", "reader", itself)
    found: list[Any] = []

    def read() -> Any:
        return reader.read(queue, None, found.append)

    def put(item: bytes) -> None:
        assert queue.enqueue((np.array(item, object),), lambda result: None) is None

    first, second, third = read(), read(), read()
    assert second.withdraw() and first.withdraw()
    assert not first.withdraw()
    put(b"a")
    assert values(found.pop()) == [b"a", b"a"] and not third.withdraw()
    assert read().withdraw()
    put(b"b")
    assert found == []
    assert read() is None
    assert values(found.pop()) == [b"b", b"b"]
    assert (queue.size(), reader.numbers()) == (0, (2, 2))


def test_a_thousand_waiting_reads_hold_no_threads_and_each_gets_a_record_of_its_own() -> None:
    reader, queue = tf.IdentityReader(), tf.FIFOQueue(2000, tf.string, [[]])
    reads = [reader.read(queue)[1] for _ in range(1000)]
    names = tf.placeholder(tf.string, [None])
    put = queue.enqueue_many(names)
    found: list[bytes] = []
    with tf.Session() as sess:
        before = threading.active_count()
        thread = threading.Thread(target=lambda: found.extend(sess.run(reads)))
        thread.start()
        time.sleep(0.3)
        assert threading.active_count() < before + 20
        given = [b"%d" % i for i in range(1000)]
        for i in range(0, 1000, 100):
            sess.run(put, {names: given[i : i + 100]})
        thread.join(60)
        assert sorted(found) == sorted(given)


def test_closing_the_session_ends_a_read_that_waits() -> None:
    reader, queue = tf.TFRecordReader(), tf.FIFOQueue(2, tf.string, [[]])
    read, raised = reader.read(queue), []
    sess = tf.Session()

    def run() -> None:
        try:
            sess.run(read)
        except tf.errors.CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.2)
    sess.close()
    thread.join(30)
    assert len(raised) == 1


def test_record_input_gives_each_record_once_an_epoch(tmp_path: Path) -> None:
    records = []
    for i in range(5):
        with tf.python_io.TFRecordWriter(f"{tmp_path}/part-{i}") as writer:
            for j in range(i * 3):
                writer.write(f"{i}-{j}")
                records.append(f"{i}-{j}".encode())
    stream = tf.contrib.framework.RecordInput(
        f"{tmp_path}/part-*", batch_size=5, buffer_size=7, parallelism=2, shift_ratio=0.3, seed=1
    )
    pairs = tf.contrib.framework.RecordInput(f"{tmp_path}/part-*", batch_size=2, batches=3)
    batch, lists = stream.get_yield_op(), pairs.get_yield_op()
    with tf.Session() as sess:
        epochs = [[r for _ in range(6) for r in sess.run(batch).tolist()] for _ in range(3)]
        assert [sorted(epoch) for epoch in epochs] == [sorted(records)] * 3
        assert epochs[0] != epochs[1]
        assert [len(found) for found in sess.run(lists)] == [2, 2, 2]


def test_record_input_names_what_it_does_not_find(tmp_path: Path) -> None:
    missing = tf.contrib.framework.RecordInput(f"{tmp_path}/nothing-*").get_yield_op()
    (tmp_path / "damaged").write_bytes(b"this is no record, is it?")
    damaged = tf.contrib.framework.RecordInput(f"{tmp_path}/damaged").get_yield_op()
    with tf.Session() as sess:
        for _ in range(2):
            with pytest.raises(tf.errors.NotFoundError, match="nothing-"):
                sess.run(missing)
            with pytest.raises(tf.errors.DataLossError, match="damaged"):
                sess.run(damaged)


def test_a_read_that_a_deadline_ends_takes_no_record(files: list[str]) -> None:
    reader, name = tf.TFRecordReader(), tf.placeholder(tf.string, [])
    with tf.Session() as sess:
        queue = queue_of(sess, [], close=False)
        read, put = reader.read(queue), queue.enqueue(name)
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(read, options=tf.RunOptions(timeout_in_ms=50))
        sess.run(put, {name: files[1]})
        assert [sess.run(read)[1] for _ in range(3)] == [b"10", b"11", b"12"]


def test_a_read_that_nobody_can_serve_says_which_queue_it_waits_for() -> None:
    read = tf.TFRecordReader().read(tf.FIFOQueue(3, tf.string, [[]], name="file_names"))
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="file_names"):
        sess.run(read)
