"""Heads: predictions, losses, metrics and exported outputs of known logits are those of NumPy's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

ModeKeys = tf.estimator.ModeKeys
heads = tf.contrib.estimator
Reduction = tf.losses.Reduction


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        yield


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


def evaluated(spec: Any) -> dict[str, float]:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        session.run([update for _, update in spec.eval_metric_ops.values()])
        found = session.run({name: value for name, (value, _) in spec.eval_metric_ops.items()})
        return {"loss": float(session.run(spec.loss)), **{name: float(value) for name, value in found.items()}}


def sigmoid(x: Any) -> np.ndarray:
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -labels * np.log(sigmoid(logits)) - (1 - labels) * np.log(1 - sigmoid(logits))


def test_a_binary_head_has_the_metrics_of_two_classes() -> None:
    logits, labels, weights = np.float32([[2], [-1], [0.5], [-3]]), np.array([1, 1, 0, 0]), np.float32([1, 2, 1, 4])
    head = heads.binary_classification_head("w", thresholds=[0.25], loss_reduction=Reduction.SUM)
    spec = head.create_estimator_spec({"w": weights}, ModeKeys.EVAL, logits, labels)
    each = cross_entropy(logits[:, 0], labels)
    found = evaluated(spec)
    expected = {
        "loss": (each * weights).sum(),
        "average_loss": (each * weights).sum() / 8,
        "accuracy": 5 / 8,
        "precision": 1 / 2,
        "recall": 1 / 3,
        "prediction/mean": (sigmoid(logits[:, 0]) * weights).sum() / 8,
        "label/mean": 3 / 8,
        "accuracy_baseline": 5 / 8,
        "accuracy/positive_threshold_0.25": 7 / 8,
        "precision/positive_threshold_0.25": 3 / 4,
        "recall/positive_threshold_0.25": 1.0,
    }
    assert found.keys() == expected.keys() | {"auc", "auc_precision_recall"}
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()), rtol=1e-5)
    assert abs(found["auc"] - 13 / 15) < 0.01  # pairs in the right order, by weight: (1 * 5 + 2 * 4) / 15
    assert abs(found["auc_precision_recall"] - 0.7499998) < 1e-6  # TensorFlow 1.15's: by trapezoids


def test_a_binary_head_predicts_classes_by_name() -> None:
    head = heads.binary_classification_head(label_vocabulary=["no", "yes"])
    spec = head.create_estimator_spec({}, ModeKeys.PREDICT, [[1.5], [-0.25]])
    found = run(spec.predictions)
    assert found["classes"].tolist() == [[b"yes"], [b"no"]] and found["class_ids"].tolist() == [[1], [0]]
    assert found["all_classes"].tolist() == [[b"no", b"yes"]] * 2
    np.testing.assert_allclose(found["logistic"], sigmoid([[1.5], [-0.25]]), rtol=1e-6)
    np.testing.assert_allclose(found["probabilities"][:, 1:], found["logistic"], rtol=1e-6)
    outputs = spec.export_outputs
    assert outputs.keys() == {"serving_default", "classification", "regression", "predict"}
    assert outputs["serving_default"] is outputs["classification"]
    assert outputs["regression"].value is spec.predictions["logistic"]


def test_a_multi_class_head_takes_ids_or_strings() -> None:
    logits = np.float32([[10, 0, 0], [0, 1, 2], [3, 2, 1]])
    each = np.log(np.exp(logits).sum(1)) - logits[range(3), [0, 1, 2]]
    for labels, words in (([0, 1, 2], None), ([["a"], ["b"], ["c"]], ("a", "b", "c"))):
        head = heads.multi_class_head(3, label_vocabulary=words, loss_reduction=Reduction.SUM)
        spec = head.create_estimator_spec({}, ModeKeys.EVAL, logits, tf.constant(labels))
        found = evaluated(spec)
        assert found.keys() == {"loss", "average_loss", "accuracy"}
        np.testing.assert_allclose(
            [found["loss"], found["average_loss"], found["accuracy"]], [each.sum(), each.mean(), 1 / 3], rtol=1e-4
        )
    mean = heads.multi_class_head(3)
    np.testing.assert_allclose(
        run(mean.create_loss({}, ModeKeys.EVAL, logits, np.array([0, 1, 2])).training_loss), each.mean(), rtol=1e-4
    )


def test_a_regression_head_weighs_squared_errors() -> None:
    logits, labels = np.float32([[1, 2], [3, 5]]), np.float32([[0, 2], [5, 5]])
    head = heads.regression_head("w", label_dimension=2, loss_reduction=Reduction.SUM)
    spec = head.create_estimator_spec({"w": np.float32([1, 3])}, ModeKeys.EVAL, logits, labels)
    found = evaluated(spec)
    assert found == {
        "loss": 1 + 3 * 4,
        "average_loss": 13 / 8,
        "prediction/mean": (3 + 3 * 8) / 8,
        "label/mean": (2 + 3 * 10) / 8,
    }
    poisson = heads.poisson_regression_head(compute_full_loss=False)
    spec = poisson.create_estimator_spec({}, ModeKeys.EVAL, [[0.0], [1.0]], [[2.0], [1.0]])
    np.testing.assert_allclose(run(spec.loss), (1 - 0 + np.e - 1) / 2, rtol=1e-6)
    np.testing.assert_allclose(run(spec.predictions["predictions"]), [[1], [np.e]], rtol=1e-6)


def test_a_multi_label_head_takes_dense_or_sparse_labels() -> None:
    logits, labels = np.float32([[-1, 1], [2, -2]]), np.array([[1, 1], [0, 1]])
    loss = cross_entropy(logits, labels).mean()
    words = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "b"], [2, 2])
    for given in (labels, words):
        head = heads.multi_label_head(2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=[1])
        spec = head.create_estimator_spec({}, ModeKeys.EVAL, logits, given)
        found = evaluated(spec)
        np.testing.assert_allclose([found["loss"], found["average_loss"]], [loss, loss], rtol=1e-5)
        np.testing.assert_allclose(found["probability_mean/class1"], sigmoid(logits)[:, 1].mean(), rtol=1e-5)
        assert found.keys() >= {"auc", "auc_precision_recall", "auc/class1", "auc_precision_recall/class1"}


def test_several_heads_are_trained_by_the_weighted_sum_of_their_losses() -> None:
    both = heads.multi_head(
        [heads.regression_head(name="size"), heads.binary_classification_head(name="sold")], head_weights=[1.0, 10.0]
    )
    assert both.logits_dimension == 2
    labels = {"size": np.float32([[1.0]]), "sold": np.array([[1]])}
    spec = both.create_estimator_spec({}, ModeKeys.EVAL, [[3.0, 0.0]], labels)
    found = evaluated(spec)
    np.testing.assert_allclose(found["loss"], 4 + 10 * np.log(2), rtol=1e-6)
    assert found["average_loss/size"] == found["loss/size"] == 4 and found["accuracy/sold"] == 0
    spec = both.create_estimator_spec({}, ModeKeys.PREDICT, [[3.0, 0.0]])
    assert ("size", "predictions") in spec.predictions and "sold/classification" in spec.export_outputs
    variable = tf.get_variable("logits", initializer=[[3.0, 0.0]])
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    spec = both.create_estimator_spec({}, ModeKeys.TRAIN, variable, labels, optimizer=optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        assert session.run([variable, tf.train.get_global_step()])[0].tolist() == [[1.0, 2.5]]


def test_regularisation_and_updates_are_part_of_training() -> None:
    variable = tf.get_variable("logits", initializer=[[1.0]])
    counted = tf.get_variable("counted", initializer=0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(counted, 1))
    head = heads.regression_head(loss_reduction=Reduction.SUM)
    spec = head.create_estimator_spec(
        {},
        ModeKeys.TRAIN,
        variable,
        [[0.0]],
        optimizer=tf.train.GradientDescentOptimizer(0.25),
        regularization_losses=[2.0 * variable[0, 0]],
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(spec.loss) == 3
        session.run(spec.train_op)
        assert session.run([variable, counted, tf.train.get_global_step()]) == [[[0.0]], 1, 1]
    operations = tf.get_default_graph().get_operations()
    tags = {run(op.inputs[0]).decode() for op in operations if op.type == "ScalarSummary"}
    assert tags == {"loss", "average_loss", "regularization_loss"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: heads.multi_class_head(2), "n_classes must be > 2"),
        (lambda: heads.multi_class_head(3, label_vocabulary=["a"]), 'does not have "n_classes" items'),
        (lambda: heads.binary_classification_head(thresholds=[1.5]), "thresholds not in"),
        (lambda: heads.regression_head(label_dimension=0), "Invalid label_dimension"),
        (lambda: heads.regression_head(loss_reduction="none"), "Invalid loss_reduction"),
        (lambda: heads.multi_head([heads.regression_head()]), "must have name specified"),
        (lambda: spec_of([[1.0]], None), "You must provide a labels Tensor"),
        (lambda: spec_of([[1.0, 2.0]], [1.0]), "logits shape must be"),
        (lambda: spec_of([1.0], [1.0]), "rank at least 2"),
        (lambda: spec_of([[1.0]], [[1.0, 2.0]]), "Mismatched label shape"),
        (lambda: spec_of([[1.0]], [[1.0]], ModeKeys.TRAIN), "cannot both be None"),
        (
            lambda: heads.multi_class_head(3).create_loss({}, ModeKeys.EVAL, tf.zeros([1, 3]), [0.5]),
            "Labels dtype should be integer",
        ),
    ],
)
def test_wrong_heads_labels_and_logits_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def spec_of(logits: Any, labels: Any, mode: str = ModeKeys.EVAL) -> Any:
    return heads.regression_head().create_estimator_spec({}, mode, logits, labels)


def test_a_label_out_of_range_is_an_error_of_the_step() -> None:
    found = heads.multi_class_head(3).create_loss(
        {}, ModeKeys.EVAL, tf.zeros([1, 3]), tf.random_uniform([1], 3, 4, tf.int64)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be <= n_classes - 1"):
        run(found.training_loss)


def test_programs_find_the_losses_of_a_step_by_their_names() -> None:  # LoggingTensorHook(["head/truediv", ...])
    head = heads.binary_classification_head("w", loss_reduction=Reduction.SUM)
    logits, labels, weights = np.float32([[2], [-1]]), np.array([1, 1]), np.float32([1, 3])
    head.create_estimator_spec({"w": weights}, ModeKeys.TRAIN, logits, labels, train_op_fn=tf.identity)
    total, average = run(["head/weighted_loss/Sum:0", "head/truediv:0"])
    each = cross_entropy(logits[:, 0], labels)
    assert (total, average) == pytest.approx(((each * weights).sum(), (each * weights).sum() / 4))
