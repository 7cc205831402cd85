"""Layers and models that take dicts of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers
F = tf.feature_column
R = np.random.RandomState(0)
FEATURES = {
    "age": R.uniform(0, 80, (40, 1)).astype(np.float32),
    "kind": np.array([["cat"], ["dog"], ["fish"], ["dog"]] * 10),
}
LABELS = (FEATURES["kind"] == "dog").astype(np.float32)


def columns() -> list[Any]:
    kind = F.categorical_column_with_vocabulary_list("kind", ["cat", "dog", "fish"])
    return [
        F.numeric_column("age", normalizer_fn=lambda x: x / 80.0),
        F.embedding_column(kind, 2),
        F.indicator_column(kind),
    ]


def expected(table: np.ndarray) -> np.ndarray:
    numbers = np.array([["cat", "dog", "fish"].index(kind) for kind in FEATURES["kind"][:, 0]])
    return np.concatenate([FEATURES["age"] / 80, table[numbers], np.eye(3)[numbers]], 1)


def test_dense_features_are_columns_side_by_side_and_their_variables_are_weights() -> None:
    layer = L.DenseFeatures(columns())
    inputs = {"age": tf.keras.Input((1,), name="age"), "kind": tf.keras.Input((1,), name="kind", dtype=tf.string)}
    model = tf.keras.Model(list(inputs.values()), layer(inputs))
    tf.keras.backend.get_session().run(tf.tables_initializer())  # which a program may, but need not do
    (table,) = layer.get_weights()
    assert [w.name for w in model.trainable_weights] == ["dense_features/kind_embedding/embedding_weights:0"]
    np.testing.assert_allclose(model.predict(FEATURES), expected(table), rtol=1e-6)
    around = tf.keras.Model(list(inputs.values()), model(list(inputs.values())))
    np.testing.assert_allclose(around.predict(FEATURES), expected(table), rtol=1e-6)


@pytest.mark.parametrize("dataset", [False, True])
def test_a_sequential_model_learns_from_a_dict_of_features(dataset: bool) -> None:
    model = tf.keras.Sequential([L.DenseFeatures(columns()), L.Dense(1, activation="sigmoid")])
    model.compile(tf.keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    if dataset:
        data = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(8).repeat()
        history = model.fit(data, epochs=20, steps_per_epoch=5, verbose=0)
    else:
        history = model.fit(FEATURES, LABELS, batch_size=8, epochs=20, verbose=0)
    assert history.history["acc"][-1] == 1.0
    assert model.evaluate(FEATURES, LABELS, verbose=0)[1] == 1.0
    assert model.predict(FEATURES).shape == (40, 1)


class Both(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.features, self.dense = L.DenseFeatures(columns()), L.Dense(1)

    def call(self, inputs: Any, training: Any = None) -> Any:
        return self.dense(self.features(inputs))


def test_a_model_with_its_own_call_takes_a_dict() -> None:
    model = Both()
    model.compile("sgd", "mse")
    model.fit(FEATURES, LABELS, verbose=0)
    table, kernel, bias = model.get_weights()
    np.testing.assert_allclose(model.predict(FEATURES), expected(table) @ kernel + bias, rtol=1e-5, atol=1e-6)


class Difference(L.Layer):
    def call(self, inputs: Any) -> Any:
        return inputs["a"] - inputs["b"]


def test_a_layer_is_called_with_a_dict() -> None:
    a, b = tf.keras.Input((2,)), tf.keras.Input((2,))
    model = tf.keras.Model([a, b], Difference()({"b": b, "a": a}))
    np.testing.assert_array_equal(model.predict([np.ones((1, 2)), np.zeros((1, 2))]), [[1, 1]])
    assert Difference()({"a": tf.constant([3.0]), "b": tf.constant([1.0])}).shape.as_list() == [1]


def test_categorical_columns_must_be_wrapped() -> None:
    kind = F.categorical_column_with_vocabulary_list("kind", ["cat"])
    with pytest.raises(ValueError, match="embedding_column or indicator_column"):
        L.DenseFeatures([kind])({"kind": tf.constant([["cat"]])})
