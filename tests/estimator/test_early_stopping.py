"""Early stopping, and Estimators made from others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.estimator.results import read_results, write_results
from tests.estimator.models import classifier, input_fn

stopping = tf.estimator.experimental


@pytest.fixture
def estimator(tmp_path: Path) -> Any:
    """With evaluations at steps 10 to 50 whose metric is 1, 3, 2, 2, 4."""
    made = tf.estimator.Estimator(classifier, tmp_path / "model", params={})
    writer = tf.summary.FileWriter(made.eval_dir())
    for step, value in zip(range(10, 60, 10), (1.0, 3.0, 2.0, 2.0, 4.0), strict=True):
        summary = tf.Summary(value=[tf.Summary.Value(tag="m", simple_value=value)])
        writer.add_summary(summary, step)
    writer.close()
    return made


def stops(estimator: Any, hook: Any) -> bool:
    estimator.train(input_fn(), steps=4, hooks=[hook])
    return bool(estimator.get_variable_value("global_step") < 4)


def test_results_of_evaluations_are_read_by_step(estimator: Any) -> None:
    found = stopping.read_eval_metrics(estimator.eval_dir())
    assert list(found.items()) == [(10, {"m": 1}), (20, {"m": 3}), (30, {"m": 2}), (40, {"m": 2}), (50, {"m": 4})]


@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (stopping.stop_if_higher_hook, ("m", 3.5), True),
        (stopping.stop_if_higher_hook, ("m", 4), False),
        (stopping.stop_if_lower_hook, ("m", 1.5), True),
        (stopping.stop_if_lower_hook, ("m", 1.5, None, 20), False),
        (stopping.stop_if_no_increase_hook, ("m", 20), True),
        (stopping.stop_if_no_increase_hook, ("m", 30), False),
        (stopping.stop_if_no_decrease_hook, ("m", 40), True),
        (stopping.stop_if_no_decrease_hook, ("m", 40, None, 20), False),
    ],
)
def test_training_stops_when_evaluations_do_not_get_better(
    estimator: Any, make: Any, arguments: Any, expected: bool
) -> None:
    assert stops(estimator, make(estimator, *arguments)) == expected


def test_a_function_may_decide_when_to_stop(estimator: Any) -> None:
    answers = iter([False, False, True])
    hook = stopping.make_early_stopping_hook(estimator, lambda: next(answers), None, run_every_steps=1)
    estimator.train(input_fn(), steps=9, hooks=[hook])
    assert estimator.get_variable_value("global_step") == 3
    with pytest.raises(ValueError, match="Only one of `run_every_secs` and `run_every_steps`"):
        stopping.make_early_stopping_hook(estimator, bool, 1, 1)
    with pytest.raises(TypeError, match=r"must have type `tf\.estimator\.Estimator`"):
        stopping.make_early_stopping_hook(3, bool)


def test_metrics_are_added_to_those_of_the_model(estimator: Any) -> None:
    def more(labels: Any, predictions: Any) -> Any:
        return {"recall": tf.metrics.recall(tf.equal(labels, 1), tf.equal(predictions["classes"], 1))}

    extended = tf.contrib.estimator.add_metrics(estimator.train(input_fn(), steps=1), more)
    assert extended.evaluate(input_fn(num_epochs=1)).keys() == {"accuracy", "recall", "loss", "global_step"}
    with pytest.raises(ValueError, match=r"has following not expected args: \['other'\]"):
        tf.contrib.estimator.add_metrics(estimator, lambda other: {})


def test_features_are_forwarded_to_predictions(estimator: Any) -> None:
    extended = tf.contrib.estimator.forward_features(estimator.train(input_fn(), steps=1), "x")
    row = next(extended.predict(input_fn(num_epochs=1)))
    assert row.keys() == {"classes", "probabilities", "x"}
    with pytest.raises(ValueError, match="keys should be exist in features"):
        next(tf.contrib.estimator.forward_features(estimator, "y").predict(input_fn(num_epochs=1)))


def test_results_are_read_from_every_folder_that_matches_and_none_is_needed(tmp_path: Path) -> None:
    for number, folder in enumerate(("eval_a", "eval_b")):
        write_results(str(tmp_path / folder), {"loss": float(number)}, 10 + number, None)
    assert sorted(read_results(f"{tmp_path}/eval*/*.tfevents.*")) == [(10, {"loss": 0.0}), (11, {"loss": 1.0})]
    assert list(read_results(f"{tmp_path}/none/*.tfevents.*")) == []


def test_an_optimizer_clips_the_global_norm_of_the_gradients_that_another_applies() -> None:
    # The numbers are TensorFlow 1.15's.
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.Variable([3.0, 4.0]), tf.Variable(0.0)
        optimizer = tf.contrib.estimator.clip_gradients_by_norm(tf.train.MomentumOptimizer(1.0, 0.0), 1.0)
        step = optimizer.minimize(tf.reduce_sum(x * x) / 2 + 12 * y, tf.train.get_or_create_global_step())
        assert optimizer.get_name() == "ClipByNormMomentum" and step.name == "Momentum"
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(tf.train.get_global_step()) == 1
        np.testing.assert_allclose(session.run(x), [2.7692308, 3.6923077], rtol=1e-6)
        np.testing.assert_allclose(session.run(y), -0.923077, rtol=1e-6)
        np.testing.assert_allclose(session.run(optimizer.get_slot(x, "momentum")), [0.23076925, 0.30769232], rtol=1e-6)
