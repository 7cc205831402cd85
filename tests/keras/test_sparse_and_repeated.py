"""Sparse matrices of SciPy as a model's data, arrays whose steps are given, and inputs that are tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

K = tf.keras.backend
L = tf.keras.layers
DENSE = np.random.RandomState(0).uniform(-1, 1, (20, 6)).astype(np.float32) * (np.arange(120).reshape(20, 6) % 3 == 0)
Y = DENSE[:, :1] * 2 + 1


def trained(x: Any, sparse: bool) -> tuple[list[Any], np.ndarray]:
    """What an input of this kind gives after some training on `x`."""
    start = np.linspace(-1, 1, 6, dtype=np.float32)[:, None]
    data = tf.keras.Input((6,), sparse=sparse)
    model = tf.keras.Model(data, L.Dense(1, activation="tanh", weights=[start, np.zeros(1, np.float32)])(data))
    model.compile("sgd", "mse")
    history = model.fit(x, Y, batch_size=8, epochs=2, shuffle=False, verbose=0, validation_split=0.25)
    found = [*history.history["loss"], *history.history["val_loss"], model.train_on_batch(x[:4], Y[:4])]
    return [*found, model.evaluate(x, Y, verbose=0)], model.predict(x)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix"])
@pytest.mark.parametrize("sparse", [False, True])
def test_sparse_matrices_train_as_the_arrays_that_they_are(form: str, sparse: bool) -> None:
    matrices = pytest.importorskip("scipy.sparse")
    losses, outputs = trained(DENSE, False)
    matrix = getattr(matrices, form)(DENSE)
    found, of_sparse = trained(matrix.tocsr() if form == "coo_matrix" else matrix, sparse)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(of_sparse, outputs, rtol=1e-5, atol=1e-6)


def test_each_step_takes_all_of_the_arrays_where_steps_are_given() -> None:
    sizes: list[Any] = []
    seen = tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: sizes.append(logs["size"]))
    model = tf.keras.Sequential([L.Dense(1, input_shape=(6,), kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    history = model.fit(DENSE, Y, steps_per_epoch=3, epochs=1, verbose=0, callbacks=[seen])
    assert sizes == [1, 1, 1]  # as TensorFlow 1.15 tells
    w, b, losses = np.zeros((6, 1)), 0.0, []
    for _ in range(3):
        error = DENSE @ w + b - Y
        losses.append((error**2).mean())
        w, b = w - 0.1 * 2 * DENSE.T @ error / 20, b - 0.1 * 2 * error.mean()
    np.testing.assert_allclose(history.history["loss"], [np.mean(losses)], rtol=1e-5)
    np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-4, atol=1e-6)
    assert model.predict(DENSE, steps=2).shape == (40, 1)
    np.testing.assert_allclose(
        model.evaluate(DENSE, Y, steps=2, verbose=0), ((DENSE @ w + b - Y) ** 2).mean(), rtol=1e-4
    )


def test_an_input_may_be_a_tensor_or_a_variable_and_the_targets_arrays() -> None:
    for given in (K.variable(DENSE), tf.constant(DENSE, tf.float32)):
        data = tf.keras.Input(tensor=given)
        model = tf.keras.Model(data, L.Dense(1)(data))
        model.compile("sgd", "mse")
        before = model.train_on_batch(None, Y)
        history = model.fit(None, Y, epochs=2, steps_per_epoch=3, verbose=0)
        assert before > history.history["loss"][0] > history.history["loss"][1]
        assert model.predict(None, steps=2).shape == (40, 1)
        assert model.evaluate(None, Y, steps=1, verbose=0) < history.history["loss"][1]
