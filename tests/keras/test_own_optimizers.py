"""Optimizers of Keras in graphs without models, and those that programs define."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.keras.optimizers.base import updates_of

K = tf.keras.backend


class Momentum(tf.keras.optimizers.Optimizer):
    """As programs of Keras 2 define one."""

    def __init__(self, lr: float = 0.01, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with K.name_scope(self.__class__.__name__):
            self.iterations = K.variable(0, dtype="int64", name="iterations")
            self.lr = K.variable(lr, name="lr")
            self.momentum = K.variable(momentum, name="momentum")

    def get_updates(self, loss: Any, params: Any) -> Any:
        grads = self.get_gradients(loss, params)
        moments = [K.zeros(K.int_shape(p)) for p in params]
        self.weights = [self.iterations, *moments]
        self.updates = [K.update_add(self.iterations, 1)]
        for p, g, m in zip(params, grads, moments, strict=True):
            velocity = self.momentum * m - self.lr * g
            self.updates += [K.update(m, velocity), K.update(p, p + velocity)]
        return self.updates

    def get_config(self) -> Any:
        own = {"lr": float(K.get_value(self.lr)), "momentum": float(K.get_value(self.momentum))}
        return {**super().get_config(), **own}


class Around(tf.keras.optimizers.Optimizer):
    """One around another, with the arguments in the order of Keras 1."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def get_updates(self, params: Any, constraints: Any, loss: Any) -> Any:
        self.constraints = constraints
        return self.inner.get_updates(params=params, loss=loss)


def trained(optimizer: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
    model.compile(optimizer, "mse")
    model.fit(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [2.0]]), epochs=3, verbose=0)
    return model


def test_a_class_that_makes_its_updates_trains_as_the_optimizer_that_it_describes() -> None:
    wanted = trained(tf.keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=1.0)).get_weights()
    for optimizer in (Momentum(0.01, momentum=0.9, clipnorm=1.0), Around(Momentum(0.01, momentum=0.9, clipnorm=1.0))):
        for found, value in zip(trained(optimizer).get_weights(), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-5)


def test_its_learning_rate_is_set_as_others(tmp_path: Path) -> None:
    model = trained(Momentum(0.01))
    K.set_value(model.optimizer.lr, 0.5)
    assert model.optimizer.get_config() == {"lr": 0.5, "momentum": 0.0}
    model.optimizer.lr = 0.25
    assert K.get_value(model.optimizer.lr) == 0.25


def test_a_saved_model_has_its_description_and_state(tmp_path: Path) -> None:
    model = trained(Momentum(0.01, momentum=0.5, clipvalue=0.5))
    assert model.optimizer.clipvalue == 0.5 and not hasattr(model.optimizer, "clipnorm")
    model.save(str(tmp_path / "model.h5"))
    loaded = tf.keras.models.load_model(str(tmp_path / "model.h5"), custom_objects={"Momentum": Momentum})
    assert loaded.optimizer.get_config() == model.optimizer.get_config()
    for found, kept in zip(loaded.optimizer.get_weights(), model.optimizer.get_weights(), strict=True):
        np.testing.assert_array_equal(found, kept)
    assert loaded.optimizer.get_weights()[0] == 3


def test_constraints_go_to_classes_that_take_them() -> None:
    w = tf.Variable([1.0, 2.0], constraint=tf.nn.relu)
    optimizer = Around(Momentum())
    updates_of(optimizer, tf.reduce_sum(w), [w])
    assert optimizer.constraints == {w: tf.nn.relu}


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: tf.keras.optimizers.Adam(0.1), [0.70158666, -1.7006236]),
        (lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), [0.062, -0.124]),
        (lambda: tf.keras.optimizers.RMSprop(0.01, decay=0.1), [0.93220717, -1.9318553]),
    ],
)
def test_gradients_are_applied_in_graphs_without_models(make: Any, wanted: Any) -> None:
    """Reference values: TensorFlow 1.15."""
    w = tf.get_variable("w", [2], initializer=tf.constant_initializer([1.0, -2.0]))
    optimizer = make()
    step = optimizer.apply_gradients(zip(tf.gradients(tf.reduce_sum(w * w), [w]), [w], strict=True))
    session = K.get_session()  # which initialises the variables
    for _ in range(3):
        session.run(step)
    value, steps = session.run([w, optimizer.iterations])
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    assert steps == 3 and optimizer.variables()[0] is optimizer.iterations


def test_minimize_takes_a_function_clips_and_leaves_what_the_loss_does_not_depend_on() -> None:
    w, other = tf.Variable([3.0, 4.0]), tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD(0.5, clipnorm=1.0)
    step = optimizer.minimize(lambda: tf.reduce_sum(w * w), [w, other])
    session = K.get_session()  # which initialises the variables
    session.run(step)
    np.testing.assert_allclose(session.run(w), [2.7, 3.6], rtol=1e-6)
    assert session.run(other) == 1.0
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(tf.reduce_sum(w), [other])


def test_each_variable_has_its_own_slots_whichever_step_it_is_in() -> None:
    a, b = tf.Variable(1.0), tf.Variable([1.0, 1.0])
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    first = optimizer.apply_gradients([(tf.constant(1.0), a)])
    second = optimizer.apply_gradients([(tf.constant([1.0, 2.0]), b), (tf.constant(1.0), a)])
    session = K.get_session()  # which initialises the variables
    session.run(first)
    session.run(second)
    np.testing.assert_allclose(session.run(a), 1 - 0.1 - 0.19, rtol=1e-6)
    np.testing.assert_allclose(session.run(b), [0.9, 0.8], rtol=1e-6)
