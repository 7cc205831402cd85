"""What programs that write Keras' loop themselves use: lists of callbacks, functions made ahead, phases."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.keras.callbacks.base import CallbackList

K = tf.keras.backend


def test_a_list_of_callbacks_tells_all_of_them() -> None:
    told: list[object] = []
    batches = tf.keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: told.append((epoch, logs)), on_batch_end=lambda batch, logs: told.append(batch)
    )
    callbacks = CallbackList([batches])
    callbacks.append(tf.keras.callbacks.History())
    model = tf.keras.Sequential()
    callbacks.set_model(model)
    callbacks.set_params({"epochs": 1})
    callbacks.on_train_begin()
    callbacks.on_epoch_begin(0)
    callbacks.on_batch_begin(0)
    callbacks.on_batch_end(0, {"loss": 1.0})
    callbacks.on_train_batch_end(1)
    callbacks.on_epoch_end(0, {"loss": 0.5})
    callbacks.on_train_end()
    assert told == [0, 1, (0, {"loss": 0.5})]
    _, history = callbacks
    assert history.history == {"loss": [0.5]} and history.model is model and history.params == {"epochs": 1}


def test_functions_are_made_before_they_are_needed() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("adam", "mse")
    model._make_train_function()
    model._make_test_function()
    model._make_predict_function()
    K.get_session()  # which initialises the variables
    tf.get_default_graph().finalize()
    assert len(model.optimizer.get_weights()) == 5  # steps; m and v of kernel and bias
    model.train_on_batch(np.ones([1, 2]), np.ones([1, 1]))
    model.test_on_batch(np.ones([1, 2]), np.ones([1, 1]))
    assert model.predict(np.ones([1, 2])).shape == (1, 1)


def test_a_phase_holds_in_its_block() -> None:
    with K.learning_phase_scope(1):
        assert K.learning_phase() == 1
        with pytest.raises(ValueError, match="0 or 1"), K.learning_phase_scope(2):
            pass
    assert isinstance(K.learning_phase(), tf.Tensor)


def test_batches_are_normalized_by_their_own_statistics_or_by_given_ones() -> None:
    x = np.random.RandomState(0).rand(3, 4, 5, 2).astype(np.float32)
    gamma, beta = np.array([2.0, 3.0], np.float32), np.array([0.5, -0.5], np.float32)
    flat = x.reshape(-1, 2)
    wanted = gamma * (x - flat.mean(0)) / np.sqrt(flat.var(0) + 1e-3) + beta
    normed, mean, variance = map(K.get_value, K.normalize_batch_in_training(K.constant(x), gamma, beta, [0, 1, 2]))
    np.testing.assert_allclose(normed, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, flat.mean(0), rtol=1e-5)
    np.testing.assert_allclose(variance, flat.var(0, ddof=1), rtol=1e-4)
    given = K.batch_normalization(K.constant(x), flat.mean(0), flat.var(0), beta, gamma)
    np.testing.assert_allclose(K.get_value(given), wanted, rtol=1e-4, atol=1e-5)
    rows = K.normalize_batch_in_training(K.constant(x), None, None, [0, 2, 3])
    np.testing.assert_allclose(K.get_value(rows[1]), x.mean((0, 2, 3)), rtol=1e-5)
    around = (1, 4, 1, 1)
    spread = np.sqrt(x.var((0, 2, 3)) + 1e-3).reshape(around)
    np.testing.assert_allclose(K.get_value(rows[0]), (x - x.mean((0, 2, 3)).reshape(around)) / spread, atol=1e-4)


def test_a_number_is_its_own_value() -> None:
    assert K.get_value(0.5) == 0.5
    assert not hasattr(K.constant([1.0]), "__len__")
    with pytest.raises(TypeError, match="len"):
        len(K.constant([1.0]))


def test_targets_of_an_output_without_columns_are_vectors() -> None:
    x = tf.keras.layers.Input((3,))
    loss = tf.keras.layers.Lambda(lambda x: tf.reduce_sum(x, -1), output_shape=(1,))(tf.keras.layers.Dense(2)(x))
    model = tf.keras.Model(x, loss)
    model.compile("sgd", lambda y_true, y_pred: y_true + y_pred)
    (before,) = model.predict(np.ones([1, 3]))
    np.testing.assert_allclose(model.train_on_batch(np.ones([4, 3]), np.arange(4.0)), before + 1.5, rtol=1e-5)
