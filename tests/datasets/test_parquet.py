"""Rows of Parquet files are elements."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as tf
from tests.datasets.test_saved_state import Saved
from tests.datasets.tools import elements


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def write(path: Path, first: int, count: int, group: int = 7) -> str:
    numbers = np.arange(first, first + count)
    table = pa.table(
        {
            "n": numbers,
            "x": pa.array([None if n % 5 == 3 else float(n) / 2 for n in numbers], pa.float32()),
            "flag": numbers % 3 == 0,
            "text": pa.array([None if n % 7 == 6 else f"ä{n}" for n in numbers]),
            "kind": pa.array([["red", "blue"][n % 2] for n in numbers]).dictionary_encode(),
            "list": pa.array([list(range(n % 3)) for n in numbers], pa.list_(pa.int32())),
            "pair": pa.array([[n, n + 1] for n in numbers], pa.list_(pa.float64(), 2)),
            "day": pa.array([datetime.date(1970, 1, 1) + datetime.timedelta(int(n)) for n in numbers]),
        }
    )
    pq.write_table(table, path, row_group_size=group)
    return str(path)


def row(n: int) -> dict[str, Any]:
    return {
        "n": n, "x": n / 2, "flag": n % 3 == 0, "text": b"" if n % 7 == 6 else f"ä{n}".encode(),
        "kind": [b"red", b"blue"][n % 2], "list": list(range(n % 3)), "pair": [n, n + 1], "day": n,
    }  # fmt: skip


def same(found: dict[str, Any], n: int) -> bool:
    expected = row(n)
    if n % 5 == 3:
        expected["x"] = found["x"] if np.isnan(found["x"]) else "NaN"
    return found == expected


def test_rows_are_dicts_of_columns(tmp_path: Path) -> None:
    names = [write(tmp_path / "a", 0, 20), write(tmp_path / "b", 20, 5)]
    dataset = tf.contrib.data.ParquetDataset(names)
    assert dataset.output_types == {
        "n": tf.int64, "x": tf.float32, "flag": tf.bool, "text": tf.string, "kind": tf.string, "list": tf.int32,
        "pair": tf.float64, "day": tf.int64,
    }  # fmt: skip
    assert dataset.output_shapes["list"].as_list() == [None]
    assert dataset.output_shapes["pair"].as_list() == [2]
    found = elements(dataset)
    assert len(found) == 25
    assert all(same(each, n) for n, each in enumerate(found))


def test_columns_are_chosen_and_batched(tmp_path: Path) -> None:
    name = write(tmp_path / "a", 0, 20)
    dataset = tf.contrib.data.ParquetDataset(name, ["text", "n"]).batch(8)
    assert elements(dataset)[2] == {"n": [16, 17, 18, 19], "text": [f"ä{n}".encode() for n in range(16, 20)]}
    fed = tf.placeholder(tf.string, [None])
    iterator = tf.contrib.data.ParquetDataset(fed, {"n": tf.int64}).batch(20).make_initializable_iterator()
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {fed: [name]})
        assert session.run(take)["n"].tolist() == list(range(20))
    with pytest.raises(ValueError, match="must be a dict"):
        tf.contrib.data.ParquetDataset(fed)
    with pytest.raises(ValueError, match="has no column 'z'"):
        tf.contrib.data.ParquetDataset(name, ["z"])


@pytest.mark.parametrize("at", [0, 1, 6, 7, 13, 20, 24, 25])
def test_reading_goes_on_where_it_was_saved(tmp_path: Path, at: int) -> None:
    made = Saved(tf.contrib.data.ParquetDataset([write(tmp_path / "a", 0, 20), write(tmp_path / "b", 20, 5)], ["n"]))
    with tf.Session() as session:
        session.run(made.iterator.initializer)
        made.elements(session, at)
        state = session.run(made.state)
        session.run(made.iterator.initializer)
        session.run(made.restore, {made.given: state})
        assert made.elements(session) == [{"n": n} for n in range(at, 25)]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "good", 0, 3), str(tmp_path / "bad")
    Path(bad).write_bytes(b"PAR1 nonsense PAR1")
    for name, kind in ((bad, tf.errors.DataLossError), (str(tmp_path / "gone"), tf.errors.NotFoundError)):
        dataset = tf.contrib.data.ParquetDataset([name, good], {"n": tf.int64})
        with pytest.raises(kind, match=Path(name).name):
            elements(dataset)
        assert elements(dataset.apply(tf.contrib.data.ignore_errors())) == [{"n": n} for n in range(3)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"n of .*good is of type int64, not float32"):
        elements(tf.contrib.data.ParquetDataset([good], {"n": tf.float32}))
    with pytest.raises(tf.errors.NotFoundError, match="has no column 'z'"):
        elements(tf.contrib.data.ParquetDataset([good], {"z": tf.float32}))
    pq.write_table(pa.table({"n": pa.array([1, None])}), tmp_path / "missing")
    with pytest.raises(tf.errors.InvalidArgumentError, match="lacks 1 values"):
        elements(tf.contrib.data.ParquetDataset(str(tmp_path / "missing")))


def test_columns_of_another_shape_than_a_vector_are_refused() -> None:
    dataset = tf.raw_ops.ParquetDataset(
        filenames=["a"], columns=[["n"], ["m"]], output_types=[tf.int64], output_shapes=[[]]
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"vector, not of shape \[2, 1\]"):
        session.run(dataset)
