"""Keras' optimizers against their formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

O = tf.keras.optimizers
State = dict[str, Any]
START = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
SCALE = np.array([[1.0, 0.3], [2.0, 0.1]], np.float32)
EPSILON = 1e-7


def gradient(p: Any) -> Any:
    """Of sum(SCALE * p²) / 2."""
    return SCALE * p


def sgd(p: Any, g: Any, t: int, s: State) -> Any:
    return p - 0.1 / (1 + 0.05 * (t - 1)) * g


def momentum(p: Any, g: Any, t: int, s: State) -> Any:
    s["v"] = 0.9 * s.get("v", 0) - 0.1 * g
    return p + s["v"]


def nesterov(p: Any, g: Any, t: int, s: State) -> Any:
    s["v"] = 0.9 * s.get("v", 0) - 0.1 * g
    return p + 0.9 * s["v"] - 0.1 * g


def rmsprop(p: Any, g: Any, t: int, s: State) -> Any:
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    return p - 0.1 * g / (np.sqrt(s["a"]) + EPSILON)


def adagrad(p: Any, g: Any, t: int, s: State) -> Any:
    s["a"] = s.get("a", 0.1) + g * g
    return p - 0.1 * g / (np.sqrt(s["a"]) + EPSILON)


def centered(p: Any, g: Any, t: int, s: State, momentum: float = 0.0) -> Any:
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    spread = s["a"] - s["m"] ** 2
    s["v"] = momentum * s.get("v", 0) + 0.1 * g / (np.sqrt(spread + EPSILON) if momentum else np.sqrt(spread) + EPSILON)
    return p - s["v"]


def with_momentum(p: Any, g: Any, t: int, s: State) -> Any:
    s["a"] = 0.9 * s.get("a", 0) + 0.1 * g * g
    s["v"] = 0.5 * s.get("v", 0) + 0.1 * g / np.sqrt(s["a"] + EPSILON)
    return p - s["v"]


def adadelta(p: Any, g: Any, t: int, s: State) -> Any:
    s["a"] = 0.95 * s.get("a", 0) + 0.05 * g * g
    step = g * np.sqrt(s.get("d", 0) + EPSILON) / np.sqrt(s["a"] + EPSILON)
    s["d"] = 0.95 * s.get("d", 0) + 0.05 * step * step
    return p - step


def adam(p: Any, g: Any, t: int, s: State, amsgrad: bool = False) -> Any:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    s["top"] = np.maximum(s.get("top", 0), s["v"]) if amsgrad else s["v"]
    return p - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * s["m"] / (np.sqrt(s["top"]) + EPSILON)


def adamax(p: Any, g: Any, t: int, s: State) -> Any:
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["u"] = np.maximum(0.999 * s.get("u", 0), np.abs(g))
    return p - 0.1 / (1 - 0.9**t) * s["m"] / (s["u"] + EPSILON)


def nadam(p: Any, g: Any, t: int, s: State) -> Any:
    now, after = (0.9 * (1 - 0.5 * 0.96 ** (step * 0.004)) for step in (t, t + 1))
    s["product"] = s.get("product", 1.0) * now
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    mean = (1 - now) * g / (1 - s["product"]) + after * s["m"] / (1 - s["product"] * after)
    return p - 0.1 * mean / (np.sqrt(s["v"] / (1 - 0.999**t)) + EPSILON)


CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "sgd": (lambda: O.SGD(0.1, decay=0.05), sgd),
    "momentum": (lambda: O.SGD(0.1, momentum=0.9), momentum),
    "nesterov": (lambda: O.SGD(0.1, momentum=0.9, nesterov=True), nesterov),
    "rmsprop": (lambda: O.RMSprop(0.1), rmsprop),
    "adagrad": (lambda: O.Adagrad(0.1), adagrad),
    "rmsprop centered": (lambda: O.RMSprop(0.1, centered=True), centered),
    "rmsprop with momentum": (lambda: O.RMSprop(0.1, momentum=0.5), with_momentum),
    "rmsprop with both": (lambda: O.RMSprop(0.1, momentum=0.5, centered=True), lambda *args: centered(*args, 0.5)),
    "adadelta": (lambda: O.Adadelta(1.0), adadelta),
    "adam": (lambda: O.Adam(0.1), adam),
    "amsgrad": (lambda: O.Adam(0.1, amsgrad=True), lambda *args: adam(*args, amsgrad=True)),
    "adamax": (lambda: O.Adamax(0.1), adamax),
    "nadam": (lambda: O.Nadam(0.1), nadam),
}


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_updates_weights_by_its_formula(name: str, use_resource: bool) -> None:
    make, formula = CASES[name]
    weight = tf.Variable(START, use_resource=use_resource)
    optimizer = make()
    step = tf.keras.backend.function([], [], optimizer.get_updates(tf.reduce_sum(SCALE * weight**2) / 2, [weight]))
    expected, state = START.astype(np.float64), State()
    for t in range(1, 5):
        expected = formula(expected, gradient(expected), t, state)
        step([])
        np.testing.assert_allclose(tf.keras.backend.get_value(weight), expected, rtol=2e-4, atol=1e-5)
    assert tf.keras.backend.get_value(optimizer.iterations) == 4


DEFAULTS: dict[str, dict[str, Any]] = {
    "SGD": {"learning_rate": 0.01, "momentum": 0.0, "nesterov": False},
    "RMSprop": {"learning_rate": 0.001, "rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "centered": False},
    "Adagrad": {"learning_rate": 0.001, "initial_accumulator_value": 0.1, "epsilon": 1e-7},
    "Adadelta": {"learning_rate": 0.001, "rho": 0.95, "epsilon": 1e-7},
    "Adam": {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "amsgrad": False},
    "Adamax": {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "Nadam": {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7, "decay": 0.004},
}
"""What `get_config` of TensorFlow 1.15's classes says."""


@pytest.mark.parametrize("name", DEFAULTS)
def test_an_optimizer_has_the_defaults_of_tensorflow_1_15(name: str) -> None:
    config = getattr(O, name)().get_config()
    assert config == {"name": name, "decay": 0.0, **DEFAULTS[name], "learning_rate": pytest.approx(
        DEFAULTS[name]["learning_rate"])} | ({"decay": pytest.approx(0.004)} if name == "Nadam" else {})  # fmt: skip


def test_adagrad_begins_with_zero_where_only_its_name_is_given() -> None:
    assert O.get("adagrad").get_config()["initial_accumulator_value"] == 0.0


@pytest.mark.parametrize(
    ("make", "kept"),
    [
        (lambda: O.SGD(), 1),
        (lambda: O.SGD(momentum=0.5), 2),
        (lambda: O.RMSprop(), 2),
        (lambda: O.RMSprop(momentum=0.5, centered=True), 4),
        (lambda: O.Adam(), 3),
        (lambda: O.Adam(amsgrad=True), 4),
        (lambda: O.Nadam(), 4),
    ],
)
def test_the_state_is_the_number_of_steps_and_what_the_settings_make_use_of(make: Any, kept: int) -> None:
    optimizer, weight = make(), tf.Variable(START)
    optimizer.get_updates(tf.reduce_sum(weight**2), [weight])
    assert len(optimizer.weights) == kept
    assert optimizer.weights[0] is optimizer.iterations


def test_state_of_keras_before_fits() -> None:
    """Which had no number of steps for RMSprop, and a zero in place of Adam's greatest."""
    weight, others = tf.Variable(START), [np.full((2, 2), 2.0), np.full((2, 2), 3.0)]
    rms, adam = O.RMSprop(), O.Adam()
    for optimizer in (rms, adam):
        optimizer.get_updates(tf.reduce_sum(weight**2), [weight])
    rms.set_weights(others[:1])
    np.testing.assert_array_equal(rms.get_weights()[1], others[0])
    adam.set_weights([np.array(7), *others, np.zeros(1)])
    assert adam.get_weights()[0] == 7
    np.testing.assert_array_equal(adam.get_weights()[2], others[1])


def test_gradients_are_clipped_each_by_itself() -> None:
    weight = tf.Variable(START)
    loss = tf.reduce_sum(SCALE * weight**2) / 2
    of_norm, of_value = O.SGD(clipnorm=1.0), O.SGD(clipvalue=0.25)
    by_norm, by_value = tf.keras.backend.get_session().run(
        [of_norm.get_gradients(loss, [weight])[0], of_value.get_gradients(loss, [weight])[0]]
    )
    exact = gradient(START)
    np.testing.assert_allclose(by_norm, exact / np.linalg.norm(exact), rtol=1e-5)
    np.testing.assert_allclose(by_value, exact.clip(-0.25, 0.25), rtol=1e-5)


def test_constraints_hold_after_each_update() -> None:
    layer = tf.keras.layers.Dense(3, kernel_constraint="unit_norm", bias_constraint=tf.keras.constraints.NonNeg())
    model = tf.keras.Sequential([tf.keras.layers.InputLayer((4,)), layer])
    model.compile("sgd", "mse")
    model.train_on_batch(np.ones((8, 4)), -np.ones((8, 3)))
    kernel, bias = layer.get_weights()
    np.testing.assert_allclose(np.linalg.norm(kernel, axis=0), 1.0, rtol=1e-5)
    assert (bias >= 0).all()


def test_the_learning_rate_is_a_variable_that_programs_set() -> None:
    optimizer = O.get("rmsprop")
    tf.keras.backend.set_value(optimizer.lr, 0.25)
    assert tf.keras.backend.get_value(optimizer.lr) == 0.25
    optimizer.lr = 0.5
    config = O.serialize(optimizer)
    assert config["class_name"] == "RMSprop"
    assert config["config"]["learning_rate"] == 0.5
    assert tf.keras.backend.get_value(O.deserialize(config).lr) == 0.5


def test_an_optimizer_of_tf_train_trains_a_model() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile(tf.train.AdamOptimizer(0.05), "mse")
    x = np.random.rand(64, 2)
    y = x @ [[1.0], [2.0]]
    first = model.evaluate(x, y, verbose=0)
    model.fit(x, y, epochs=30, verbose=0)
    assert model.evaluate(x, y, verbose=0) < first / 10


def test_a_loss_that_does_not_depend_on_a_weight_is_an_error_with_its_name() -> None:
    weight, other = tf.Variable(START), tf.Variable(START, name="unused")
    with pytest.raises(ValueError, match="unused"):
        O.SGD().get_updates(tf.reduce_sum(weight), [weight, other])


@pytest.mark.parametrize(("made", "second"), [
    (lambda: O.SGD(lr=0.01, momentum=0.9), 14.951112),
    (lambda: O.RMSprop(lr=0.01), 14.760089),
    (lambda: O.Adagrad(lr=0.01), 15.605248),
    (lambda: O.Adam(lr=0.01), 15.6025),
    (lambda: O.Nadam(lr=0.01), 15.580211),
])  # fmt: skip
def test_an_optimizer_made_before_clear_session_trains_the_first_model_after_it(
    made: Callable[[], Any], second: float
) -> None:
    K = tf.keras.backend
    optimizer = made()
    K.clear_session()
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(4,), kernel_initializer="ones")])
    model.compile(optimizer=optimizer, loss="mse")
    losses = model.fit(np.ones((8, 4)), np.zeros((8, 3)), epochs=2, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [16.0, second], rtol=1e-6)  # TensorFlow 1.15's
    assert K.get_value(optimizer.iterations) == 2 and K.get_value(optimizer.lr) == np.float32(0.01)


def test_a_rate_that_was_set_before_clear_session_is_the_rate_after_it() -> None:
    optimizer = O.SGD(lr=0.5)
    optimizer.lr = 0.25
    tf.keras.backend.clear_session()
    assert tf.keras.backend.get_value(optimizer.lr) == 0.25


def test_an_optimizer_that_has_trained_keeps_to_its_graph() -> None:
    optimizer = O.SGD(lr=0.5)
    weight = tf.Variable(1.0)
    optimizer.minimize(weight * 2.0, [weight])
    tf.keras.backend.clear_session()
    other = tf.Variable(1.0)
    with pytest.raises(ValueError, match="graph"):  # as TensorFlow 1.15 does
        optimizer.minimize(other * 2.0, [other])
