"""Feature columns: what they refuse, sequences, checkpoints, and what programs get back from the functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

fc = tf.feature_column


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches, feeds)


def words(*rows: list[str]) -> Any:
    indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    return tf.SparseTensor(indices, [word for row in rows for word in row], [len(rows), max(map(len, rows))])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


# --- errors ---------------------------------------------------------------------------------------------

NUMBER = fc.numeric_column("x")
HASHED = fc.categorical_column_with_hash_bucket("w", 5)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fc.numeric_column("x", shape=(2.5,)), TypeError, "shape dimensions must be integer"),
        (lambda: fc.numeric_column("x", shape=0), ValueError, "must be greater than 0"),
        (lambda: fc.numeric_column(b"x"), ValueError, "key must be a string"),
        (lambda: fc.numeric_column("x", dtype=tf.string), ValueError, "convertible to float"),
        (lambda: fc.numeric_column("x", default_value=[1, 2]), ValueError, "must be equal to given shape"),
        (lambda: fc.numeric_column("x", default_value=0.5, dtype=tf.int64), TypeError, "compatible with dtype"),
        (lambda: fc.numeric_column("x", default_value="a"), TypeError, "compatible with dtype"),
        (lambda: fc.numeric_column("x", normalizer_fn=3), TypeError, "must be a callable"),
        (lambda: fc.bucketized_column(NUMBER, [3, 1]), ValueError, "must be a sorted list"),
        (lambda: fc.bucketized_column(HASHED, [1]), ValueError, "generated with numeric_column"),
        (lambda: fc.bucketized_column(fc.numeric_column("m", (2, 2)), [1]), ValueError, "one-dimensional"),
        (lambda: fc.categorical_column_with_hash_bucket("w", 0), ValueError, "at least 1"),
        (lambda: fc.categorical_column_with_hash_bucket("w", 3, tf.float32), ValueError, "string or integer"),
        (lambda: fc.categorical_column_with_identity("w", 3, 3), ValueError, "not in range"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a", "a"]), ValueError, "Duplicate keys"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", []), ValueError, "must be non-empty"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", ["a"], tf.int64), ValueError, "do not match"),
        (lambda: fc.categorical_column_with_vocabulary_list("w", [1.5]), ValueError, "string or integer"),
        (
            lambda: fc.categorical_column_with_vocabulary_list("w", ["a"], default_value=0, num_oov_buckets=1),
            ValueError,
            "Can't specify both",
        ),
        (lambda: fc.categorical_column_with_vocabulary_file("w", "/no/such/file"), ValueError, "does not exist"),
        (lambda: fc.crossed_column(["a"], 3), ValueError, "length > 1"),
        (lambda: fc.crossed_column(["a", HASHED], 3), ValueError, "is not supported for crossing"),
        (lambda: fc.crossed_column(["a", 3], 3), ValueError, "Unsupported key type"),
        (lambda: fc.crossed_column(["a", "b"], 0), ValueError, "hash_bucket_size"),
        (lambda: fc.embedding_column(HASHED, 0), ValueError, "Invalid dimension"),
        (lambda: fc.embedding_column(HASHED, 2, ckpt_to_load_from="a"), ValueError, "none of them"),
        (lambda: fc.embedding_column(HASHED, 2, initializer=1), ValueError, "initializer must be callable"),
        (
            lambda: fc.shared_embedding_columns([HASHED, fc.categorical_column_with_hash_bucket("v", 6)], 2),
            ValueError,
            "same number of buckets",
        ),
        (lambda: fc.weighted_categorical_column(HASHED, "weight", tf.string), ValueError, "convertible to float"),
    ],
)
def test_wrong_columns_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_wrong_inputs_of_layers_are_refused() -> None:
    dense = {"x": tf.zeros([2, 1]), "w": tf.constant([["a"], ["b"], ["c"]])}
    for columns, message in (
        ([], "must not be empty"),
        ({"x": NUMBER}, "found dict"),
        ([NUMBER, "x"], "must be a _FeatureColumn"),
        ([NUMBER, fc.numeric_column("x", dtype=tf.float64)], "Duplicate feature column name"),
        ([HASHED], "must be a _DenseColumn"),
        ([fc.numeric_column("y")], "Feature y is not in features"),
        ([NUMBER, fc.indicator_column(HASHED)], "Batch size"),
    ):
        with pytest.raises(ValueError, match=message):
            fc.input_layer(dense, columns)
    with pytest.raises(ValueError, match="expected a dictionary"):
        fc.linear_model(tf.zeros([2, 1]), [NUMBER])
    with pytest.raises(ValueError, match="cannot have rank 0"):
        fc.input_layer({"x": tf.constant(1.0)}, [NUMBER])
    with pytest.raises(ValueError, match="SparseTensor is not supported"):
        fc.input_layer({"x": words(["a"])}, [NUMBER])
    with pytest.raises(ValueError, match="dtype must be compatible"):
        fc.linear_model({"w": tf.constant([[1]])}, [HASHED])
    sequence = fc.sequence_categorical_column_with_hash_bucket("w", 5)
    with pytest.raises(ValueError, match="Suggested fix A"):
        fc.input_layer(dense, [fc.indicator_column(sequence)])
    with pytest.raises(ValueError, match="does not support weight_tensor"):
        weighted = fc.weighted_categorical_column(fc.categorical_column_with_identity("i", 3), "w2")
        found = {"i": tf.constant([[1]]), "w2": tf.constant([[1.0]]), "w": tf.constant([["a"]])}
        fc.linear_model(found, [fc.crossed_column([weighted, "w"], 5)])


def test_an_id_out_of_range_is_an_error_of_the_step() -> None:
    column = fc.indicator_column(fc.categorical_column_with_identity("i", 3))
    fed = tf.placeholder(tf.int64, [None])
    found = fc.input_layer({"i": fed}, [column])
    assert run(found, {fed: [2]}).tolist() == [[0, 0, 1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert_less_than_num_buckets"):
        run(found, {fed: [3]})


def test_examples_whose_features_have_different_specifications_are_refused() -> None:
    with pytest.raises(ValueError, match="different parse_spec for key x"):
        fc.make_parse_example_spec([NUMBER, fc.indicator_column(fc.categorical_column_with_identity("x", 3))])
    assert fc.make_parse_example_spec(
        [NUMBER, fc.crossed_column(["w", "v"], 5), fc.bucketized_column(NUMBER, [1])]
    ) == {
        "x": tf.FixedLenFeature((1,), tf.float32),
        "w": tf.VarLenFeature(tf.string),
        "v": tf.VarLenFeature(tf.string),
    }


# --- columns are values ---------------------------------------------------------------------------------


def test_equal_columns_are_equal_and_name_what_they_are() -> None:
    assert fc.numeric_column("x", [2], default_value=1) == fc.numeric_column("x", (2,), default_value=(1.0, 1.0))
    assert len({NUMBER, fc.numeric_column("x")}) == 1
    nested = fc.crossed_column([fc.crossed_column(["d", "b"], 3), "c", fc.bucketized_column(NUMBER, [0])], 7)
    assert nested.name == "b_X_c_X_d_X_x_bucketized"
    assert fc.indicator_column(fc.weighted_categorical_column(HASHED, "u")).name == "w_weighted_by_u_indicator"


def test_variables_and_tensors_of_each_column_are_told() -> None:
    embedded = fc.embedding_column(HASHED, 2)
    found = {"x": tf.zeros([2, 1]), "w": words(["a"], ["b"])}
    variables: dict[Any, Any] = {}
    tensors: dict[Any, Any] = {}
    fc.input_layer(found, [NUMBER, embedded], ["mine"], cols_to_vars=variables, cols_to_output_tensors=tensors)
    assert [v.op.name for v in variables[embedded]] == ["input_layer/w_embedding/embedding_weights"]
    assert variables[NUMBER] == [] and tensors[embedded].shape.as_list() == [2, 2]
    assert tf.get_collection("mine") == variables[embedded]
    linear: dict[Any, Any] = {}
    fc.linear_model(found, [NUMBER, HASHED], trainable=False, cols_to_vars=linear)
    assert [v.op.name for v in linear["bias"] + linear[HASHED]] == [
        "linear_model/bias_weights",
        "linear_model/w/weights",
    ]
    assert tf.trainable_variables() == variables[embedded]


def test_one_set_of_variables_serves_two_calls_in_a_scope_that_reuses() -> None:
    embedded = fc.embedding_column(HASHED, 2)
    for reuse in (None, True):
        with tf.variable_scope("model", reuse=reuse), tf.variable_scope("columns", reuse=tf.AUTO_REUSE):
            fc.input_layer({"w": words(["a"])}, [embedded])
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["model/columns/input_layer/w_embedding/embedding_weights"]


def test_an_embedding_begins_with_a_tensor_of_a_checkpoint(tmp_path: Path) -> None:
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("old", initializer=table)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    column = fc.embedding_column(
        fc.categorical_column_with_identity("i", 5), 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old"
    )
    assert run(fc.input_layer({"i": tf.constant([3, 1])}, [column])).tolist() == [[6, 7], [2, 3]]


def test_the_ids_of_a_step_are_made_distinct_once() -> None:
    column = fc.categorical_column_with_vocabulary_list("w", ["a", "b", "c"])
    loss = tf.reduce_sum(fc.linear_model({"w": words(["a", "b", "a"], ["a"])}, [column]))
    step = tf.train.AdagradOptimizer(1.0, initial_accumulator_value=7.0).minimize(loss)
    assert [op.type for op in tf.get_default_graph().get_operations()].count("Unique") == 1
    (table,) = (v for v in tf.trainable_variables() if v.op.name.endswith("w/weights"))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        session.run(step)
        expected = [-3 / np.sqrt(7 + 9), -1 / np.sqrt(7 + 1), 0]  # three times a, once b
        np.testing.assert_allclose(session.run(table)[:, 0], expected, rtol=1e-6)


def test_a_feature_of_unknown_rank_may_be_a_vector() -> None:
    fed = tf.placeholder(tf.float32)
    found = fc.input_layer({"x": fed}, [NUMBER])
    assert run(found, {fed: [1.0, 2.0]}).tolist() == run(found, {fed: [[1.0], [2.0]]}).tolist() == [[1], [2]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(found, {fed: 1.0})


# --- sequences ------------------------------------------------------------------------------------------


def test_sequences_have_one_row_for_each_step() -> None:
    features = {
        "w": words(["a", "b"], [], ["b", "b", "z"]),
        "v": tf.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]], [1.0, 2.0, 3.0, 4.0, 5.0], [3, 3]),
    }
    categories = fc.sequence_categorical_column_with_vocabulary_list("w", ["a", "b"])
    embedded = fc.embedding_column(categories, 2, initializer=tf.constant_initializer([[1, 2], [3, 4]]))
    columns = [embedded, fc.indicator_column(categories), fc.sequence_numeric_column("v", default_value=-1.0)]
    found, lengths = run(tf.contrib.feature_column.sequence_input_layer(features, columns))
    assert lengths.tolist() == [2, 0, 3]
    np.testing.assert_array_equal(found[0], [[1, 1, 2, 1, 0], [2, 3, 4, 0, 1], [-1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(found[1], [[-1, 0, 0, 0, 0]] * 3)
    np.testing.assert_array_equal(found[2], [[3, 3, 4, 0, 1], [4, 3, 4, 0, 1], [5, 0, 0, 0, 0]])
    assert [v.op.name for v in tf.global_variables()] == ["sequence_input_layer/w_embedding/embedding_weights"]


def test_steps_of_several_numbers_count_as_one() -> None:
    sparse = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]], np.arange(6.0, dtype="f"), [2, 4])
    column = fc.sequence_numeric_column("v", shape=(2,))
    found, lengths = run(tf.contrib.feature_column.sequence_input_layer({"v": sparse}, [column]))
    assert lengths.tolist() == [2, 1]
    assert found.tolist() == [[[0, 1], [2, 3]], [[4, 5], [0, 0]]]


def test_context_is_repeated_at_each_step() -> None:
    context, steps = tf.constant([[1.0], [2.0]]), tf.zeros([2, 3, 2])
    found = run(tf.contrib.feature_column.concatenate_context_input(context, steps))
    assert found[1].tolist() == [[0, 0, 2]] * 3
