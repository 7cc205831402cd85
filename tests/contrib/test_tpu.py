"""tf.contrib.tpu: Estimators of programs that may train on TPUs train here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

TRUE = np.array([[2.0], [-3.0]], np.float32)


def input_fn(params: dict[str, Any]) -> tf.data.Dataset:
    x = np.random.default_rng(3).normal(size=(64, 2)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x @ TRUE)).repeat(20).batch(params["batch_size"], True)


def model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
    assert features.shape.as_list()[0] == params["batch_size"]
    predicted = tf.layers.dense(features, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"y": predicted})
    loss = tf.losses.mean_squared_error(labels, predicted)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
    calls = tf.Variable(0, name="host_calls", trainable=False)
    return tf.contrib.tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metrics=(lambda y, p: {"error": tf.metrics.mean_absolute_error(y, p)}, [labels, predicted]),
        host_call=(lambda by: calls.assign_add(by), {"by": tf.constant(2)}),
    )


def estimator(folder: Path, **kwargs: Any) -> Any:
    config = tf.contrib.tpu.RunConfig(
        model_dir=str(folder), tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=10), master=None
    )
    assert config.tpu_config.iterations_per_loop == 10
    return tf.contrib.tpu.TPUEstimator(
        model_fn, config=config, params={"rate": 0.1}, use_tpu=False,
        train_batch_size=16, eval_batch_size=8, predict_batch_size=4, **kwargs,
    )  # fmt: skip


def test_it_trains_evaluates_and_predicts_with_the_batch_sizes_it_was_given(tmp_path: Path) -> None:
    model = estimator(tmp_path)
    model.train(input_fn, steps=60)
    assert model.get_variable_value("host_calls") == 120
    np.testing.assert_allclose(model.get_variable_value("dense/kernel"), TRUE, atol=0.05)
    assert model.evaluate(input_fn, steps=4)["error"] < 0.1
    assert len(list(zip(range(8), model.predict(input_fn), strict=False))) == 8


def test_a_batch_size_in_params_and_tpus_by_name_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_size is a reserved key"):
        tf.contrib.tpu.TPUEstimator(model_fn, params={"batch_size": 1}, use_tpu=False)
    with pytest.raises(NotImplementedError, match="no TPUs here"):
        tf.contrib.cluster_resolver.TPUClusterResolver("my-tpu")
    with pytest.raises(NotImplementedError, match="no TPUs here"):
        tf.contrib.tpu.RunConfig(master="grpc://10.0.0.2:8470")


def test_tensorflow_1_15_has_them_under_other_names_too() -> None:
    assert tf.estimator.tpu.RunConfig is tf.contrib.tpu.RunConfig
    assert tf.compat.v1.estimator.tpu.TPUEstimator is tf.contrib.tpu.TPUEstimator
    assert tf.compat.v1.tpu.CrossShardOptimizer is tf.contrib.tpu.CrossShardOptimizer
    assert tf.estimator.SessionRunHook is tf.train.SessionRunHook


def test_variables_of_bfloat16_are_kept_as_float32_in_a_scope_for_them() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.contrib.tpu.bfloat16_scope() as scope:
            used = tf.get_variable("w", [], tf.bfloat16, initializer=tf.constant_initializer(1.01))
            other = tf.get_variable("v", [], tf.float32)
        kept, plain = tf.global_variables()
        assert scope.name == "" and used.dtype == tf.bfloat16 and other is plain
        assert kept.name == "w:0" and kept.dtype.base_dtype == tf.float32
        session.run(tf.global_variables_initializer())
        assert session.run([tf.cast(used, tf.float32), kept]) == [1.0078125, np.float32(1.01)]
