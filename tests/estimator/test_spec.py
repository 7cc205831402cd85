"""EstimatorSpec: what a mode needs is there, of the right kind and of the current graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as tf
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_mode_needs_only_its_parts() -> None:
    loss = tf.constant([2.0])
    spec = EstimatorSpec(ModeKeys.TRAIN, loss=loss, train_op=tf.no_op())
    assert spec.loss.shape.as_list() == []
    assert spec.predictions == {} and spec.eval_metric_ops == {} and spec.training_hooks == ()
    assert isinstance(spec.scaffold, tf.train.Scaffold)
    assert EstimatorSpec(ModeKeys.EVAL, loss=tf.constant(1.0)).train_op is None
    predictions = tf.constant([1.0])
    outputs = EstimatorSpec(ModeKeys.PREDICT, predictions=predictions).export_outputs
    assert outputs["serving_default"].outputs == {"output": predictions}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: {"mode": "train", "loss": tf.constant(1.0)}, ValueError, "Missing train_op"),
        (lambda: {"mode": "train", "train_op": tf.no_op()}, ValueError, "Missing loss"),
        (lambda: {"mode": "eval"}, ValueError, "Missing loss"),
        (lambda: {"mode": "infer"}, ValueError, "Missing predictions"),
        (lambda: {"mode": "eval", "loss": 1.0}, TypeError, "loss must be Tensor, given: 1.0"),
        (lambda: {"mode": "eval", "loss": tf.zeros([2])}, ValueError, "Loss must be scalar, given"),
        (lambda: {"mode": "infer", "predictions": {"a": 1}}, TypeError, r"predictions\[a\] must be Tensor, given: 1"),
        (lambda: {"mode": "infer", "predictions": [1]}, TypeError, "predictions must be Tensor"),
        (
            lambda: {"mode": "train", "loss": tf.constant(1.0), "train_op": "x"},
            TypeError,
            "train_op must be Operation or Tensor, given: x",
        ),
        (
            lambda: {"mode": "eval", "loss": tf.constant(1.0), "eval_metric_ops": []},
            TypeError,
            "eval_metric_ops must be a dict",
        ),
        (
            lambda: {"mode": "eval", "loss": tf.constant(1.0), "eval_metric_ops": {"a": tf.constant(1)}},
            TypeError,
            r"must be \(metric_value, update_op\) tuples, given: .* for key: a",
        ),
        (
            lambda: {"mode": "eval", "loss": tf.constant(1.0), "evaluation_hooks": [3]},
            TypeError,
            "All hooks must be SessionRunHook instances, given: 3",
        ),
        (
            lambda: {"mode": "eval", "loss": tf.constant(1.0), "scaffold": 3},
            TypeError,
            "scaffold must be tf.train.Scaffold",
        ),
        (
            lambda: {"mode": "infer", "predictions": tf.constant(1), "export_outputs": {"a": 1}},
            TypeError,
            "Values in export_outputs must be ExportOutput objects",
        ),
    ],
)
def test_what_is_missing_or_of_the_wrong_kind_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        EstimatorSpec(**make())


def test_tensors_of_another_graph_are_refused() -> None:
    loss = tf.constant(1.0, name="a")
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r'loss with "a:0" must be from the default graph'):
            EstimatorSpec(ModeKeys.EVAL, loss=loss)
        with pytest.raises(ValueError, match=r'prediction values with "p: a:0" must be from the default graph'):
            EstimatorSpec(ModeKeys.PREDICT, predictions={"p": loss})


def test_one_of_several_outputs_must_be_the_default() -> None:
    one = tf.estimator.export.PredictOutput(tf.constant([1.0]))
    assert EstimatorSpec(ModeKeys.PREDICT, predictions=tf.constant(1), export_outputs={"a": one}).export_outputs == {
        "a": one,
        "serving_default": one,
    }
    with pytest.raises(ValueError, match="none of them is specified as the default"):
        EstimatorSpec(ModeKeys.PREDICT, predictions=tf.constant(1), export_outputs={"a": one, "b": one})


def test_a_copy_has_other_fields_but_the_same_mode() -> None:
    spec = EstimatorSpec(ModeKeys.EVAL, loss=tf.constant(1.0))
    other = tf.constant(2.0)
    assert spec._replace(loss=other).loss is other
    with pytest.raises(ValueError, match="mode of EstimatorSpec cannot be changed"):
        spec._replace(mode=ModeKeys.TRAIN)
