"""`freeze_graph`: a graph's file and a checkpoint become a graph of constants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.saved_model.freeze_graph import freeze_graph, freeze_graph_with_def_protos

X = np.ones((2, 3), np.float32)


def _trained(folder: Path, use_resource: bool) -> np.ndarray:
    """A graph as text and as a MetaGraphDef, and its checkpoint; what it computes for X."""
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=use_resource)
        tf.nn.relu(tf.matmul(x, w), name="y")
        session.run(tf.global_variables_initializer())
        tf.train.write_graph(session.graph, str(folder), "graph.pbtxt")
        tf.train.Saver().save(session, str(folder / "model"))
        found: np.ndarray = session.run("y:0", {"x:0": X})
        return found


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("meta", [False, True])
def test_variables_become_constants(meta: bool, use_resource: bool, tmp_path: Path) -> None:
    expected, frozen = _trained(tmp_path, use_resource), str(tmp_path / "frozen.pb")
    graph, meta_graph = ("", str(tmp_path / "model.meta")) if meta else (str(tmp_path / "graph.pbtxt"), None)
    freeze_graph(
        graph, "", False, str(tmp_path / "model"), "y", "save/restore_all", "save/Const:0", frozen, True, "",
        input_meta_graph=meta_graph,
    )  # fmt: skip
    graph_def = tf.GraphDef.FromString(Path(frozen).read_bytes())
    assert not {"VariableV2", "VarHandleOp"} & {node.op for node in graph_def.node}
    assert {node.device for node in graph_def.node} == {""}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), expected)


@pytest.mark.parametrize("with_saver", [True, False])
def test_the_graph_that_a_program_has_just_built_is_frozen_with_its_saver(with_saver: bool, tmp_path: Path) -> None:
    expected, frozen = _trained(tmp_path, False), str(tmp_path / "frozen.pb")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(tf.matmul(x, tf.get_variable("w", [3, 2])), name="y")
        saver = tf.train.Saver().as_saver_def() if with_saver else None
        given = graph.as_graph_def(add_shapes=True)
        found = freeze_graph_with_def_protos(given, saver, str(tmp_path / "model"), "y", None, None, frozen, True, "")
    assert found == tf.GraphDef.FromString(Path(frozen).read_bytes())
    assert "VariableV2" not in {node.op for node in found.node}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(found, name="")
        np.testing.assert_array_equal(session.run("y:0", {"x:0": X}), expected)


def test_outputs_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="output_node_names must name"):
        freeze_graph("", "", True, "", "", None, None, "", False, "")
