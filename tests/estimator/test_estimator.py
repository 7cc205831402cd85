"""Estimators: training that goes on, evaluation, predictions."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.estimator.models import X, Y, classifier, input_fn, probabilities, trained_by_hand


def from_zeros(features: Any, labels: Any, mode: str, params: Any) -> Any:
    with tf.variable_scope("", initializer=tf.zeros_initializer()):
        return classifier(features, labels, mode, params)


@pytest.fixture
def estimator(tmp_path: Path) -> Any:
    return tf.estimator.Estimator(from_zeros, tmp_path / "model", params={})


def test_a_model_is_trained_evaluated_and_asked_for_predictions(estimator: Any) -> None:
    assert estimator.train(input_fn(), steps=30) is estimator
    kernel, bias = trained_by_hand(30)
    assert sorted(estimator.get_variable_names()) == ["global_step", "logits/bias", "logits/kernel"]
    np.testing.assert_allclose(estimator.get_variable_value("logits/kernel"), kernel, rtol=1e-4, atol=1e-6)
    expected = probabilities(X, kernel, bias)
    results = estimator.evaluate(input_fn(num_epochs=1))
    assert results.keys() == {"accuracy", "loss", "global_step"}
    assert results["global_step"] == 30
    assert results["accuracy"] == pytest.approx((expected.argmax(1) == Y).mean())
    assert results["loss"] == pytest.approx(-np.log(expected[np.arange(len(Y)), Y]).mean(), rel=1e-5)
    rows = list(estimator.predict(input_fn(num_epochs=1)))
    assert [row["classes"] for row in rows] == expected.argmax(1).tolist()
    np.testing.assert_allclose([row["probabilities"] for row in rows], expected, rtol=1e-4)


def test_training_goes_on_from_the_latest_checkpoint(estimator: Any, tmp_path: Path) -> None:
    estimator.train(input_fn(), steps=4)
    again = tf.estimator.Estimator(from_zeros, str(tmp_path / "model"), params={})
    again.train(input_fn(), steps=4)
    assert again.latest_checkpoint().endswith("model.ckpt-8")
    np.testing.assert_allclose(again.get_variable_value("logits/bias"), trained_by_hand(8)[1], rtol=1e-4, atol=1e-6)


def test_max_steps_counts_from_the_very_first_step(estimator: Any, caplog: pytest.LogCaptureFixture) -> None:
    estimator.train(input_fn(), max_steps=5).train(input_fn(), max_steps=7)
    assert estimator.get_variable_value("global_step") == 7
    caplog.clear()
    with caplog.at_level(logging.INFO, "penstock"):
        estimator.train(input_fn(), max_steps=7)
    assert "Skipping training since max_steps has already saved." in caplog.messages
    assert "Calling model_fn." not in caplog.messages


def test_training_ends_with_the_input(estimator: Any) -> None:
    estimator.train(input_fn(num_epochs=1))
    assert estimator.get_variable_value("global_step") == 4


def test_what_is_logged_can_be_searched_for(estimator: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        estimator.train(input_fn(), steps=101)
        estimator.evaluate(input_fn(num_epochs=1), steps=2)
    text = "\n".join(caplog.messages)
    for wanted in (
        r"loss = 1\.09861\d+, step = 1\n",
        r"global_step/sec: \d",
        r"loss = 0\.\d+, step = 101 \(\d+\.\d{3} sec\)",
        r"Saving checkpoints for 101 into .*model\.ckpt",
        r"Loss for final step: 0\.\d+\.",
        r"Starting evaluation at \d{4}-",
        r"Restoring parameters from .*model\.ckpt-101",
        r"Evaluation \[1/2\]\nEvaluation \[2/2\]\nInference Time : .*s\nFinished evaluation at",
        r"Saving dict for global step 101: accuracy = 0\.\d+, global_step = 101, loss = 0\.\d+",
    ):
        assert re.search(wanted, text), wanted


def test_results_of_evaluations_are_summaries_in_a_folder_of_their_own(estimator: Any) -> None:
    estimator.train(input_fn(), steps=3)
    results = estimator.evaluate(input_fn(num_epochs=1), name="test")
    (path,) = Path(estimator.eval_dir("test")).iterdir()
    assert Path(estimator.eval_dir("test")).name == "eval_test"
    written = {value.tag: value for event in tf.train.summary_iterator(path) for value in event.summary.value}
    assert written["accuracy"].simple_value == pytest.approx(results["accuracy"])
    assert written["loss"].simple_value == pytest.approx(results["loss"])
    assert "checkpoint_path" in written


def test_summaries_of_training_include_the_loss(estimator: Any) -> None:
    estimator.train(input_fn(), steps=1)
    (path,) = Path(estimator.model_dir).glob("events.out*")
    tags = {value.tag for event in tf.train.summary_iterator(path) for value in event.summary.value}
    assert "loss" in tags


@pytest.mark.parametrize("labelled", [True, False])
def test_an_input_function_may_return_a_dataset(tmp_path: Path, labelled: bool) -> None:
    def of_rows(mode: str) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(({"x": X}, Y))
        dataset = dataset.batch(50).repeat(2 if mode == tf.estimator.ModeKeys.TRAIN else 1)
        return dataset if labelled else dataset.map(lambda features, labels: {**features, "y": labels})

    def model(features: Any, labels: Any, mode: str) -> Any:
        return classifier(features, labels if labelled else features["y"], mode, {})

    estimator = tf.estimator.Estimator(model, tmp_path)
    estimator.train(of_rows)
    assert estimator.get_variable_value("global_step") == 8
    assert len(list(estimator.predict(of_rows))) == 200


def test_an_input_function_may_return_tensors_of_queues(tmp_path: Path) -> None:
    def from_queue() -> Any:
        x, y = tf.train.slice_input_producer([X, Y], num_epochs=1, shuffle=False)
        x, y = tf.train.batch([x, y], 50)
        return {"x": x}, y

    estimator = tf.estimator.Estimator(classifier, tmp_path, params={})
    estimator.train(from_queue)
    assert estimator.get_variable_value("global_step") == 4


def test_functions_get_the_arguments_that_they_name(tmp_path: Path) -> None:
    seen: list[Any] = []

    def model(features: Any, mode: str, config: Any) -> Any:
        seen.append((mode, config.model_dir))
        loss = tf.reduce_sum(tf.get_variable("w", [], initializer=tf.ones_initializer()) * features)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.get_global_step().assign_add(1))

    def given(params: Any, mode: str) -> Any:
        seen.append((mode, params))
        return tf.constant([1.0])

    tf.estimator.Estimator(model, str(tmp_path)).train(given, steps=1)
    assert seen == [("train", {}), ("train", str(tmp_path))]


def test_params_are_copied(tmp_path: Path) -> None:
    params = {"units": [1, 2]}
    estimator = tf.estimator.Estimator(classifier, str(tmp_path), params=params)
    params["units"].append(3)
    estimator.params["units"].append(4)
    assert estimator.params == {"units": [1, 2]}


def test_predictions_leave_the_callers_default_graph_alone(estimator: Any) -> None:
    estimator.train(input_fn(), steps=1)
    rows = estimator.predict(input_fn(num_epochs=1))
    with tf.Graph().as_default() as graph:
        next(rows)
        assert tf.get_default_graph() is graph
    rows.close()


def test_predictions_come_in_batches_and_with_chosen_keys(estimator: Any) -> None:
    estimator.train(input_fn(), steps=1)
    (batch, *_) = estimator.predict(input_fn(num_epochs=1), predict_keys=["classes"], yield_single_examples=False)
    assert {key: value.shape for key, value in batch.items()} == {"classes": (50,)}
    with pytest.raises(ValueError, match="Expected to run at least one output from"):
        next(estimator.predict(input_fn(num_epochs=1), predict_keys=["other"]))


def test_an_older_checkpoint_can_be_evaluated(tmp_path: Path) -> None:
    config = tf.estimator.RunConfig(save_checkpoints_steps=2, keep_checkpoint_max=0)
    estimator = tf.estimator.Estimator(from_zeros, tmp_path, config, params={})
    estimator.train(input_fn(), steps=6)
    path = str(tmp_path / "model.ckpt-2")
    assert estimator.evaluate(input_fn(num_epochs=1), checkpoint_path=path)["global_step"] == 2
    (row, *_) = estimator.predict(input_fn(num_epochs=1), checkpoint_path=path)
    np.testing.assert_allclose(row["probabilities"], probabilities(X[:1], *trained_by_hand(2))[0], rtol=1e-4)


def test_without_a_checkpoint_variables_are_initialised(estimator: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        results = estimator.evaluate(input_fn(num_epochs=1))
    assert results["loss"] == pytest.approx(np.log(3), rel=1e-6)
    assert f"Could not find trained model in model_dir: {estimator.model_dir}, running" in caplog.text
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        estimator.get_variable_names()


def test_listeners_hear_of_each_checkpoint(tmp_path: Path) -> None:
    saved: list[int] = []

    class Listener(tf.train.CheckpointSaverListener):  # type: ignore[misc]
        def after_save(self, session: Any, global_step_value: int) -> None:
            saved.append(int(global_step_value))

    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    estimator = tf.estimator.Estimator(classifier, tmp_path, config, params={})
    estimator.train(input_fn(), steps=5, saving_listeners=[Listener()])
    assert saved == [0, 2, 4, 5]
    never = config.replace(save_checkpoints_steps=None, model_dir=str(tmp_path / "other"))
    with pytest.raises(ValueError, match="There should be a CheckpointSaverHook to use saving_listeners"):
        tf.estimator.Estimator(classifier, None, never, params={}).train(
            input_fn(), steps=1, saving_listeners=[Listener()]
        )


def test_a_loss_that_is_not_a_number_ends_training(tmp_path: Path) -> None:
    estimator = tf.estimator.Estimator(classifier, tmp_path, params={"rate": float("inf")})
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        estimator.train(input_fn(), steps=10)


def test_a_seed_makes_training_repeatable(tmp_path: Path) -> None:
    kernels = []
    for name in "ab":
        config = tf.estimator.RunConfig(tf_random_seed=7)
        estimator = tf.estimator.Estimator(classifier, tmp_path / name, config, params={})
        estimator.train(input_fn(shuffle=True), steps=7)
        kernels.append(estimator.get_variable_value("logits/kernel"))
    np.testing.assert_array_equal(*kernels)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tf.estimator.Estimator(None, "m"), ValueError, "model_fn must be provided to Estimator"),
        (lambda: tf.estimator.Estimator(lambda labels: 0, "m"), ValueError, "must include features argument"),
        (lambda: tf.estimator.Estimator(lambda features: 0, "m", params={1: 2}), ValueError, "not include params"),
        (
            lambda: tf.estimator.Estimator(lambda features, x: 0, "m"),
            ValueError,
            r"following not expected args: \['x'\]",
        ),
        (lambda: tf.estimator.Estimator(classifier, "m", config=1), ValueError, "must be an instance of `RunConfig`"),
        (
            lambda: tf.estimator.Estimator(classifier, "m", tf.estimator.RunConfig("n")),
            ValueError,
            "`model_dir` are set both in constructor and `RunConfig`, but with different values",
        ),
        (lambda: tf.estimator.Estimator(classifier, "m", warm_start_from=3), ValueError, "must be a string or a Warm"),
    ],
)
def test_an_estimator_needs_a_function_of_a_model(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"steps": 1, "max_steps": 1}, ValueError, "Can not provide both steps and max_steps"),
        ({"steps": 0}, ValueError, "Must specify steps > 0, given: 0"),
        ({"max_steps": -1}, ValueError, "Must specify max_steps > 0, given: -1"),
        ({"hooks": [1]}, TypeError, "Hooks must be a SessionRunHook, given: 1"),
        ({"steps": 1, "saving_listeners": [1]}, TypeError, "must be a list of CheckpointSaverListener, given: 1"),
    ],
)
def test_wrong_arguments_are_refused(
    estimator: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        estimator.train(input_fn(), **arguments)


def test_what_input_and_model_functions_return_is_checked(tmp_path: Path) -> None:
    def model(features: Any) -> Any:
        return features

    estimator = tf.estimator.Estimator(model, tmp_path)
    with pytest.raises(ValueError, match="model_fn should return an EstimatorSpec"):
        estimator.train(lambda: tf.constant(1), steps=1)
    with pytest.raises(ValueError, match="model_fn does not take labels, but input_fn returns labels"):
        estimator.train(lambda: (tf.constant(1), tf.constant(2)), steps=1)
    with pytest.raises(ValueError, match=r"should return \(features, labels\) as a len 2 tuple"):
        estimator.train(lambda: (1, 2, 3), steps=1)


def test_metrics_do_not_take_the_names_of_the_loss_and_the_step(tmp_path: Path) -> None:
    def model(features: Any, mode: str) -> Any:
        return tf.estimator.EstimatorSpec(mode, loss=features, eval_metric_ops={"loss": tf.metrics.mean(features)})

    with pytest.raises(ValueError, match="Metric with name `loss` is not allowed"):
        tf.estimator.Estimator(model, tmp_path).evaluate(lambda: tf.constant(1.0), steps=1)


def test_a_subclass_has_its_own_constructor_only(tmp_path: Path) -> None:
    class Mine(tf.estimator.Estimator):  # type: ignore[misc]
        def __init__(self, model_dir: Any) -> None:
            super().__init__(classifier, model_dir, params={})

    class Other(Mine):
        def train(self, *args: Any) -> None:  # type: ignore[override]
            pass

    assert Mine(tmp_path).train(input_fn(), steps=1).get_variable_value("global_step") == 1
    with pytest.raises(ValueError, match=r"Subclasses of Estimator cannot override members of Estimator.*train"):
        Other(tmp_path)


def test_a_metric_may_consist_of_several_tensors(tmp_path: Path) -> None:
    def model(features: Any, mode: str) -> Any:
        (mean, of_mean), (total, of_total) = tf.metrics.mean(features), tf.metrics.mean(features * 2)
        metrics = {"both": ((mean, total), (of_mean, of_total))}
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(features), eval_metric_ops=metrics)

    results = tf.estimator.Estimator(model, tmp_path).evaluate(lambda: tf.constant([1.0, 3.0]), steps=1)
    assert results["both"] == (2, 4)
