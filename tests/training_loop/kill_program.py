"""A program that is killed and started again; test_kills.py runs it."""

from __future__ import annotations

import time
from pathlib import Path

import penstock as tf

STEPS = 120


def train(directory: Path, pause: float = 0.0) -> None:
    """Train to the end, from wherever the last run was; `pause` seconds a step."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        elements = tf.data.Dataset.range(100).map(lambda n: tf.cast(n, tf.float32) / 100)
        iterator = elements.shuffle(37, seed=5).repeat().batch(4).make_one_shot_iterator()
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, tf.data.experimental.make_saveable_from_iterator(iterator))
        batch = tf.reshape(iterator.get_next(), [4, 1])
        hidden = tf.layers.dropout(tf.layers.dense(batch, 16, tf.nn.tanh), 0.1, training=True)
        loss = tf.losses.mean_squared_error(tf.sin(7 * batch), tf.layers.dense(hidden, 1))
        step = tf.train.get_or_create_global_step()
        update = tf.train.AdamOptimizer(0.01).minimize(loss, step)
        hooks = [tf.train.StopAtStepHook(last_step=STEPS), tf.train.RandomStateHook(directory)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(directory), hooks=hooks, save_checkpoint_steps=5, log_step_count_steps=None
        ) as session:
            (directory / "started").touch()
            while not session.should_stop():
                session.run(update)
                time.sleep(pause)


def train_estimator(directory: Path, pause: float = 0.0) -> None:
    """The same with an Estimator, whose input's position has files of its own."""
    with tf.Graph().as_default():

        def input_fn() -> tf.data.Dataset:
            elements = tf.data.Dataset.range(100).map(lambda n: tf.cast(n, tf.float32) / 100)
            return elements.shuffle(37, seed=5).repeat().batch(4).map(lambda x: (x, tf.sin(7 * x)))

        def model_fn(features: tf.Tensor, labels: tf.Tensor, mode: str) -> tf.estimator.EstimatorSpec:
            (directory / "started").touch()
            loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features[:, None], 1)[:, 0])
            update = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=update)

        class Pause(tf.train.SessionRunHook):
            def after_run(self, run_context: object, run_values: object) -> None:
                time.sleep(pause)

        config = tf.estimator.RunConfig(str(directory), tf_random_seed=3, save_checkpoints_steps=5)
        estimator = tf.estimator.Estimator(model_fn, config=config)
        hooks = [tf.data.experimental.CheckpointInputPipelineHook(estimator), Pause()]
        estimator.train(input_fn, hooks=hooks, max_steps=STEPS)
