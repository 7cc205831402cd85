"""Input functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

X = {"a": np.arange(10), "b": np.arange(20.0).reshape(10, 2), "s": np.array([f"s{n}é" for n in range(10)])}
Y = np.arange(10) * 10


def taken(input_fn: Any, seed: int | None = None) -> list[Any]:
    """All that the tensors of the input function give."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        tensors, found = input_fn(), []
        with pytest.raises(tf.errors.OutOfRangeError):
            for _ in range(100):
                found.append(session.run(tensors))
        return found


def test_batches_have_the_structure_of_the_arrays() -> None:
    found = taken(tf.estimator.inputs.numpy_input_fn(X, Y, batch_size=4, shuffle=False))
    features = [batch[0] for batch in found]
    assert [batch[1].tolist() for batch in found] == [[0, 10, 20, 30], [40, 50, 60, 70], [80, 90]]
    np.testing.assert_array_equal(np.concatenate([part["b"] for part in features]), X["b"])
    assert features[2]["s"].tolist() == ["s8é".encode(), "s9é".encode()]
    assert features[0]["a"].dtype == X["a"].dtype


def test_single_arrays_and_labels_by_name() -> None:
    assert taken(tf.estimator.inputs.numpy_input_fn(Y, batch_size=10, shuffle=False))[0].tolist() == Y.tolist()
    (batch,) = taken(tf.estimator.inputs.numpy_input_fn(Y, {"y": Y + 1}, batch_size=10, shuffle=False))
    assert batch[1]["y"].tolist() == (Y + 1).tolist()


def test_epochs_follow_each_other_without_a_break() -> None:
    found = taken(tf.estimator.inputs.numpy_input_fn(Y, batch_size=4, num_epochs=2, shuffle=False))
    assert [len(batch) for batch in found] == [4, 4, 4, 4, 4]
    assert found[2].tolist() == [80, 90, 0, 10]


def test_each_shuffled_epoch_has_all_rows_in_an_order_that_the_seed_decides() -> None:
    input_fn = tf.estimator.inputs.numpy_input_fn({"a": X["a"]}, Y, batch_size=5, num_epochs=2, shuffle=True)
    batches = taken(input_fn, seed=3)
    rows = np.concatenate([features["a"] for features, _ in batches])
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))
    assert rows[:10].tolist() != rows[10:].tolist()
    assert np.concatenate([labels for _, labels in batches]).tolist() == (rows * 10).tolist()
    again = np.concatenate([features["a"] for features, _ in taken(input_fn, seed=3)])
    assert again.tolist() == rows.tolist()


def test_without_an_end_all_batches_are_full() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        batch = tf.estimator.inputs.numpy_input_fn(Y, batch_size=32, num_epochs=None, shuffle=False)()
        assert batch.shape.as_list() == [32]
        assert [len(session.run(batch)) for _ in range(5)] == [32] * 5


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": Y}, ValueError, "shuffle must be provided and explicitly set as boolean"),
        ({"x": [1, 2], "shuffle": True}, TypeError, "x must be a dict or array; got list"),
        ({"x": {}, "shuffle": True}, ValueError, "x cannot be an empty dict"),
        ({"x": Y, "y": {}, "shuffle": True}, ValueError, "y cannot be empty dict, use None instead"),
        ({"x": Y, "y": Y[1:], "shuffle": True}, ValueError, "Length of tensors in x and y is mismatched"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tf.estimator.inputs.numpy_input_fn(**arguments)()


def test_tables_are_dicts_of_their_columns() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": X["a"], "s": X["s"]})
    (batch,) = taken(tf.estimator.inputs.pandas_input_fn(table, pandas.Series(Y), 16, shuffle=False))
    assert batch[0]["s"][3] == "s3é".encode()
    assert batch[1].tolist() == Y.tolist()
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        tf.estimator.inputs.pandas_input_fn(table, pandas.Series(Y[1:]), shuffle=False)
