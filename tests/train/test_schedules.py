"""Learning rates that follow the global step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

STEPS = [0, 5, 10, 15, 20, 25, 45]

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "exponential": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.9),
        lambda s: 0.1 * 0.9 ** (s / 10),
    ),
    "exponential staircase": (
        lambda s: tf.train.exponential_decay(0.1, s, 10, 0.9, staircase=True),
        lambda s: 0.1 * 0.9 ** (s // 10),
    ),
    "natural exponential": (
        lambda s: tf.train.natural_exp_decay(0.1, s, 10, 0.5),
        lambda s: 0.1 * math.exp(-0.5 * s / 10),
    ),
    "natural exponential staircase": (
        lambda s: tf.train.natural_exp_decay(0.1, s, 10, 0.5, staircase=True),
        lambda s: 0.1 * math.exp(-0.5 * (s // 10)),
    ),
    "inverse time": (
        lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5),
        lambda s: 0.1 / (1 + 0.5 * s / 10),
    ),
    "inverse time staircase": (
        lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True),
        lambda s: 0.1 / (1 + 0.5 * (s // 10)),
    ),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.1, s, 20, 0.01, power=2.0),
        lambda s: 0.09 * (1 - min(s, 20) / 20) ** 2 + 0.01,
    ),
    "polynomial cycle": (
        lambda s: tf.train.polynomial_decay(0.1, s, 20, 0.01, power=0.5, cycle=True),
        lambda s: 0.09 * (1 - s / (20 * max(1, math.ceil(s / 20)))) ** 0.5 + 0.01,
    ),
    "piecewise": (
        lambda s: tf.train.piecewise_constant(s, [10, 20], [1.0, 0.5, 0.1]),
        lambda s: 1.0 if s <= 10 else 0.5 if s <= 20 else 0.1,
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.1, s, 30, alpha=0.1),
        lambda s: 0.1 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(s, 30) / 30)) + 0.1),
    ),
    "cosine restarts of equal length": (
        lambda s: tf.train.cosine_decay_restarts(0.1, s, 10, t_mul=1.0, m_mul=0.9),
        lambda s: 0.1 * 0.9 ** (s // 10) * 0.5 * (1 + math.cos(math.pi * (s % 10) / 10)),
    ),
    "linear cosine": (
        lambda s: tf.train.linear_cosine_decay(0.1, s, 30),
        lambda s: 0.1 * ((1 - min(s, 30) / 30) * 0.5 * (1 + math.cos(math.pi * min(s, 30) / 30)) + 0.001),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rate_follows_its_formula(name: str, session: tf.Session) -> None:
    build, formula = CASES[name]
    step = tf.train.get_or_create_global_step()
    rate = build(step)
    assert rate.dtype == tf.float32
    assert rate.shape == []
    for now in STEPS:
        step.load(np.int64(now), session)
        np.testing.assert_allclose(session.run(rate), formula(now), rtol=1e-4, atol=1e-6, err_msg=f"step {now}")


def test_restarts_get_longer_by_t_mul(session: tf.Session) -> None:
    step = tf.placeholder(tf.int32, [])
    rate = tf.train.cosine_decay_restarts(1.0, step, 10)
    assert session.run(rate, {step: 10}) == pytest.approx(1.0)
    assert session.run(rate, {step: 20}) == pytest.approx(0.5)
    assert session.run(rate, {step: 30}) == pytest.approx(1.0)


def test_the_step_may_be_a_placeholder_and_the_rate_a_double(session: tf.Session) -> None:
    step = tf.placeholder(tf.int32, [])
    rate = tf.train.exponential_decay(tf.constant(0.5, tf.float64), step, 10, 0.5)
    assert rate.dtype == tf.float64
    assert session.run(rate, {step: 10}) == 0.25


def test_a_missing_step_or_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="global_step is required for exponential_decay"):
        tf.train.exponential_decay(0.1, None, 10, 0.9)
    with pytest.raises(ValueError, match="1 less than the length of values"):
        tf.train.piecewise_constant(tf.constant(0), [1, 2], [0.1, 0.2])
    with pytest.raises(ValueError, match="same dtype"):
        tf.train.piecewise_constant(tf.constant(0), [1.5], [0.1, 0.2])
