"""Models as estimators of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf

S = tf.keras.wrappers.scikit_learn
L = tf.keras.layers
R = np.random.RandomState(0)
X = R.uniform(-1, 1, (90, 4)).astype(np.float32)
LABELS = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.3, 0.3])]


def classifier(hidden: int = 8, loss: str = "sparse_categorical_crossentropy") -> Any:
    model = tf.keras.Sequential(
        [L.Dense(hidden, activation="relu", input_shape=(4,)), L.Dense(3, activation="softmax")]
    )
    model.compile(tf.keras.optimizers.Adam(0.05), loss, metrics=["accuracy"])
    return model


@pytest.mark.parametrize("loss", ["sparse_categorical_crossentropy", "categorical_crossentropy"])
def test_a_classifier_learns_labels_of_any_kind(loss: str) -> None:
    estimator = S.KerasClassifier(classifier, hidden=16, loss=loss, epochs=30, verbose=0)
    history = estimator.fit(X, LABELS, batch_size=15)
    assert len(history.history["loss"]) == 30
    assert estimator.model.layers[0].units == 16
    predicted = estimator.predict(X)
    assert set(predicted) <= set(LABELS)
    np.testing.assert_allclose(estimator.score(X, LABELS), np.mean(predicted == LABELS), rtol=1e-6)
    assert np.mean(predicted == LABELS) > 0.8
    probabilities = estimator.predict_proba(X)
    np.testing.assert_array_equal(estimator.classes_[probabilities.argmax(1)], predicted)


def test_a_classifier_of_two_classes_has_a_probability_for_each() -> None:
    def build() -> Any:
        model = tf.keras.Sequential([L.Dense(1, activation="sigmoid", input_shape=(4,))])
        model.compile("sgd", "binary_crossentropy")
        return model

    estimator = S.KerasClassifier(build_fn=build, verbose=0)
    estimator.fit(X, (X[:, 0] > 0).astype(int))
    assert estimator.predict_proba(X).shape == (90, 2)
    np.testing.assert_allclose(estimator.predict_proba(X).sum(1), 1, rtol=1e-6)
    with pytest.raises(ValueError, match="not configured to compute accuracy"):
        estimator.score(X, (X[:, 0] > 0).astype(int))


class Linear(S.KerasRegressor):
    def __call__(self, rate: float = 0.1) -> Any:
        model = tf.keras.Sequential([L.Dense(1, input_shape=(4,))])
        model.compile(tf.keras.optimizers.SGD(rate), "mse")
        return model


def test_a_regressor_scores_minus_its_loss() -> None:
    estimator = Linear(rate=0.3, epochs=20, verbose=0)
    y = X @ np.array([1, 2, 3, 4], np.float32)
    estimator.fit(X, y)
    predicted = estimator.predict(X)
    assert predicted.shape == (90,)
    np.testing.assert_allclose(estimator.score(X, y), -np.mean((predicted - y) ** 2), rtol=1e-4)


def test_parameters_of_no_function_are_refused() -> None:
    with pytest.raises(ValueError, match="depth is not a legal parameter"):
        S.KerasClassifier(classifier, depth=3)
    with pytest.raises(ValueError, match="width is not a legal parameter"):
        S.KerasClassifier(classifier).set_params(width=3)


def test_a_grid_of_parameters_is_searched() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    estimator = S.KerasClassifier(classifier, epochs=2, verbose=0)
    search = selection.GridSearchCV(estimator, {"hidden": [2, 4], "batch_size": [30]}, cv=2)
    search.fit(X, LABELS)
    assert search.best_params_["hidden"] in (2, 4)


def test_a_pipeline_that_ends_with_a_model_is_fitted_once_the_model_is() -> None:
    """scikit-learn asks `check_is_fitted` before it scores or predicts."""
    pipelines = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
    selection = pytest.importorskip("sklearn.model_selection")
    not_fitted = pytest.importorskip("sklearn.exceptions").NotFittedError
    pipeline = pipelines.Pipeline([("scale", scaler), ("model", Linear(rate=0.1, epochs=3, verbose=0))])
    y = X @ np.array([1, 2, 3, 4], np.float32)
    with pytest.raises(not_fitted):
        pipeline.predict(X)
    pipeline.fit(X, y)
    np.testing.assert_allclose(pipeline.score(X, y), -np.mean((pipeline.predict(X) - y) ** 2), rtol=1e-4)
    scores = selection.cross_val_score(pipeline, X, y, cv=selection.KFold(3), error_score="raise")
    assert scores.shape == (3,) and np.isfinite(scores).all()
