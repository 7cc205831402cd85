"""tf.compat, tf.graph_util and what tells a TensorFlow program that it is not in TensorFlow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# --- compat ---------------------------------------------------------------------------------------------


def test_compat_v1_is_penstock_itself() -> None:
    import penstock.compat.v1 as v1

    assert v1 is tf
    assert tf.compat.v1 is tf
    assert importlib.import_module("penstock.compat.v1") is tf
    from penstock.compat.v1.keras.layers import Dense
    from penstock.compat.v1.train import AdamOptimizer

    assert (AdamOptimizer, Dense) == (tf.train.AdamOptimizer, tf.keras.layers.Dense)
    assert importlib.import_module("penstock.compat.v1.nn") is tf.nn
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("penstock.compat.v1.nothing")
    v1.disable_v2_behavior()
    v1.disable_eager_execution()
    assert not v1.executing_eagerly()


@pytest.mark.parametrize("enable", [tf.enable_eager_execution, tf.enable_v2_behavior])
def test_eager_execution_cannot_be_enabled(enable: Any) -> None:
    with pytest.raises(NotImplementedError, match="builds a graph"):
        enable()


def test_strings_are_encoded_and_decoded() -> None:
    assert tf.compat.as_bytes("ä") == b"\xc3\xa4"
    assert tf.compat.as_bytes(b"x") == tf.compat.as_bytes(bytearray(b"x")) == b"x"
    assert tf.compat.as_text(b"\xc3\xa4") == tf.compat.as_str("ä") == "ä"
    assert tf.compat.as_str_any(5) == "5"
    assert tf.compat.as_str_any(b"x") == "x"
    assert tf.compat.path_to_str(Path("a/b")) == "a/b"
    for convert in (tf.compat.as_bytes, tf.compat.as_text):
        with pytest.raises(TypeError, match="Expected binary or unicode string, got 5"):
            convert(5)


def test_types_of_numbers_take_numpys() -> None:
    assert isinstance(np.int64(1), tf.compat.integral_types)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert not isinstance(1j, tf.compat.real_types)
    assert isinstance(1j, tf.compat.complex_types)
    assert isinstance(b"", tf.compat.bytes_or_text_types)


def test_forward_compatibility_has_a_horizon() -> None:
    assert tf.compat.forward_compatible(2019, 1, 1)
    with tf.compat.forward_compatibility_horizon(2018, 1, 2):
        assert not tf.compat.forward_compatible(2019, 1, 1)
        assert tf.compat.forward_compatible(2018, 1, 1)


def test_dimensions_are_read_from_shapes() -> None:
    shape = tf.TensorShape([3, None])
    assert tf.compat.dimension_value(shape[0]) == 3
    assert tf.compat.dimension_value(5) == 5
    assert tf.compat.dimension_at_index(shape, 1).value is None
    assert tf.compat.dimension_at_index(tf.TensorShape(None), 4).value is None


def test_op_scope_takes_values_first() -> None:
    with tf.op_scope([tf.constant(1)], None, "default") as scope:
        assert scope == "default/"


# --- what is not there ----------------------------------------------------------------------------------


def test_libraries_of_tensorflow_are_refused_with_what_to_write_instead() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"roi\.so .*define_op"):
        tf.load_op_library("roi.so")
    with pytest.raises(tf.errors.UnimplementedError, match="define_op"):
        tf.load_library("roi.so")
    with pytest.raises(tf.errors.UnimplementedError, match="fsspec"):
        tf.load_file_system_library("hdfs.so")
    for name in ("get_include", "get_lib", "get_compile_flags", "get_link_flags"):
        with pytest.raises(tf.errors.UnimplementedError, match=r"no C\+\+ headers"):
            getattr(tf.sysconfig, name)()


def test_user_ops_has_its_fact() -> None:
    with tf.Session() as session:
        assert session.run(tf.user_ops.my_fact()) == b"0! == 1"


def test_data_files_lie_beside_the_program() -> None:
    here = Path(__file__)
    assert tf.resource_loader.get_data_files_path() == str(here.parent)
    assert tf.resource_loader.get_path_to_datafile("x.txt") == str(here.parent / "x.txt")
    assert tf.resource_loader.readahead_file_path("x") == "x"
    assert tf.resource_loader.load_resource("py.typed") == (Path(tf.__file__).parent / "py.typed").read_bytes()
    with pytest.raises(OSError):
        tf.resource_loader.load_resource("no/such/file")


def test_options_for_the_optimizer_are_there() -> None:
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    assert config.graph_options.optimizer_options.opt_level == tf.OptimizerOptions.L0
    assert isinstance(tf.__git_version__, str)


# --- graph_util -----------------------------------------------------------------------------------------


def model(use_resource: bool) -> None:
    """x [n, 2] -> z [n, 3], with two variables, of which one is gathered from; and a part that z does not need."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    weights = tf.get_variable("weights", [2, 3], use_resource=use_resource)
    table = tf.get_variable("table", [5, 3], use_resource=use_resource)
    hidden = tf.check_numerics(tf.matmul(x, weights), "hidden", name="check")
    tf.identity(hidden + tf.nn.embedding_lookup(table, [1]), name="z")
    tf.reduce_sum(hidden, name="loss")


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_frozen_graph_computes_what_the_session_did(use_resource: bool) -> None:
    model(use_resource)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = session.run("z:0", {"x:0": [[1, 2]]})
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["z"])
    kinds = {node.op for node in frozen.node}
    assert not kinds & {"VariableV2", "VarHandleOp", "ReadVariableOp", "ResourceGather"}
    assert "loss" not in [node.name for node in frozen.node]
    trimmed = tf.graph_util.remove_training_nodes(frozen, ["z"])
    assert "CheckNumerics" in kinds
    assert [n.name for n in trimmed.node if n.op in ("Identity", "CheckNumerics")] == ["z"]
    for graph_def in (frozen, trimmed):
        with tf.Graph().as_default():
            tf.import_graph_def(graph_def, name="")
            with tf.Session() as session:
                # A product to which a constant is added may be rounded once.
                np.testing.assert_allclose(session.run("z:0", {"x:0": [[1, 2]]}), wanted, rtol=1e-6, atol=1e-6)


def test_only_the_variables_that_are_wanted_are_frozen() -> None:
    model(use_resource=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        whole = session.graph.as_graph_def()
        convert = tf.graph_util.convert_variables_to_constants
        some = convert(session, whole, ["z"], variable_names_whitelist=["table"])
        others = convert(session, whole, ["z"], variable_names_blacklist=["table"])
    assert [n.name for n in some.node if n.op == "VariableV2"] == ["weights"]
    assert [n.name for n in others.node if n.op == "VariableV2"] == ["table"]


def test_a_loop_over_a_resource_variable_is_frozen() -> None:
    steps = tf.get_variable("steps", [2], use_resource=True, initializer=tf.constant_initializer(1.5))
    out = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + steps), [0, tf.zeros([2])])[1]
    tf.identity(out, name="out")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph.as_graph_def(), ["out"])
    with tf.Graph().as_default():
        tf.import_graph_def(frozen, name="")
        with tf.Session() as session:
            assert session.run("out:0").tolist() == [4.5, 4.5]


def test_a_sub_graph_is_what_its_ends_need() -> None:
    a = tf.constant(1, name="a")
    with tf.control_dependencies([tf.constant(2, name="b")]):
        tf.negative(a, name="c")
    tf.constant(3, name="d")
    graph_def = tf.get_default_graph().as_graph_def()
    assert [n.name for n in tf.graph_util.extract_sub_graph(graph_def, ["c"]).node] == ["a", "b", "c"]
    with pytest.raises(AssertionError, match="nowhere is not in graph"):
        tf.graph_util.extract_sub_graph(graph_def, ["nowhere"])
    with pytest.raises(TypeError, match="must be a list"):
        tf.graph_util.extract_sub_graph(graph_def, "c")
    with pytest.raises(TypeError, match="must be a GraphDef"):
        tf.graph_util.extract_sub_graph(tf.get_default_graph(), ["c"])


def test_identities_that_others_wait_for_stay_but_nothing_waits_for_a_check_that_goes() -> None:
    one = tf.constant(1.0, name="one")
    waited_for = tf.identity(one, name="waited_for")
    checked = tf.check_numerics(one, "x", name="check")
    with tf.control_dependencies([checked]):
        gone = tf.identity(one, name="gone")
    with tf.control_dependencies([waited_for]):
        tf.negative(gone, name="out")
    graph_def = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def())
    assert [n.name for n in graph_def.node] == ["one", "waited_for", "out"]
    assert list(graph_def.node[-1].input) == ["one", "^waited_for"]


def test_small_questions_about_graphs() -> None:
    ints = tf.constant([1, 2], name="ints")
    variable = tf.Variable(1.0)
    assert tf.graph_util.must_run_on_cpu(ints.op)
    assert tf.graph_util.must_run_on_cpu(tf.constant("text").op.node_def)
    assert not tf.graph_util.must_run_on_cpu(tf.constant(1.0).op)
    assert not tf.graph_util.must_run_on_cpu(variable.op)
    assert tf.graph_util.must_run_on_cpu(variable.op, pin_variables_on_cpu=True)
    shape = tf.graph_util.tensor_shape_from_node_def_name(tf.get_default_graph(), "ints")
    assert shape.as_list() == [2]


def test_loops_are_the_same_with_control_flow_of_version_2_asked_for() -> None:
    tf.enable_control_flow_v2()
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), (0, 1.0))[1]
    gradient = tf.gradients(tf.cond(y > 5, lambda: 2 * y, lambda: y), x)[0]
    with tf.Session() as session:
        assert session.run([y, gradient], {x: 2.0}) == [8.0, 24.0]
    assert not tf.control_flow_v2_enabled()
