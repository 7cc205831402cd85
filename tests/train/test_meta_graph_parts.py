"""Parts of meta graphs: one scope of a graph, collections of all kinds, and what exports leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto import variable_pb2

import penstock as tf
from penstock.train.collection_protos import register_proto_function
from penstock.train.context_protos import WhileContextDef

# --- scopes ---------------------------------------------------------------------------------------------


def test_a_scope_is_exported_with_its_own_names_and_goes_on_elsewhere(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("model"):
            w = tf.Variable([2.0, 3.0], name="w")
            y = tf.multiply(w, x, name="y")
            tf.add_to_collection("results", y)
        tf.add_to_collection("results", tf.negative(y, name="outside"))
        saver = tf.train.Saver({"w": w})
        session.run(w.initializer)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        exported = tf.train.export_meta_graph(str(tmp_path / "scope.meta"), export_scope="model")
    assert [node.name for node in exported.graph_def.node][-1] == "y"
    assert "x" not in {node.name for node in exported.graph_def.node}
    with tf.Session() as session:
        with pytest.raises(ValueError, match=r"unbound inputs: \$unbound_inputs_x.*input_map"):
            tf.train.import_meta_graph(str(tmp_path / "scope.meta"), import_scope="new")
        given = tf.constant([10.0, 100.0])
        saver = tf.train.import_meta_graph(
            str(tmp_path / "scope.meta"), import_scope="new", input_map={"$unbound_inputs_x": given}
        )
        assert [v.name for v in tf.global_variables()] == ["new/w:0"]
        assert [v.name for v in tf.trainable_variables()] == ["new/w:0"]
        assert [t.name for t in tf.get_collection("results")] == ["new/y:0"]
        tf.train.Saver({"w": tf.global_variables()[0]}).restore(session, prefix)
        assert session.run("new/y:0").tolist() == [20.0, 300.0]


def test_importing_twice_into_a_scope_makes_another(tmp_path: Path, session: tf.Session) -> None:
    with tf.Graph().as_default(), tf.Session() as other:
        tf.Variable([1.0], name="w")
        saver = tf.train.Saver()
        other.run(tf.global_variables_initializer())
        prefix = saver.save(other, str(tmp_path / "m"))
    savers = [tf.train.import_meta_graph(prefix + ".meta", import_scope="copy") for _ in range(2)]
    assert [v.name for v in tf.global_variables()] == ["copy/w:0", "copy_1/w:0"]
    for saver in savers:
        saver.restore(session, prefix)
    assert [value.tolist() for value in session.run(tf.global_variables())] == [[1.0], [1.0]]


# --- collections ----------------------------------------------------------------------------------------


def test_numbers_text_savers_and_queue_runners_come_back_as_they_were() -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="w")
        queue = tf.FIFOQueue(3, tf.float32, name="q")
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1.0)]))
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(name="mine"))
        for key, items in {"ints": [1, 2], "floats": [0.5], "texts": ["a", b"b"]}.items():
            for item in items:
                tf.add_to_collection(key, item)
        exported = tf.train.export_meta_graph()
    assert tf.train.import_meta_graph(exported, import_scope="in") is not None
    assert tf.get_collection("ints") == [1, 2]
    assert tf.get_collection("floats") == [0.5]
    assert tf.get_collection("texts") == [b"a", b"b"]
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert runner.name == "in/q"
    (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
    assert saver.saver_def.restore_op_name == "in/mine/restore_all"


def test_a_programs_own_items_are_stored_as_it_says() -> None:
    class Note:
        def __init__(self, text: str) -> None:
            self.text = text

    def to_proto(note: Note, export_scope: str | None = None) -> Any:
        return variable_pb2.VariableDef(variable_name=note.text, initializer_name=export_scope or "")

    def from_proto(proto: Any, import_scope: str | None = None) -> Note:
        return Note(f"{import_scope}: {proto.variable_name}")

    register_proto_function("notes", variable_pb2.VariableDef, to_proto, from_proto)
    with tf.Graph().as_default():
        tf.constant(1.0)
        tf.add_to_collection("notes", Note("hello"))
        exported = tf.train.export_meta_graph()
    assert len(exported.collection_def["notes"].bytes_list.value) == 1
    tf.train.import_meta_graph(exported, import_scope="here")
    assert [note.text for note in tf.get_collection("notes")] == ["here: hello"]
    with pytest.raises(TypeError, match="to_proto must be callable"):
        register_proto_function("notes", to_proto=3)


def test_only_the_collections_that_are_asked_for_are_exported_and_imported() -> None:
    with tf.Graph().as_default():
        tf.Variable(1.0, name="w")
        tf.add_to_collection("a", 1)
        tf.add_to_collection("b", 2)
        some = tf.train.export_meta_graph(collection_list=["a"])
        everything = tf.train.export_meta_graph()
    assert sorted(some.collection_def) == ["a"]
    tf.train.import_meta_graph(everything, restore_collections_predicate=lambda key: key == "b")
    assert tf.get_collection("a") == []
    assert tf.get_collection("b") == [2]


# --- what is left out -----------------------------------------------------------------------------------


def test_devices_default_attributes_and_other_savers_are_left_out_on_request() -> None:
    with tf.device("/job:worker/task:1/device:CPU:0"):
        a = tf.constant([[1.0]], name="a")
        tf.matmul(a, a, transpose_b=True, name="product")
    tf.Variable(1.0, name="w")
    other = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, other)
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    plain = {node.name: node for node in saver.export_meta_graph().graph_def.node}
    assert plain["a"].device.endswith("CPU:0")
    assert "transpose_a" in plain["product"].attr
    exported = saver.export_meta_graph(clear_devices=True, clear_extraneous_savers=True, strip_default_attrs=True)
    nodes = {node.name: node for node in exported.graph_def.node}
    assert all(node.device == "" for node in nodes.values())
    assert "transpose_a" not in nodes["product"].attr
    assert nodes["product"].attr["transpose_b"].b
    assert {name.partition("/")[0] for name in nodes if name.startswith("save")} == {"save_1"}
    assert len(exported.collection_def[tf.GraphKeys.SAVERS].bytes_list.value) == 1
    assert exported.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(exported)
        assert session.run("product:0").tolist() == [[1.0]]


def test_attributes_that_are_not_known_but_have_their_writers_default_are_ignored() -> None:
    with tf.Graph().as_default():
        tf.negative(tf.constant(1.0), name="n")
        exported = tf.train.export_meta_graph()
    (node,) = (node for node in exported.graph_def.node if node.name == "n")
    node.attr["of_the_future"].i = 3
    with pytest.raises(ValueError, match="has no attribute 'of_the_future'"):
        tf.train.import_meta_graph(exported)
    op = exported.meta_info_def.stripped_op_list.op.add(name="Neg")
    op.attr.add(name="of_the_future", type="int").default_value.i = 3
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(exported)
        np.testing.assert_equal(session.run("n:0"), -1.0)


# --- loops and conditionals -----------------------------------------------------------------------------


def loops() -> None:
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(a > 2.0, lambda: a * x, lambda: a + 1.0)

    with tf.name_scope("model"):
        a = tf.while_loop(lambda i, a: i < 3, body, [0, x], parallel_iterations=3, swap_memory=True)[1]
        b = tf.while_loop(lambda b: b < 10.0, lambda b: b * b + x, [a], back_prop=False)
        tf.identity(b, name="b")


def test_loops_and_conditionals_are_described_for_tensorflow() -> None:
    loops()
    messages = tf.train.export_meta_graph().collection_def["while_context"].bytes_list.value
    first, second = (WhileContextDef.FromString(message) for message in messages)
    assert (first.context_name, first.parallel_iterations) == ("model/while/while_context", 3)
    assert (first.back_prop, first.swap_memory) == (True, True)
    assert (second.back_prop, second.swap_memory) == (False, False)
    assert list(first.loop_enter_names) == ["model/while/Enter:0", "model/while/Enter_1:0"]
    assert list(first.loop_exit_names) == ["model/while/Exit:0", "model/while/Exit_1:0"]
    assert first.values_def.external_values["x:0"] == "model/while/cond/mul/x/Enter:0"
    true, false = (nested.cond_ctxt for nested in first.nested_contexts)
    assert (true.branch, false.branch) == (1, 0)
    assert true.pred_name == false.pred_name == "model/while/cond/pred_id:0"
    assert "model/while/cond/mul:0" in true.values_def.values
    assert "model/while/cond/mul:0" in first.values_def.values
    scoped = tf.train.export_meta_graph(export_scope="model").collection_def["while_context"].bytes_list.value
    assert [WhileContextDef.FromString(m).context_name for m in scoped] == [
        "while/while_context", "while_1/while_context"
    ]  # fmt: skip


@pytest.mark.parametrize("scope", [None, "theirs"])
def test_a_loop_without_back_prop_has_no_gradient_after_import(scope: str | None) -> None:
    loops()
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph, import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        a, b, x = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in ("model/while/Exit_1", "model/b", "x"))
        assert tf.gradients(b, x) == [None]
        assert tf.gradients(a, x) != [None]
        again = tf.train.export_meta_graph().collection_def["while_context"].bytes_list.value
        assert [WhileContextDef.FromString(m).swap_memory for m in again][:2] == [True, False]
