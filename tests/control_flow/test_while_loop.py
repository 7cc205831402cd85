"""Loops: tf.while_loop, what it may take and give, and gradients through it."""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.graph.opdef import get_op

Pair = collections.namedtuple("Pair", ["a", "b"])
BOTH_KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
PARALLEL = pytest.mark.parametrize("parallel", [1, 10, 32])
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def repeat(n: Any, step: Any, start: Any, **options: Any) -> Any:
    """`start`, after `n` times `step`."""
    return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, step(v)), (tf.constant(0), start), **options)[1]


@contextlib.contextmanager
def ends_within(seconds: int) -> Iterator[None]:
    """Makes a step that does not end an error."""

    def ring(*_: Any) -> None:
        raise TimeoutError("the step does not end")

    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


# --- values ---------------------------------------------------------------------------------------------


@PARALLEL
def test_a_loop_repeats_its_body_while_the_condition_holds(session: tf.Session, parallel: int) -> None:
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(
        lambda i, total: i < n, lambda i, total: (i + 1, total + i), [tf.constant(0), tf.constant(0)],
        parallel_iterations=parallel,
    )  # fmt: skip
    assert isinstance(loop, tuple)
    assert [session.run(loop, {n: count}) for count in (0, 1, 5, 100)] == [(0, 0), (1, 0), (5, 10), (100, 4950)]


def test_a_loop_of_no_iteration_gives_what_entered(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    assert session.run(repeat(0, lambda v: v * 0.0, x)).tolist() == [1, 2]
    assert session.run(repeat(-5, lambda v: v * 0.0, x)).tolist() == [1, 2]


def test_a_single_variable_comes_as_a_tensor(session: tf.Session) -> None:
    for given in ([1], (1,), tf.constant(1)):
        found = tf.while_loop(lambda i: i < 100, lambda i: i * 2, given)
        assert isinstance(found, tf.Tensor)
        assert session.run(found) == 128
    as_list = tf.while_loop(lambda i: i < 100, lambda i: [i * 2], [1], return_same_structure=True)
    assert isinstance(as_list, list)
    assert session.run(as_list) == [128]


def test_values_from_outside_are_seen_by_every_iteration(session: tf.Session) -> None:
    x, w = tf.placeholder(tf.float32, [2]), tf.constant([[0.0, 1.0], [1.0, 1.0]])
    y = repeat(5, lambda v: tf.squeeze(tf.matmul(w, v[:, None]), 1) + 0.0 * x, x)
    assert session.run(y, {x: [0, 1]}).tolist() == [5, 8]


def test_what_depends_on_outside_values_only_is_there_in_every_iteration(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    y = repeat(3, lambda v: v + (x * x + tf.constant(1.0)), tf.constant(0.0))
    assert session.run(y, {x: 2}) == 15


def test_loop_variables_may_change_places(session: tf.Session) -> None:
    a, b, _ = tf.while_loop(lambda a, b, i: i < 3, lambda a, b, i: (b, a, i + 1), (1, 2, 0))
    assert session.run([a, b]) == [2, 1]
    x, y, _ = tf.while_loop(lambda x, y, i: i < 10, lambda x, y, i: (y, x + y, i + 1), (0, 1, 0))
    assert session.run([x, y]) == [55, 89]


def test_a_variable_that_the_body_passes_on_keeps_its_value(session: tf.Session) -> None:
    i, kept = tf.while_loop(lambda i, k: i < 3, lambda i, k: (i + 1, k), (0, tf.constant("text")))
    assert session.run([i, kept]) == [3, b"text"]


def test_a_loop_may_replace_a_variable_by_a_value_from_outside(session: tf.Session) -> None:
    x = tf.constant(7.0)
    n = tf.placeholder(tf.int32, [])
    y = repeat(n, lambda v: x, tf.constant(1.0))
    assert [session.run(y, {n: k}) for k in (0, 1, 3)] == [1, 7, 7]


def test_one_of_the_results_can_be_fetched_alone(session: tf.Session) -> None:
    i, v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, tf.constant(1.0)))
    assert (session.run(v), session.run(i), session.run([v, i, v])) == (8, 3, [8, 3, 8])


def test_collatz_goes_on_as_long_as_the_data_say(session: tf.Session) -> None:
    start = tf.placeholder(tf.int32, [])
    count, _ = tf.while_loop(
        lambda c, n: n > 1,
        lambda c, n: (c + 1, tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1)),
        (0, start),
    )
    assert [session.run(count, {start: n}) for n in (1, 2, 6, 27)] == [0, 1, 8, 111]


def test_a_condition_may_be_computed_by_nodes_that_the_body_does_not_have(session: tf.Session) -> None:
    limit = tf.constant([1.0, 2.0, 3.0])
    y = tf.while_loop(lambda v: tf.reduce_any(v < limit) & (tf.reduce_sum(v) < 50.0), lambda v: v * 2.0, tf.ones([3]))
    assert session.run(y).tolist() == [4, 4, 4]


# --- structures -----------------------------------------------------------------------------------------


def test_loop_variables_are_any_nest(session: tf.Session) -> None:
    def body(i: Any, state: Any) -> Any:
        assert set(state) == {"x", "pair"}
        assert isinstance(state["pair"], Pair)
        return i + 1, {"x": state["x"] + 1.0, "pair": Pair(state["pair"].a * 2, (state["pair"].b[0] - 1,))}

    start = {"x": tf.constant(0.0), "pair": Pair(1, (tf.constant([5, 6]),))}
    _, found = tf.while_loop(lambda i, state: i < 3, body, (0, start))
    assert isinstance(found, dict)
    assert isinstance(found["pair"], Pair)
    assert isinstance(found["pair"].b, tuple)
    assert session.run([found["x"], found["pair"].a]) == [3, 8]
    assert session.run(found["pair"].b[0]).tolist() == [2, 3]


def test_the_result_has_the_structure_of_what_the_body_gives(session: tf.Session) -> None:
    pair = tf.while_loop(lambda a, b: a < 3, lambda a, b: Pair(a + 1, b * 2), (0, 1))
    assert isinstance(pair, Pair)
    assert session.run([pair.a, pair.b]) == [3, 8]
    for start in ([0, 1], (0, 1), Pair(0, 1)):
        for kind in (list, tuple):
            found = tf.while_loop(lambda a, b: a < 3, lambda a, b, kind=kind: kind([a + 1, b * 2]), start)
            assert type(found) is kind
            assert session.run(list(found)) == [3, 8]


def test_one_nest_is_one_loop_variable(session: tf.Session) -> None:
    state = tf.while_loop(lambda s: s["i"] < 3, lambda s: [{"i": s["i"] + 1, "x": s["x"] * 2}], [{"i": 0, "x": 1}])
    assert isinstance(state, list)
    assert session.run([state[0]["i"], state[0]["x"]]) == [3, 8]


@pytest.mark.parametrize(
    ("body", "kind"),
    [(lambda a: a + 1, list), (lambda a: [a + 1], list), (lambda a: (a + 1,), tuple)],
    ids=["tensor", "list", "tuple"],
)
def test_a_single_variable_is_a_tensor_unless_its_structure_is_asked_for(
    session: tf.Session, body: Any, kind: type
) -> None:
    for start in ([0], (0,)):
        assert session.run(tf.while_loop(lambda a: a < 3, body, start)) == 3
        found = tf.while_loop(lambda a: a < 3, body, start, return_same_structure=True)
        assert type(found) is kind
        assert session.run(found[0]) == 3


def test_sparse_tensors_go_round(session: tf.Session) -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 3])
    _, found = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
        (0, sparse),
    )
    assert isinstance(found, tf.SparseTensor)
    value = session.run(found)
    assert (value.indices.tolist(), value.values.tolist()) == ([[0, 1], [2, 0]], [8, 16])


def test_indexed_slices_go_round(session: tf.Session) -> None:
    slices = tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 3]))
    _, found = tf.while_loop(
        lambda i, s: i < 2, lambda i, s: (i + 1, tf.IndexedSlices(s.values + 1.0, s.indices + 1)), (0, slices)
    )
    assert isinstance(found, tf.IndexedSlices)
    values, indices = session.run([found.values, found.indices])
    assert (values.tolist(), indices.tolist()) == ([[3, 3], [3, 3]], [2, 5])


def test_a_tensor_array_goes_round(session: tf.Session) -> None:
    _, array = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, tf.to_float(i * i))), (0, tf.TensorArray(tf.float32, 4))
    )
    assert session.run(array.stack()).tolist() == [0, 1, 4, 9]


# --- shapes ---------------------------------------------------------------------------------------------


def test_shape_invariants_let_a_tensor_grow(session: tf.Session) -> None:
    _, x = tf.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, tf.concat([x, tf.to_float([[i]]) * tf.ones([1, 2])], 0)),
        [tf.constant(0), tf.zeros([1, 2])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )
    assert x.shape.as_list() == [None, 2]
    assert session.run(x).tolist() == [[0, 0], [0, 0], [1, 1], [2, 2]]


def test_shape_invariants_may_be_tensor_specs(session: tf.Session) -> None:
    x = tf.while_loop(
        lambda x: tf.shape(x)[0] < 3,
        lambda x: tf.concat([x, x], 0),
        [tf.ones([1])],
        shape_invariants=[tf.TensorSpec([None], tf.float32)],
    )
    assert x.shape.as_list() == [None]
    assert session.run(x).tolist() == [1, 1, 1, 1]


def test_shape_invariants_follow_the_structure(session: tf.Session) -> None:
    _, (a, b) = tf.while_loop(
        lambda i, s: i < 2,
        lambda i, s: (i + 1, (tf.tile(s[0], [2]), s[1])),
        (0, (tf.ones([3]), tf.ones([2]))),
        shape_invariants=(tf.TensorShape([]), (tf.TensorShape([None]), tf.TensorShape([2]))),
    )
    assert (a.shape.as_list(), b.shape.as_list()) == ([None], [2])
    assert session.run(tf.shape(a)).tolist() == [12]


def test_the_body_sees_the_invariant_shape() -> None:
    seen = []

    def body(x: Any) -> Any:
        seen.append(x.shape.as_list())
        return x + 1.0

    tf.while_loop(lambda x: tf.reduce_sum(x) < 9.0, body, [tf.ones([2])], shape_invariants=[tf.TensorShape([None])])
    assert seen == [[None]]


def test_a_loop_keeps_static_shapes() -> None:
    assert repeat(3, lambda v: v * 2.0, tf.ones([2, 3])).shape.as_list() == [2, 3]
    unknown = tf.placeholder(tf.float32, [None, 3])
    assert repeat(3, lambda v: v * 2.0, unknown).shape.as_list() == [None, 3]


def test_a_shape_that_changes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not an invariant for the loop\. It enters the loop with shape \(2,\)"):
        repeat(3, lambda v: tf.concat([v, v], 0), tf.ones([2]))
    with pytest.raises(ValueError, match="not an invariant for the loop"):
        repeat(3, lambda v: tf.placeholder_with_default(v, [None]), tf.ones([2]))
    with pytest.raises(ValueError, match="not an invariant for the loop"):
        repeat(3, lambda v: v[:, None], tf.ones([2]))


def test_a_shape_invariant_must_hold_at_the_start() -> None:
    with pytest.raises(ValueError, match="is not compatible with the initial shape of the loop variable"):
        tf.while_loop(lambda x: True, lambda x: x, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])])
    with pytest.raises(ValueError, match=r"shape_invariants|structure"):
        tf.while_loop(lambda x: True, lambda x: x, [tf.ones([2])], shape_invariants=[None, None])


# --- what is refused ------------------------------------------------------------------------------------


def test_a_dtype_that_changes_is_refused() -> None:
    with pytest.raises(TypeError, match="enters the loop as float32, but is int32 after one iteration"):
        repeat(3, lambda v: tf.to_int32(v), tf.ones([2]))


def test_the_number_of_variables_must_stay() -> None:
    with pytest.raises(ValueError, match=r"number of elements|same nested structure|number of inputs and outputs"):
        tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, (0, 1))
    with pytest.raises(ValueError, match=r"number of elements|same nested structure|number of inputs and outputs"):
        tf.while_loop(lambda i: i < 3, lambda i: (i + 1, i), (0,))
    with pytest.raises(ValueError, match="structure"):
        tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, [j, j]), (0, 1))


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ((3, lambda i: i, [0]), TypeError, "cond must be callable"),
        ((lambda i: True, 3, [0]), TypeError, "body must be callable"),
        ((lambda: True, lambda: (), []), ValueError, "No loop variables provided"),
        ((lambda i: i, lambda i: i, [0]), TypeError, "bool"),
        ((lambda i: [True, False], lambda i: i, [0]), ValueError, "scalar"),
        ((lambda i: True, lambda i: None, [0]), ValueError, "None"),
    ],
    ids=["cond", "body", "nothing", "int condition", "vector condition", "none"],
)
def test_malformed_loops_are_refused(arguments: Any, kind: Any, match: str) -> None:
    with pytest.raises(kind, match=match):
        tf.while_loop(*arguments)


@pytest.mark.parametrize("parallel", [0, -1])
def test_parallel_iterations_are_positive(parallel: int) -> None:
    with pytest.raises(TypeError, match="parallel_iterations must be a positive integer"):
        repeat(3, lambda v: v, 1, parallel_iterations=parallel)


@pytest.mark.parametrize("value", ["body", "condition", "operation"])
def test_what_is_in_a_loop_cannot_be_fetched(session: tf.Session, value: str) -> None:
    seen: dict[str, Any] = {}

    def condition(i: Any) -> Any:
        seen["condition"] = i < 3
        return seen["condition"]

    def body(i: Any) -> Any:
        seen["body"] = i + 1
        seen["operation"] = seen["body"].op
        return seen["body"]

    y = tf.while_loop(condition, body, [0])
    with pytest.raises(ValueError, match="not fetchable"):
        session.run(seen[value])
    with pytest.raises(ValueError, match="not fetchable"):
        session.run([y, seen[value]])
    assert session.run(y) == 3


def test_what_is_in_a_loop_cannot_be_fed(session: tf.Session) -> None:
    seen = []

    def body(i: Any) -> Any:
        seen.append(i + 1)
        return seen[0]

    y = tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(ValueError, match="may not be fed"):
        session.run(y, {seen[0]: 4})


def test_a_tensor_of_a_loop_cannot_be_used_outside(session: tf.Session) -> None:
    seen = []

    def body(i: Any) -> Any:
        seen.append(i + 1)
        return seen[0]

    tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises((ValueError, errors.InvalidArgumentError), match=r"frame|loop"):
        session.run(seen[0] * 2)


def test_a_graph_is_usable_after_a_body_raised(session: tf.Session) -> None:
    def broken(i: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.while_loop(lambda i: i < 3, broken, [0])
    x = tf.constant(2) * 3
    assert session.run(x) == 6
    assert session.run(tf.while_loop(lambda i: i < x, lambda i: i + 1, [0])) == 6


# --- limits ---------------------------------------------------------------------------------------------


def test_maximum_iterations_ends_a_loop(session: tf.Session) -> None:
    limit = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i: i < 100, lambda i: i + 10, [0], maximum_iterations=limit)
    assert [session.run(y, {limit: n}) for n in (0, 3, 10, 50)] == [0, 30, 100, 100]
    a, b = tf.while_loop(lambda a, b: True, lambda a, b: (a + 1, b * 2), (0, 1), maximum_iterations=4)
    assert session.run([a, b]) == [4, 16]


def test_maximum_iterations_with_shape_invariants_and_nests(session: tf.Session) -> None:
    state = tf.while_loop(
        lambda s: True,
        lambda s: [{"x": tf.concat([s["x"], s["x"]], 0)}],
        [{"x": tf.ones([1])}],
        shape_invariants=[{"x": tf.TensorShape([None])}],
        maximum_iterations=3,
    )
    assert session.run(state["x"]).tolist() == [1] * 8


# --- effects --------------------------------------------------------------------------------------------


@BOTH_KINDS
@PARALLEL
def test_a_variable_is_updated_in_every_iteration(session: tf.Session, use_resource: bool, parallel: int) -> None:
    v = tf.Variable(0.0, use_resource=use_resource)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    y = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=parallel)
    session.run(v.initializer)
    assert [session.run(y), session.run(v), session.run(y), session.run(v)] == [5, 10, 5, 20]


@BOTH_KINDS
def test_a_variable_read_after_its_update_shows_it(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(1.0, use_resource=use_resource)

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([total]):
            doubled = v.assign(v.read_value() * 2.0)
        with tf.control_dependencies([doubled]):
            return i + 1, total + v.read_value()

    y = tf.while_loop(lambda i, total: i < 4, body, (0, 0.0))[1]
    session.run(v.initializer)
    assert session.run(y) == 2 + 4 + 8 + 16
    assert session.run(v) == 16


@BOTH_KINDS
def test_a_condition_may_read_a_variable_that_the_body_changes(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(0.0, use_resource=use_resource)

    def condition(i: Any) -> Any:
        with tf.control_dependencies([i]):
            return v.read_value() < 10.0

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(3.0)]):
            return i + 1

    y = tf.while_loop(condition, body, [0])
    session.run(v.initializer)
    assert session.run(y) == 4
    assert session.run(v) == 12


@BOTH_KINDS
def test_a_value_read_before_the_loop_shows_what_the_loop_writes_if_it_is_a_references(
    session: tf.Session, use_resource: bool
) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    before = v.read_value()

    def body(i: Any, kept: Any) -> Any:
        with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
            return i + 1, kept

    with tf.control_dependencies([before]):
        _, kept = tf.while_loop(lambda i, kept: i < 3, body, (0, before))
    session.run(v.initializer)
    assert session.run(kept).tolist() == ([1, 2] if use_resource else [4, 5])
    assert session.run(v).tolist() == [4, 5]


@BOTH_KINDS
def test_a_variable_made_in_a_body_is_one_variable(session: tf.Session, use_resource: bool) -> None:
    def step(total: Any) -> Any:
        with tf.variable_scope("scope", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0), use_resource=use_resource)
        return total + w

    y = repeat(4, step, 0.0)
    session.run(tf.global_variables_initializer())
    assert session.run(y) == 12
    assert len(tf.global_variables()) == 1


@BOTH_KINDS
def test_a_loop_waits_for_an_operation_outside(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(0.0, use_resource=use_resource)
    update = v.assign_add(1.0)

    def body(i: Any, total: Any) -> Any:
        with tf.control_dependencies([update]):
            return i + 1, total + v.read_value()

    y = tf.while_loop(lambda i, total: i < 3, body, (0, 0.0))[1]
    session.run(v.initializer)
    assert session.run(y) == 3  # the update is outside: it runs once
    assert session.run(v) == 1


@BOTH_KINDS
def test_a_loop_under_a_control_dependency_runs_after_it(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(0.0, use_resource=use_resource)
    with tf.control_dependencies([v.assign(5.0)]):
        y = repeat(2, lambda total: total + v.read_value(), 0.0)
    session.run(v.initializer)
    assert session.run(y) == 10


@BOTH_KINDS
def test_what_waits_for_a_loop_sees_all_its_updates(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(0.0, use_resource=use_resource)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(1.0)]):
            return i + 1

    y = tf.while_loop(lambda i: i < 7, body, [0])
    with tf.control_dependencies([y]):
        found = v.read_value()
    session.run(v.initializer)
    assert session.run(found) == 7


def test_an_assertion_in_a_loop_stops_it(session: tf.Session) -> None:
    limit = tf.placeholder(tf.int32, [])

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.Assert(i < limit, ["too far:", i])]):
            return i + 1

    y = tf.while_loop(lambda i: i < 5, body, [0])
    assert session.run(y, {limit: 5}) == 5
    with pytest.raises(errors.InvalidArgumentError, match=r"too far:\S* ?\[?3"):
        session.run(y, {limit: 3})
    assert session.run(y, {limit: 9}) == 5


def test_an_error_names_the_iteration(session: tf.Session) -> None:
    y = tf.while_loop(
        lambda i, v: i < 10, lambda i, v: (i + 1, v + tf.gather([1, 2, 3], i, name="look_up")), (0, 0), name="while"
    )[1]
    with pytest.raises(errors.InvalidArgumentError, match=r"look_up(.|\n)*iteration 3 of while") as caught:
        session.run(y)
    assert "test_while_loop.py" in str(caught.value)
    assert caught.value.op.name.endswith("look_up")


def test_an_error_in_a_condition_names_the_iteration(session: tf.Session) -> None:
    y = tf.while_loop(lambda i: tf.gather([True, True, True], i), lambda i: i + 1, [0])
    with pytest.raises(errors.InvalidArgumentError, match="iteration 3 of while"):
        session.run(y)


def test_an_error_in_an_inner_loop_names_both_iterations(session: tf.Session) -> None:
    def outer(i: Any, v: Any) -> Any:
        inner = tf.while_loop(
            lambda j, u: j < 2, lambda j, u: (j + 1, u + tf.gather([1, 2, 3, 4, 5], i * 2 + j)), (0, v), name="inner"
        )
        return i + 1, inner[1]

    y = tf.while_loop(lambda i, v: i < 9, outer, (0, 0), name="outer")[1]
    with pytest.raises(errors.InvalidArgumentError, match=r"iteration 1 of \S*inner\S*, iteration 2 of outer"):
        session.run(y)


def test_print_goes_round(session: tf.Session, capfd: pytest.CaptureFixture[str]) -> None:
    session.run(tf.while_loop(lambda i: i < 3, lambda i: tf.Print(i, [i], "at ") + 1, [0]))
    assert capfd.readouterr().err.splitlines() == ["at [0]", "at [1]", "at [2]"]


def test_random_numbers_differ_between_iterations(session: tf.Session) -> None:
    _, x = tf.while_loop(
        lambda i, x: i < 4, lambda i, x: (i + 1, tf.concat([x, tf.random_uniform([1])], 0)), (0, tf.zeros([0])),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )  # fmt: skip
    assert len(set(session.run(x).tolist())) == 4


# --- nesting --------------------------------------------------------------------------------------------


def test_a_loop_in_a_branch(session: tf.Session) -> None:
    pred, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    x = tf.constant(1.0)
    y = tf.cond(pred, lambda: repeat(n, lambda v: v * 2.0 + x, x), lambda: x - 1.0)
    assert [session.run(y, {pred: p, n: 3}) for p in (True, False)] == [15, 0]
    assert session.run(y, {pred: True, n: 0}) == 1


def test_a_loop_in_a_branch_not_taken_does_nothing(session: tf.Session) -> None:
    pred, v = tf.placeholder(tf.bool, []), tf.Variable(0.0)

    def loop() -> Any:
        def body(i: Any) -> Any:
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1

        return tf.while_loop(lambda i: i < 3, body, [0])

    y = tf.cond(pred, loop, lambda: -1)
    session.run(v.initializer)
    assert session.run(y, {pred: False}) == -1
    assert session.run(v) == 0
    assert session.run(y, {pred: True}) == 3
    assert session.run(v) == 3


def test_conditionals_in_a_loop(session: tf.Session) -> None:
    def step(i: Any, v: Any) -> Any:
        v = tf.cond(tf.equal(i % 2, 0), lambda: v + 1, lambda: tf.cond(v > 10, lambda: v - 10, lambda: v * 3))
        return i + 1, v

    expected = 1
    for i in range(9):
        expected = expected + 1 if i % 2 == 0 else expected - 10 if expected > 10 else expected * 3
    y = tf.while_loop(lambda i, v: i < 9, step, (0, 1))[1]
    assert session.run(y) == expected


def test_a_conditional_in_the_condition(session: tf.Session) -> None:
    y = tf.while_loop(lambda i: tf.cond(i < 5, lambda: True, lambda: i < 3), lambda i: i + 1, [0])
    assert session.run(y) == 5


def test_a_loop_in_the_condition(session: tf.Session) -> None:
    def square(i: Any) -> Any:
        return tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i), (0, 0))[1]

    y = tf.while_loop(lambda i: square(i) < 30, lambda i: i + 1, [0])
    assert session.run(y) == 6


def test_loops_nest(session: tf.Session) -> None:
    n = tf.placeholder(tf.int32, [])

    def outer(i: Any, total: Any) -> Any:
        _, total = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, total))
        return i + 1, total

    y = tf.while_loop(lambda i, t: i < n, outer, (0, 0))[1]
    expected = [sum(i * j for i in range(k) for j in range(i)) for k in (0, 1, 6)]
    assert [session.run(y, {n: k}) for k in (0, 1, 6)] == expected


def test_loops_nest_ten_deep(session: tf.Session) -> None:
    x = tf.constant(1)

    def build(depth: int, v: Any) -> Any:
        if not depth:
            return v + x
        return repeat(2, lambda u: build(depth - 1, u), v)

    assert session.run(build(10, tf.constant(0))) == 1024


def test_one_loop_after_another(session: tf.Session) -> None:
    x = repeat(3, lambda v: v * 2, tf.constant(1))
    y = repeat(x, lambda v: v + x, tf.constant(0))
    assert session.run([x, y]) == [8, 64]


def test_loops_under_one_name_are_apart(session: tf.Session) -> None:
    a = repeat(3, lambda v: v * 2, tf.constant(1), name="same")
    b = repeat(2, lambda v: v * 3, tf.constant(1), name="same")
    assert session.run([a, b]) == [8, 9]


# --- long loops -----------------------------------------------------------------------------------------


def test_a_long_loop_ends(session: tf.Session, step_executor: str) -> None:
    n = {"structured": 100_000, "dataflow": 20_000}.get(step_executor, 2_000)
    y = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + 0.5), (0, tf.constant(0.0, tf.float64)))
    assert session.run(y) == (n, n / 2)


_MEMORY = """
import resource, sys, torch
torch.set_num_threads(1)
import penstock as tf
n = tf.placeholder(tf.int32, [])
y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + 1.0), (0, tf.zeros([1000])))[1][0]
with tf.Session() as session:
    session.run(y, {n: 1000})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session.run(y, {n: int(sys.argv[1])})
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_the_memory_of_a_loop_does_not_grow_with_its_iterations(step_executor: str) -> None:
    count = 1_000_000 if step_executor == "structured" else 20_000
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(count)], env=environment, capture_output=True, text=True, check=True
    )
    assert int(found.stdout) < 10_000  # KiB; 20,000 values of 4,000 bytes would be 80,000


def test_a_step_with_an_endless_loop_ends_at_its_deadline(session: tf.Session) -> None:
    forever = tf.placeholder(tf.bool, [])
    y = tf.while_loop(lambda i: forever | (i < 3), lambda i: i + 1, [0])
    with pytest.raises(errors.DeadlineExceededError), ends_within(60):
        session.run(y, {forever: True}, options=tf.RunOptions(timeout_in_ms=150))
    assert session.run(y, {forever: False}) == 3
    assert session.run(y, {forever: False}, options=tf.RunOptions(timeout_in_ms=60_000)) == 3


def test_a_step_with_an_endless_loop_of_nothing_ends_at_its_deadline(session: tf.Session) -> None:
    forever = tf.placeholder(tf.bool, [])
    y = tf.while_loop(lambda p: p, lambda p: p, [forever])
    with pytest.raises(errors.DeadlineExceededError), ends_within(60):
        session.run(y, {forever: True}, options=tf.RunOptions(timeout_in_ms=150))
    assert session.run(y, {forever: False}) == False  # noqa: E712


# --- gradients ------------------------------------------------------------------------------------------


@PARALLEL
@pytest.mark.parametrize("swap_memory", [False, True])
def test_the_gradient_of_a_power(session: tf.Session, parallel: int, swap_memory: bool) -> None:
    x, n = tf.placeholder(tf.float64, []), tf.placeholder(tf.int32, [])
    y = repeat(n, lambda v: v * x, tf.constant(1.0, tf.float64), parallel_iterations=parallel, swap_memory=swap_memory)
    (grad,) = tf.gradients(y, x)
    for k in (0, 1, 2, 7):
        assert session.run([y, grad], {x: 1.5, n: k}) == pytest.approx([1.5**k, k * 1.5 ** (k - 1)])


def test_the_gradient_by_what_enters_a_loop(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])
    y = repeat(3, lambda v: v * v, x)
    assert session.run(tf.gradients(y, x), {x: 1.1}) == pytest.approx([8 * 1.1**7])


def test_the_gradient_of_repeated_sines(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [3])
    (grad,) = tf.gradients(repeat(4, tf.sin, x), x)
    v = value = np.array([0.1, 0.7, 2.0])
    expected = np.ones(3)
    for _ in range(4):
        expected, v = expected * np.cos(v), np.sin(v)
    np.testing.assert_allclose(session.run(grad, {x: value}), expected)


def test_the_gradient_of_a_chain_of_matrix_products(session: tf.Session) -> None:
    random = np.random.RandomState(0)
    a, start = random.normal(size=(3, 3)), random.normal(size=(2, 3))
    w, x = tf.constant(a), tf.constant(start)
    y = tf.reduce_sum(repeat(4, lambda v: tf.matmul(v, w), x))
    w_grad, x_grad = session.run(tf.gradients(y, [w, x]))
    power, ones = np.linalg.matrix_power, np.ones((2, 3))
    expected = sum((start @ power(a, k)).T @ (ones @ power(a, 3 - k).T) for k in range(4))
    np.testing.assert_allclose(w_grad, expected)
    np.testing.assert_allclose(x_grad, ones @ power(a, 4).T)


def test_the_gradient_of_a_value_that_went_through_unchanged(session: tf.Session) -> None:
    x = tf.constant(3.0)
    _, kept, grown = tf.while_loop(lambda i, k, g: i < 3, lambda i, k, g: (i + 1, k, g + k), (0, x, 0.0))
    assert session.run(tf.gradients(kept * 5.0, x)) == [5]
    assert session.run(tf.gradients(grown, x)) == [3]
    assert session.run(tf.gradients([kept, grown], x)) == [4]


def test_a_loop_variable_that_does_not_matter_has_no_gradient(session: tf.Session) -> None:
    x, w, n = tf.constant(2.0), tf.constant(5.0), tf.placeholder(tf.int32, [])
    _, a, b = tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, a * 2.0, b * x), (0, x, w))
    (a_by_x,) = tf.gradients(a, x)
    found = tf.gradients(a, w)[0]
    assert session.run(a_by_x, {n: 3}) == 8
    assert found is None or session.run(found, {n: 3}) == 0
    assert session.run(tf.gradients(b, [x, w]), {n: 3}) == [5 * 3 * 4, 8]


def test_a_variable_that_the_body_replaces_has_a_gradient_only_without_iterations(session: tf.Session) -> None:
    x, w, n = tf.constant(2.0), tf.constant(5.0), tf.placeholder(tf.int32, [])
    y = repeat(n, lambda v: w * w, x)
    grads = tf.gradients(y, [x, w])
    assert [session.run(grads, {n: k}) for k in (0, 1, 3)] == [[1, 0], [0, 10], [0, 10]]


def test_the_gradient_of_an_invariant_adds_up_over_iterations(session: tf.Session) -> None:
    x, n = tf.constant([1.0, 2.0]), tf.placeholder(tf.int32, [])
    y = repeat(n, lambda v: v + tf.reduce_sum(x * x), tf.constant(0.0))
    (grad,) = tf.gradients(y, x)
    assert [session.run(grad, {n: k}).tolist() for k in (0, 1, 5)] == [[0, 0], [2, 4], [10, 20]]


def test_the_gradient_of_a_gather_in_a_loop(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + tf.gather(x, [i, 0])), (0, tf.zeros([2])))
    grad = tf.convert_to_tensor(tf.gradients(y, x)[0])
    assert session.run(grad).tolist() == [4, 1, 1, 0]


@BOTH_KINDS
def test_the_gradient_by_a_variable_used_in_a_loop(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=use_resource)
    (grad,) = tf.gradients(repeat(3, lambda x: x * v, tf.ones([2])), v)
    session.run(v.initializer)
    assert session.run(grad).tolist() == [3, 12]


@BOTH_KINDS
def test_the_gradient_by_rows_of_a_variable_used_in_a_loop(session: tf.Session, use_resource: bool) -> None:
    v = tf.Variable(np.arange(6.0).reshape(3, 2), dtype=tf.float32, use_resource=use_resource)
    _, y = tf.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x + tf.gather(v, i % 2)), (0, tf.zeros([2])))
    grad = tf.convert_to_tensor(tf.gradients(y, v)[0])
    session.run(v.initializer)
    assert session.run(grad).tolist() == [[2, 2], [2, 2], [0, 0]]


@BOTH_KINDS
def test_training_through_a_loop_moves_the_weights(session: tf.Session, use_resource: bool) -> None:
    w = tf.Variable(0.5, use_resource=use_resource)
    loss = tf.square(repeat(3, lambda x: x * w, tf.constant(1.0)) - 1.0)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    expected = 0.5
    for _ in range(3):
        session.run(step)
        expected -= 0.1 * 2 * (expected**3 - 1) * 3 * expected**2
    assert session.run(w) == pytest.approx(expected, rel=1e-5)


def test_the_gradients_of_many_loops_do_not_look_at_all_nodes_for_each(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [])
    y = x
    for _ in range(4):
        y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v * v), [0, y])[1]
    looked: list[None] = []
    every_node = tf.Graph.get_operations

    def counted(graph: tf.Graph) -> Any:
        looked.append(None)
        return every_node(graph)

    monkeypatch.setattr(tf.Graph, "get_operations", counted)
    (grad,) = tf.gradients(y, [x])
    assert len(looked) <= 1
    assert session.run(grad, {x: 1.0}) == 256.0  # of x to the power of 2 ** 8


def test_the_gradient_of_nested_loops(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])
    y = repeat(3, lambda v: repeat(2, lambda u: u * x, v) + x, tf.constant(1.0, tf.float64))

    def value(x: float) -> float:
        v = 1.0
        for _ in range(3):
            v = v * x * x + x
        return v

    expected = (value(1.2 + 1e-6) - value(1.2 - 1e-6)) / 2e-6
    assert session.run([y, tf.gradients(y, x)[0]], {x: 1.2}) == pytest.approx([value(1.2), expected])


def test_the_gradient_of_nested_loops_of_which_the_inner_depends_on_the_outer(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])

    def outer(i: Any, total: Any) -> Any:
        power = tf.while_loop(lambda j, p: j < i, lambda j, p: (j + 1, p * x), (0, tf.constant(1.0, tf.float64)))[1]
        return i + 1, total + power * tf.sin(total)

    y = tf.while_loop(lambda i, t: i < 4, outer, (0, x))[1]

    def value(x: float) -> float:
        total = x
        for i in range(4):
            total += x**i * np.sin(total)
        return total

    expected = (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6
    assert session.run([y, tf.gradients(y, x)[0]], {x: 0.7}) == pytest.approx([value(0.7), expected])


def test_the_gradient_of_a_loop_whose_length_the_data_decide(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])
    y = tf.while_loop(lambda v: v < 100.0, lambda v: v * v, [x])
    (grad,) = tf.gradients(y, x)
    assert session.run(grad, {x: 2.0}) == pytest.approx(8 * 2.0**7)
    assert session.run(grad, {x: 11.0}) == pytest.approx(22)
    assert session.run(grad, {x: 101.0}) == 1


def test_the_gradient_of_a_conditional_in_a_loop(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])

    def step(i: Any, v: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: tf.sin(v) + x)

    y = tf.while_loop(lambda i, v: i < 5, step, (0, x))[1]

    def value(x: float) -> float:
        v = x
        for i in range(5):
            v = v * x if i % 2 == 0 else np.sin(v) + x
        return v

    expected = (value(1.3 + 1e-6) - value(1.3 - 1e-6)) / 2e-6
    assert session.run([y, tf.gradients(y, x)[0]], {x: 1.3}) == pytest.approx([value(1.3), expected])


def test_the_gradient_of_a_loop_in_a_conditional(session: tf.Session) -> None:
    pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [])
    y = tf.cond(pred, lambda: repeat(3, lambda v: v * x, x), lambda: tf.sin(x))
    grads = tf.gradients(y, x)
    assert session.run(grads, {x: 1.5, pred: True}) == pytest.approx([4 * 1.5**3])
    assert session.run(grads, {x: 1.5, pred: False}) == pytest.approx([np.cos(1.5)])


def test_gradients_of_several_loops_add_up(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])
    a = repeat(2, lambda v: v * x, x)
    b = repeat(3, lambda v: v + a, x)
    assert session.run(tf.gradients(a + b, x), {x: 2.0}) == pytest.approx([3 * 4 + 1 + 3 * 3 * 4])


def test_gradients_of_one_loop_can_be_taken_twice(session: tf.Session) -> None:
    x, w = tf.constant(2.0), tf.constant(3.0)
    _, a, b = tf.while_loop(lambda i, a, b: i < 2, lambda i, a, b: (i + 1, a * w, b * a), (0, x, x))
    first, second = tf.gradients(a, [x, w]), tf.gradients(b, [x, w])
    assert session.run(first) == [9, 12]  # a = x w², b = x³ w
    assert session.run(second) == [36, 8]
    assert session.run([first, second, a, b]) == [[9, 12], [36, 8], 18, 24]


def test_the_gradient_of_an_output_that_was_given_weights(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    y = repeat(2, lambda v: v * v, x)
    assert session.run(tf.gradients(y, x, grad_ys=[tf.constant([1.0, 10.0])])[0]).tolist() == [4, 320]


def test_the_gradient_with_growing_shapes(session: tf.Session) -> None:
    x = tf.constant([1.0, 2.0])
    y = tf.while_loop(
        lambda i, v: i < 2, lambda i, v: (i + 1, tf.concat([v, v * x[0]], 0)), (0, x),
        shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
    )[1]  # fmt: skip
    # The sum is (x0 + x1) (1 + x0)², where x0 = 1 and x1 = 2.
    assert session.run(tf.gradients(tf.reduce_sum(y), x)[0]).tolist() == [4 + 3 * 2 * 2, 4]


def test_the_gradient_with_maximum_iterations(session: tf.Session) -> None:
    x = tf.placeholder(tf.float64, [])
    y = tf.while_loop(lambda v: v < 1e9, lambda v: v * x, [x], maximum_iterations=3)
    assert session.run(tf.gradients(y, x), {x: 1.5}) == pytest.approx([4 * 1.5**3])


def test_a_gradient_taken_in_the_body(session: tf.Session) -> None:
    x = repeat(50, lambda v: v - 0.2 * tf.gradients(tf.square(v - 3.0), v)[0], tf.constant(0.0))
    assert session.run(x) == pytest.approx(3, abs=1e-5)


def test_a_gradient_taken_in_the_body_by_a_value_from_outside(session: tf.Session) -> None:
    x = tf.constant(2.0)
    y = repeat(3, lambda v: v + tf.gradients(v * x * x, x)[0], tf.constant(1.0))
    assert session.run(y) == (1 + 4) ** 3


def test_a_gradient_taken_in_the_body_of_a_loop_in_it(session: tf.Session) -> None:
    def step(v: Any) -> Any:
        return tf.gradients(repeat(2, lambda u: u * v, v), v)[0]  # 3 v²

    assert session.run(repeat(2, step, tf.constant(1.0))) == 27


def test_no_gradient_flows_through_a_loop_without_back_prop(session: tf.Session) -> None:
    x = tf.constant(2.0)
    y = repeat(3, lambda v: v * v, x, back_prop=False)
    assert session.run(y) == 256
    assert tf.gradients(y, x) == [None]
    assert session.run(tf.gradients(y * x, x)) == [256]


def test_the_invariant_of_a_sparse_loop_variable_is_its_rank_that_of_slices_the_shape_of_their_values() -> None:
    def shapes_of(value: Any, invariant: list[int | None]) -> list[list[int | None]]:
        out = tf.while_loop(lambda v: tf.constant(False), lambda v: v, [value], [tf.TensorShape(invariant)])
        return [t.shape.as_list() for t in (out.indices, out.values, out.dense_shape)]

    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 2]], [1.0, 2.0, 3.0], [4, 5])
    assert shapes_of(sparse, [2]) == [[None, 2], [None], [2]]
    assert shapes_of(sparse, [None]) == [[None, None], [None], [None]]
    slices = tf.IndexedSlices(tf.ones([3, 7]), tf.constant([0, 4, 8]), tf.constant([9, 7]))
    assert shapes_of(slices, [None, 7]) == [[None], [None, 7], [2]]
    for value, wrong in [(sparse, [3]), (slices, [None, 6]), (slices, [2, 7])]:
        with pytest.raises(ValueError, match="not compatible with the initial shape"):
            shapes_of(value, wrong)


def test_what_an_iteration_makes_can_be_neither_fetched_nor_fed(session: tf.Session) -> None:
    outside = tf.constant(5)
    seen: list[tf.Tensor] = []

    def body(v: tf.Tensor) -> tf.Tensor:
        seen.append(v + outside)
        return seen[0]

    graph, out = tf.get_default_graph(), tf.while_loop(lambda v: v < 12, body, [tf.constant(0)])
    assert graph.is_fetchable(out) and graph.is_feedable(out) and graph.is_feedable(outside)
    assert not graph.is_fetchable(seen[0]) and not graph.is_feedable(seen[0])
    with pytest.raises(ValueError, match="not fetchable"):
        session.run(seen[0])
    with pytest.raises(ValueError, match="may not be fed"):
        session.run(out, {seen[0]: 1})
    assert session.run(out, {outside: 7}) == 14


def test_what_a_loop_counts_has_no_gradient(session: tf.Session) -> None:
    x = tf.constant(2.0)
    i, _ = tf.while_loop(lambda i, v: v < 100.0, lambda i, v: (i + 1, v * 2.0), (0, x))
    assert tf.gradients(tf.to_float(i), x) == [None]


@PARALLEL
def test_a_long_loop_has_a_gradient(session: tf.Session, parallel: int) -> None:
    x, n = tf.placeholder(tf.float64, []), 1000
    y = repeat(n, lambda v: tf.sin(v) + x, tf.constant(0.0, tf.float64), parallel_iterations=parallel)
    v, expected = 0.0, 0.0
    for _ in range(n):
        v, expected = np.sin(v) + 0.3, np.cos(v) * expected + 1
    assert session.run([y, tf.gradients(y, x)[0]], {x: 0.3}) == pytest.approx([v, expected])


def test_a_bound_computed_by_reductions_of_the_same_name_as_pythons_functions() -> None:
    n = tf.placeholder(tf.int32, [None])
    most = tf.reduce_max(n)
    count = tf.while_loop(lambda i: i < tf.maximum(1, most), lambda i: i + 1, [tf.constant(0)])
    with tf.Session() as session:
        assert session.run(count, {n: [3, 5]}) == 5
        assert session.run(count, {n: [-3, -5]}) == 1


def test_a_loop_keeps_the_value_that_a_variable_had_when_it_was_read() -> None:
    v = tf.Variable([1.0, 2.0])
    x = v.read_value()
    update = tf.assign_add(v, [1.0, 1.0]).op
    _, doubled = tf.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * 2.0], [tf.constant(0), x])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([doubled, update])[0].tolist() == [8.0, 16.0]
        assert session.run(v).tolist() == [2.0, 3.0]


def test_a_reference_goes_round_a_loop_as_the_variable_itself() -> None:
    """Recorded from TensorFlow 2.21; a variable given as such goes round as its value."""
    v = tf.Variable(0.0)

    def add_two(i: tf.Tensor, x: tf.Tensor) -> Any:
        with tf.control_dependencies([tf.assign_add(x, 2.0)]):
            return i + 1, get_op("RefIdentity")(x)

    count, out = tf.while_loop(lambda i, x: i < 10, add_two, [tf.constant(0), v._ref()], parallel_iterations=1)
    same = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, get_op("RefIdentity")(x)), [0, v._ref()])[1]
    (grad,) = tf.gradients(same * 3.0, v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert (out.dtype._is_ref_dtype, session.run([count, out]), session.run(v)) == (True, [10, 20.0], 20.0)
        assert session.run(grad) == 3.0
    with pytest.raises(TypeError, match="enters the loop as float32_ref, but is float32 after"):
        tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.0), [0, v._ref()])


@BOTH_KINDS
@pytest.mark.parametrize("nested", [False, True])
def test_rows_that_a_loop_looks_up_are_the_gradient_of_the_table(
    use_resource: bool, nested: bool, session: tf.Session
) -> None:
    """Norms recorded from TensorFlow 2.21: rows that come twice count twice, so that clipping by them is the same."""
    start = np.arange(20, dtype=np.float32).reshape(5, 4)
    table = tf.get_variable("table", initializer=tf.constant(start), use_resource=use_resource)
    steps = tf.placeholder(tf.int32, [])

    def add(i: tf.Tensor, total: tf.Tensor) -> Any:
        rows = tf.nn.embedding_lookup(table, [i % 5, i * 2 % 5])
        if not nested:
            return i + 1, total + tf.reduce_sum(rows * rows)

        def add_product(j: tf.Tensor, t: tf.Tensor) -> Any:
            return j + 1, t + tf.reduce_sum(tf.gather(table, [j]) * rows)

        return i + 1, tf.while_loop(lambda j, _: j < 2, add_product, (0, total))[1]

    total = tf.while_loop(lambda i, _: i < steps, add, (0, 0.0))[1]
    (grad,) = tf.gradients(total, table)
    assert isinstance(grad, tf.IndexedSlices) and grad.values.shape.as_list() == [None, 4]
    session.run(tf.global_variables_initializer())
    norm, dense, shape = session.run([tf.global_norm([grad]), tf.convert_to_tensor(grad), grad.dense_shape], {steps: 3})
    assert norm == pytest.approx(95.49869 if nested else 92.0)
    times = np.array([2, 1, 2, 0, 1])[:, None]  # how often each row is looked up
    if nested:
        expected = times * (start[0] + start[1])
        expected[:2] += (times * start).sum(0)
    else:
        expected = 2 * times * start
    np.testing.assert_allclose(dense, expected)
    assert shape.tolist() == [5, 4]
    values, indices = session.run([grad.values, grad.indices], {steps: 0})
    assert values.shape == (0, 4) and indices.shape == (0,)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(grad, table)])
    session.run(train, {steps: 3})
    np.testing.assert_allclose(session.run(table), start - 0.5 * expected)


def test_rows_that_a_loop_looks_up_have_a_second_derivative(session: tf.Session) -> None:
    start = np.arange(20, dtype=np.float32).reshape(5, 4)
    table = tf.constant(start)

    def add(i: tf.Tensor, t: tf.Tensor) -> Any:
        return i + 1, t + tf.reduce_sum(tf.square(tf.gather(table, [i, i * 2])))

    total = tf.while_loop(lambda i, _: i < 3, add, (0, 0.0))[1]
    grad = tf.convert_to_tensor(tf.gradients(total, table)[0])  # 2 * times * table
    second = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.square(grad)), table)[0])
    np.testing.assert_allclose(session.run(second), 8 * np.array([2, 1, 2, 0, 1])[:, None] ** 2 * start)


def test_rows_of_what_is_computed_are_added_up_in_the_loop(session: tf.Session) -> None:
    """Nobody sees them there, and a sum has a shape that is known."""
    start = np.arange(20, dtype=np.float32).reshape(5, 4)
    x = tf.constant(start)
    y = tf.square(x)
    add = lambda i, t: (i + 1, t + tf.reduce_sum(tf.gather(y, [i, i * 2])))  # noqa: E731
    total = tf.while_loop(lambda i, _: i < 3, add, (0, 0.0))[1]
    grad = tf.gradients(total, x)[0]
    assert isinstance(grad, tf.Tensor)
    assert not [op for op in grad.graph.get_operations() if op.type.startswith("TensorArray")]
    np.testing.assert_allclose(session.run(grad), 2 * np.array([2, 1, 2, 0, 1])[:, None] * start)


def test_a_loop_has_tensorflows_nodes_and_seeds() -> None:
    """Names and the seed are as in TensorFlow 1.15, but for the name of what enters as it is (`Less/Enter` there)."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(3)
        start = [0, tf.ones_like(tf.placeholder(tf.float32, [2, 1]))]
        shapes = [tf.TensorShape([]), tf.TensorShape([2, None])]
        grow = lambda i, x: [i + 1, tf.concat([x, tf.random_uniform([2, 1])], 1)]  # noqa: E731
        tf.while_loop(lambda i, x: i < 9, grow, start, shapes, maximum_iterations=4)
        names = [op.name.removeprefix("while/") for op in graph.get_operations()]
        [draw] = [op for op in graph.get_operations() if op.type == "RandomUniform"]
    assert names[2:] == [
        *("maximum_iterations", "iteration_counter", "Const", "Enter", "Enter_1", "Enter_2"),
        *("Merge", "Merge_1", "Merge_2", "maximum_iterations/Enter", "Less", "Less_1/y", "Less_1", "LogicalAnd"),
        *("LoopCond", "Switch", "Switch_1", "Switch_2", "Identity", "Identity_1", "Identity_2", "add/y", "add"),
        *("add_1/y", "add_1", "random_uniform/shape", "random_uniform/min", "random_uniform/max"),
        *("random_uniform/RandomUniform", "random_uniform/sub", "random_uniform/mul", "random_uniform"),
        *("concat/axis", "concat", "NextIteration", "NextIteration_1", "NextIteration_2", "Exit", "Exit_1", "Exit_2"),
    ]
    assert (draw.get_attr("seed"), draw.get_attr("seed2")) == (3, 32)
