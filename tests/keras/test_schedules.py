"""tf.keras.optimizers.schedules: values as TensorFlow 1.15 computes them, and optimizers that take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

S = tf.keras.optimizers.schedules
X = np.ones((4, 2), np.float32)
CASES: list[tuple[Any, list[float]]] = [
    (S.ExponentialDecay(0.1, 2, 0.5), [0.1 * 0.5 ** (t / 2) for t in range(6)]),
    (S.ExponentialDecay(0.1, 2, 0.5, staircase=True), [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]),
    (S.InverseTimeDecay(0.1, 2, 0.5), [0.1 / (1 + 0.5 * t / 2) for t in range(6)]),
    (S.PolynomialDecay(0.1, 4, 0.02, power=2.0), [0.02 + 0.08 * (1 - min(t, 4) / 4) ** 2 for t in range(6)]),
    (S.PiecewiseConstantDecay([1, 3], [0.3, 0.2, 0.1]), [0.3, 0.3, 0.2, 0.2, 0.1, 0.1]),
]


@pytest.mark.parametrize(("schedule", "rates"), CASES)
def test_a_step_of_an_optimizer_is_as_long_as_its_schedule_says(schedule: Any, rates: list[float]) -> None:
    layer = tf.keras.layers.Dense(1, input_shape=(2,), use_bias=False, kernel_initializer="zeros")
    model = tf.keras.Sequential([layer])
    model.compile(tf.keras.optimizers.SGD(learning_rate=schedule), lambda y, x: x)  # whose gradient is 1
    before, found = 0.0, []
    for _ in rates:
        model.train_on_batch(X, X[:, :1])
        now = float(layer.get_weights()[0][0, 0])
        found.append(before - now)
        before = now
    np.testing.assert_allclose(found, rates, rtol=1e-5)


def test_a_schedule_is_saved_with_the_model(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(tf.keras.optimizers.Adam(S.ExponentialDecay(0.1, 10, 0.5)), "mse")
    model.fit(X, X[:, :1], epochs=2, verbose=0)
    config = model.optimizer.get_config()["learning_rate"]
    assert config["class_name"] == "ExponentialDecay"
    assert config["config"]["decay_steps"] == 10
    assert S.deserialize(json.loads(json.dumps(S.serialize(S.ExponentialDecay(0.1, 10, 0.5))))).decay_rate == 0.5
    model.save(tmp_path / "model.h5")
    again = tf.keras.models.load_model(tmp_path / "model.h5")
    assert isinstance(again.optimizer.lr, S.ExponentialDecay)
    for one in (model, again):
        one.fit(X, X[:, :1], epochs=1, verbose=0)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6)
    model.save_weights(str(tmp_path / "weights"))  # a checkpoint of objects, in which the rate has no variable
    model.load_weights(str(tmp_path / "weights"))


def test_a_programs_schedule_is_a_function_of_the_step() -> None:
    class Warm(S.LearningRateSchedule):  # type: ignore[name-defined, misc]
        def __call__(self, step: Any) -> Any:
            return 0.1 * tf.minimum(1.0, (tf.cast(step, tf.float32) + 1.0) / 4.0)

        def get_config(self) -> dict[str, Any]:
            return {}

    w = tf.Variable(0.0)
    optimizer = tf.keras.optimizers.SGD(Warm())
    step = optimizer.minimize(lambda: 1.0 * w, [w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [(session.run(step), session.run(w))[1] for _ in range(5)]
    np.testing.assert_allclose(found, np.cumsum([-0.025, -0.05, -0.075, -0.1, -0.1]), rtol=1e-5)


def test_boundaries_and_values_have_to_fit() -> None:
    with pytest.raises(ValueError, match="1 less"):
        S.PiecewiseConstantDecay([1, 2], [0.1])
