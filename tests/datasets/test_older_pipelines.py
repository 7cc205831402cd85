"""Sliding windows, what only advises datasets, and the names that their ops had; values are TensorFlow 1.15's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import google.protobuf.text_format
import numpy as np
import pytest

import penstock as tf
from tests.datasets.tools import elements

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_a_function_may_give_a_dataset_as_part_of_an_element() -> None:
    nested = Dataset.range(3).map(lambda n: (n, Dataset.range(n)))
    assert elements(nested.flat_map(lambda n, inner: inner.map(lambda i: n * 10 + i))) == [10, 20, 21]


def test_sliding_batches_leave_out_what_remains() -> None:
    slide = tf.contrib.data.sliding_window_batch
    assert elements(Dataset.range(6).apply(slide(3, window_shift=2))) == [[0, 1, 2], [2, 3, 4]]
    assert elements(Dataset.range(6).apply(slide(3, window_stride=2))) == [[0, 2, 4], [1, 3, 5]]
    assert elements(Dataset.range(4).apply(slide(2, stride=2))) == [[0, 1], [2, 3]]


def test_iterators_over_windows_and_unique_elements_go_on_where_they_were_saved(tmp_path: Any) -> None:
    for make in (
        lambda: Dataset.range(9).apply(tf.contrib.data.sliding_window_batch(3, window_shift=2)),
        lambda: Dataset.range(9).map(lambda n: n // 2).apply(tf.data.experimental.unique()),
    ):
        with tf.Graph().as_default(), tf.Session() as session:
            iterator = make().make_initializable_iterator()
            take = iterator.get_next()
            state = tf.data.experimental.make_saveable_from_iterator(iterator)
            tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, state)
            saver = tf.train.Saver()
            session.run(iterator.initializer)
            session.run(take)
            path = saver.save(session, str(tmp_path / "state"))
            after = [np.asarray(session.run(take)).tolist() for _ in range(2)]
            session.run(iterator.initializer)
            saver.restore(session, path)
            assert [np.asarray(session.run(take)).tolist() for _ in range(2)] == after


ADVICE = {
    "ModelDataset": {}, "OptimizeDataset": {"optimizations": ["map_fusion"]},
    "OptionsDataset": {"serialized_options": b""}, "FinalizeDataset": {},
    "MaxIntraOpParallelismDataset": {"max_intra_op_parallelism": 2},
    "ExperimentalMaxIntraOpParallelismDataset": {"max_intra_op_parallelism": 2},
    "PrivateThreadPoolDataset": {"num_threads": 2}, "ExperimentalPrivateThreadPoolDataset": {"num_threads": 2},
    "LatencyStatsDataset": {"tag": "t"}, "ExperimentalLatencyStatsDataset": {"tag": "t"},
    "BytesProducedStatsDataset": {"tag": "t"}, "ExperimentalBytesProducedStatsDataset": {"tag": "t"},
    "NonSerializableDataset": {}, "ExperimentalNonSerializableDataset": {},
}  # fmt: skip


@pytest.mark.parametrize("name", ADVICE)
def test_advice_does_not_change_elements(name: str) -> None:
    """As in graphs of TensorFlow 1.14 and later, where each iterator has some."""
    whole = Dataset.range(5).batch(2)
    types = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([None])]}
    advised = getattr(tf.raw_ops, name)(input_dataset=whole._as_variant_tensor(), **ADVICE[name], **types)
    assert elements(whole._derived(lambda: advised)) == [[0, 1], [2, 3], [4]]


def _by_key(dataset: Any) -> Any:
    return dataset.apply(
        tf.data.experimental.group_by_window(lambda n: n % 2, lambda key, rows: rows.batch(3), window_size=3)
    )


def _summed(dataset: Any) -> Any:
    reducer = tf.data.experimental.Reducer(lambda key: np.int64(0), lambda total, n: total + n, lambda total: total)
    return dataset.apply(tf.data.experimental.group_by_reducer(lambda n: n % 2, reducer))


def _scanned(dataset: Any) -> Any:
    return dataset.apply(tf.data.experimental.scan(np.int64(0), lambda total, n: (total + n, total)))


OLDER: dict[str, tuple[Any, Any]] = {
    "UnbatchDataset": (lambda d: d.batch(2).apply(tf.data.experimental.unbatch()), [0, 1, 2, 3, 4]),
    "UniqueDataset": (lambda d: d.map(lambda n: n // 2).apply(tf.data.experimental.unique()), [0, 1, 2]),
    "MapDataset": (lambda d: d.map(lambda n: n * n), [0, 1, 4, 9, 16]),
    "MapAndBatchDataset": (
        lambda d: d.apply(tf.data.experimental.map_and_batch(lambda n: n + 1, 2)),
        [[1, 2], [3, 4], [5]],
    ),
    "GroupByWindowDataset": (_by_key, [[0, 2, 4], [1, 3]]),
    "GroupByReducerDataset": (_summed, [6, 4]),
    "ScanDataset": (_scanned, [0, 0, 1, 3, 6]),
    "TakeWhileDataset": (lambda d: d.apply(tf.data.experimental.take_while(lambda n: n < 2)), [0, 1]),
    "IgnoreErrorsDataset": (lambda d: d.apply(tf.data.experimental.ignore_errors()), [0, 1, 2, 3, 4]),
    "ParallelInterleaveDataset": (
        lambda d: d.apply(tf.data.experimental.parallel_interleave(lambda n: Dataset.range(n, n + 1), cycle_length=1)),
        [0, 1, 2, 3, 4],
    ),
    "DirectedInterleaveDataset": (
        lambda d: tf.data.experimental.choose_from_datasets([d, d.map(lambda n: -n)], Dataset.range(2).repeat(2)),
        [0, 0, 1, -1],
    ),
    "DenseToSparseBatchDataset": (
        lambda d: (
            d.map(lambda n: tf.fill([n], n))
            .apply(tf.data.experimental.dense_to_sparse_batch(5, [4]))
            .map(tf.sparse.to_dense)
        ),
        [[[0, 0, 0, 0], [1, 0, 0, 0], [2, 2, 0, 0], [3, 3, 3, 0], [4, 4, 4, 4]]],
    ),
    "RandomDataset": (lambda d: tf.data.experimental.RandomDataset(seed=7).take(0), []),
}


def _renamed(make: Any, name: str) -> list[Any]:
    """The elements of a dataset in a graph whose nodes of that op, in functions too, have the older name."""
    with tf.Graph().as_default() as graph:
        iterator = make(Dataset.range(5)).make_initializable_iterator()
        start, take = iterator.initializer.name, iterator.get_next().name
        text = str(graph.as_graph_def())
    older = text.replace(f'op: "{name}"', f'op: "Experimental{name}"')
    assert older != text
    definition = google.protobuf.text_format.Parse(older, tf.GraphDef())
    found: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        session.run(start)
        while True:
            try:
                found.append(session.run(take).tolist())
            except tf.errors.OutOfRangeError:
                return found


@pytest.mark.parametrize("name", OLDER)
def test_older_names_of_dataset_ops_give_the_same(name: str) -> None:
    """Graphs of TensorFlow 1.13 and 1.14 have them."""
    make, expected = OLDER[name]
    assert _renamed(make, name) == expected


def test_tables_have_older_names_too(tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("n\n3\n4\n")
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("CREATE TABLE t (n INTEGER)")
        base.execute("INSERT INTO t VALUES (5)")
    file, database = str(tmp_path / "t.csv"), str(tmp_path / "t.db")

    def csv(_: Any) -> Any:
        return tf.data.experimental.CsvDataset([file], [tf.int64], header=True).map(lambda n: n)

    def sql(_: Any) -> Any:
        return tf.data.experimental.SqlDataset("sqlite", database, "SELECT n FROM t", (tf.int64,)).map(lambda n: n)

    assert _renamed(csv, "CSVDataset") == [3, 4]
    assert _renamed(sql, "SqlDataset") == [5]


def test_a_sliding_window_has_an_older_name_too() -> None:
    slide = tf.contrib.data.sliding_window_batch(2)
    assert _renamed(lambda d: d.apply(slide), "SlidingWindowDataset") == [[0, 1], [1, 2], [2, 3], [3, 4]]
