"""tf.contrib.learn's Estimators, Experiments and monitors."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

learn: Any = tf.contrib.learn
X = np.linspace(-1, 1, 64).reshape(32, 2)
Y = X @ [2.0, -1.0] + 0.5


def linear(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """A line through points, whose slope begins at zero."""
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    found = tf.squeeze(tf.matmul(features, w) + b, 1)
    loss = train_op = None
    if mode != learn.ModeKeys.INFER:
        loss = tf.losses.mean_squared_error(labels, found)
    if mode == learn.ModeKeys.TRAIN:
        optimizer = tf.train.GradientDescentOptimizer(params["rate"])
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    return learn.ModelFnOps(mode, {"score": found, "twice": 2 * found}, loss, train_op)


def estimator(directory: Path, **config: Any) -> Any:
    return learn.Estimator(
        model_fn=linear, model_dir=str(directory), params={"rate": 0.3}, config=learn.RunConfig(**config)
    )


def inputs() -> tuple[Any, Any]:
    return tf.constant(X, tf.float32), tf.constant(Y, tf.float32)


def test_an_estimator_learns_from_arrays_and_goes_on(tmp_path: Path) -> None:
    model = estimator(tmp_path)
    assert model.fit(X, Y, steps=60, batch_size=16) is model
    assert estimator(tmp_path).fit(X, Y, max_steps=200).evaluate(X, Y)["global_step"] == 200
    results = model.evaluate(X, Y, metrics={"error": learn.MetricSpec(tf.metrics.mean_absolute_error, "score")})
    assert results["loss"] < 1e-3
    assert results["error"] < 0.05
    assert set(model.get_variable_names()) == {"w", "b", "global_step"}
    rows = list(model.predict(X, outputs=["score"]))
    np.testing.assert_allclose([row["score"] for row in rows], Y, atol=0.1)
    assert set(rows[0]) == {"score"}
    whole = model.predict(X, batch_size=5, as_iterable=False)
    np.testing.assert_allclose(whole["twice"], 2 * whole["score"], rtol=1e-6)
    assert whole["score"].shape == (32,)
    np.testing.assert_allclose(model.get_variable_value("b"), [0.5], atol=0.05)


def test_model_functions_may_return_three_parts_and_take_other_arguments(tmp_path: Path) -> None:
    seen = []

    def model_fn(features: Any, labels: Any, mode: str, config: Any, model_dir: str) -> Any:
        seen.append((config.save_summary_steps, model_dir))
        w = tf.get_variable("w", initializer=0.0)
        if labels is None:
            return w * features, None, None
        loss = tf.reduce_mean((w * features - labels) ** 2)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return w * features, loss, train_op

    def engineered(features: Any, labels: Any) -> Any:
        return features["x"], labels

    config = learn.RunConfig(save_summary_steps=7)
    model = learn.Estimator(model_fn, str(tmp_path), config, feature_engineering_fn=engineered)
    compat = learn.SKCompat(model)
    x = {"x": np.ones(8, np.float32)}
    compat.fit(x, np.full(8, 3.0), batch_size=8, steps=40)
    assert seen[0] == (7, str(tmp_path))
    np.testing.assert_allclose(compat.predict(x), 3.0, atol=1e-2)
    assert compat.score(x, np.full(8, 3.0))["loss"] < 1e-3


def test_scikit_learns_interface_predicts_all_that_a_classifier_does(tmp_path: Path) -> None:
    """Whose own `predict` gives classes."""
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.SKCompat(learn.DNNClassifier([4], columns, str(tmp_path)))
    model.fit(X, (X[:, 0] > 0).astype(np.int64), steps=5)
    found = model.predict(X)
    np.testing.assert_array_equal(found["classes"], found["probabilities"].argmax(1))
    assert found["probabilities"].shape == (len(X), 2)


def test_a_model_function_may_use_labels_when_it_only_predicts(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any) -> Any:
        labels = tf.one_hot(labels, 2)
        w = tf.get_variable("w", [2, 2], initializer=tf.zeros_initializer())
        logits = tf.matmul(features, w)
        loss = tf.losses.softmax_cross_entropy(labels, logits)
        train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss, tf.train.get_global_step())
        return tf.argmax(logits, 1), loss, train_op

    labels = (X[:, 0] > 0).astype(np.int64)
    model = learn.Estimator(model_fn, str(tmp_path)).fit(X, labels, steps=100)
    assert np.mean(np.array(list(model.predict(X))) == labels) > 0.9


def test_parts_that_a_mode_needs_must_be_there() -> None:
    for mode, message in (("train", "Missing train_op"), ("eval", "Missing loss"), ("infer", "Missing predictions")):
        with pytest.raises(ValueError, match=message):
            learn.ModelFnOps(mode)
    with pytest.raises(ValueError, match="Invalid mode"):
        learn.ModelFnOps("predict")
    with pytest.raises(ValueError, match="Either x or input_fn must be provided"):
        learn.Estimator(linear, params={}).fit()


def test_a_metric_gets_what_its_arguments_are_called() -> None:
    def metric(target: Any, logits: Any, weight: Any = None) -> Any:
        return target, logits, weight

    spec = learn.MetricSpec(metric, prediction_key="p", weight_key="w")
    assert spec.create_metric_ops({"w": 3}, {"only": 1}, {"p": 2, "q": 5}) == (1, 2, 3)
    assert learn.MetricSpec(lambda a, b: (a, b)).create_metric_ops({}, 1, 2) == (2, 1)
    with pytest.raises(ValueError, match="requires predictions tensor or single element dict"):
        learn.MetricSpec(metric).create_metric_ops({}, 1, {"p": 2, "q": 5})
    with pytest.raises(ValueError, match="Ambiguous arguments"):
        learn.MetricSpec(lambda labels, targets, predictions: None)
    with pytest.raises(ValueError, match="no argument for the key 'w'"):
        learn.MetricSpec(lambda labels, predictions: None, weight_key="w")
    with pytest.raises(KeyError, match="missing from"):
        learn.MetricSpec(metric, "r").create_metric_ops({}, 1, {"p": 2})


def test_a_validation_monitor_stops_when_nothing_improves(tmp_path: Path) -> None:
    monitor = learn.monitors.ValidationMonitor(
        input_fn=inputs, eval_steps=1, every_n_steps=5, early_stopping_rounds=20, early_stopping_metric="loss"
    )
    model = estimator(tmp_path, save_checkpoints_steps=5).fit(X, Y, steps=2000, monitors=[monitor])
    assert monitor.early_stopped
    assert monitor.best_value < 1e-4
    assert monitor.best_step is not None
    assert model.evaluate(input_fn=inputs, steps=1)["global_step"] < 2000
    with pytest.raises(ValueError, match="Either x or input_fn"):
        learn.monitors.ValidationMonitor()


def test_monitors_see_the_values_that_they_ask_for(tmp_path: Path) -> None:
    class Watch(learn.monitors.EveryN):  # type: ignore[misc]
        def every_n_step_begin(self, step: int) -> list[str]:
            return ["b:0"]

        def every_n_step_end(self, step: int, outputs: Any) -> bool:
            seen.append((step, outputs["b:0"].shape))
            return step >= 7

    seen: list[Any] = []
    model = estimator(tmp_path).fit(X, Y, steps=20, monitors=[Watch(3, 1)])
    assert seen == [(1, (1,)), (4, (1,)), (7, (1,))]
    assert model.get_variable_value("global_step") == 7


def test_an_experiment_trains_evaluates_and_exports(tmp_path: Path) -> None:
    def serving() -> Any:
        x = tf.placeholder(tf.float32, [None, 2])
        return x, None, {"x": x}

    def make(run_config: Any, params: Any) -> Any:  # their names are the program's
        model = learn.Estimator(linear, config=run_config, params={"rate": params.rate})
        strategy = learn.make_export_strategy(serving, exports_to_keep=1)
        return learn.Experiment(
            model, inputs, inputs, {"error": learn.MetricSpec(tf.metrics.mean_absolute_error, "score")}, 50, 1,
            export_strategies=strategy,
        )  # fmt: skip

    config = learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=10)
    hparams = tf.contrib.training.HParams(rate=0.3)
    results, exports = learn.learn_runner.run(make, run_config=config, schedule="train_and_evaluate", hparams=hparams)
    assert results["global_step"] == 50
    assert results["error"] < 0.2
    assert (Path(exports[0].decode()) / "saved_model.pb").exists()
    with pytest.raises(ValueError, match="non-existent task fly"):
        learn.learn_runner.run(make, run_config=config, schedule="fly", hparams=hparams)
    with pytest.raises(TypeError, match="did not return an Experiment"):
        learn.learn_runner.run(lambda output_dir: 3, output_dir=str(tmp_path))


def test_an_experiment_trains_and_evaluates_in_turn(tmp_path: Path) -> None:
    experiment = learn.Experiment(
        estimator(tmp_path), inputs, inputs, train_steps=20, eval_steps=1, train_steps_per_iteration=8
    )
    results, _ = experiment.continuous_train_and_eval()
    assert results["global_step"] == 24
    experiment.continuous_eval(delay_secs=0, throttle_delay_secs=0)  # its checkpoint has enough steps
    assert experiment.evaluate(delay_secs=0)["global_step"] == 24


def test_names_are_where_programs_import_them_from() -> None:
    inner = importlib.import_module("penstock.contrib.learn.python.learn.estimators.estimator")
    assert inner.SKCompat is learn.SKCompat
    assert importlib.import_module("penstock.contrib.learn.python.learn.learn_runner").run is learn.learn_runner.run
    config = importlib.import_module("penstock.contrib.learn.python.learn.estimators.run_config")
    assert config.RunConfig is learn.RunConfig
    assert config.TaskType.WORKER == "worker"
    assert learn.io.numpy_input_fn(np.zeros(3), shuffle=False)
    (column,) = learn.infer_real_valued_columns_from_input(X)
    assert column.shape == (2,)
