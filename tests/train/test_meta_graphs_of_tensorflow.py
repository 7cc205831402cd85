"""TensorFlow's meta graphs and checkpoints, recorded by conformance/meta_graphs.py, train on as in TensorFlow."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from conformance.meta_graph_models import MODELS
from conformance.meta_graphs import RECORD, losses


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meta_graphs")
    with tarfile.open(RECORD) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_tensorflow_trains_on(model: str, recorded: Path) -> None:
    expected = json.loads((recorded / model / "tensorflow.json").read_text())
    np.testing.assert_allclose(losses(tf, recorded / model), expected, rtol=1e-4)


def test_a_model_of_tensorflow_is_imported_into_a_scope_and_saved_again(recorded: Path, tmp_path: Path) -> None:
    model = recorded / "partitioned_adam"
    with tf.Session() as session:
        saver = tf.train.import_meta_graph(str(model / "model.meta"), import_scope="theirs", clear_devices=True)
        saver.restore(session, str(model / "model"))
        assert tf.train.get_global_step().name == "theirs/global_step:0"
        assert [tf.get_collection(key) for key in ("ints", "floats", "texts")] == [[3], [2.5], [b"abc"]]
        again = saver.save(session, str(tmp_path / "again"))
        before, after = (tf.train.NewCheckpointReader(str(path)) for path in (model / "model", again))
        assert after.get_variable_to_shape_map() == before.get_variable_to_shape_map()
        for name in after.get_variable_to_shape_map():
            np.testing.assert_array_equal(after.get_tensor(name), before.get_tensor(name))
