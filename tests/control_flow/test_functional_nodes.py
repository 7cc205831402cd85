"""If, Case, While and calls of functions as nodes: they run as if their bodies were there, and have gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.functions import trace
from penstock.graph.graph_function import GraphFunction
from penstock.graph.opdef import get_op
from penstock.graph.rewrite import remove_unused
from penstock.passes.inline_functions import inline_functions
from penstock.passes.prune import prune
from penstock.tensor.shapes import TensorShape

SCALAR = TensorShape([])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def function(fn: Callable[..., Any], *dtypes: Any) -> GraphFunction:
    return trace(fn, list(dtypes), [SCALAR] * len(dtypes), "f")


def call(fn: GraphFunction, *args: Any) -> Any:
    inputs = [tf.convert_to_tensor(arg) for arg in (*args, *fn.captured)]
    return get_op("StatefulPartitionedCall")(inputs, Tout=[t.dtype for t in fn.results], f=fn)


def repeated(condition: Callable[..., Any], body: Callable[..., Any], *values: Any) -> Any:
    tensors = [tf.convert_to_tensor(value) for value in values]
    dtypes = [t.dtype for t in tensors]
    return get_op("While")(tensors, T=dtypes, cond=function(condition, *dtypes), body=function(body, *dtypes))


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


@pytest.mark.parametrize(("value", "expected"), [(True, 6.0), (False, 9.0), (0.0, 9.0), (-2, 6.0), (b"", 9.0)])
def test_if_takes_what_is_not_nothing_for_true(value: Any, expected: float) -> None:
    x = tf.constant(3.0)
    double, square = function(lambda x: [x * 2], tf.float32), function(lambda x: [x * x], tf.float32)
    y = get_op("StatelessIf")(value, [x], Tout=["float32"], then_branch=double, else_branch=square)[0]
    assert run([y, tf.gradients(y, x)[0]]) == [expected, 2.0 if expected == 6.0 else 6.0]


def test_only_the_branch_that_is_taken_has_effects() -> None:
    counter = tf.get_variable("counter", initializer=0.0, use_resource=True)

    def count() -> list[Any]:
        counter.assign_add(1.0)
        return []

    pred = tf.placeholder(tf.bool, [])
    branches = {"then_branch": function(count), "else_branch": function(list)}
    get_op("If")(pred, [], Tout=[], name="either", **branches)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (True, False, True):
            session.run("either", {pred: value})
        assert session.run(counter) == 2.0


@pytest.mark.parametrize(("index", "expected"), [(0, 3.0), (1, 6.0), (2, 9.0), (7, 9.0), (-1, 9.0)])
def test_case_takes_the_last_branch_for_an_index_out_of_range(index: int, expected: float) -> None:
    branches = [function(lambda x, k=k: [x * k], tf.float32) for k in (1.0, 2.0, 3.0)]
    x = tf.constant(3.0)
    y = get_op("StatelessCase")(index, [x], Tout=["float32"], branches=branches)[0]
    assert run([y, tf.gradients(y, x)[0]]) == [expected, expected / 3]


def test_a_while_has_first_and_second_derivatives() -> None:
    n, x = tf.constant(4), tf.placeholder(tf.float32, [])
    _, _, y, _ = repeated(
        lambda i, n, s, x: [i < n], lambda i, n, s, x: [i + 1, n, s * x, x], 0, n, tf.constant(1.0), x
    )
    (first,) = tf.gradients(y, x)
    assert run([y, first, tf.gradients(first, x)[0]], {x: 3.0}) == [81.0, 108.0, 108.0]


def test_what_comes_after_a_call_sees_its_effects() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    def double() -> list[Any]:
        v.assign(v * 2.0)
        return [tf.constant(0.0)]

    result = call(function(double))[0]
    with tf.control_dependencies([result.op]):
        after = v.read_value()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(after) for _ in range(3)] == [2.0, 4.0, 8.0]


def test_a_call_in_a_branch_that_is_not_taken_does_not_run() -> None:
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    def count() -> list[Any]:
        v.assign_add(1.0)
        return [tf.constant(5.0)]

    pred = tf.placeholder(tf.bool, [])
    y = tf.cond(pred, lambda: call(function(count))[0], lambda: tf.constant(1.0))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(y, {pred: p}) for p in (True, False, False)] == [5.0, 1.0, 1.0]
        assert session.run(v) == 1.0


def test_the_gradient_of_a_call_goes_through_the_draw_of_the_call() -> None:
    x = tf.constant(1.0)
    y = call(function(lambda x: [x * tf.random_uniform([])], tf.float32), x)[0]
    value, gradient = run([y, tf.gradients(y, x)[0]])
    assert value == gradient


def test_variables_used_in_a_function_get_gradients() -> None:
    v = tf.get_variable("v", initializer=3.0, use_resource=True)
    y = call(function(lambda x: [call(function(lambda t: [t * v * v], tf.float32), x)[0] + x], tf.float32), 2.0)[0]
    assert run([y, *tf.gradients(y, [v])]) == [20.0, 12.0]


def test_a_loop_of_tf_while_loop_in_a_function_has_a_gradient() -> None:
    def power(x: Any) -> list[Any]:
        return [tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, call(square, s)[0] * x), [0, x])[1]]

    square = function(lambda x: [x * x], tf.float32)
    x = tf.constant(1.1)
    y = call(function(power, tf.float32), x)[0]
    np.testing.assert_allclose(run([y, tf.gradients(y, x)[0]]), [1.1**15, 15 * 1.1**14], rtol=1e-5)


def test_steps_are_one_graph_without_calls() -> None:
    x = tf.placeholder(tf.float32, [])
    y = call(function(lambda x: [call(function(lambda t: [t * 2], tf.float32), x)[0] + 1], tf.float32), x)[0]
    with tf.Session() as session:
        assert "PartitionedCall =" not in str(session.explain(y, {x: 1.0}))
        assert session.run(y, {x: 2.0}) == 5.0


def test_a_loop_that_hands_on_a_variable_is_one_compiled_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """As SavedModels of TensorFlow 2 have them: handles are variables of their loops, and outputs."""
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    variable = tf.get_variable("v", initializer=[0.5, 0.25], use_resource=True)
    x = tf.placeholder(tf.float32, [2])

    def body(i: Any, y: Any, handle: Any) -> list[Any]:
        return [i + 1, tf.tanh(y) * tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) + y, handle]

    dtypes, shapes = [tf.int32, tf.float32, tf.resource], [SCALAR, TensorShape([2]), SCALAR]
    condition = trace(lambda i, y, handle: [i < 3], dtypes, shapes, "condition")
    inputs = [tf.constant(0), x, variable.handle]
    found = get_op("While")(inputs, T=dtypes, cond=condition, body=trace(body, dtypes, shapes, "body"))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = np.array([1.0, 2.0])
        for _ in range(3):
            expected = np.tanh(expected) * [0.5, 0.25] + expected
        np.testing.assert_allclose(session.run(found[1], {x: [1.0, 2.0]}), expected, 1e-6)
        text = str(session.explain(found[1], {x: [1.0, 2.0]}))
        assert text.count("= _region(") == 1
        assert "count()" not in text


def test_what_a_loop_keeps_is_pruned_if_nothing_uses_it_and_nothing_happens_in_the_loop() -> None:
    """Loops of TensorFlow 2 whose graph has their gradient keep values for it in every step."""
    kept = get_op("EmptyTensorList")(-1, -1, element_dtype=tf.float32)
    pushed, push = tf.get_variable("pushed", initializer=0.0, use_resource=True), get_op("TensorListPushBack")

    def body(i: Any, x: Any, kept: Any) -> list[Any]:
        return [i + 1, tf.sin(x), push(kept, x, element_dtype=tf.float32)]

    def counting(i: Any, x: Any, kept: Any) -> list[Any]:
        with tf.control_dependencies([pushed.assign_add(1.0)]):
            return body(i, x, tf.identity(kept))

    x = tf.placeholder(tf.float32, [])
    pure, counted = (repeated(lambda i, x, kept: [i < 3], each, 0, x, kept)[1] for each in (body, counting))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(pure, {x: 1.0}), np.sin(np.sin(np.sin(1.0))), 1e-6)
        for y, pushes in ((pure, False), (counted, True)):
            left = remove_unused(inline_functions(prune([x], [y], [])))
            assert any(node.op.name == "TensorListPushBack" for node in left.nodes) == pushes
        session.run(counted, {x: 1.0})
        assert session.run(pushed) == 3.0
