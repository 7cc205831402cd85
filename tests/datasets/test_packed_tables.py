"""Tables and records in files that are packed, or whose names are bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import penstock as tf
from tests.datasets.tools import elements


def test_columns_are_inferred_from_packed_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n2,y\n"))
    with tf.Graph().as_default():
        rows = tf.data.experimental.make_csv_dataset(str(path), 2, num_epochs=1, shuffle=False, compression_type="GZIP")
        assert elements(rows) == [{"a": [1, 2], "b": [b"x", b"y"]}]
        with pytest.raises(ValueError, match="gzip"):
            tf.data.experimental.make_csv_dataset(str(path), 2, compression_type="ZLIB")


def test_names_of_files_of_records_may_be_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "records").encode()
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"one")
    assert list(tf.python_io.tf_record_iterator(path)) == [b"one"]
