"""Canned estimators: their variables have TensorFlow's names, and their training is that of the formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

fc = tf.feature_column
X = np.float32([[1.0], [2.0], [4.0]])
Y = np.float32([[3.0], [5.0], [10.0]])
CLASSES = np.array([[0], [1], [1]])
WORDS = np.array([["a"], ["b"], ["a"]], object)


def numbers(labels: Any = Y, **more: Any) -> Any:
    def input_fn() -> Any:
        features = {"x": X, "w": WORDS.astype("U"), **more}
        return tf.data.Dataset.from_tensors((features, labels)).repeat()

    return input_fn


def only_features() -> Any:
    return tf.data.Dataset.from_tensors({"x": X, "w": WORDS.astype("U")})


COLUMN = fc.numeric_column("x")
WORD = fc.categorical_column_with_vocabulary_list("w", ["a", "b", "c"])
EMBEDDED = fc.embedding_column(WORD, 2)


def test_a_linear_regressor_descends_along_the_gradient(tmp_path: Path) -> None:
    model = tf.estimator.LinearRegressor([COLUMN, WORD], tmp_path, optimizer=tf.train.GradientDescentOptimizer(0.01))
    model.train(numbers(), steps=1)
    error = -Y[:, 0]  # all weights begin with zeros
    np.testing.assert_allclose(
        model.get_variable_value("linear/linear_model/x/weights"), [[-0.02 * (error * X[:, 0]).sum()]], rtol=1e-5
    )
    np.testing.assert_allclose(
        model.get_variable_value("linear/linear_model/w/weights")[:, 0],
        [-0.02 * (error[0] + error[2]), -0.02 * error[1], 0],
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        model.get_variable_value("linear/linear_model/bias_weights"), [-0.02 * error.sum()], rtol=1e-5
    )
    weight, bias = (model.get_variable_value(f"linear/linear_model/{n}") for n in ("x/weights", "bias_weights"))
    words = model.get_variable_value("linear/linear_model/w/weights")
    expected = X * weight[0, 0] + bias + words[[0, 1, 0]]
    found = [row["predictions"] for row in model.predict(only_features)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    results = model.evaluate(numbers(), steps=2)
    np.testing.assert_allclose(results["loss"], ((expected - Y) ** 2).sum(), rtol=1e-5)
    np.testing.assert_allclose(results["average_loss"], ((expected - Y) ** 2).mean(), rtol=1e-5)
    assert results.keys() == {"loss", "average_loss", "prediction/mean", "label/mean", "global_step"}


def test_a_linear_model_keeps_the_state_of_ftrl(tmp_path: Path) -> None:
    model = tf.estimator.LinearClassifier([COLUMN, WORD], tmp_path, weight_column="u")
    model.train(numbers(CLASSES, u=np.float32([1, 1, 2])), steps=3)
    weights = ["linear/linear_model/w/weights", "linear/linear_model/x/weights", "linear/linear_model/bias_weights"]
    slots = [f"{name}/part_0/{slot}" for name in weights for slot in ("Ftrl", "Ftrl_1")]
    assert sorted(model.get_variable_names()) == sorted(["global_step", *weights, *slots])
    assert model.evaluate(numbers(CLASSES, u=np.float32([1, 0, 0])), steps=1)["label/mean"] == 0


def test_parts_of_a_table_are_saved_with_their_slots_and_restored(tmp_path: Path) -> None:
    hashed = fc.categorical_column_with_hash_bucket("w", 9)
    columns = {"partitioner": tf.fixed_size_partitioner(3), "model_dir": tmp_path}
    tf.estimator.LinearRegressor([hashed], **columns).train(numbers(), steps=2)
    model = tf.estimator.LinearRegressor([hashed], **columns).train(numbers(), steps=2)
    table = model.get_variable_value("linear/linear_model/w/weights")
    assert table.shape == (9, 1) and (table != 0).sum() == 2
    assert model.get_variable_value("linear/linear_model/w/weights/Ftrl").shape == (9, 1)
    found = [row["predictions"] for row in model.predict(only_features)]
    assert model.get_variable_value("global_step") == 4 and found[0] == found[2] != found[1]


def test_a_network_has_a_scope_for_each_layer(tmp_path: Path) -> None:
    model = tf.estimator.DNNClassifier(
        [4, 3],
        [COLUMN, EMBEDDED],
        tmp_path,
        n_classes=3,
        label_vocabulary=["x", "y", "z"],
        batch_norm=True,
        dropout=0.1,
        config=tf.estimator.RunConfig(tf_random_seed=1),  # with some, no unit of a layer is above zero
    )
    model.train(numbers(np.array([["x"], ["y"], ["z"]])), max_steps=2)
    trained = [
        "dnn/input_from_feature_columns/input_layer/w_embedding/embedding_weights",
        *(f"dnn/hiddenlayer_{i}/{name}" for i in (0, 1) for name in ("kernel", "bias")),
        *(f"dnn/hiddenlayer_{i}/batchnorm_{i}/{name}" for i in (0, 1) for name in ("beta", "gamma")),
        "dnn/logits/kernel",
        "dnn/logits/bias",
    ]
    moving = [f"dnn/hiddenlayer_{i}/batchnorm_{i}/moving_{name}" for i in (0, 1) for name in ("mean", "variance")]
    names = [*trained, *moving, *(f"{name}/t_0/Adagrad" for name in trained), "global_step"]
    assert sorted(model.get_variable_names()) == sorted(names)
    assert (model.get_variable_value(moving[0]) != 0).any()
    row = next(model.predict(only_features))
    assert row["classes"][0] in (b"x", b"y", b"z") and row["probabilities"].shape == (3,)


def test_a_network_computes_what_its_variables_say(tmp_path: Path) -> None:
    model = tf.estimator.DNNRegressor([5], [COLUMN, EMBEDDED], tmp_path, activation_fn=tf.nn.tanh)
    model.train(numbers(), steps=20)
    value = model.get_variable_value
    table = value("dnn/input_from_feature_columns/input_layer/w_embedding/embedding_weights")
    net = np.concatenate([table[[0, 1, 0]], X], 1)
    net = np.tanh(net @ value("dnn/hiddenlayer_0/kernel") + value("dnn/hiddenlayer_0/bias"))
    expected = net @ value("dnn/logits/kernel") + value("dnn/logits/bias")
    np.testing.assert_allclose([row["predictions"] for row in model.predict(only_features)], expected, rtol=1e-4)
    assert (value("dnn/logits/bias/t_0/Adagrad") > 0.1).all()  # which it begins with


def test_wide_and_deep_parts_are_trained_by_optimizers_of_their_own(tmp_path: Path) -> None:
    model = tf.estimator.DNNLinearCombinedRegressor(
        tmp_path,
        linear_feature_columns=[WORD],
        linear_optimizer=tf.train.GradientDescentOptimizer(0.0),
        dnn_feature_columns=[COLUMN],
        dnn_hidden_units=[3],
    )
    model.train(numbers(), steps=5)
    names = model.get_variable_names()
    assert "linear/linear_model/w/weights" in names and "dnn/hiddenlayer_0/kernel/Adagrad" in names
    assert not model.get_variable_value("linear/linear_model/w/weights").any()
    assert (model.get_variable_value("dnn/logits/bias/Adagrad") > 0.1).all()
    assert model.get_variable_value("global_step") == 5
    with pytest.raises(ValueError, match="Either linear_feature_columns or dnn_feature_columns"):
        tf.estimator.DNNLinearCombinedClassifier(tmp_path)
    with pytest.raises(ValueError, match="dnn_hidden_units must be defined"):
        tf.estimator.DNNLinearCombinedClassifier(tmp_path, dnn_feature_columns=[COLUMN])


@pytest.mark.parametrize("wide", [False, True])
def test_sizes_of_layers_may_be_of_a_map_which_ends(wide: bool, tmp_path: Path) -> None:
    """As programs of Python 2 give them; the graph for predictions is built after that for training."""
    sizes = map(int, ["5", "3"])
    model: tf.estimator.Estimator = (
        tf.estimator.DNNLinearCombinedRegressor(tmp_path, dnn_feature_columns=[COLUMN], dnn_hidden_units=sizes)
        if wide
        else tf.estimator.DNNRegressor(sizes, [COLUMN], tmp_path)
    )
    model.train(numbers(), steps=1)
    assert model.get_variable_value("dnn/logits/kernel").shape == (3, 1)
    assert len(list(model.predict(only_features))) == 3


def test_a_baseline_learns_how_frequent_classes_are(tmp_path: Path) -> None:
    model = tf.estimator.BaselineClassifier(tmp_path / "classes", n_classes=3)
    model.train(numbers(np.array([[0], [2], [2]])), steps=200)
    np.testing.assert_allclose(next(model.predict(only_features))["probabilities"], [1 / 3, 0, 2 / 3], atol=0.02)
    assert "baseline/bias" in model.get_variable_names()
    model = tf.estimator.BaselineRegressor(tmp_path / "number", optimizer=tf.train.GradientDescentOptimizer(0.1))
    model.train(numbers(), steps=50)
    np.testing.assert_allclose(next(model.predict(only_features))["predictions"], [6], rtol=1e-4)


def test_a_model_with_a_head_of_its_own(tmp_path: Path) -> None:
    head = tf.contrib.estimator.multi_label_head(2)
    model = tf.contrib.estimator.DNNEstimator(head, [3], [COLUMN], tmp_path)
    model.train(numbers(np.array([[0, 1], [1, 1], [1, 0]])), steps=2)
    assert next(model.predict(only_features))["probabilities"].shape == (2,)


def test_a_new_model_begins_with_the_weights_of_another(tmp_path: Path) -> None:
    first = tf.estimator.LinearRegressor([COLUMN], tmp_path / "first")
    first.train(numbers(), steps=10)
    name = "linear/linear_model/x/weights"
    second = tf.estimator.LinearRegressor(
        [COLUMN, WORD],
        tmp_path / "second",
        optimizer=tf.train.GradientDescentOptimizer(0.0),
        warm_start_from=tf.estimator.WarmStartSettings(str(tmp_path / "first"), ".*x.*"),
    )
    second.train(numbers(), steps=1)
    assert second.get_variable_value(name) == first.get_variable_value(name) != 0
    assert not second.get_variable_value("linear/linear_model/bias_weights").any()


def test_a_canned_model_is_exported_with_the_signatures_of_its_head(tmp_path: Path) -> None:
    model = tf.estimator.LinearClassifier([COLUMN, WORD], tmp_path / "model")
    model.train(numbers(CLASSES), steps=1)
    spec = fc.make_parse_example_spec([COLUMN, WORD])
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_savedmodel(str(tmp_path / "exported"), receiver)
    assert tf.gfile.Exists(path)  # bytes, as in TensorFlow
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], path)
        signatures = loaded.signature_def
        assert set(signatures) == {"serving_default", "classification", "regression", "predict"}
        example = tf.train.Example()
        example.features.feature["x"].float_list.value.append(2.0)
        example.features.feature["w"].bytes_list.value.append(b"b")
        signature = signatures["regression"]
        score = session.run(
            signature.outputs["outputs"].name, {signature.inputs["inputs"].name: [example.SerializeToString()]}
        )
    np.testing.assert_allclose(score[0], list(model.predict(only_features))[1]["logistic"], rtol=1e-6)


def test_examples_of_a_canned_model_have_labels_and_weights() -> None:
    spec = tf.estimator.classifier_parse_example_spec([COLUMN], "label", tf.string, weight_column="u")
    assert spec == {
        "x": tf.FixedLenFeature((1,), tf.float32),
        "label": tf.FixedLenFeature((1,), tf.string),
        "u": tf.FixedLenFeature((1,), tf.float32),
    }
    spec = tf.estimator.regressor_parse_example_spec([COLUMN], "label", label_dimension=2)
    assert spec["label"] == tf.FixedLenFeature((2,), tf.float32)
    with pytest.raises(ValueError, match="label should not be used as feature"):
        tf.estimator.classifier_parse_example_spec([COLUMN], "x")
    with pytest.raises(ValueError, match="weight_column should not be used as feature"):
        tf.estimator.regressor_parse_example_spec([COLUMN], "y", weight_column="x")


def test_wrong_optimizers_and_features_are_refused(tmp_path: Path) -> None:
    model = tf.estimator.LinearRegressor([COLUMN], tmp_path, optimizer="Sgd")
    with pytest.raises(ValueError, match="Unsupported optimizer name: Sgd"):
        model.train(numbers(), steps=1)
    model = tf.estimator.LinearRegressor([COLUMN], tmp_path, optimizer=3)
    with pytest.raises(ValueError, match="not an Optimizer instance"):
        model.train(numbers(), steps=1)
    model = tf.estimator.LinearRegressor([COLUMN], tmp_path, optimizer=lambda: tf.train.AdamOptimizer(0.1))
    with pytest.raises(ValueError, match="features should be a dictionary"):
        model.train(lambda: (tf.constant(X), tf.constant(Y)), steps=1)
    model.train(numbers(), steps=1)
