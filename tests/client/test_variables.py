"""Variables as objects: their nodes, properties, updates, collections and messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.client.ref_variable import RefVariable
from penstock.client.resource_variable import ResourceVariable
from penstock.client.variable import SaveSliceInfo
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import GraphKeys

both = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: tf.Graph) -> Iterator[tf.Session]:
    with tf.Session() as session:
        yield session


def nodes(graph: tf.Graph) -> list[tuple[str, str]]:
    return [(op.name, op.type) for op in graph.get_operations()]


def initialised(session: tf.Session, *args: Any, **kwargs: Any) -> Any:
    variable = tf.Variable(*args, **kwargs)
    session.run(variable.initializer)
    return variable


# --- nodes ----------------------------------------------------------------------------------------------


def test_a_reference_variable_has_tensorflows_nodes(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0])
    tf.Variable(lambda: tf.zeros([2]), name="f")
    v.assign([3.0, 4.0])
    v.assign_add([1.0, 1.0])
    v + 1
    v.read_value()
    assert nodes(graph) == [
        ("Variable/initial_value", "Const"),
        ("Variable", "VariableV2"),
        ("Variable/Assign", "Assign"),
        ("Variable/read", "Identity"),
        ("f/Initializer/zeros", "Const"),
        ("f", "VariableV2"),
        ("f/Assign", "Assign"),
        ("f/read", "Identity"),
        ("Assign/value", "Const"),
        ("Assign", "Assign"),
        ("AssignAdd/value", "Const"),
        ("AssignAdd", "AssignAdd"),
        ("add/y", "Const"),
        ("add", "AddV2"),
        ("read", "Identity"),
    ]
    placed = {op.name: op.attrs.get("_class") for op in graph.get_operations()}
    assert placed["Variable/Assign"] == placed["Variable/read"] == placed["Assign"] == [b"loc:@Variable"]
    assert placed["f/Initializer/zeros"] == placed["f"] == [b"loc:@f"]
    assert placed["Variable/initial_value"] is None


def test_a_resource_variable_has_tensorflows_nodes(graph: tf.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="x", use_resource=True)
    v.assign([3.0, 4.0])
    v + 1
    assert nodes(graph) == [
        ("x/Initializer/initial_value", "Const"),
        ("x", "VarHandleOp"),
        ("x/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp"),
        ("x/Assign", "AssignVariableOp"),
        ("x/Read/ReadVariableOp", "ReadVariableOp"),
        ("Const", "Const"),
        ("AssignVariableOp", "AssignVariableOp"),
        ("ReadVariableOp", "ReadVariableOp"),
        ("add/ReadVariableOp", "ReadVariableOp"),
        ("add/y", "Const"),
        ("add", "AddV2"),
    ]
    assert graph.get_operation_by_name("x").attrs["shared_name"] == b"x"


@both
def test_names_are_scoped_and_made_unique(use_resource: bool) -> None:
    with tf.name_scope("s"):
        first, second = (tf.Variable(1.0, name="v", use_resource=use_resource) for _ in range(2))
    assert (first.name, second.name) == ("s/v:0", "s/v_1:0")
    assert (second.op.name, second._shared_name, second.initializer.name) == (
        "s/v_1",
        "s/v_1",
        "s/v_1/Assign",
    )


# --- properties and conversion --------------------------------------------------------------------------


def test_use_resource_chooses_the_kind() -> None:
    assert type(tf.Variable(1.0)) is RefVariable
    assert type(tf.Variable(1.0, use_resource=True)) is ResourceVariable
    with tf.variable_scope("s", use_resource=True):
        assert type(tf.Variable(1.0)) is ResourceVariable
        assert type(tf.Variable(1.0, use_resource=False)) is RefVariable
    tf.enable_resource_variables()
    try:
        assert tf.resource_variables_enabled()
        assert type(tf.Variable(1.0)) is ResourceVariable
    finally:
        tf.disable_resource_variables()


@both
def test_properties_tell_what_the_variable_is(graph: tf.Graph, use_resource: bool) -> None:
    clip = abs
    with tf.device("/cpu:0"):
        v = tf.Variable([[1, 2]], trainable=False, dtype="int64", constraint=clip, use_resource=use_resource)
    assert isinstance(v, tf.Variable)
    assert v.dtype.base_dtype == tf.int64
    assert v.dtype._is_ref_dtype is not use_resource
    assert v.shape.as_list() == v.get_shape().as_list() == [1, 2]
    assert v.graph is graph
    assert v.device == "/device:CPU:0"
    assert (v.trainable, v.constraint) == (False, clip)
    assert v.initial_value.dtype == tf.int64
    assert v.op.type == ("VarHandleOp" if use_resource else "VariableV2")
    assert v.synchronization == tf.VariableSynchronization.AUTO
    assert v.aggregation == tf.VariableAggregation.NONE
    assert repr(v).startswith("<tf.Variable 'Variable:0' shape=(1, 2) dtype=int64")
    assert v == v
    assert v in {v}
    assert v != tf.Variable(1)


@both
def test_a_variable_converts_to_its_value(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    assert session.run(convert_to_tensor(v)).tolist() == [1, 2]
    assert session.run(tf.stack([v, v])).tolist() == [[1, 2], [1, 2]]
    with pytest.raises(ValueError, match="Incompatible type conversion requested to type 'int32'"):
        convert_to_tensor(v, tf.int32)
    assert convert_to_tensor(v, as_ref=True) is (v.handle if use_resource else v._ref())
    with pytest.raises(TypeError, match="'Variable' object is not iterable"):
        list(v)


def test_a_resource_input_takes_the_handle() -> None:
    v = tf.Variable([1.0, 2.0], use_resource=True)
    assert convert_to_tensor(v, tf.resource) is v.handle


@both
def test_operators_work_on_variables(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    w = initialised(session, [3.0, 5.0], use_resource=use_resource)
    found = session.run([v + 1, 1 + v, v - w, v * w, w / v, -v, v**2, v < w, v[0], v + np.ones(2, "f4")])
    assert [np.asarray(x).tolist() for x in found] == [
        [2, 3], [2, 3], [-2, -3], [3, 10], [3, 2.5], [-1, -2], [1, 4], [True, True], 1, [2, 3],
    ]  # fmt: skip


# --- values ---------------------------------------------------------------------------------------------


@both
def test_updates_give_the_new_value_or_the_operation(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    assert session.run(v.assign([3.0, 4.0])).tolist() == [3, 4]
    assert session.run(v.assign_add([1.0, 1.0], use_locking=True)).tolist() == [4, 5]
    assert session.run(v.assign_sub([2.0, 0.0], name="down")).tolist() == [2, 5]
    for update in (v.assign, v.assign_add, v.assign_sub):
        op = update([1.0, 1.0], read_value=False)
        assert isinstance(op, tf.Operation)
        assert session.run(op) is None
    assert session.run(v).tolist() == [1, 1]
    assert session.run(tf.assign(v, [5.0, 6.0])).tolist() == [5, 6]
    assert session.run(tf.assign_add(v, [5.0, 6.0])).tolist() == [10, 12]
    assert session.run(tf.assign_sub(v, [9.0, 11.0])).tolist() == [1, 1]


@both
def test_values_are_read_evaluated_and_loaded(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    v.load([7.0, 8.0], session)
    assert v.eval().tolist() == session.run(v.value()).tolist() == session.run(v.read_value()).tolist() == [7, 8]
    with tf.control_dependencies([v.assign([0.0, 0.0])]):
        after = v.read_value()
    assert session.run(after).tolist() == [0, 0]


@both
def test_feeding_a_variable_replaces_what_is_fetched(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    assert session.run(v, {v: [5, 6]}).tolist() == [5, 6]


@both
def test_rows_are_updated_from_indexed_slices(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [8.0, 4.0, 2.0], use_resource=use_resource)
    delta = tf.IndexedSlices(tf.constant([2.0, 1.0]), tf.constant([0, 2]))
    expected = {
        "add": [10, 4, 3], "sub": [8, 4, 2], "mul": [16, 4, 2], "div": [8, 4, 2], "min": [2, 4, 1],
        "max": [2, 4, 1], "update": [2, 4, 1],
    }  # fmt: skip
    for kind, want in expected.items():
        assert session.run(getattr(v, f"scatter_{kind}")(delta)).tolist() == want
    assert session.run(v.scatter_nd_add([[1]], [1.0])).tolist() == [2, 5, 1]
    assert session.run(v.scatter_nd_sub([[1]], [1.0])).tolist() == [2, 4, 1]
    assert session.run(v.scatter_nd_update([[1]], [9.0])).tolist() == [2, 9, 1]
    with pytest.raises(TypeError, match="IndexedSlices"):
        v.scatter_add([1.0])


@both
def test_counting_stops_at_the_limit(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, 0, use_resource=use_resource)
    count = v.count_up_to(2)
    assert [session.run(count), session.run(count)] == [0, 1]
    with pytest.raises(errors.OutOfRangeError):
        session.run(tf.count_up_to(v, 2))


def test_sparse_reads_take_only_some_rows(session: tf.Session) -> None:
    v = initialised(session, [[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    assert session.run(v.sparse_read([1])).tolist() == [[3, 4]]
    assert session.run(tf.gather(v, [1, 0])).tolist() == [[3, 4], [1, 2]]
    assert session.run(v.gather_nd([[1, 0]])).tolist() == [3]


@both
def test_gradients_flow_to_variables(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    loss = tf.reduce_sum(v * v) + tf.reduce_sum(tf.gather(v, [1, 1]))
    (grad,) = tf.gradients(loss, [v])
    assert session.run(tf.convert_to_tensor(grad)).tolist() == [2, 6]


@both
def test_strings_can_be_held(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, ["a", "b"], use_resource=use_resource)
    assert session.run(v.assign(["x", "yz"])).tolist() == [b"x", b"yz"]


@both
def test_a_variable_may_begin_as_another_is(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    w = tf.Variable(v * 2, use_resource=use_resource)
    session.run(tf.global_variables_initializer())
    assert session.run(w).tolist() == [2, 4]


@both
def test_an_initialized_value_is_the_initial_one_until_there_is_another(
    session: tf.Session, use_resource: bool
) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    w = tf.Variable(v.initialized_value() * 2, use_resource=use_resource)
    session.run(w.initializer)
    assert session.run(w).tolist() == [2, 4]
    session.run(v.assign([5.0, 6.0]))
    session.run(w.initializer)
    assert session.run(w).tolist() == [10, 12]


@both
def test_threads_lose_no_locked_updates(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, np.zeros(100, "f4"), use_resource=use_resource)
    update = v.assign_add(np.ones(100, "f4"), use_locking=True, read_value=False)
    threads = [threading.Thread(target=lambda: [session.run(update) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(session.run(v).tolist()) == {200}


# --- shapes and arguments -------------------------------------------------------------------------------


@both
def test_shapes_are_checked(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [1.0, 2.0], use_resource=use_resource)
    fed = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="2"):
        v.assign([1.0])
    with pytest.raises(errors.InvalidArgumentError, match=r"lhs shape= \[2\] rhs shape= \[1\]"):
        session.run(v.assign(fed), {fed: [1.0]})
    with pytest.raises(ValueError, match="initial_value must have a shape specified"):
        tf.Variable(fed, use_resource=use_resource)


def test_an_unvalidated_variable_can_change_its_shape(session: tf.Session) -> None:
    fed = tf.placeholder(tf.float32)
    v = tf.Variable(fed, validate_shape=False)
    assert v.shape.ndims is None
    session.run(v.initializer, {fed: [[1, 2]]})
    assert session.run(tf.assign(v, [5.0], validate_shape=False)).tolist() == [5]


@both
def test_a_shape_may_be_more_general_than_the_initial_value(session: tf.Session, use_resource: bool) -> None:
    v = initialised(session, [[1.0, 2.0]], shape=tf.TensorShape([None, 2]), use_resource=use_resource)
    assert v.shape.as_list() == [None, 2]
    assert tf.convert_to_tensor(v).shape.as_list() == [None, 2]
    assert session.run(v).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match=r"compatible"):
        tf.Variable([1.0], shape=[3], use_resource=use_resource)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="must be a list, tuple, or set"):
        tf.Variable(1.0, collections="variables")
    with pytest.raises(ValueError, match="`constraint` argument must be a callable"):
        tf.Variable(1.0, constraint=3)


@both
def test_variables_built_under_control_dependencies_do_not_wait(use_resource: bool) -> None:
    with tf.control_dependencies([tf.constant(1.0)]):
        v = tf.Variable(1.0, use_resource=use_resource)
    assert v.initializer.control_inputs == v.op.control_inputs == []


# --- collections and initialisation ---------------------------------------------------------------------


@both
def test_variables_are_in_their_collections(use_resource: bool) -> None:
    a = tf.Variable(1.0, name="a", use_resource=use_resource)
    b = tf.Variable(1.0, trainable=False, use_resource=use_resource, name="b")
    c = tf.Variable(1.0, collections=[GraphKeys.LOCAL_VARIABLES], trainable=False, use_resource=use_resource)
    d = tf.Variable(1.0, collections=(GraphKeys.MODEL_VARIABLES, "mine"), use_resource=use_resource, name="d")
    assert tf.global_variables() == tf.all_variables() == [a, b]
    assert tf.trainable_variables() == [a, d]
    assert tf.local_variables() == [c]
    assert tf.model_variables() == tf.get_collection("mine") == [d]
    assert tf.moving_average_variables() == []
    assert tf.global_variables("b") == [b]


def test_initializers_run_what_there_was_when_they_were_made(session: tf.Session) -> None:
    v = tf.Variable(1.0)
    local = tf.Variable(2.0, collections=[GraphKeys.LOCAL_VARIABLES], trainable=False)
    init = tf.global_variables_initializer()
    later = tf.Variable(3.0)
    assert init.name == "init"
    session.run(init)
    assert session.run([tf.is_variable_initialized(x) for x in (v, local, later)]) == [True, False, False]
    session.run([tf.local_variables_initializer(), tf.variables_initializer([later], name="more")])
    assert session.run([v, local, later]) == [1, 2, 3]
    assert isinstance(tf.variables_initializer([]), tf.Operation)
    assert isinstance(tf.initialize_all_variables(), tf.Operation)
    assert isinstance(tf.initialize_local_variables(), tf.Operation)
    assert isinstance(tf.initialize_variables([v]), tf.Operation)


@both
def test_uninitialized_variables_are_reported_by_name(session: tf.Session, use_resource: bool) -> None:
    a, b = (tf.Variable(1.0, name=n, use_resource=use_resource) for n in "ab")
    report = tf.report_uninitialized_variables()
    assert session.run(report).tolist() == [b"a", b"b"]
    session.run(a.initializer)
    assert session.run(report).tolist() == [b"b"]
    assert session.run(tf.report_uninitialized_variables([a])).tolist() == []
    check = tf.assert_variables_initialized()
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value b"):
        session.run(check)
    session.run(b.initializer)
    session.run(check)


def test_without_variables_there_is_nothing_to_report(session: tf.Session) -> None:
    assert session.run(tf.report_uninitialized_variables()).tolist() == []
    assert tf.assert_variables_initialized() is None


def test_each_session_has_values_of_its_own(graph: tf.Graph) -> None:
    v = tf.Variable(1.0)
    with tf.Session() as one, tf.Session() as other:
        one.run(v.initializer)
        with pytest.raises(errors.FailedPreconditionError):
            other.run(v)


# --- messages -------------------------------------------------------------------------------------------


@both
def test_a_variable_survives_its_message(session: tf.Session, use_resource: bool) -> None:
    with tf.name_scope("s"):
        v = initialised(session, [1.0, 2.0], name="v", trainable=False, use_resource=use_resource)
    v._set_save_slice_info(SaveSliceInfo("whole", [4], [2], [2]))
    again = tf.Variable.from_proto(v.to_proto())
    assert type(again) is type(v)
    assert (again.name, again.op, again.initializer, again.trainable) == ("s/v:0", v.op, v.initializer, False)
    assert again.initial_value is v.initial_value
    assert again._get_save_slice_info().spec == "4 2,2"
    assert session.run(again + 1).tolist() == [2, 3]
    assert v.to_proto(export_scope="s").variable_name == "v:0"
    assert v.to_proto(export_scope="other") is None


@both
def test_a_message_finds_imported_nodes(use_resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], name="v", use_resource=use_resource)
    message, graph_def = v.to_proto(), v.graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="i")
        again = tf.Variable(variable_def=message, import_scope="i")
        session.run(again.initializer)
        assert again.name == "i/v:0"
        assert session.run(again).tolist() == [1, 2]
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.Variable(1.0, variable_def=message)
