"""Building a graph: names, scopes, control dependencies, devices, collections, threads."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_are_made_unique_whatever_their_case() -> None:
    names = [tf.constant(1, name=n).op.name for n in ("a", "a", "A", "a_1", "a")]
    assert names == ["a", "a_1", "A_2", "a_1_1", "a_3"]


def test_a_name_scope_prefixes_names_and_can_be_entered_again() -> None:
    with tf.name_scope("outer") as scope:
        assert scope == "outer/"
        a = tf.constant(1, name="a")
        with tf.name_scope("inner"):
            b = tf.constant(1, name="b")
    with tf.name_scope("outer"):
        c = tf.constant(1, name="a")
    with tf.name_scope(scope):
        d = tf.constant(1, name="a")
    with tf.name_scope("x"), tf.name_scope(None, default_name="y", values=[a]):
        e = tf.constant(1, name="e")
    assert [t.op.name for t in (a, b, c, d, e)] == [
        "outer/a",
        "outer/inner/b",
        "outer_1/a",
        "outer/a_1",
        "x/y/e",
    ]


@pytest.mark.parametrize("name", ["a b", "_leading", "a:0", "ü"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(1, name=name)
    with pytest.raises(ValueError, match="not a valid"), tf.name_scope(name):
        pass


def test_elements_are_found_by_name(graph: tf.Graph) -> None:
    a = tf.constant([1.0, 2.0], name="a")
    assert graph.get_tensor_by_name("a:0") is a
    assert graph.get_operation_by_name("a") is a.op
    assert graph.as_graph_element("a:0") is a
    assert graph.get_operations() == [a.op]
    with pytest.raises(KeyError, match="b:0"):
        graph.get_tensor_by_name("b:0")
    with pytest.raises(KeyError, match="only 1 outputs"):
        graph.get_tensor_by_name("a:1")
    with pytest.raises(ValueError, match="names an Operation"):
        graph.get_tensor_by_name("a")
    with pytest.raises(TypeError):
        graph.get_operation_by_name(3)  # type: ignore[arg-type]


def test_control_dependencies_nest_and_can_be_forgotten() -> None:
    a, b = tf.no_op("a"), tf.no_op("b")
    with tf.control_dependencies([a]):
        with tf.control_dependencies([b]):
            both = tf.no_op()
        with tf.control_dependencies(None):
            none = tf.no_op()
        one = tf.constant(1.0)
        follows = tf.identity(one)
    assert both.control_inputs == [a, b]
    assert none.control_inputs == []
    assert one.op.control_inputs == [a]
    assert follows.op.control_inputs == [], "implied by its input, which waits already"


def test_device_scopes_merge_inner_over_outer(graph: tf.Graph) -> None:
    with tf.device("/job:worker/task:1"):
        with tf.device("/cpu:0"):
            a = tf.constant(1)
        with tf.device("/task:2"):
            b = tf.constant(1)
        with tf.device(None):
            c = tf.constant(1)
        with tf.device(lambda op: "/device:GPU:1" if op.type == "NoOp" else "/cpu:3"):
            d, e = tf.no_op(), tf.constant(1)
    assert a.device == "/job:worker/task:1/device:CPU:0"
    assert b.device == "/job:worker/task:2"
    assert c.device == ""
    assert d.device == "/job:worker/task:1/device:GPU:1"
    assert e.device == "/job:worker/task:1/device:CPU:3"


def test_colocation_follows_its_target_not_the_open_device_scope() -> None:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.device("/gpu:0"), tf.colocate_with(a):
        b = tf.constant(1)
    assert b.op.colocation_groups() == [b"loc:@a"]
    assert b.device == "/device:CPU:0"
    assert a.op.colocation_groups() == [b"loc:@a"]


def test_collections_keep_what_they_are_given(graph: tf.Graph) -> None:
    a = tf.constant(1, name="x/a")
    tf.add_to_collection("things", a)
    tf.add_to_collection("things", 7)
    assert tf.get_collection("things") == [a, 7]
    assert tf.get_collection("things", scope="x") == [a]
    tf.get_collection_ref("things").clear()
    assert tf.get_collection("things") == []


def test_a_finalized_graph_cannot_change(graph: tf.Graph) -> None:
    a = tf.constant(1.0)
    graph.finalize()
    for change in (lambda: tf.constant(2.0), lambda: a + a, lambda: tf.add_to_collection("k", 1)):
        with pytest.raises(RuntimeError, match="finalized"):
            change()
    assert len(graph.get_operations()) == 1


def test_tensors_of_two_graphs_do_not_mix() -> None:
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(1.0)
        with pytest.raises(ValueError, match="another graph"):
            tf.add(a, b)


@pytest.mark.parametrize("use_resource", [False, True])
def test_what_is_built_of_a_graphs_nodes_is_in_it_whatever_the_default_graph_is(use_resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3])
        v = tf.Variable(tf.ones([3]), use_resource=use_resource)
    assigned = v.assign([1.0, 2.0, 3.0])
    called = tf.py_func(lambda a: a * 2, [x], tf.float32)
    assert all(made.graph is graph for made in (assigned, called, x + v, 2.0 * x))
    with tf.Session(graph=graph) as session:
        session.run(assigned)
        assert session.run(v).tolist() == [1, 2, 3]
        assert session.run(called, {x: [1, 2, 3]}).tolist() == [2, 4, 6]


def test_a_node_remembers_the_line_that_built_it() -> None:
    a = tf.constant(1.0) + 2.0
    assert "test_graph.py" in a.op.user_line
    assert "a = tf.constant(1.0) + 2.0" in a.op.user_line
    assert a.op.traceback[-1][2] == "test_a_node_remembers_the_line_that_built_it"


def test_a_shape_mismatch_names_the_node_both_shapes_and_the_lines(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    w = tf.placeholder(tf.float32, [4, 5], name="w")
    with pytest.raises(ValueError, match=r"(?s)3 and 4.*'product'.*\(2, 3\), \(4, 5\).*tf\.matmul\(x, w.*x:0"):
        tf.matmul(x, w, name="product")
    assert {op.name for op in graph.get_operations()} == {"x", "w"}


def test_many_threads_build_one_graph_each_in_scopes_of_its_own(graph: tf.Graph) -> None:
    def build(i: int) -> None:
        with graph.as_default(), tf.name_scope(f"thread{i}"), tf.device(f"/cpu:{i}"):
            x = tf.constant(0.0, name="start")
            for _ in range(50):
                x = tf.add(x, 1.0, name="step")

    threads = [threading.Thread(target=build, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ops = graph.get_operations()
    assert len(ops) == 8 * 101
    assert len({op.name for op in ops}) == len(ops)
    assert all(op.device == f"/device:CPU:{op.name.split('/')[0].removeprefix('thread')}" for op in ops)


def test_a_message_of_a_graph_has_all_inputs_of_its_nodes_while_a_thread_adds_gradients_of_a_loop() -> None:
    """Those give nodes of the loop control inputs that are built later."""

    class Slow(tf.Graph):
        def get_operations(self) -> list[tf.Operation]:
            found = super().get_operations()
            if builders:
                builders[0].start()
                builders.pop().join(0.3)
            return found

    graph = Slow()
    builders: list[threading.Thread] = []

    def differentiate() -> None:
        with graph.as_default():
            tf.gradients(loop, x)

    with graph.as_default():
        x = tf.constant(2.0)
        loop = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v), (0, x))[1]
        tf.gradients(loop, x)
        builders.append(builder := threading.Thread(target=differentiate))
        message = graph.as_graph_def()
    builder.join()
    names = {node.name for node in message.node}
    assert {text.lstrip("^").partition(":")[0] for node in message.node for text in node.input} <= names
    assert len(graph.get_operations()) > len(names)
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.import_graph_def(message, return_elements=[loop.name])) == [256.0]


def test_a_constant_does_not_follow_the_array_it_was_made_from() -> None:
    array = np.ones(3, np.float32)
    c = tf.constant(array)
    array[:] = 7
    with tf.Session() as session:
        assert session.run(c).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "int32"), (2**40, "int64"), (1.5, "float32"), (True, "bool"), ("s", "string"), (1j, "complex128"),
     (np.float64(1), "float64"), ([[1, 2]], "int32"), ([1, 2.5], "float32"), (np.int8(1), "int8")],
)  # fmt: skip
def test_constants_get_the_dtype_that_tensorflow_chooses(value: object, dtype: str) -> None:
    assert tf.constant(value).dtype.name == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [(1.5, tf.int32, TypeError), ("s", tf.float32, TypeError), ([[1], [2, 3]], None, ValueError),
     (None, None, ValueError), (300.0, tf.uint8, TypeError), (object(), None, TypeError), (1, tf.bool, TypeError)],
)  # fmt: skip
def test_a_constant_that_does_not_fit_its_dtype_is_refused(value: object, dtype: object, error: type) -> None:
    with pytest.raises(error):
        tf.constant(value, dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_dimensions_are_numbers_of_constants_of_an_integer_type(dtype: str) -> None:
    both, one = tf.constant([10, tf.Dimension(20)], dtype), tf.constant(tf.Dimension(3), dtype)
    with tf.Session() as session:
        assert [value.tolist() for value in session.run([both, one])] == [[10, 20], 3]
    for value in ([10, tf.Dimension(20)], tf.Dimension(3)):
        for other in (None, "float32"):
            with pytest.raises(TypeError):
                tf.constant(value, other)
    with pytest.raises(TypeError, match="unknown Dimension"):
        tf.constant([tf.Dimension(None)], dtype)


def test_attributes_are_inferred_and_checked() -> None:
    assert tf.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)).op.get_attr("T") == tf.float32
    with pytest.raises(TypeError, match="allowed values"):
        tf.matmul([["a"]], [["b"]])
    with pytest.raises((TypeError, ValueError), match=r"float32.*float64|float64.*float32"):
        tf.add(tf.constant(1.0), tf.constant(1.0, tf.float64))


def test_get_attr_gives_shapes_and_tensors_as_messages() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert [dim.size for dim in x.op.get_attr("shape").dim] == [-1, 3]
    assert tf.make_ndarray(tf.constant([1, 2]).op.get_attr("value")).tolist() == [1, 2]
    queue = tf.FIFOQueue(4, ["float32"], shapes=[[2]])
    assert [[dim.size for dim in shape.dim] for shape in queue.queue_ref.op.get_attr("shapes")] == [[2]]


def test_an_operation_prints_its_node_def_and_takes_attributes() -> None:
    op = tf.negative(tf.placeholder(tf.float32, name="x"), name="y").op
    assert (
        str(op) == """name: "y"\nop: "Neg"\ninput: "x"\nattr {\n  key: "T"\n  value {\n    type: DT_FLOAT\n  }\n}\n"""
    )
    op.mine = 3
    assert op.mine == 3


def test_shapes_of_two_tensors_are_equal_only_if_all_sizes_are_known() -> None:
    x, y = (tf.placeholder(tf.float32, [None, 3]) for _ in range(2))
    assert x.shape == x.get_shape()
    for other in (y, tf.nn.relu(x), tf.identity(x)):
        assert operator.eq(x.shape, other.shape) is False
        assert operator.ne(x.shape, other.shape) is True
    known = tf.zeros([2, 3])
    assert tf.nn.relu(known).shape == known.shape == [2, 3]
    y.set_shape(x.shape)
    assert x.shape != y.shape
    shape = tf.TensorShape([None])
    assert tf.placeholder(tf.float32, shape).shape != shape


def test_a_tensor_is_no_bool_no_sequence_and_no_array() -> None:
    t = tf.constant([1.0])
    for use in (bool, iter, len):
        with pytest.raises(TypeError):
            use(t)
    with pytest.raises(NotImplementedError):
        np.array(t)
    assert {t: 1}[t] == 1
    assert (t == t) is True


def test_resetting_the_default_graph_starts_over() -> None:
    code = []

    def in_thread() -> None:  # a thread has no as_default stack of its own
        before = tf.get_default_graph()
        tf.reset_default_graph()
        code.append(tf.get_default_graph() is not before)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert code == [True]
    with pytest.raises(AssertionError):
        tf.reset_default_graph()


def test_a_tensor_as_text_is_what_tensorflow_shows() -> None:
    with tf.Graph().as_default():
        assert str(tf.placeholder(tf.int32, name="x")) == 'Tensor("x:0", dtype=int32)'
        with tf.device("/cpu:0"):
            y = tf.placeholder(tf.float32, [None, 2], name="y")
        assert str(y) == 'Tensor("y:0", shape=(?, 2), dtype=float32, device=/device:CPU:0)'


def test_classes_of_others_take_the_operators_of_tensors_by_their_names() -> None:
    """As Edward's random variables do."""

    class Drawn:
        def __init__(self, value: tf.Tensor) -> None:
            self.value = value

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        defer = getattr(tf.Tensor, name)
        setattr(Drawn, name, lambda self, *others, _defer=defer: _defer(self.value, *others))
    assert {"__add__", "__rsub__", "__getitem__", "__neg__"} <= tf.Tensor.OVERLOADABLE_OPERATORS
    x = Drawn(tf.constant([1.0, 2.0]))
    with tf.Session() as session:
        assert session.run((x + 1.0)[1] - (-x)[0]) == 4.0  # type: ignore[operator]


def test_libraries_set_attributes_of_their_own_on_tensors() -> None:
    """As TFLearn's layers do, which keep their variables so."""
    x = tf.constant([1.0])
    x.scope = "dense"
    assert x.scope == "dense"
    assert not hasattr(x + 1.0, "scope")


def test_tensors_in_a_list_are_cast_if_the_first_has_another_type_than_is_asked_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        whole, half = tf.constant(1), tf.constant(2.5)
        found = session.run([tf.convert_to_tensor([whole, half, 3.5], tf.float32), half * [[whole], [whole]]])
        assert [value.tolist() for value in found] == [[1.0, 2.5, 3.5], [[2.5], [2.5]]]
        assert session.run(tf.tile([1], [half])).tolist() == [1, 1]
        for mixed in ([half, whole], [[whole, half]]):
            assert session.run(tf.convert_to_tensor(mixed, tf.float64)).dtype == np.float64
        with pytest.raises((TypeError, ValueError), match="int32"):
            tf.convert_to_tensor([whole, 2.5])


def test_libraries_read_what_tensorflow_keeps_in_a_graph(graph: tf.Graph) -> None:
    assert list(graph._nodes_by_name) == []
    with tf.name_scope("block"):
        assert graph._name_stack == "block"
        _, index = tf.nn.top_k([[1.0, 2.0]], name="best")
    assert graph._name_stack == ""
    assert graph._nodes_by_name["block/best"] is index.op
    assert index.op._output_types == [1, 3]  # DT_FLOAT and DT_INT32
