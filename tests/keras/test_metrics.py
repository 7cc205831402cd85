"""Metrics that are kept over steps. Literals are TensorFlow 1.15's values for the same arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

M = tf.keras.metrics
TRUE = np.array([0, 1, 1, 0, 1, 0, 1, 1], np.float32)
FOUND = np.array([0.1, 0.8, 0.35, 0.6, 0.9, 0.3, 0.55, 0.2], np.float32)
WEIGHTS = np.array([1, 2, 0.5, 1, 0.25, 3, 1, 2], np.float32)
CLASSES = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
SHARES = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], np.float32)
NUMBERS = np.array([[0], [2], [1], [1]], np.float32)


def value_of(metric: Any, *args: Any, sample_weight: Any = None) -> Any:
    """The result after two steps with the same values."""
    update = metric.update_state(*(tf.constant(value) for value in args), sample_weight=sample_weight)
    result = metric.result()
    with tf.Session() as session:
        session.run([variable.initializer for variable in metric.variables])
        session.run(update)
        session.run(update)
        return session.run(result)


@pytest.mark.parametrize(
    "name, arguments, plain, weighted",
    [
        ("AUC", {}, 0.733333, 0.669565),
        ("AUC", {"curve": "PR"}, 0.836175, 0.774298),
        ("AUC", {"num_thresholds": 5, "summation_method": "majoring"}, 0.8, 0.704348),
        ("AUC", {"thresholds": [0.3, 0.5], "curve": "PR", "summation_method": "minoring"}, 0.275, 0.252543),
        ("TruePositives", {}, 6.0, 6.5),
        ("TrueNegatives", {"thresholds": [0.2, 0.58]}, [2.0, 4.0], [2.0, 8.0]),
        ("FalsePositives", {"thresholds": 0.25}, 4.0, 8.0),
        ("FalseNegatives", {}, 4.0, 5.0),
        ("Precision", {}, 0.75, 0.764706),
        ("Precision", {"thresholds": [0.25, 0.7]}, [0.666667, 1.0], [0.483871, 1.0]),
        ("Recall", {}, 0.6, 0.565217),
        ("Recall", {"thresholds": [0.25, 0.7]}, [0.8, 0.4], [0.652174, 0.391304]),
        ("SensitivityAtSpecificity", {"specificity": 0.6}, 0.8, 0.652174),
        ("SpecificityAtSensitivity", {"sensitivity": 0.6, "num_thresholds": 20}, 0.666667, 0.8),
        ("MeanSquaredError", {}, 0.221875, 0.224767),
        ("RootMeanSquaredError", {}, 0.471036, 0.474096),
    ],
)
def test_metrics_of_two_classes_are_tensorflows(name: str, arguments: Any, plain: Any, weighted: Any) -> None:
    column = "MeanSquared" in name
    given = (TRUE[:, None], FOUND[:, None]) if column else (TRUE, FOUND)
    np.testing.assert_allclose(value_of(getattr(M, name)(**arguments), *given), plain, atol=2e-6)
    found = value_of(getattr(M, name)(**arguments), *given, sample_weight=WEIGHTS)
    np.testing.assert_allclose(found, weighted, atol=2e-6)


@pytest.mark.parametrize(
    "name, arguments, expected",
    [
        ("Precision", {"top_k": 1}, 0.5),
        ("Recall", {"top_k": 2, "class_id": 1}, 1.0),
        ("MeanAbsolutePercentageError", {}, 208333344.0),
        ("MeanSquaredLogarithmicError", {}, 0.111402),
        ("CosineSimilarity", {}, 0.584176),
        ("Hinge", {}, 1.083333),
        ("SquaredHinge", {}, 1.313333),
        ("CategoricalHinge", {}, 1.1),
        ("LogCoshError", {}, 0.107838),
        ("Poisson", {}, 0.683309),
        ("KLDivergence", {}, 1.049923),
        ("BinaryCrossentropy", {}, 0.64086),
        ("CategoricalCrossentropy", {}, 1.049926),
        ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, 1.079391),
        ("SparseCategoricalCrossentropy", {}, 1.049926),
        ("SparseCategoricalAccuracy", {}, 0.5),
        ("TopKCategoricalAccuracy", {"k": 2}, 1.0),
        ("SparseTopKCategoricalAccuracy", {"k": 2}, 1.0),
    ],
)
def test_metrics_of_several_classes_are_tensorflows(name: str, arguments: Any, expected: float) -> None:
    labels = NUMBERS if name.startswith("Sparse") else CLASSES
    np.testing.assert_allclose(value_of(getattr(M, name)(**arguments), labels, SHARES), expected, rtol=1e-5)


def test_the_mean_intersection_over_union_is_over_the_classes_that_there_are() -> None:
    true, found = np.array([0, 0, 1, 1, 1], np.float32), np.array([0, 1, 1, 1, 0], np.float32)
    np.testing.assert_allclose(value_of(M.MeanIoU(3), true, found), (1 / 3 + 2 / 4) / 2, rtol=1e-6)
    weights = np.array([1, 0, 1, 1, 0], np.float32)
    assert value_of(M.MeanIoU(3), true, found, sample_weight=weights) == 1


def test_sums_means_and_means_of_elements_count_weights() -> None:
    assert value_of(M.Sum(), np.float32([1, 3, 5]), sample_weight=[1, 1, 0]) == 8
    assert value_of(M.Mean(), np.float32([1, 3, 5]), sample_weight=[1, 1, 0]) == 2
    found = value_of(M.MeanTensor(), np.float32([[1, 3], [2, 4]]), sample_weight=[0.5, 0])
    np.testing.assert_array_equal(found, [[1, 3], [0, 0]])
    assert value_of(M.MeanRelativeError([1, 2, 4]), np.float32([1, 2, 3]), np.float32([2, 4, 7])) == 1


def test_thresholds_and_predictions_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be in \[0, 1\]. Invalid values: \[2\]"):
        M.Recall(thresholds=[0.5, 2])
    with pytest.raises(ValueError, match="specificity"):
        M.SensitivityAtSpecificity(1.5)
    with pytest.raises(ValueError, match="Valid options"):
        M.AUC(curve="LIFT")
    with pytest.raises(tf.errors.InvalidArgumentError, match="predictions must be <= 1"):
        value_of(M.AUC(), TRUE, FOUND * 2)


def test_a_model_reports_metrics_that_are_objects_by_their_names() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, "sigmoid", input_shape=(2,))])
    counts = [M.AUC(), M.Precision(), M.AUC(curve="PR"), M.TruePositives(name="tp")]
    model.compile("sgd", "binary_crossentropy", metrics=counts)
    assert model.metrics_names == ["loss", "auc", "precision", "auc_1", "tp"]
    inputs = np.stack([FOUND, FOUND**2], 1)
    history = model.fit(inputs, TRUE, batch_size=4, epochs=2, validation_split=0.25, verbose=0).history
    assert {"val_auc", "val_precision", "auc_1", "val_tp"} <= history.keys()
    scores = dict(zip(model.metrics_names, model.evaluate(inputs, TRUE, batch_size=3, verbose=0), strict=True))
    assert scores["tp"] == np.sum((model.predict(inputs)[:, 0] > 0.5) * TRUE)
    again = M.AUC.from_config(M.AUC(num_thresholds=4, curve="PR", name="mine").get_config())
    assert (again.name, again.curve, len(again.thresholds)) == ("mine", "PR", 4)
