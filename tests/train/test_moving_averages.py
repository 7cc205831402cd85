"""Exponential moving averages."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


@KINDS
def test_the_average_of_a_variable_begins_at_its_value_and_follows(use_resource: bool, session: tf.Session) -> None:
    w = tf.Variable([1.0, 2.0], name="w", use_resource=use_resource)
    ema = tf.train.ExponentialMovingAverage(0.75)
    update = ema.apply([w])
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(ema.average(w)), [1.0, 2.0])
    session.run(w.assign([5.0, 6.0]))
    session.run(update)
    np.testing.assert_allclose(session.run(ema.average(w)), [2.0, 3.0])
    session.run(update)
    np.testing.assert_allclose(session.run(ema.average(w)), [2.75, 3.75])


def test_names_collections_and_what_to_restore() -> None:
    w, b = tf.Variable(1.0, name="w"), tf.Variable(1.0, name="b", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.9)
    assert ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    update = ema.apply()
    assert update.name == "ExponentialMovingAverage"
    assert ema.average(w).op.name == "w/ExponentialMovingAverage"
    assert tf.moving_average_variables() == [w]
    assert ema.average(w) not in tf.trainable_variables()
    assert ema.variables_to_restore() == {"w/ExponentialMovingAverage": w, "b": b}


def test_num_updates_let_it_move_faster_at_first(session: tf.Session) -> None:
    w, count = tf.Variable(0.0), tf.Variable(0, trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.99, num_updates=count)
    update = ema.apply([w])
    session.run(tf.global_variables_initializer())
    session.run(w.assign(10.0))
    session.run(update)  # decay 1/10
    np.testing.assert_allclose(session.run(ema.average(w)), 9.0, rtol=1e-6)


def test_the_average_of_a_tensor_begins_at_zero_which_zero_debias_corrects(session: tf.Session) -> None:
    x = tf.placeholder_with_default([2.0, 4.0], [2], name="x")
    plain = tf.train.ExponentialMovingAverage(0.75, name="plain")
    debiased = tf.train.ExponentialMovingAverage(0.75, zero_debias=True, name="debiased")
    updates = [plain.apply([x]), debiased.apply([x])]
    session.run(tf.global_variables_initializer())
    session.run(updates)
    np.testing.assert_allclose(session.run(plain.average(x)), [0.5, 1.0])
    np.testing.assert_allclose(session.run(debiased.average(x)), [2.0, 4.0])
    session.run(updates, {x: [4.0, 8.0]})
    biased = 0.75 * 0.25 * 2 + 0.25 * 4
    np.testing.assert_allclose(session.run(debiased.average(x))[0], biased / (1 - 0.75**2), rtol=1e-6)


def test_integers_have_no_average() -> None:
    with pytest.raises(TypeError, match="half, float, or double"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1)])


def test_assign_moving_average_moves_a_variable_towards_a_value(session: tf.Session) -> None:
    w = tf.Variable(1.0)
    update = tf.train.assign_moving_average(w, 5.0, 0.75, zero_debias=False)
    session.run(tf.global_variables_initializer())
    assert session.run(update) == 2.0


def test_a_weighted_average_counts_values_by_their_weights(session: tf.Session) -> None:
    x, weight = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
    average = tf.train.weighted_moving_average(x, 0.9, weight)
    session.run(tf.global_variables_initializer())
    assert tf.trainable_variables() == []
    total, number = np.zeros(2), 0.0
    for value, w in (([1.0, 2.0], 1.0), ([3.0, 6.0], 4.0), ([0.0, -1.0], 0.5)):
        total, number = 0.9 * total + 0.1 * w * np.array(value), 0.9 * number + 0.1 * w
        np.testing.assert_allclose(session.run(average, {x: value, weight: w}), total / number, rtol=1e-6)


def test_a_variable_that_is_averaged_twice_has_other_variables_each_time(session: tf.Session) -> None:
    """Names and numbers of TensorFlow 1.15."""
    with tf.variable_scope("a"), tf.variable_scope("b"):
        w = tf.Variable(1.0, name="w")
        first = tf.train.assign_moving_average(w, 0.0, 0.5)
        with tf.control_dependencies([first]):
            second = tf.train.assign_moving_average(w, 4.0, 0.5)
    names = ["a/b/w", *(f"a/b/a/b/w/{name}" for name in ("biased", "biased_1", "local_step", "local_step_1"))]
    assert sorted(v.op.name for v in tf.global_variables()) == sorted(names)
    session.run(tf.global_variables_initializer())
    assert [session.run(second) for _ in range(3)] == [4.0, 4.0, 4.0]
