"""Loops and conditionals of imported graphs have gradients: those of the programs that the graphs were exported from,
and of finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op

Build = Callable[[Any, Any], Any]


def power(x: Any, w: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a * w) + x), [0, x])[1]


def maximum_iterations(x: Any, w: Any) -> Any:
    return tf.while_loop(lambda a: tf.constant(True), lambda a: tf.sin(a) * w, [x], maximum_iterations=4)


def nested(x: Any, w: Any) -> Any:
    def row(i: Any, total: Any) -> Any:
        inner = tf.while_loop(lambda j, a: j < i + 1, lambda j, a: (j + 1, a * w + total), [0, x])[1]
        return i + 1, tf.sin(inner) + total

    return tf.while_loop(lambda i, total: i < 3, row, [0, x])[1]


def conditional(x: Any, w: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.5, lambda: x * w * 2.0, lambda: tf.exp(w) - x)


def other_branch(x: Any, w: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 500.0, lambda: x * w * 2.0, lambda: tf.exp(w) - x)


def nested_conditionals(x: Any, w: Any) -> Any:
    def inner() -> Any:
        return tf.cond(tf.reduce_sum(w) < 0.0, lambda: x, lambda: w * x * tf.constant(3.0, tf.float64))

    return tf.cond(tf.reduce_sum(x) > 0.5, inner, lambda: x) + tf.cond(tf.reduce_sum(x) > 0.5, lambda: w, lambda: x)


def conditional_in_loop(x: Any, w: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * w, lambda: tf.sin(a) + x * tf.constant(2.0, tf.float64))

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


def loop_in_branch(x: Any, w: Any) -> Any:
    def loop() -> Any:
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), [0, x])[1]

    return tf.cond(tf.reduce_sum(x) > 0.5, loop, lambda: x)


def loop_in_branch_in_loop(x: Any, w: Any) -> Any:
    def body(k: Any, b: Any) -> Any:
        def loop() -> Any:
            return tf.while_loop(lambda i, a: i < 2 + k, lambda i, a: (i + 1, tf.sin(a * w)), [0, b])[1]

        return k + 1, tf.cond(k < 2, loop, lambda: b * x)

    return tf.while_loop(lambda k, b: k < 3, body, [0, x])[1]


def two_loops_in_a_row(x: Any, w: Any) -> Any:
    first, second = tf.while_loop(lambda a, b: tf.reduce_sum(a) < 20.0, lambda a, b: (a * w, b + a), [x, x])
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * second), [0, first])[1]


def growing(x: Any, w: Any) -> Any:
    longer = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.concat([a, a[:1] * tf.reduce_sum(w)], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1]
    return longer * tf.cast(tf.size(longer), tf.float64)


def array(x: Any, w: Any) -> Any:
    written = tf.TensorArray(tf.float64, 3)
    _, written = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, x * w[i])), [0, written])
    return tf.square(written.stack())


def scan(x: Any, w: Any) -> Any:
    return tf.scan(lambda a, e: tf.tanh(a * w + e), tf.stack([x, w, x * w]), initializer=x)


def dynamic_rnn(x: Any, w: Any) -> Any:
    kernel = tf.reshape(tf.tile(w, [4]), [4, 3])[:, :2]

    class Cell(tf.nn.rnn_cell.RNNCell):
        state_size = output_size = 2

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            new = tf.tanh(tf.matmul(tf.concat([inputs, state], 1), kernel))
            return new, new

    inputs = tf.reshape(tf.tile(x, [4]), [2, 3, 2])
    outputs, state = tf.nn.dynamic_rnn(Cell(), inputs, sequence_length=[3, 2], dtype=tf.float64)
    return tf.reduce_sum(outputs) + state


PROGRAMS = [
    power, maximum_iterations, nested, conditional, other_branch, nested_conditionals, conditional_in_loop,
    loop_in_branch, loop_in_branch_in_loop, two_loops_in_a_row, growing, array, scan, dynamic_rnn,
]  # fmt: skip
X, W = np.array([0.3, 0.9, 0.4]), np.array([1.3, 1.2, 1.7])


def exported(build: Build) -> Any:
    """The program's graph: from the placeholders x and w to the scalar y."""
    with tf.Graph().as_default() as graph:
        x, w = (tf.placeholder(tf.float64, [3], name=name) for name in "xw")
        tf.reduce_sum(build(x, w), name="y")
        return graph.as_graph_def()


def _import(graph_def: Any, elements: list[str], input_map: dict[str, Any] | None = None) -> list[Any]:
    found = tf.import_graph_def(graph_def, input_map, elements)
    assert found is not None
    return found


def by_differences(graph_def: Any) -> list[np.ndarray]:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")

        def y(x: np.ndarray, w: np.ndarray) -> float:
            return float(session.run("y:0", {"x:0": x, "w:0": w}))

        step = 1e-6 * np.eye(3)
        return [
            np.array([y(X + d, W) - y(X - d, W) for d in step]) / 2e-6,
            np.array([y(X, W + d) - y(X, W - d) for d in step]) / 2e-6,
        ]


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda build: build.__name__)
def test_an_imported_graph_has_the_gradients_of_finite_differences(build: Build) -> None:
    graph_def = exported(build)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, y = _import(graph_def, ["x:0", "w:0", "y:0"])
        found = session.run(tf.gradients(y, [x, w]), {x: X, w: W})
    for mine, expected in zip(found, by_differences(graph_def), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda build: build.__name__)
def test_what_pruning_leaves_of_a_graph_has_the_same_gradients(build: Build) -> None:
    graph_def = exported(build)
    pruned = tf.graph_util.extract_sub_graph(graph_def, ["y"])
    with tf.Graph().as_default(), tf.Session() as session:
        grads = []
        for each in (graph_def, pruned):
            x, w, y = _import(each, ["x:0", "w:0", "y:0"])
            grads.append(session.run(tf.gradients(y, [x, w]), {x: X, w: W}))
    np.testing.assert_array_equal(*grads)


@pytest.mark.parametrize("build", [power, conditional_in_loop, conditional, array], ids=lambda build: build.__name__)
def test_imported_gradients_have_gradients(build: Build) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, w = (tf.placeholder(tf.float64, [3], name=name) for name in "xw")
        y = tf.reduce_sum(tf.square(build(x, w)))
        first = tf.add_n([tf.reduce_sum(tf.sin(grad)) for grad in tf.gradients(y, [x, w])], name="first")
        graph_def = graph.as_graph_def()
        expected = session.run(tf.gradients(first, [x, w]), {x: X, w: W})
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, first = _import(graph_def, ["x:0", "w:0", "first:0"])
        found = session.run(tf.gradients(first, [x, w]), {x: X, w: W})
    np.testing.assert_allclose(found, expected)


def test_gradients_of_what_nested_loops_popped_from_one_stack_are_refused() -> None:
    """TensorFlow 1.x keeps what a loop in a loop computes on one stack outside both."""

    def repeated(inner: Callable[[Any], Any], start: Any) -> Any:
        def outer(i: Any, a: Any) -> Any:
            return i + 1, tf.while_loop(lambda j, a: j < 2, lambda j, a: (j + 1, inner(a)), [0, a])[1]

        return tf.while_loop(lambda i, a: i < 2, outer, [0, start])[1]

    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float64, [], "x")
        stack = get_op("StackV2")(-1, elem_type=tf.float64)
        forward = repeated(lambda a: tf.sin(get_op("StackPushV2")(stack, a)), x)
        pop = get_op("StackPopV2")
        backward = repeated(lambda a: tf.reshape(a * pop(stack, elem_type=tf.float64), []), forward)
        y = tf.identity(backward, "y")
        values = [0.5, np.sin(0.5), np.sin(np.sin(0.5)), np.sin(np.sin(np.sin(0.5)))]
        np.testing.assert_allclose(session.run(y, {x: 0.5}), np.sin(values[-1]) * np.prod(values))
        graph_def = graph.as_graph_def()
    with tf.Graph().as_default():
        x, y = _import(graph_def, ["x:0", "y:0"])
        with pytest.raises(LookupError, match="nested loops"):
            tf.gradients(y, x)


def test_a_graph_may_be_imported_twice_and_one_copy_fed_by_the_other() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(X), tf.constant(W)
        graph_def = exported(power)
        sums = _import(graph_def, ["while/Exit_1:0"], {"x": x, "w": w})[0]
        again = _import(graph_def, ["y:0"], {"x": sums, "w": w})[0]
        expected = tf.reduce_sum(power(power(x, w), w))
        found = session.run([[v, *tf.gradients(v, [x, w])] for v in (again, expected)])
        np.testing.assert_allclose(found[0][0], found[1][0])
        np.testing.assert_allclose(found[0][1:], found[1][1:])


def test_a_graph_may_be_imported_into_a_loop() -> None:
    graph_def = exported(conditional_in_loop)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(X), tf.constant(W)

        def imported(a: Any) -> Any:
            return _import(graph_def, ["while/Exit_1:0"], {"x": a, "w": w})[0]

        def twice(body: Callable[[Any], Any]) -> Any:
            return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, body(a)), [0, x])[1]

        results = [twice(imported), twice(lambda a: conditional_in_loop(a, w))]
        found = session.run([tf.gradients(y, [x, w]) for y in results])
        np.testing.assert_allclose(*found)


def test_nodes_of_imported_branches_may_be_fetched_before_and_after() -> None:
    graph_def = exported(conditional)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, y, inside = _import(graph_def, ["x:0", "w:0", "y:0", "cond/mul_1:0"])
        before = session.run(inside, {x: X, w: W})
        tf.gradients(y, [x])
        np.testing.assert_array_equal(session.run(inside, {x: X, w: W}), before)


def test_several_branches_may_be_merged_by_hand() -> None:
    """As programs do that distort images in one of several ways."""
    with tf.Graph().as_default() as graph:
        x, choice = tf.placeholder(tf.float64, [3], name="x"), tf.placeholder(tf.int32, [], name="choice")
        cases: list[Any] = [tf.sin, tf.exp, tf.square]
        taken = [case(tf.raw_ops.Switch(data=x, pred=tf.equal(choice, i))[1]) for i, case in enumerate(cases)]
        tf.reduce_sum(tf.raw_ops.Merge(inputs=taken)[0], name="y")
        graph_def = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        x, choice, y = _import(graph_def, ["x:0", "choice:0", "y:0"])
        grad = tf.gradients(y, x)[0]
        for i, expected in enumerate([np.cos(X), np.exp(X), 2 * X]):
            np.testing.assert_allclose(session.run(grad, {x: X, choice: i}), expected)
