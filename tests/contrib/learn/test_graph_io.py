"""Batches of records of files, as tf.contrib.learn reads them; values and names are TensorFlow 1.15's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as tf

FEATURES = {"x": tf.FixedLenFeature([2], tf.int64), "s": tf.VarLenFeature(tf.string)}
learn = tf.contrib.learn


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    """Two files of five examples each: x = [10 * file + i] * 2, s = i times "a"."""
    for file in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"{file}.rec")) as writer:
            for i in range(5):
                example = tf.train.Example()
                example.features.feature["x"].int64_list.value.extend([10 * file + i] * 2)
                example.features.feature["s"].bytes_list.value.extend([b"a"] * i)
                writer.write(example.SerializeToString())
    return str(tmp_path / "*.rec")


def runs(tensors: Any) -> list[Any]:
    """What tensors are until the input ends."""
    found = []
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(tensors))
        coordinator.request_stop()
        coordinator.join(threads)
    return found


def test_features_of_examples_come_in_batches_and_the_last_may_be_smaller(pattern: str) -> None:
    features = learn.io.read_batch_features(
        pattern, 4, FEATURES, tf.TFRecordReader, randomize_input=False, num_epochs=1, num_enqueue_threads=1
    )
    assert sorted(features) == ["s", "x"] and features["x"].shape.as_list() == [None, 2]
    assert features["x"].name == "read_batch_features/fifo_queue_1_Dequeue:3"
    assert [variable.name for variable in tf.local_variables()] == [
        "read_batch_features/file_name_queue/limit_epochs/epochs:0"
    ]
    batches = runs(features)
    assert [batch["x"][:, 0].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 10, 11, 12], [13, 14]]
    assert batches[1]["s"].dense_shape.tolist() == [4, 4] and len(batches[1]["s"].values) == 7


def test_shuffled_records_are_all_read_once_an_epoch(pattern: str) -> None:
    features = learn.read_batch_record_features([pattern], 4, FEATURES, num_epochs=2)
    seen = sorted(number for batch in runs(features["x"]) for number in batch[:, 0].tolist())
    assert seen == sorted([0, 1, 2, 3, 4, 10, 11, 12, 13, 14] * 2)


@pytest.mark.parametrize("at_once", [1, 3])
def test_keys_of_records_name_file_and_place(pattern: str, at_once: int) -> None:
    keys, examples = learn.read_keyed_batch_examples(
        pattern, 3, tf.TFRecordReader, randomize_input=False, num_epochs=1, read_batch_size=at_once
    )
    assert keys.name == "read_batch_examples:0" and examples.dtype == tf.string
    found = [key for batch in runs(keys) for key in batch.tolist()]
    assert len(found) == len(set(found)) == 10 and all(b".rec:" in key for key in found)


def test_records_are_filtered_and_parsed_before_they_are_batched(pattern: str) -> None:
    keys, parsed = learn.read_keyed_batch_examples(
        pattern,
        2,
        tf.TFRecordReader,
        randomize_input=False,
        num_epochs=1,
        read_batch_size=4,
        filter_fn=lambda keys, _: tf.strings.regex_full_match(keys, ".*/0.rec:.*"),
        parse_fn=lambda records: tf.parse_example(records, {"x": FEATURES["x"]}),
    )
    found = runs([keys, parsed["x"]])
    assert [x[:, 0].tolist() for _, x in found] == [[0, 1], [2, 3], [4]]
    assert all(len(keys) == len(x) for keys, x in found)


def test_files_that_are_not_there_and_sizes_that_do_not_fit_are_refused(pattern: str) -> None:
    for given, sizes, said in (
        ([], {}, "No files given"),
        (pattern + "x", {}, "No files match"),
        (pattern, {"batch_size": 100, "queue_capacity": 100}, "Invalid batch_size 100, with queue_capacity 100"),
        (pattern, {"num_threads": 0}, "Invalid num_threads 0"),
        (pattern, {"num_epochs": -1}, "Invalid num_epochs -1"),
    ):
        with pytest.raises(ValueError, match=said):
            learn.read_batch_examples(given, **{"batch_size": 2, "reader": tf.TFRecordReader, **sizes})
