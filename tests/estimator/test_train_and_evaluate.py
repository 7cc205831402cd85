"""train_and_evaluate, exporters, and the models that they export."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from tests.estimator.models import X, classifier, input_fn, serving_input


def estimator(path: Path, **settings: Any) -> Any:
    config = tf.estimator.RunConfig(**{"save_checkpoints_steps": 5, **settings})
    return tf.estimator.Estimator(classifier, path, config, params={})


def eval_spec(**arguments: Any) -> Any:
    return tf.estimator.EvalSpec(input_fn(num_epochs=1), **{"throttle_secs": 0, **arguments})


def test_each_checkpoint_is_evaluated(tmp_path: Path) -> None:
    model = estimator(tmp_path)
    train = tf.estimator.TrainSpec(input_fn(), max_steps=12)
    metrics, exported = tf.estimator.train_and_evaluate(model, train, eval_spec())
    assert metrics["global_step"] == 12
    assert exported == []
    (path,) = (tmp_path / "eval").iterdir()
    events = tf.train.summary_iterator(path)
    steps = [event.step for event in events if any(value.tag == "loss" for value in event.summary.value)]
    assert steps == [5, 10, 12]


def test_evaluations_are_throttled_except_for_the_last(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    train = tf.estimator.TrainSpec(input_fn(), max_steps=17)
    with caplog.at_level(logging.INFO, "penstock"):
        tf.estimator.train_and_evaluate(estimator(tmp_path), train, eval_spec(throttle_secs=600))
    evaluated = [text.split(":")[0] for text in caplog.messages if text.startswith("Saving dict")]
    assert evaluated == ["Saving dict for global step 5", "Saving dict for global step 17"]
    assert "Skip the current checkpoint eval due to throttle secs (600 secs)." in caplog.text


def test_exporters_choose_what_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1000, 2000))
    monkeypatch.setattr("penstock.estimator.export.directories.time.time", lambda: next(seconds))
    results = iter([3.0, 1.0, 2.0])

    def better(best_eval_result: Any, current_eval_result: Any) -> bool:
        return next(results) < 3

    exporters = [
        tf.estimator.FinalExporter("final", serving_input),
        tf.estimator.LatestExporter("latest", serving_input, exports_to_keep=2),
        tf.estimator.BestExporter("best", serving_input, compare_fn=better),
    ]
    train = tf.estimator.TrainSpec(input_fn(), max_steps=15)
    model = estimator(tmp_path)
    _, exported = tf.estimator.train_and_evaluate(model, train, eval_spec(exporters=exporters))
    folders = {path.name: sorted(path.iterdir()) for path in (tmp_path / "export").iterdir()}
    assert {name: len(paths) for name, paths in folders.items()} == {"final": 1, "latest": 2, "best": 2}
    assert [path and path.decode() for path in exported] == [str(folders[n][-1]) for n in ("final", "latest", "best")]


def test_the_best_is_known_after_a_restart(tmp_path: Path) -> None:
    model = estimator(tmp_path)
    model.train(input_fn(), steps=1)

    def exporter() -> Any:
        return tf.estimator.BestExporter(
            serving_input_receiver_fn=serving_input, event_file_pattern="eval/*.tfevents.*"
        )

    result = model.evaluate(input_fn(num_epochs=1))
    arguments = model, str(tmp_path / "export"), model.latest_checkpoint()
    assert exporter().export(*arguments, {"loss": result["loss"] + 1, "global_step": 2}, False) is None
    assert exporter().export(*arguments, {"loss": result["loss"] / 2, "global_step": 2}, False) is not None


def test_an_exported_model_predicts_what_the_estimator_does(tmp_path: Path) -> None:
    model = estimator(tmp_path / "model").train(input_fn(), steps=20)
    (tmp_path / "notes.txt").write_text("by hand")
    path = model.export_savedmodel(tmp_path / "out", serving_input, {"a/notes.txt": str(tmp_path / "notes.txt")})
    assert isinstance(path, bytes)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [Path(path.decode()).name]
    assert Path(path.decode(), "assets.extra", "a", "notes.txt").read_text() == "by hand"
    expected = [row["probabilities"] for row in model.predict(input_fn(num_epochs=1))]
    predict = tf.contrib.predictor.from_saved_model(path)
    np.testing.assert_allclose(predict({"x": X})["probabilities"], expected, rtol=1e-6)
    with pytest.raises(ValueError, match=r"Got unexpected keys in input_dict: \{'y'\}"):
        predict({"x": X, "y": X})
    directly = tf.contrib.predictor.from_estimator(model, serving_input)
    np.testing.assert_allclose(directly({"x": X})["probabilities"], expected, rtol=1e-6)


def test_serialised_examples_are_parsed(tmp_path: Path) -> None:
    model = estimator(tmp_path / "model").train(input_fn(), steps=5)
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf.FixedLenFeature([4], tf.float32)})
    predict = tf.contrib.predictor.from_saved_model(model.export_saved_model(tmp_path / "out", receive))
    values = tf.train.Feature(float_list=tf.train.FloatList(value=X[0]))
    example = tf.train.Example(features=tf.train.Features(feature={"x": values}))
    (row, *_) = model.predict(input_fn(num_epochs=1))
    found = predict({"examples": [example.SerializeToString()]})
    np.testing.assert_allclose(found["probabilities"][0], row["probabilities"], rtol=1e-6)


def test_signatures_that_cannot_be_served_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def model(features: Any, mode: str) -> Any:
        scores = tf.get_variable("w", [1]) * features["x"]
        outputs = {
            "serving_default": tf.estimator.export.PredictOutput({"scores": scores}),
            "classes": tf.estimator.export.ClassificationOutput(scores=scores),
        }
        train_op = tf.train.get_global_step().assign_add(1)
        return tf.estimator.EstimatorSpec(mode, scores, tf.reduce_sum(scores), train_op, export_outputs=outputs)

    trained = tf.estimator.Estimator(model, tmp_path / "model").train(lambda: {"x": tf.ones([1])}, steps=1)
    raw = {"x": tf.zeros([3], name="given")}
    with caplog.at_level(logging.INFO, "penstock"):
        path = trained.export_savedmodel(tmp_path, tf.estimator.export.build_raw_serving_input_receiver_fn(raw))
    assert "Signatures INCLUDED in export for Predict: ['serving_default']" in caplog.text
    assert "'classes' : Classification input must be a single string Tensor" in caplog.text
    with tf.Session(graph=tf.Graph()) as session:
        signatures = tf.saved_model.load(session, ["serve"], path).signature_def
    assert {name: info.inputs["x"].name for name, info in signatures.items()} == {"serving_default": "given:0"}


def test_nothing_can_be_exported_before_training(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        estimator(tmp_path).export_savedmodel(tmp_path, serving_input)


def test_an_evaluator_of_its_own_evaluates_until_the_last_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator(tmp_path).train(input_fn(), steps=6)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"task": {"type": "evaluator", "index": 0}}))
    exporter = tf.estimator.FinalExporter("final", serving_input)
    spec = eval_spec(start_delay_secs=0, exporters=exporter)
    train = tf.estimator.TrainSpec(input_fn(), max_steps=6)
    metrics, exported = tf.estimator.train_and_evaluate(estimator(tmp_path), train, spec)
    assert metrics["global_step"] == 6 and len(exported) == 1
    with pytest.raises(ValueError, match="Train has been called wrong configuration"):
        estimator(tmp_path).train(input_fn(), steps=1)


def test_training_shows_a_bar_on_terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    train = tf.estimator.TrainSpec(input_fn(), max_steps=7)
    tf.estimator.train_and_evaluate(estimator(tmp_path), train, eval_spec())
    assert "7/7" in terminal.getvalue()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tf.estimator.TrainSpec(1), TypeError, "`input_fn` must be callable, given: 1"),
        (lambda: tf.estimator.TrainSpec(len, 0), ValueError, "Must specify max_steps > 0, given: 0"),
        (lambda: tf.estimator.TrainSpec(len, 1, [1]), TypeError, "All hooks must be `SessionRunHook` instances"),
        (lambda: tf.estimator.EvalSpec(len, steps=0), ValueError, "Must specify steps > 0, given: 0"),
        (lambda: tf.estimator.EvalSpec(len, name=3), TypeError, "`name` must be string, given: 3"),
        (lambda: tf.estimator.EvalSpec(len, throttle_secs=-1), ValueError, "Must specify throttle_secs >= 0"),
        (lambda: tf.estimator.EvalSpec(len, exporters=[3]), TypeError, "`exporters` must be an Exporter"),
        (
            lambda: tf.estimator.EvalSpec(len, exporters=[tf.estimator.FinalExporter("a", len)] * 2),
            ValueError,
            "`exporters` must have unique names",
        ),
        (lambda: tf.estimator.LatestExporter("a", len, exports_to_keep=0), ValueError, "must be a positive number"),
    ],
)
def test_wrong_specifications_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda e, x: e.ServingInputReceiver(None, x), "features must be defined"),
        (lambda e, x: e.ServingInputReceiver({1: x}, x), "feature keys must be strings: 1"),
        (lambda e, x: e.ServingInputReceiver({"a": 1}, x), "feature a must be a Tensor or SparseTensor"),
        (lambda e, x: e.ServingInputReceiver(x, None), "receiver_tensors must be defined"),
        (lambda e, x: e.ServingInputReceiver(x, {"a": 1}), "receiver_tensor a must be a Tensor"),
        (lambda e, x: e.ServingInputReceiver(x, x, [x]), "receiver_tensors_alternatives must be a dict"),
        (lambda e, x: e.TensorServingInputReceiver({"a": x}, x), "feature must be a Tensor or SparseTensor"),
        (lambda e, x: e.ClassificationOutput(scores=tf.constant("a")), "scores must be a float32 Tensor"),
        (lambda e, x: e.ClassificationOutput(), "At least one of scores and classes must be set"),
        (lambda e, x: e.RegressionOutput(tf.constant("a")), "value must be a float32 Tensor"),
        (lambda e, x: e.PredictOutput({"a": 1}), "Prediction output value must be a Tensor; got 1"),
    ],
)
def test_wrong_receivers_and_outputs_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(tf.estimator.export, tf.constant([1.0]))


def test_single_tensors_get_the_names_that_tensorflow_gives_them() -> None:
    x = tf.constant([1.0])
    receiver = tf.estimator.export.ServingInputReceiver(x, x, {"other": x})
    assert (receiver.features, receiver.receiver_tensors) == ({"feature": x}, {"input": x})
    assert receiver.receiver_tensors_alternatives == {"other": {"input": x}}
    assert tf.estimator.export.TensorServingInputReceiver(x, x).features is x
