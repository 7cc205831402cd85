"""Model functions of tf.contrib.estimator.replicate_model_fn; values are those that TensorFlow 1.15 gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

X, Y = np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(4, dtype=np.float32)
MEAN = tf.losses.Reduction.MEAN


def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    out = tf.reduce_sum(features * w, 1, name="out")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"out": out})
    loss = tf.losses.mean_squared_error(labels, out)
    optimizer = tf.contrib.estimator.TowerOptimizer(lambda: tf.train.MomentumOptimizer(params["rate"], 0.9))
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    assert (optimizer.get_name(), optimizer.get_slot_names(), len(optimizer.variables())) == (
        "Momentum",
        ["momentum"],
        1,
    )
    assert optimizer.get_slot(w, "momentum").op.name == "w/Momentum"
    assert w.device == "/device:CPU:0"
    metrics = {"mae": tf.metrics.mean_absolute_error(labels, out)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def batches() -> Any:
    return tf.data.Dataset.from_tensors((X, Y)).repeat(3)


def test_a_model_on_one_device_trains_as_the_model_function_does(tmp_path: Path) -> None:
    replicated = tf.contrib.estimator.replicate_model_fn(model_fn, loss_reduction=MEAN, devices=["/device:CPU:0"])
    estimator = tf.estimator.Estimator(replicated, str(tmp_path), params={"rate": 0.01})
    estimator.train(batches, steps=3)
    found = estimator.evaluate(batches)
    np.testing.assert_allclose([found["loss"], found["mae"]], [34.8937873840332, 4.949499607086182], rtol=1e-5)
    np.testing.assert_allclose(estimator.get_variable_value("w"), [-0.31833997, -0.6236199], rtol=1e-5)
    predicted = [each["out"] for each in estimator.predict(lambda: tf.data.Dataset.from_tensors(X))]
    np.testing.assert_allclose(predicted, [-0.6236199, -2.5075397, -4.3914595, -6.275379], rtol=1e-5)
    assert estimator.get_variable_names() == ["global_step", "w", "w/Momentum"]


def test_several_devices_and_losses_that_are_not_reduced_are_refused() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="MirroredStrategy"):
        tf.contrib.estimator.replicate_model_fn(model_fn, MEAN, devices=["/gpu:0", "/gpu:1"])
    with pytest.raises(ValueError, match="need to be reduced"):
        tf.contrib.estimator.replicate_model_fn(model_fn, tf.losses.Reduction.NONE)
