"""Graph programs with feature columns, as functions of the module that they use: Penstock or TensorFlow.

Each returns the tensors to compare. `python -m tests.feature_column.programs` with a Python that has TensorFlow, from
the repository, writes their names and values to tests/data/feature_columns.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parent.parent / "data" / "feature_columns.json"
Tensors = dict[str, Any]
PROGRAMS: dict[str, Callable[[Any], Tensors]] = {}


def program(build: Callable[[Any], Tensors]) -> Callable[[Any], Tensors]:
    PROGRAMS[build.__name__] = build
    return build


def ramp(tf: Any, scale: float = 0.01) -> Any:
    """An initializer whose values are known: 0, scale, 2 scale, …"""

    def values(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        dims = [int(d) for d in shape]
        first = 0 if partition_info is None else partition_info.var_offset[0] * dims[1]
        return tf.constant((first + np.arange(np.prod(dims))).reshape(dims) * scale, tf.float32)

    return values


def sparse(tf: Any, rows: list[list[Any]], dtype: Any = None) -> Any:
    """A sparse matrix with these rows."""
    flat = [value for row in rows for value in row]
    width = max(len(row) for row in rows)
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    return tf.SparseTensor(indices, tf.constant(flat, dtype), [len(rows), width])


def features(tf: Any) -> dict[str, Any]:
    return {
        "age": tf.constant([[17.5], [40.0], [65.0]]),
        "height": tf.constant([1.5, 1.75, 2.0]),
        "pair": tf.constant([[1.0, -3.0], [0.0, 20.0], [5.0, 5.0]]),
        "counts": tf.constant([[3], [0], [7]], tf.int64),
        "work": tf.constant([["clerk"], ["chef"], [""]]),
        "words": sparse(tf, [["the", "cat"], [], ["the", "dog", "Zoë"]]),
        "weights": sparse(tf, [[0.5, 2.0], [], [1.0, 3.0, 0.25]]),
        "ids": sparse(tf, [[0, 2], [1], []], tf.int64),
        "more_ids": tf.constant([[2, -1], [1, 0], [-1, -1]], tf.int64),
        "zip": tf.constant([[94110], [10001], [7]], tf.int64),
    }


def fc_of(tf: Any) -> Any:
    return tf.feature_column


@program
def numbers(tf: Any) -> Tensors:
    fc = fc_of(tf)
    columns = [
        fc.numeric_column("age"),
        fc.numeric_column("height", normalizer_fn=lambda x: x * 2 - 1),
        fc.numeric_column("pair", shape=[2]),
        fc.numeric_column("counts", dtype=tf.int64),
    ]
    return {"dense": fc.input_layer(features(tf), columns)}


@program
def buckets(tf: Any) -> Tensors:
    fc = fc_of(tf)
    columns = [
        fc.bucketized_column(fc.numeric_column("age"), [18, 40, 65]),
        fc.bucketized_column(fc.numeric_column("pair", shape=(2,)), [0.0, 5.0]),
    ]
    found = features(tf)
    return {"dense": fc.input_layer(found, columns), "linear": fc.linear_model(found, columns)}


def vocabulary(words: list[str]) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write("".join(f"{word}\n" for word in words))
    return file.name


@program
def categories(tf: Any) -> Tensors:
    fc = fc_of(tf)
    columns = [
        fc.categorical_column_with_vocabulary_list("work", ["chef", "clerk"], num_oov_buckets=2),
        fc.categorical_column_with_vocabulary_list("words", ("dog", "cat"), default_value=1),
        fc.categorical_column_with_hash_bucket("zip", 11, dtype=tf.int64),
        fc.categorical_column_with_identity("ids", 3),
        fc.categorical_column_with_identity("more_ids", 2, default_value=0),
    ]
    return {"indicators": fc.input_layer(features(tf), [fc.indicator_column(column) for column in columns])}


@program
def files(tf: Any) -> Tensors:
    fc = fc_of(tf)
    path, numbers = vocabulary(["dog", "the", "Zoë"]), vocabulary(["7", "10001"])
    columns = [
        fc.categorical_column_with_vocabulary_file("words", path, 2, num_oov_buckets=3),
        fc.categorical_column_with_vocabulary_file("work", path, default_value=0),
        fc.categorical_column_with_vocabulary_file("zip", numbers, dtype=tf.int64, num_oov_buckets=1),
    ]
    return {"indicators": fc.input_layer(features(tf), [fc.indicator_column(column) for column in columns])}


def census(tf: Any) -> tuple[list[Any], list[Any]]:
    """Columns as in the well-known wide and deep model."""
    fc = fc_of(tf)
    ages = fc.bucketized_column(fc.numeric_column("age"), [18, 25, 40, 60])
    work = fc.categorical_column_with_vocabulary_list("work", ["chef", "clerk"])
    words = fc.categorical_column_with_hash_bucket("words", 20)
    wide = [
        ages,
        work,
        words,
        fc.crossed_column(["work", "words"], 50),
        fc.crossed_column([ages, "work", fc.categorical_column_with_identity("ids", 3)], 1000, hash_key=17),
        fc.crossed_column(["zip", "words"], 97),
    ]
    deep = [
        fc.numeric_column("age"),
        fc.numeric_column("pair", (2,)),
        fc.indicator_column(work),
        fc.embedding_column(words, 3, initializer=ramp(tf)),
        fc.embedding_column(fc.crossed_column([ages, "work"], 7), 2, "sqrtn", initializer=ramp(tf)),
    ]
    return wide, deep


@program
def wide_and_deep(tf: Any) -> Tensors:
    fc = fc_of(tf)
    wide, deep = census(tf)
    found = features(tf)
    variables: dict[Any, Any] = {}
    weighted = fc.linear_model(found, wide, units=2, cols_to_vars=variables)
    dense = fc.input_layer(found, deep)
    loss = tf.reduce_sum(weighted * tf.constant([[1.0, 2.0]])) + tf.reduce_sum(dense * dense)
    return {"weighted": weighted, "dense": dense, "loss": loss}


@program
def trained_wide_model(tf: Any) -> Tensors:
    """Values of the weights after some steps tell which ids were hit."""
    fc = fc_of(tf)
    wide, _ = census(tf)
    weighted = fc.linear_model(features(tf), wide)
    loss = tf.reduce_sum(weighted * tf.constant([[1.0], [2.0], [-4.0]]))
    step = tf.train.GradientDescentOptimizer(0.125).minimize(loss)
    with tf.control_dependencies([step]):
        after = [tf.identity(v.read_value()) for v in tf.trainable_variables()]
    return {v.op.name: value for v, value in zip(tf.trainable_variables(), after, strict=True)}


@program
def weighted_categories(tf: Any) -> Tensors:
    fc = fc_of(tf)
    words = fc.categorical_column_with_vocabulary_list("words", ["the", "cat", "dog"])
    weighted = fc.weighted_categorical_column(words, "weights")
    found = features(tf)
    embedded = [fc.embedding_column(weighted, 2, "sqrtn", initializer=ramp(tf, 1.0))]
    return {
        "indicator": fc.input_layer(found, [fc.indicator_column(weighted)]),
        "embedded": fc.input_layer(found, embedded),
        "linear": fc.linear_model(found, [weighted], sparse_combiner="mean"),
    }


@program
def combiners(tf: Any) -> Tensors:
    fc = fc_of(tf)
    found = features(tf)
    words = fc.categorical_column_with_hash_bucket("words", 10)
    return {
        combiner: fc.input_layer(found, [fc.embedding_column(words, 2, combiner, ramp(tf, 1.0), max_norm=norm)])
        for combiner, norm in (("sum", None), ("mean", 5.0), ("sqrtn", None))
    }


@program
def shared(tf: Any) -> Tensors:
    fc = fc_of(tf)
    ids = fc.categorical_column_with_identity("ids", 3)
    more = fc.categorical_column_with_identity("more_ids", 3)
    columns = fc.shared_embedding_columns([more, ids], 2, initializer=ramp(tf, 1.0))
    return {"dense": fc.input_layer(features(tf), columns), "again": fc.input_layer(features(tf), columns[:1])}


@program
def dense_linear(tf: Any) -> Tensors:
    fc = fc_of(tf)
    ids = fc.categorical_column_with_identity("ids", 3)
    columns = [
        fc.numeric_column("pair", 2),
        fc.embedding_column(ids, 2, initializer=ramp(tf)),
        fc.numeric_column("age"),
    ]
    with tf.variable_scope("linear"):
        variables: dict[Any, Any] = {}
        first = fc.linear_model(features(tf), columns, cols_to_vars=variables)
        second = fc.linear_model(features(tf), columns[:1])
    return {"first": first, "second": second}


@program
def partitioned(tf: Any) -> Tensors:
    fc = fc_of(tf)
    words = fc.categorical_column_with_hash_bucket("words", 10)
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(3)):
        dense = fc.input_layer(features(tf), [fc.embedding_column(words, 2, initializer=ramp(tf))])
        linear = fc.linear_model(features(tf), [words])
    return {"dense": dense, "linear": linear}


@program
def parsed(tf: Any) -> Tensors:
    """What the specification of columns reads from examples."""
    fc = fc_of(tf)
    wide, deep = census(tf)
    weighted = fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket("tags", 9), "tag_weights")
    default = fc.numeric_column("height", default_value=1.25)
    columns = [*wide, *deep, default, fc.indicator_column(weighted)]
    example = tf.train.Example()
    feature = example.features.feature
    feature["age"].float_list.value.append(41.0)
    feature["pair"].float_list.value.extend([2.0, 3.0])
    feature["work"].bytes_list.value.append(b"chef")
    feature["words"].bytes_list.value.extend([b"cat", b"the"])
    feature["zip"].bytes_list.value.append(b"94110")
    feature["ids"].int64_list.value.append(2)
    feature["tags"].bytes_list.value.extend([b"x", b"y"])
    feature["tag_weights"].float_list.value.extend([0.5, 0.25])
    found = tf.parse_example([example.SerializeToString()], fc.make_parse_example_spec(columns))
    return {
        "dense": fc.input_layer(found, [*deep, default, fc.indicator_column(weighted)]),
        "linear": fc.linear_model(found, wide),
    }


def run(tf: Any, name: str) -> dict[str, Any]:
    """The values of a program's tensors, the variables that it makes, and the gradients of a loss if it has one."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        tensors = PROGRAMS[name](tf)
        variables = tf.global_variables()
        watched = [v for v in tf.trainable_variables() if "loss" in tensors]
        grads = [tf.convert_to_tensor(g) for g in (tf.gradients(tensors["loss"], watched) if watched else [])]
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        values, gradients = session.run([tensors, grads])
        model = set(tf.get_collection("model_variables"))
        return {
            "variables": {v.op.name: [v.shape.as_list(), v in tf.trainable_variables(), v in model] for v in variables},
            "shapes": {key: str(t.shape) for key, t in tensors.items()},
            "names": {key: t.name for key, t in tensors.items()},
            "values": {key: np.round(np.asarray(v, float), 5).tolist() for key, v in values.items()},
            "gradients": {
                v.op.name: np.round(np.asarray(g, float), 5).tolist() for v, g in zip(watched, gradients, strict=True)
            },
        }


def record() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    found = {name: run(tf, name) for name in sys.argv[1:] or PROGRAMS}
    RECORDED.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    record()
