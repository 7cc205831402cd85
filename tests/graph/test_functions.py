"""Graph functions: what is taken from outside, how they run, and how they are written and read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.client.defun import Defun
from penstock.graph.functions import trace
from penstock.graph.graph_function import GraphFunction
from penstock.graph.opdef import get_op
from penstock.tensor.shapes import TensorShape

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def function(fn: Callable[..., Any], *shapes: Sequence[int | None] | None, dtype: Any = tf.float32) -> GraphFunction:
    return trace(fn, [dtype] * len(shapes), [TensorShape(shape) for shape in shapes], fn.__name__)


def call(fn: GraphFunction, *args: Any) -> Any:
    """The results of a node that calls it."""
    inputs = [tf.convert_to_tensor(arg) for arg in (*args, *fn.captured)]
    return get_op("StatefulPartitionedCall")(inputs, Tout=[t.dtype for t in fn.results], f=fn)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_tensors_from_outside_become_arguments_and_constants_are_copied() -> None:
    constant, fed = tf.constant(3.0), tf.placeholder(tf.float32, [2])
    fn = function(lambda x: [x * constant + fed + fed], [2])
    assert fn.captured == [fed]
    assert len(fn.arguments) == 2
    assert [t.as_list() for t in (fn.arguments[1].shape, fn.results[0].shape)] == [[2], [2]]
    np.testing.assert_array_equal(run(call(fn, [1.0, 2.0]), {fed: [10, 20]})[0], [23.0, 46.0])


def test_a_function_in_a_function_takes_from_the_outermost_graph() -> None:
    fed = tf.placeholder(tf.float32, [])

    def outer(x: Any) -> list[Any]:
        inner = function(lambda y: [y * fed + x], [])
        return list(call(inner, x + 1))

    fn = function(outer, [])
    assert fn.captured == [fed]
    assert run(call(fn, 5.0), {fed: 10})[0] == 65.0


def test_variables_are_read_at_each_call_and_may_be_changed() -> None:
    counter = tf.get_variable("counter", initializer=0.0, use_resource=True)

    def step(x: Any) -> list[Any]:
        counter.assign_add(x)  # nothing takes its result
        return [x * 2]

    doubled = call(function(step, []), 3.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(doubled)[0] for _ in range(3)] == [6.0] * 3
        assert session.run(counter) == 9.0


def test_what_was_read_of_a_variable_does_not_change_with_it() -> None:
    variable = tf.get_variable("v", initializer=np.zeros(3, np.float32), use_resource=True)

    def step(x: Any) -> list[Any]:
        before = variable.read_value()
        with tf.control_dependencies([before]):
            variable.assign_add([1.0, 1.0, 1.0])
        return [before]

    before = call(function(step, []), 0.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(before)[0].tolist() for _ in range(3)]
    assert found == [[0.0] * 3, [1.0] * 3, [2.0] * 3]


def test_a_reference_is_refused_with_its_line() -> None:
    variable = tf.Variable(1.0)

    def assign(x: Any) -> list[Any]:
        return [tf.assign(variable, x)]

    with pytest.raises(ValueError, match=r"(?s)test_functions.py.*is a reference"):
        function(assign, [])


def test_by_value_placeholders_and_state_cannot_be_captured() -> None:
    fed, drawn, known = tf.placeholder(tf.float32), tf.random_uniform([]), tf.constant(2.0) * 3
    assert trace(lambda: [known], [], [], "known", by_value=True).captured == []
    with pytest.raises(ValueError, match="Cannot capture a placeholder"):
        trace(lambda: [fed], [], [], "fed", by_value=True)
    with pytest.raises(ValueError, match="Cannot capture a stateful node"):
        trace(lambda: [drawn], [], [], "drawn", by_value=True)


def test_an_error_names_the_line_inside_the_function() -> None:
    fn = function(lambda x: [tf.check_numerics(1.0 / x, "is not finite")], [])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)is not finite.*in <lambda>: .*1.0 / x") as error:
        run(call(fn, 0.0))
    assert error.value.op is not None and error.value.op.type == "CheckNumerics"


def test_random_ops_of_two_functions_are_different_streams_and_go_on() -> None:
    first = function(lambda x: [tf.random_uniform([4]) + x], [])
    second = function(lambda x: [tf.random_uniform([4]) + x], [])
    outputs = [call(first, 0.0)[0], call(second, 0.0)[0]]
    with tf.Session() as session:
        found = [row for _ in range(2) for row in session.run(outputs)]
    assert len(np.unique(np.concatenate(found))) == 16


def test_functions_are_called_from_many_threads() -> None:
    fn = function(lambda x: [tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + x), [0, x * 0])[1]], [None])
    fed = tf.placeholder(tf.float32, [None])
    output = call(fn, fed)[0]
    wrong: list[Any] = []
    with tf.Session() as session:

        def work(size: int) -> None:
            for i in range(50):
                found = session.run(output, {fed: [float(i)] * size})
                if found.tolist() != [10.0 * i] * size:
                    wrong.append(found)

        threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_graph_with_functions_is_written_and_read_back(graph: tf.Graph) -> None:
    table = tf.placeholder(tf.float32, [3], name="table")

    def body(x: Any) -> list[Any]:
        first, second = tf.split(table * x, [1, 2])
        return [tf.cond(x > 0, lambda: second, lambda: second - 1), tf.as_string(first)]

    tf.identity(call(function(body, []), tf.placeholder(tf.float32, [], name="x"))[0], name="y")
    message = graph.as_graph_def()
    assert [f.signature.name for f in message.library.function] == ["body"]
    expected = run("y:0", {"x:0": -1, "table:0": [1, 2, 3]})
    with tf.Graph().as_default() as again:
        tf.import_graph_def(message, name="")
        assert again.as_graph_def() == message
        np.testing.assert_array_equal(run("y:0", {"x:0": -1, "table:0": [1, 2, 3]}), expected)


def test_functions_of_one_name_in_two_messages_stay_two() -> None:
    messages = []
    for factor in (2.0, 3.0):
        with tf.Graph().as_default() as graph:
            fn = trace(lambda x, factor=factor: [x * factor], [tf.float32], [TensorShape([])], "scale")
            tf.identity(call(fn, 1.0)[0], name="y")
            messages.append(graph.as_graph_def())
    first, second = (tf.import_graph_def(m, return_elements=["y:0"])[0] for m in messages)  # type: ignore[index]
    assert run([first, second]) == [2.0, 3.0]
    names = [f.signature.name for f in tf.get_default_graph().as_graph_def().library.function]
    assert names == ["scale", "scale_1"]


def test_a_message_without_its_function_or_with_one_that_calls_itself_is_refused(graph: tf.Graph) -> None:
    tf.identity(call(function(lambda x: [x * 2], []), 1.0)[0], name="y")
    message = graph.as_graph_def()
    name = message.library.function[0].signature.name
    circle = tf.GraphDef()
    circle.CopyFrom(message)
    node = circle.library.function[0].node_def.add()
    node.CopyFrom(next(n for n in message.node if n.op == "StatefulPartitionedCall"))
    del node.input[:]
    node.input.append("arg0")
    del message.library.function[:]
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=rf"no library|not in the library|{name}"):
            tf.import_graph_def(message)
        with pytest.raises(ValueError, match="calls itself"):
            tf.import_graph_def(circle)


@pytest.mark.parametrize(("count", "refused"), [(30, False), (2000, True)])
def test_a_long_chain_of_functions_is_refused(count: int, refused: bool) -> None:
    message = tf.GraphDef()
    for i in range(count):
        made = message.library.function.add()
        made.signature.name = f"f{i}"
        if i < count - 1:
            made.node_def.add(name="call", op=f"f{i + 1}")
    message.node.add(name="call", op="f0")
    if refused:
        with pytest.raises(ValueError, match="is called by more than 50 functions"):
            tf.import_graph_def(message, name="")
    else:
        tf.import_graph_def(message, name="")
        run(tf.get_default_graph().get_operation_by_name("call"))


def test_functions_and_datasets_made_by_tensorflow_run() -> None:
    message = tf.GraphDef.FromString((DATA / "tensorflow_functions.pb").read_bytes())
    tf.import_graph_def(message, name="")
    with tf.Session() as session:
        assert session.run(["by_name:0", "by_attribute:0"]) == [1.0, 19.0]
        session.run("MakeIterator")
        rows, texts = session.run(["rows:0", "rows:1"])
        np.testing.assert_array_equal(rows, [[9.0, 12.0], [13.0, 16.0]])
        assert texts.tolist() == [[b"2"], [b"2"]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run("rows:0")


def test_what_is_built_in_an_init_scope_is_outside_of_functions_loops_and_control_dependencies() -> None:
    built = []

    def body(i: Any) -> Any:
        with tf.name_scope("inner"), tf.control_dependencies([i]), tf.init_scope():
            built.append(tf.Variable(3, name="step"))
        return i + built[0]

    with tf.name_scope("outer"):
        loop = tf.while_loop(lambda i: i < 10, body, [0])
    doubled = tf.data.Dataset.from_tensors(5).map(lambda x: x + with_constant_outside(built))
    found = doubled.make_one_shot_iterator().get_next()
    assert run([loop, found]) == [12, 11]
    assert built[0].op.name == "outer/while/inner/step"
    assert [op.graph is tf.get_default_graph() for op in (built[0].op, built[1].op)] == [True, True]
    assert built[0].initializer.control_inputs == []


def with_constant_outside(built: list[Any]) -> Any:
    with tf.init_scope():
        built.append(tf.constant(6))
    return built[-1]


def test_a_symbolic_gradient_of_an_imported_graph_is_the_functions_own() -> None:
    @Defun(tf.float32, tf.float32)
    def thrice(x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:  # not the derivative of what follows
        return 3.0 * dy * x

    @Defun(tf.float32, grad_func=thrice, noinline=True)
    def double(x: tf.Tensor) -> tf.Tensor:
        return 2.0 * x

    with tf.Graph().as_default() as made:
        double(tf.constant(5.0))
        message = made.as_graph_def()
    (entry,) = message.library.gradient
    message.node.add(name="dy", op="Const")
    message.node[-1].attr["dtype"].type = tf.float32.as_datatype_enum
    message.node[-1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(7.0))
    node = message.node.add(name="dx", op="SymbolicGradient", input=[message.node[0].name, "dy"])
    node.attr["f"].func.name = entry.function_name
    node.attr["Tin"].list.type.extend([1, 1])
    node.attr["Tout"].list.type.append(1)
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        assert run(tf.get_default_graph().get_tensor_by_name("dx:0")) == 105.0
