"""Meta graphs: graph, collections and saver, out to a file and back in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto import meta_graph_pb2

import penstock as tf


def trained(tmp_path: Path) -> str:
    """A checkpoint, with its meta graph, of a model trained for one step."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=True)
        y = tf.add(tf.matmul(x, w), b, name="y")
        step = tf.train.get_or_create_global_step()
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y * y), global_step=step)
        tf.add_to_collection("outputs", y)
        tf.add_to_collection("sizes", 3)
        tf.add_to_collection("names", "model")
        tf.add_to_collection("anything", object())
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        session.run("Momentum", {x: [[1.0, 1.0]]})
        return saver.save(session, str(tmp_path / "model"), global_step=step)


def test_a_program_without_the_code_of_the_model_goes_on_training(tmp_path: Path, session: tf.Session) -> None:
    prefix = trained(tmp_path)
    saver = tf.train.import_meta_graph(f"{prefix}.meta")
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["w", "b", "global_step", "w/Momentum", "b/Momentum"]
    assert [v.op.name for v in tf.trainable_variables()] == ["w", "b"]
    assert tf.trainable_variables()[0] is tf.global_variables()[0]
    assert tf.get_collection("outputs") == [tf.get_default_graph().get_tensor_by_name("y:0")]
    assert tf.get_collection("sizes") == [3]
    assert tf.get_collection("names") == [b"model"]
    assert tf.get_collection("anything") == []
    assert tf.train.get_global_step().op.name == "global_step"
    saver.restore(session, prefix)
    before = session.run("w:0")
    session.run(tf.get_collection(tf.GraphKeys.TRAIN_OP), {"x:0": [[1.0, 0.0]]})
    assert session.run("global_step:0") == 2
    assert (session.run("w:0") != before).any()
    assert saver.save(session, str(tmp_path / "again")) == str(tmp_path / "again")


def test_it_can_be_imported_into_a_scope(tmp_path: Path, session: tf.Session) -> None:
    prefix = trained(tmp_path)
    saver = tf.train.import_meta_graph(f"{prefix}.meta", import_scope="copy")
    assert tf.global_variables()[0].op.name == "copy/w"
    saver.restore(session, prefix)
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(f"{prefix}.meta").restore(other, prefix)
        expected = other.run("w:0")
    np.testing.assert_array_equal(session.run("copy/w:0"), expected)


def test_text_and_messages_are_read_as_well(tmp_path: Path) -> None:
    tf.Variable(1.0, name="w")
    with tf.device("/device:CPU:0"):
        tf.constant(1.0, name="placed")
    path = str(tmp_path / "graph.pbtxt")
    exported = tf.train.Saver().export_meta_graph(path, as_text=True)
    assert isinstance(exported, meta_graph_pb2.MetaGraphDef)
    assert b"variables" in (tmp_path / "graph.pbtxt").read_bytes()
    for source in (path, exported):
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(source, clear_devices=True)
            assert tf.global_variables()[0].op.name == "w"
            assert graph.get_operation_by_name("placed").device == ""


def test_without_a_saver_there_is_one_for_the_variables_or_none() -> None:
    tf.constant(1.0)
    exported = tf.train.export_meta_graph()
    tf.Variable(1.0, name="w")
    with_variable = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(exported) is None
    with tf.Graph().as_default():
        assert isinstance(tf.train.import_meta_graph(with_variable), tf.train.Saver)


def test_a_missing_or_foreign_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.meta does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    (tmp_path / "bad.meta").write_bytes(b"\xff\xfe not a graph")
    with pytest.raises(OSError, match=r"Cannot parse file .*bad\.meta"):
        tf.train.import_meta_graph(str(tmp_path / "bad.meta"))


def test_write_graph_writes_text_or_bytes(graph: tf.Graph, tmp_path: Path) -> None:
    tf.constant(1.0, name="one")
    path = tf.train.write_graph(graph, str(tmp_path / "new"), "graph.pbtxt")
    assert 'name: "one"' in Path(path).read_text()
    path = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    assert tf.GraphDef.FromString(Path(path).read_bytes()).node[0].name == "one"


def test_a_variable_in_a_collection_of_the_programs_own_comes_back_as_its_tensor() -> None:
    rate = tf.Variable(0.5, name="rate", use_resource=False)
    tf.add_to_collection("rates", rate)
    meta_graph = tf.train.export_meta_graph()
    assert list(meta_graph.collection_def["rates"].node_list.value) == ["rate:0"]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(meta_graph)
        (imported,) = tf.get_collection("rates")
        session.run(tf.global_variables_initializer())
        assert session.run(imported) == 0.5
