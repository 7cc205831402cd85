"""Models that contrib.learn exports are fed what the program's input function says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

learn = tf.contrib.learn
X, Y = np.float32([[1], [2], [3], [4]]), np.float32([[2], [4], [6], [8]])


def trained(folder: Path) -> Any:
    x = tf.contrib.layers.real_valued_column("x")
    model = learn.LinearRegressor([x], model_dir=str(folder))
    return model.fit(input_fn=lambda: ({"x": tf.constant(X)}, tf.constant(Y)), steps=3)


def names_fed(folder: Any) -> set[str]:
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.load(session, ["serve"], folder)
        return {name for signature in meta.signature_def.values() for name in signature.inputs}


def test_an_input_function_for_serving_gives_features_labels_and_what_is_fed() -> None:
    with tf.Graph().as_default():
        spec = {"x": tf.FixedLenFeature([1], tf.float32)}
        features, labels, fed = learn.utils.build_parsing_serving_input_fn(spec)()
        assert features["x"].shape.as_list() == [None, 1]
        assert labels is None and fed["examples"].dtype == tf.string
        found = learn.utils.build_default_serving_input_fn({"y": tf.zeros([4, 2])}, default_batch_size=3)()
        assert found.features["y"] is found.default_inputs["y"]
        assert found.default_inputs["y"].shape.as_list() == [3, 2]
        assert isinstance(found, learn.utils.input_fn_utils.InputFnOps)
        assert learn.InputFnOps is learn.utils.InputFnOps


def test_a_strategy_exports_what_its_input_function_asks_for(tmp_path: Path) -> None:
    def serving() -> Any:
        x = tf.placeholder(tf.float32, [None])
        return learn.InputFnOps({"x": tf.expand_dims(x, -1)}, None, {"numbers": x})

    strategy = learn.utils.make_export_strategy(serving, exports_to_keep=1)
    folder = strategy.export(trained(tmp_path / "model"), str(tmp_path / "exports"))
    assert "numbers" in names_fed(folder)


@pytest.mark.parametrize("core", [False, True])
def test_a_strategy_of_columns_exports_a_model_that_parses_examples(core: bool, tmp_path: Path) -> None:
    if core:
        columns: Any = [tf.feature_column.numeric_column("x")]
        model: Any = tf.estimator.LinearRegressor(columns, str(tmp_path / "model"))
        model.train(lambda: ({"x": tf.constant(X)}, tf.constant(Y)), steps=3)
    else:
        columns, model = [tf.contrib.layers.real_valued_column("x")], trained(tmp_path / "model")
    make = learn.utils.saved_model_export_utils.make_parsing_export_strategy
    folder = make(columns, target_core=core).export(model, str(tmp_path / "exports"))
    assert names_fed(folder) & {"examples", "inputs"}
