"""Trains a line in a task of a cluster, as TF_CONFIG says: run as `python cluster_program.py DIRECTORY STEPS`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import penstock as tf


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    slope = tf.get_variable("slope", [], initializer=tf.zeros_initializer())
    offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer())
    predictions = features["x"] * slope + offset
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.reduce_mean(tf.square(predictions - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    print("devices", slope.device, offset.device, loss.device, flush=True)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def main(directory: str, steps: int) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    inputs = tf.estimator.inputs.numpy_input_fn({"x": x}, 3 * x + 1, batch_size=16, num_epochs=None, shuffle=True)
    once = tf.estimator.inputs.numpy_input_fn({"x": x}, 3 * x + 1, batch_size=64, num_epochs=1, shuffle=False)
    config = tf.estimator.RunConfig(directory, save_checkpoints_steps=100, experimental_max_worker_delay_secs=0)
    result = tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(inputs, max_steps=steps),
        tf.estimator.EvalSpec(once, steps=None, start_delay_secs=0, throttle_secs=0.2),
    )
    print("result", result, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
