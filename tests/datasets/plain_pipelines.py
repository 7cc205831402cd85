"""Datasets without functions, as programs write them, and what TensorFlow gives for them.

With TensorFlow installed, `python -m tests.datasets.plain_pipelines` writes `tests/data/plain_pipelines.json` anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.datasets.pipelines import run

RECORDED = Path(__file__).parent.parent / "data" / "plain_pipelines.json"
PIPELINES: dict[str, Callable[[Any], Any]] = {}


def pipeline(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PIPELINES[fn.__name__] = fn
    return fn


class Pair(NamedTuple):
    left: Any
    right: Any


@pipeline
def slices_of_nests(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(
        {"b": (np.arange(6).reshape(3, 2), ["x", "y", "z"]), "a": Pair([1.5, 2.5, 3.5], [True, False, True])}
    ).map(lambda d: {"b": d["b"], "a": tuple(d["a"])})


@pipeline
def lists_are_tensors(tf: Any) -> Any:
    return tf.data.Dataset.from_tensors(([1, 2, 3], [[1.0], [2.0]]))


@pipeline
def ranges(tf: Any) -> Any:
    rest = tf.data.Dataset.range(10, 0, -3)
    return tf.data.Dataset.range(2, 11, 3).concatenate(rest).concatenate(tf.data.Dataset.range(3, 3))


@pipeline
def skip_take_and_shard(tf: Any) -> Any:
    return tf.data.Dataset.range(40).skip(3).shard(4, 1).take(5).repeat(2)


@pipeline
def batches_and_the_rest(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices((np.arange(7), list("abcdefg"))).batch(3)


@pipeline
def batches_without_the_rest(tf: Any) -> Any:
    return tf.data.Dataset.range(7).batch(2, drop_remainder=True).batch(2)


@pipeline
def batches_across_repetitions(tf: Any) -> Any:
    return tf.data.Dataset.range(5).repeat(3).batch(4)


@pipeline
def zip_of_different_lengths(tf: Any) -> Any:
    letters = tf.data.Dataset.from_tensor_slices(list("abc"))
    return tf.data.Dataset.zip((tf.data.Dataset.range(5), (letters, tf.data.Dataset.range(10).skip(6)))).batch(2)


def _words(tf: Any) -> Any:
    lengths = np.array([1, 3, 0, 2, 5, 4, 1], np.int64)
    return tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: (tf.fill([n], n), tf.fill([n, 2], "w")))


@pipeline
def padded_batches(tf: Any) -> Any:
    return _words(tf).padded_batch(3, ([None], [None, 2]))


@pipeline
def padded_batches_of_a_size(tf: Any) -> Any:
    paddings = (np.int64(-1), "<end>")
    return _words(tf).padded_batch(2, (tf.TensorShape([6]), [-1, 3]), paddings, drop_remainder=True)


@pipeline
def padded_scalars(tf: Any) -> Any:
    return tf.data.Dataset.range(4).padded_batch(3, [])


@pipeline
def sparse_batches_of_dense_tensors(tf: Any) -> Any:
    lengths = np.array([1, 3, 0, 2], np.int64)
    dataset = tf.data.Dataset.from_tensor_slices(lengths).map(lambda n: tf.fill([n], n))
    batch = tf.data.experimental.dense_to_sparse_batch(3, [4])
    return dataset.apply(batch).map(lambda s: (s.indices, s.values, s.dense_shape))


@pipeline
def batches_of_sparse_tensors(tf: Any) -> Any:
    sparse = tf.SparseTensor([[0, 1], [2, 0], [3, 1]], [5.0, 6.0, 7.0], [4, 2])
    dataset = tf.data.Dataset.from_tensor_slices((sparse, np.arange(4))).batch(3)
    return dataset.map(lambda s, i: (s.indices, s.values, s.dense_shape, i))


@pipeline
def rows_of_a_sparse_tensor(tf: Any) -> Any:
    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 1]], [5.0, 6.0, 7.0], [4, 2])
    return tf.data.Dataset.from_sparse_tensor_slices(sparse)


@pipeline
def unbatched(tf: Any) -> Any:
    dataset = tf.data.Dataset.from_tensor_slices((np.arange(6).reshape(3, 2), [["a", "b"], ["c", "d"], ["e", "f"]]))
    return dataset.apply(tf.data.experimental.unbatch()).batch(4)


@pipeline
def numbered(tf: Any) -> Any:
    return tf.data.Dataset.from_tensor_slices(["a", "b"]).apply(tf.data.experimental.enumerate_dataset(start=5))


@pipeline
def counting(tf: Any) -> Any:
    return tf.data.Dataset.zip((tf.data.experimental.Counter(), tf.data.experimental.Counter(5, -2))).take(4)


@pipeline
def chosen_by_number(tf: Any) -> Any:
    parts = [tf.data.Dataset.from_tensors(letter).repeat(2) for letter in "abc"]
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 2, 0, 0, 1, 2, 2, 1], np.int64))
    if tf.__name__ == "penstock":
        return tf.data.experimental.choose_from_datasets(parts, choice)
    return tf.data.experimental.choose_from_datasets(parts, choice, stop_on_empty_dataset=False)


@pipeline
def cached_and_prefetched(tf: Any) -> Any:
    return tf.data.Dataset.range(6).cache().repeat(2).prefetch(2).batch(5).prefetch(1)


@pipeline
def cached_in_a_file(tf: Any) -> Any:
    name = str(Path(tempfile.mkdtemp()) / "cache")
    return tf.data.Dataset.from_tensor_slices((np.arange(5.0), list("abcde"))).cache(name).repeat(2)


@pipeline
def of_no_elements(tf: Any) -> Any:
    return tf.data.Dataset.range(0).batch(3).repeat(5).prefetch(2).cache()


def _file(text: str) -> str:
    path = Path(tempfile.mkdtemp()) / "file"
    path.write_bytes(text.encode())
    return str(path)


@pipeline
def lines_of_files(tf: Any) -> Any:
    names = [_file("first\nsecond\r\n\nlast"), _file(""), _file("alone\n")]
    return tf.data.TextLineDataset(names)


@pipeline
def lines_of_files_in_turn(tf: Any) -> Any:
    names = [_file("a1\na2\na3"), _file("b1"), _file("c1\nc2")]
    dataset = tf.data.Dataset.from_tensor_slices(names)
    return dataset.interleave(lambda name: tf.data.TextLineDataset(name).skip(0), cycle_length=2, block_length=1)


@pipeline
def records_of_a_length(tf: Any) -> Any:
    return tf.data.FixedLengthRecordDataset([_file("HHaabbccF"), _file("HHddF")], 2, header_bytes=2, footer_bytes=1)


@pipeline
def rows_of_csv_files(tf: Any) -> Any:
    text = 'n,x,s\n1,2.5,plain\n2,,"with ""quotes"", and\nlines"\n3,NA,\n'
    return tf.data.experimental.CsvDataset(
        [_file(text)], [tf.int32, [0.5], [""]], header=True, na_value="NA"
    )  # fmt: skip


@pipeline
def columns_of_csv_files(tf: Any) -> Any:
    return tf.data.experimental.CsvDataset(
        _file("1;a;2\n3;b;4"), [tf.int64, tf.int64], field_delim=";", select_cols=[0, 2]
    )


@pipeline
def batches_of_csv_columns(tf: Any) -> Any:
    text = "a,b,c,d\n1,1.5,x,5000000000\n2,2.5,y,1\n3,3.5,,2\n"
    return tf.data.experimental.make_csv_dataset(_file(text), 2, label_name="c", num_epochs=1, shuffle=False)


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow  # type: ignore[import-not-found]

    tensorflow.disable_v2_behavior()
    found = {name: run(tensorflow, make) for name, make in PIPELINES.items()}
    RECORDED.write_text("".join(["{\n", ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in found.items()), "\n}\n"]))
