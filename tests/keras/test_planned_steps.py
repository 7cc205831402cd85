"""Steps that programs plan ahead and call themselves, from threads too, and losses that models compute inside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import penstock as tf

L = tf.keras.layers


def doubling(dropout: float = 0.0) -> tf.keras.Model:
    model = tf.keras.Sequential([L.Dense(1, use_bias=False, input_shape=(1,), kernel_initializer="ones")])
    model.add(L.Dropout(dropout))
    model.compile(tf.keras.optimizers.SGD(0.25), "mse")
    return model


def test_functions_of_steps_are_made_ahead_and_take_lists() -> None:
    model = doubling(0.5)
    model._make_predict_function()
    model._make_test_function()
    model._make_train_function()
    x, y, weights = np.array([[1.0]]), np.array([[3.0]]), np.ones(1)
    assert model.predict_function([x]) == [[[1.0]]]
    assert model.test_function([x, y, weights]) == [4.0]
    assert model.test_function([x, y, weights, 0]) == [4.0]
    assert model.train_function([x, y, weights, 0]) == [4.0]
    np.testing.assert_allclose(model.get_weights()[0], [[2.0]])  # 1 - 0.25 * 2 * (1 - 3)


def test_threads_that_predict_at_once_wait_for_the_initial_values() -> None:
    model = tf.keras.Sequential([L.Dense(64, input_shape=(64,)) for _ in range(8)])
    model._make_predict_function()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.predict(np.ones((1, 64))), range(8)))
    assert all(np.array_equal(each, found[0]) for each in found)


def test_steps_may_be_a_quotient_and_the_last_part_counts_as_one() -> None:
    class Ones(tf.keras.utils.Sequence):
        asked = 0

        def __len__(self) -> int:
            return 5

        def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
            self.asked += 1
            return np.ones((1, 1)), np.ones((1, 1))

    ones = Ones()
    doubling().fit_generator(ones, steps_per_epoch=5 / 2, verbose=0)
    assert ones.asked == 3
    generator = ((np.ones((2, 1)), np.ones((2, 1))) for _ in range(9))
    assert doubling().evaluate_generator(generator, steps=3 / 2) == 0.0
    assert len(doubling().predict_generator(ones, steps=7 / 2)) == 4


def test_a_model_whose_output_is_its_loss_takes_any_targets() -> None:
    x = L.Input((1,))
    loss = L.Lambda(lambda v: tf.reduce_mean(v), output_shape=(1,))(L.Dense(1, kernel_initializer="ones")(x))
    model = tf.keras.Model(x, loss)
    model.compile("sgd", lambda y_true, y_pred: y_pred)
    assert model.train_on_batch(np.array([[1.0], [3.0]]), np.zeros((2, 1))) == 2.0


def test_weights_by_name_skip_or_reshape_what_does_not_fit(tmp_path: Path) -> None:
    path = str(tmp_path / "weights.h5")
    tf.keras.Sequential(
        [L.Dense(2, input_shape=(2,), kernel_initializer="ones", name="a"), L.Dense(3, name="b")]
    ).save_weights(path)
    model = tf.keras.Sequential(
        [L.Dense(2, input_shape=(2,), kernel_initializer="zeros", name="a"), L.Dense(5, name="b")]
    )
    before = model.layers[1].get_weights()[0]
    with pytest.raises(ValueError, match="do not fit"):
        model.load_weights(path, by_name=True)
    with pytest.raises(ValueError, match="by_name"):
        model.load_weights(path, skip_mismatch=True)
    with pytest.warns(UserWarning, match="Skipping loading"):
        model.load_weights(path, by_name=True, skip_mismatch=True)
    np.testing.assert_array_equal(model.layers[0].get_weights()[0], np.ones((2, 2)))
    np.testing.assert_array_equal(model.layers[1].get_weights()[0], before)

    class Flat(tf.keras.layers.Layer):
        def build(self, shape: object) -> None:
            self.add_weight("kernel", (4,), initializer="zeros")
            self.add_weight("bias", (1, 2), initializer="zeros")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return x

    other = tf.keras.Sequential([Flat(input_shape=(2,), name="a")])
    other.load_weights(path, by_name=True, reshape=True)
    np.testing.assert_array_equal(other.get_weights()[0], np.ones(4))
