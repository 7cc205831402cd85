"""Models that contain functions of tf, which no layer calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

K = tf.keras.backend
L = tf.keras.layers
X = np.random.RandomState(0).uniform(-1, 1, (5, 6)).astype(np.float32)


def mixed() -> Any:
    """Operators, functions of several results, constants and a variable between layers."""
    inputs = tf.keras.Input((6,), name="inputs")
    one, two = tf.split(inputs * 2.0, 2, axis=1)
    hidden = L.Dense(3, name="dense")(tf.nn.relu(one) - 1.0 / (3.0 + two))
    factor = tf.Variable([1.0, 2.0, 3.0], name="factor")
    return tf.keras.Model(inputs, tf.reduce_sum(hidden * factor, axis=1, keepdims=True))


def expected(x: np.ndarray, weights: Any) -> np.ndarray:
    one, two = np.split(x * 2, 2, axis=1)
    hidden = (np.maximum(one, 0) - 1 / (3 + two)) @ weights[0] + weights[1]
    return (hidden * [1, 2, 3]).sum(1, keepdims=True)


def test_functions_between_layers_are_layers_of_the_model(caplog: pytest.LogCaptureFixture) -> None:
    model = mixed()
    assert "factor is used by mul_1, which no layer of the model calls" in caplog.text
    np.testing.assert_allclose(model.predict(X), expected(X, model.get_weights()), rtol=1e-5)
    assert "tf_op_layer_Relu" in [layer.name for layer in model.layers]
    assert [w.name for w in model.weights] == ["dense/kernel:0", "dense/bias:0"]


def test_a_model_with_functions_is_called_with_other_tensors_and_trained() -> None:
    model = mixed()
    other = tf.keras.Input((6,))
    around = tf.keras.Model(other, model(other + 1.0) * 2.0)
    np.testing.assert_allclose(around.predict(X), 2 * expected(X + 1, model.get_weights()), rtol=1e-5)
    around.compile(tf.keras.optimizers.Adam(0.1), "mse")
    losses = around.fit(X, X[:, :1], epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


def test_a_model_with_functions_is_made_again_from_its_description_and_its_file(tmp_path: Path) -> None:
    model = mixed()
    outputs = model.predict(X)
    again = tf.keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(X), outputs)
    pytest.importorskip("h5py")
    model.save(str(tmp_path / "model.h5"))
    K.clear_session()
    again = tf.keras.models.load_model(str(tmp_path / "model.h5"), compile=False)
    np.testing.assert_array_equal(again.predict(X), outputs)


def test_a_constant_beside_a_layers_result_is_an_input_of_the_next_layer() -> None:
    inputs = tf.keras.Input((6,))
    table = tf.constant(np.arange(12, dtype=np.float32).reshape(2, 6))
    added = L.Lambda(lambda pair: pair[0] + tf.reduce_sum(pair[1], 0))([inputs, table])
    model = tf.keras.Model(inputs, L.Add()([added, inputs]))
    np.testing.assert_allclose(model.predict(X), 2 * X + [6, 8, 10, 12, 14, 16], rtol=1e-6)


def test_a_loop_between_layers_must_be_in_a_layer() -> None:
    inputs = tf.keras.Input((6,))
    looped = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), [0, inputs])[1]
    with pytest.raises(ValueError, match="Lambda layer"):
        tf.keras.Model(inputs, looped)


def test_layers_called_with_plain_tensors_make_no_layers_of_functions() -> None:
    x = tf.placeholder(tf.float32, [None, 6])
    y = L.Dense(2)(tf.nn.relu(L.Dense(3)(x * 2.0)))
    assert getattr(y, "_keras_history", None) is None
