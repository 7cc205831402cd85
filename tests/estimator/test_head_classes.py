"""Heads as classes train, evaluate and predict as those of TensorFlow 1.15, whose numbers these are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

X, W = np.float32([[1, 2], [2, 0], [0, 1], [3, 1]]), np.float32([[1], [2], [1], [0.5]])
LABELS = np.int64([[1], [0], [1], [0]])
heads = tf.estimator


def results(head: Any, labels: np.ndarray, folder: Path, keras: bool = False) -> tuple[dict[str, float], np.ndarray]:
    """What five steps of training from weights of 0.3 come to: (metrics, the first prediction)."""

    def train_op(loss: Any) -> Any:
        return tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        start = tf.constant_initializer(0.3)
        logits = tf.keras.layers.Dense(head.logits_dimension, kernel_initializer=start)(features["x"])
        if not keras:
            return head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train_op)
        optimizer = tf.keras.optimizers.SGD(0.1)
        optimizer.iterations = tf.train.get_or_create_global_step()
        return head.create_estimator_spec(features, mode, logits, labels, optimizer, tf.trainable_variables())

    def inputs() -> Any:
        return tf.data.Dataset.from_tensors(({"x": X, "w": W}, labels))

    model = tf.estimator.Estimator(model_fn, str(folder))
    model.train(lambda: inputs().repeat(5))
    found = {name: float(value) for name, value in model.evaluate(inputs).items()}
    predicted = next(iter(model.predict(inputs)))
    return found, predicted["logits"] if "logits" in predicted else predicted["predictions"]


def test_two_classes(tmp_path: Path) -> None:
    found, logits = results(heads.BinaryClassHead(thresholds=[0.4]), LABELS, tmp_path)
    expected = {
        "accuracy": 0.75, "accuracy/positive_threshold_0.4": 0.5, "accuracy_baseline": 0.5, "auc": 1.0,
        "auc_precision_recall": 1.0, "average_loss": 0.59399, "global_step": 5, "label/mean": 0.5, "loss": 0.59399,
        "precision": 0.66667, "precision/positive_threshold_0.4": 0.5, "prediction/mean": 0.55153, "recall": 1.0,
        "recall/positive_threshold_0.4": 1.0,
    }  # fmt: skip
    assert found == pytest.approx(expected, abs=1e-5)
    assert logits == pytest.approx([0.587], abs=1e-4)


def test_a_keras_optimizer_changes_the_variables_that_it_is_given(tmp_path: Path) -> None:
    found, logits = results(heads.BinaryClassHead("w"), LABELS, tmp_path, keras=True)
    assert found["global_step"] == 5
    assert (found["average_loss"], found["loss"]) == pytest.approx((0.56322, 0.63363), abs=1e-5)
    assert logits == pytest.approx([0.6286], abs=1e-4)


@pytest.mark.parametrize(
    ("head", "labels", "average", "loss", "first"),
    [
        (heads.MultiClassHead(3, loss_reduction="sum"), LABELS, 0.28055, 1.12222, [1.0105, 2.1615, -0.4721]),
        (heads.MultiLabelHead(2), [[1, 0], [0, 1], [1, 1], [0, 0]], 0.75443, 0.75443, [0.7117, 0.5284]),
        (heads.RegressionHead(), np.float32(LABELS), 0.08016, 0.08016, [0.8898]),
        (heads.PoissonRegressionHead(), np.float32(LABELS), 0.6958, 0.6958, [-0.3464]),
        (heads.LogisticRegressionHead(), np.float32(LABELS), 0.59399, 0.59399, [0.587]),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "logits_dimension") else "",
)
def test_other_heads(head: Any, labels: Any, average: float, loss: float, first: list[float], tmp_path: Path) -> None:
    found, predicted = results(head, np.asarray(labels), tmp_path)
    assert (found["average_loss"], found["loss"]) == pytest.approx((average, loss), abs=1e-5)
    assert predicted == pytest.approx(first, abs=1e-4)


def test_updates_run_only_where_they_are_given() -> None:
    head = heads.BinaryClassHead()
    for given, expected in ((False, 0), (True, 1)):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.train.create_global_step()
            count = tf.get_variable("count", initializer=0)
            update = tf.assign_add(count, 1)
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, update)
            spec = head.create_estimator_spec(
                {}, "train", tf.zeros([4, 1]), LABELS, train_op_fn=tf.identity, update_ops=[update] if given else None
            )
            session.run(tf.global_variables_initializer())
            session.run(spec.train_op)
            assert session.run(count) == expected


def test_a_loss_has_its_regularization_and_trains_by_one_way() -> None:
    head = heads.BinaryClassHead()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.create_global_step()
        loss = head.loss(LABELS, tf.zeros([4, 1]), regularization_losses=[tf.constant(1.0), tf.constant(0.5)])
        assert session.run(loss) == pytest.approx(np.log(2) + 1.5)
        with pytest.raises(ValueError, match="train_op_fn and optimizer cannot both be None"):
            head.create_estimator_spec({}, "train", tf.zeros([4, 1]), LABELS)
        with pytest.raises(ValueError, match=r"not a tf\.keras\.optimizers\.Optimizer"):
            head.create_estimator_spec({}, "train", tf.zeros([4, 1]), LABELS, tf.train.AdamOptimizer())
    assert head.loss_reduction == "sum_over_batch_size"


@pytest.mark.parametrize("reduction", ["none", tf.losses.Reduction.SUM, "mean"])
def test_losses_are_reduced_as_those_of_keras(reduction: str) -> None:
    assert heads.MultiClassHead(3, loss_reduction="sum").loss_reduction == "sum"
    with pytest.raises(ValueError, match="Invalid loss_reduction"):
        heads.RegressionHead(loss_reduction=reduction)
