"""Boosted trees grow as TensorFlow 1.15's do: what is expected are its losses, predictions and explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as tf
from penstock.ops.boosted_trees.messages import TreeEnsemble

fc = tf.feature_column
NUMBER = np.arange(40)
X = {
    "x": (NUMBER * 7 % 40 / 4.0).astype(np.float32),
    "z": (NUMBER * 11 % 8).astype(np.float32),
    "kind": np.array(["a", "b", "c"])[NUMBER % 3],
    "w": (1 + NUMBER % 4).astype(np.float32),
}
Y = (X["x"] > 5).astype(np.float32) * 2 + X["z"] * 0.25 + (X["kind"] == "a")
CLASSES = (Y > 2.5).astype(np.int32)
KIND = fc.categorical_column_with_vocabulary_list("kind", ["a", "b", "c"])
COLUMNS = [
    fc.bucketized_column(fc.numeric_column("x"), [2.0, 4.0, 6.0, 8.0]),
    fc.numeric_column("z"),
    fc.indicator_column(KIND),
]


@pytest.fixture(autouse=True)
def variables_of_before() -> Iterator[None]:
    """Making such an estimator chooses resource variables for the whole process, as in TensorFlow."""
    yield
    tf.disable_resource_variables()


def data(labels: Any, batch_size: int = 40, num_epochs: int | None = None) -> Callable[[], Any]:
    return tf.estimator.inputs.numpy_input_fn(X, labels, batch_size, num_epochs, shuffle=False)


def outputs(model: Any, labels: Any, key: str) -> np.ndarray:
    return np.array([found[key][0] for found in model.predict(data(labels, num_epochs=1))])


class Case(NamedTuple):
    kind: Any
    arguments: dict[str, Any]
    labels: Any
    batch_size: int
    loss: float
    """The average loss of all data, after training."""
    outputs: list[float]
    """Of the first examples."""
    importances: dict[str, float]


def classifier(**arguments: Any) -> Any:
    return tf.estimator.BoostedTreesClassifier(COLUMNS, **arguments)


def regressor(**arguments: Any) -> Any:
    return tf.estimator.BoostedTreesRegressor(COLUMNS, **arguments)


def poisson(**arguments: Any) -> Any:
    head = tf.contrib.estimator.poisson_regression_head()
    return tf.estimator.BoostedTreesEstimator(COLUMNS, head=head, **arguments)


WORDS = np.array(["no", "yes"])[CLASSES]
CASES = {
    "classes": Case(
        classifier,
        {"n_trees": 2, "max_depth": 2},
        CLASSES,
        40,
        0.5262545,
        [-0.6720183, -0.6720183, -0.6720183, -0.2548889, 0.3993309, 0.3993309],
        {"x_bucketized": 0.59309007, "z": 0.40690993, "kind": 0.0},
    ),
    "named classes": Case(
        classifier,
        {"n_trees": 2, "max_depth": 2, "label_vocabulary": ["no", "yes"]},
        WORDS,
        40,
        0.5262545,
        [-0.6720183, -0.6720183, -0.6720183, -0.2548889, 0.3993309, 0.3993309],
        {"x_bucketized": 0.59309, "z": 0.40690997, "kind": 2.9e-08},
    ),
    "classes, a layer of four batches": Case(
        classifier,
        {"n_trees": 2, "max_depth": 3, "center_bias": True, "learning_rate": 0.3, "n_batches_per_layer": 4},
        CLASSES,
        10,
        0.1903748,
        [-2.3443062, -2.7616820, -2.3673694, 0.7241311, 1.7193105, 1.7193105],
        {"x_bucketized": 0.53583081, "z": 0.26092839, "kind": 0.2032408},
    ),
    "numbers, a layer of two batches": Case(
        regressor,
        {"n_trees": 2, "max_depth": 2, "center_bias": True, "n_batches_per_layer": 2},
        Y,
        20,
        1.0186872,
        [2.0484231, 1.8795342, 1.8795342, 2.0484231, 2.4305737, 2.6775737],
        {"x_bucketized": 0.6987864, "z": 0.17704975, "kind": 0.12416385},
    ),
    "weights and penalties": Case(
        regressor,
        {
            "n_trees": 2,
            "max_depth": 3,
            "weight_column": "w",
            "l1_regularization": 0.01,
            "l2_regularization": 0.02,
            "min_node_weight": 0.3,
        },
        Y,
        40,
        2.2142363,
        [0.5981135, 0.5185874, 0.6956002, 1.3706219, 1.1980776, 1.5754224],
        {"x_bucketized": 0.60735387, "z": 0.22397498, "kind": 0.16867114},
    ),
    "pruned afterwards": Case(
        regressor,
        {"n_trees": 3, "max_depth": 3, "pruning_mode": "post", "tree_complexity": 0.3},
        Y,
        40,
        3.2539754,
        [0.4065, 0.4065, 0.4065, 0.4065, 1.0474313, 1.1774313],
        {"x_bucketized": 0.9906363, "z": 0.0093637, "kind": 0.0},
    ),
    "not split without gain": Case(
        regressor,
        {"n_trees": 3, "max_depth": 3, "pruning_mode": "pre", "tree_complexity": 0.3},
        Y,
        40,
        4.547015,
        [0.15, 0.15, 0.15, 0.15, 0.5568751, 0.686875],
        {"x_bucketized": 0.9844291, "z": 0.0155709, "kind": 0.0},
    ),
    "a head of the program": Case(
        poisson,
        {"n_trees": 2, "max_depth": 2},
        Y,
        40,
        1.6195616,
        [0.1417966, 0.0572429, 0.1362645, 0.4025928, 0.4987257, 0.6031837],
        {"x_bucketized": 0.65703654, "kind": 0.19884056, "z": 0.1441229},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_trees_are_those_of_tensorflow(tmp_path: Path, case: Case) -> None:
    model = case.kind(**{"n_batches_per_layer": 1, **case.arguments}, model_dir=tmp_path)
    model.train(data(case.labels, case.batch_size), max_steps=200)
    found = model.evaluate(data(case.labels, num_epochs=1))
    np.testing.assert_allclose(found["average_loss"], case.loss, rtol=1e-6)
    key = "predictions" if case.kind is regressor else "logits"
    np.testing.assert_allclose(outputs(model, case.labels, key)[:6], case.outputs, rtol=1e-5, atol=1e-6)
    importances = model.experimental_feature_importances(normalize=True)
    assert list(importances) == list(case.importances)
    np.testing.assert_allclose([*importances.values()], [*case.importances.values()], atol=1e-6)


def test_explanations_add_up_to_the_prediction(tmp_path: Path) -> None:
    case = CASES["numbers, a layer of two batches"]
    model = regressor(**case.arguments, model_dir=tmp_path)
    model.train(data(Y, 20), max_steps=200)
    found = list(model.experimental_predict_with_explanations(data(Y, num_epochs=1), predict_keys=["predictions"]))
    assert found[0].keys() == {"predictions", "bias", "dfc"}
    np.testing.assert_allclose(found[0]["bias"], 2.175, rtol=1e-6)
    assert list(found[0]["dfc"]) == ["x_bucketized", "kind", "z"]
    np.testing.assert_allclose([*found[0]["dfc"].values()], [-0.12217498, -0.00440192, 0], atol=1e-6)
    for each in found:
        np.testing.assert_allclose(each["bias"] + sum(each["dfc"].values()), each["predictions"][0], rtol=1e-5)


def test_explanations_of_classes_are_probabilities(tmp_path: Path) -> None:
    model = classifier(**CASES["classes, a layer of four batches"].arguments, model_dir=tmp_path)
    model.train(data(CLASSES, 10), max_steps=200)
    found = next(iter(model.experimental_predict_with_explanations(data(CLASSES, num_epochs=1))))
    np.testing.assert_allclose(found["bias"], 0.35, rtol=1e-6)
    np.testing.assert_allclose([*found["dfc"].values()], [-0.15161460, -0.06833115, -0.04253484], atol=1e-6)
    with pytest.raises(ValueError, match="center_bias must be enabled"):
        next(iter(classifier(n_batches_per_layer=1).experimental_predict_with_explanations(data(CLASSES))))


def test_training_in_several_calls_gives_the_same_trees_under_tensorflows_names(tmp_path: Path) -> None:
    case = CASES["classes"]
    for _ in range(4):
        model = classifier(n_batches_per_layer=1, **case.arguments, model_dir=tmp_path)
        model.train(data(CLASSES), steps=1)
    assert set(model.get_variable_names()) == {
        "boosted_trees/QuantileAccumulator:0_bucket_boundaries_0",
        "boosted_trees/are_boundaries_ready",
        "boosted_trees/center_bias_needed",
        "boosted_trees:0_serialized",
        "boosted_trees:0_stamp",
        "global_step",
    }
    np.testing.assert_allclose(outputs(model, CLASSES, "logits")[:6], case.outputs, rtol=1e-5)
    np.testing.assert_array_equal(
        model.get_variable_value("boosted_trees/QuantileAccumulator:0_bucket_boundaries_0"), range(8)
    )
    serialized = np.asarray(model.get_variable_value("boosted_trees:0_serialized"), object).item()
    assert len(TreeEnsemble.FromString(serialized).trees) == 3  # two, and the beginning of the next
    model.train(data(CLASSES), max_steps=100)
    assert model.get_variable_value("global_step") == 5  # there are enough trees already


def test_trees_are_trained_in_memory(tmp_path: Path) -> None:
    def everything() -> Any:
        return {key: tf.constant(value) for key, value in X.items()}, tf.constant(CLASSES)

    model = tf.contrib.estimator.boosted_trees_classifier_train_in_memory(
        everything, COLUMNS, tmp_path, n_trees=2, max_depth=2
    )
    case = CASES["classes"]
    np.testing.assert_allclose(outputs(model, CLASSES, "logits")[:6], case.outputs, rtol=1e-5)
    assert {"boosted_trees/logits_cache", "boosted_trees/node_ids_cache"} < set(model.get_variable_names())


def test_an_exported_model_predicts_the_same(tmp_path: Path) -> None:
    model = regressor(n_batches_per_layer=1, n_trees=2, max_depth=2, model_dir=tmp_path / "model")
    model.train(data(Y))

    def receiver() -> Any:
        raw = {key: tf.placeholder(tf.as_dtype(X[key].dtype), [None]) for key in ("x", "z", "kind")}
        return tf.estimator.export.ServingInputReceiver(raw, raw)

    folder = model.export_savedmodel(tmp_path / "exported", receiver)
    predict = tf.contrib.predictor.from_saved_model(folder, signature_def_key="predict")
    found = predict({key: X[key][:3] for key in ("x", "z", "kind")})["predictions"]
    np.testing.assert_allclose(found[:, 0], [0.62140554, 0.45251667, 0.45251667], rtol=1e-6)


def test_what_trees_cannot_use_is_refused() -> None:
    trees = tf.estimator.BoostedTreesClassifier
    with pytest.raises(ValueError, match="must be wrapped by IndicatorColumn"):
        trees([KIND], 1)
    with pytest.raises(ValueError, match="unexpected column"):
        trees([fc.embedding_column(KIND, 2)], 1)
    with pytest.raises(ValueError, match="floating-point"):
        trees([fc.numeric_column("n", dtype=tf.int32)], 1)
    with pytest.raises(ValueError, match="only binary classification"):
        trees(COLUMNS, 1, n_classes=3)
    for arguments, message in (
        ({"tree_complexity": 0.1}, "no effect unless pruning"),
        ({"pruning_mode": "pre"}, "must be positive"),
        ({"pruning_mode": "both"}, "none, post, pre"),
    ):
        with pytest.raises(ValueError, match=message):
            classifier(n_batches_per_layer=1, **arguments).train(data(CLASSES), steps=1)
