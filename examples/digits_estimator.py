"""Train on scanned digits with tf.estimator, export the best model, and ask the exported model.

The data are scikit-learn's 1,797 scans of 8x8 pixels. Stop it at any time and start it again: it goes on from its last
checkpoint. `tensorboard --logdir DIR` shows both the training and the evaluations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import penstock as tf

TEST_SHARE = 5  # every fifth scan is kept for evaluations


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images [n, 8, 8, 1] float32 in 0..1 and labels [n] int64, then the same for evaluations."""
    digits = load_digits()
    images, labels = (digits.images / 16.0).astype(np.float32)[..., None], digits.target.astype(np.int64)
    order = np.random.RandomState(0).permutation(len(images))
    test, train = order[::TEST_SHARE], np.delete(order, np.s_[::TEST_SHARE])
    return images[train], labels[train], images[test], labels[test]


def model_fn(features: dict[str, tf.Tensor], labels: tf.Tensor, mode: str, params: dict[str, Any]) -> Any:
    """A small convolutional network, for each of the three modes."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    hidden = tf.layers.conv2d(features["image"], 32, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.conv2d(hidden, 64, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.flatten(tf.layers.max_pooling2d(hidden, 2, 2))
    hidden = tf.layers.dense(hidden, 128, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.layers.dropout(hidden, 0.4, training=training), 10)
    predictions = {"digit": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if training:
        optimizer = tf.train.AdamOptimizer(params["learning_rate"])
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
    accuracy = tf.metrics.accuracy(labels, predictions["digit"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"accuracy": accuracy})


def input_fn(images: np.ndarray, labels: np.ndarray, training: bool) -> Callable[[], tf.data.Dataset]:
    def dataset() -> tf.data.Dataset:
        data = tf.data.Dataset.from_tensor_slices(({"image": images}, labels))
        return data.shuffle(2000).repeat().batch(64).prefetch(2) if training else data.batch(256)

    return dataset


def serving_input() -> Any:
    image = tf.placeholder(tf.float32, [None, 8, 8, 1], name="image")
    return tf.estimator.export.ServingInputReceiver({"image": image}, {"image": image})


def main(folder: Path, steps: int) -> float:
    """Returns the share of scans, not used in training, that the exported model recognises."""
    tf.logging.set_verbosity(tf.logging.INFO)
    train_images, train_labels, images, labels = load()
    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=200, log_step_count_steps=200)
    classifier = tf.estimator.Estimator(model_fn, folder, config, params={"learning_rate": 1e-3})
    exporter = tf.estimator.BestExporter("best", serving_input, "eval/*.tfevents.*", exports_to_keep=1)
    tf.estimator.train_and_evaluate(
        classifier,
        tf.estimator.TrainSpec(input_fn(train_images, train_labels, training=True), max_steps=steps),
        tf.estimator.EvalSpec(
            input_fn(images, labels, training=False), steps=None, exporters=exporter, throttle_secs=0
        ),
    )
    exported = max((folder / "export" / "best").iterdir())
    predict = tf.contrib.predictor.from_saved_model(exported)
    share = float(np.mean(predict({"image": images})["digit"] == labels))
    print(f"{exported} recognises {share:.2%} of {len(labels)} scans that it has not seen.")
    return share


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path("digits_estimator"), help="for checkpoints and exports")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    main(arguments.dir, arguments.steps)
