"""Conditionals: tf.cond, tf.case, tf.switch_case, and gradients through them."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.graph.scopes import seed_count

Pair = collections.namedtuple("Pair", ["a", "b"])
BOTH_KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def flag() -> Any:
    return tf.placeholder(tf.bool, [], name="flag")


def both(session: tf.Session, fetches: Any, pred: Any, feeds: Any = None) -> list[Any]:
    """The values with a true predicate, and with a false one."""
    return [session.run(fetches, {pred: value, **(feeds or {})}) for value in (True, False)]


# --- values ---------------------------------------------------------------------------------------------


def test_a_branch_may_give_a_list_of_one_where_the_other_gives_a_tensor() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32)
        for taken in (True, False):
            y = tf.cond(tf.constant(taken), lambda: tf.gradients(x * x, x), lambda: x)
            assert session.run(y, {x: 3.0}) == (6 if taken else 3)
        with pytest.raises(ValueError, match="structure"):
            tf.cond(tf.constant(True), lambda: [x], lambda: x, strict=True)


def test_a_conditional_gives_the_value_of_the_branch_taken(session: tf.Session) -> None:
    pred, x = flag(), tf.placeholder(tf.float32, [2])
    y = tf.cond(pred, lambda: x * 2.0, lambda: x - 1.0)
    assert y.shape.as_list() == [2]
    assert [v.tolist() for v in both(session, y, pred, {x: [3, 5]})] == [[6, 10], [2, 4]]


def test_a_branch_may_be_a_constant_or_a_tensor_from_outside(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(7.0)
    assert both(session, tf.cond(pred, lambda: x, lambda: tf.constant(1.0)), pred) == [7, 1]
    assert both(session, tf.cond(pred, lambda: 2, lambda: 3), pred) == [2, 3]
    assert both(session, tf.cond(pred, lambda: x, lambda: x), pred) == [7, 7]
    assert both(session, tf.cond(pred, lambda: pred, lambda: tf.logical_not(pred)), pred) == [True, True]


def test_a_string_can_be_chosen(session: tf.Session) -> None:
    pred = flag()
    y = tf.cond(pred, lambda: tf.constant("yes"), lambda: tf.constant(["no"])[0])
    assert both(session, y, pred) == [b"yes", b"no"]


def test_a_tensor_that_is_captured_often_enters_the_branch_once(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(3.0, name="x")
    y = tf.cond(pred, lambda: x * x + x, lambda: x - x)
    switches = [op for op in x.op.graph.get_operations() if op.type == "Switch" and op.inputs[0] is x]
    assert len(switches) == 2
    assert both(session, y, pred) == [12, 0]


def test_the_predicate_is_computed_in_the_step(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0.0, lambda: x, lambda: -x)
    assert [session.run(y, {x: v}) for v in (2, -3)] == [2, 3]
    assert session.run(tf.cond(tf.constant(True), lambda: 1, lambda: 2)) == 1


def test_two_conditionals_of_one_predicate_agree(session: tf.Session) -> None:
    pred = flag()
    a = tf.cond(pred, lambda: 1, lambda: 2)
    b = tf.cond(pred, lambda: a * 10, lambda: a * 100)
    assert both(session, [a, b], pred) == [[1, 10], [2, 200]]


def test_conditionals_nest(session: tf.Session) -> None:
    p, q, x = flag(), tf.placeholder(tf.bool, []), tf.constant(1.0)

    def inner(scale: float) -> Any:
        return tf.cond(q, lambda: x * scale, lambda: tf.cond(p, lambda: x + scale, lambda: x - scale))

    y = tf.cond(p, lambda: inner(10.0), lambda: inner(20.0))
    found = {(a, b): session.run(y, {p: a, q: b}) for a in (True, False) for b in (True, False)}
    assert found == {(True, True): 10, (True, False): 11, (False, True): 20, (False, False): -19}


def test_twenty_conditionals_deep(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])

    def build(depth: int) -> Any:
        return tf.cond(
            x > depth, lambda: build(depth + 1) if depth < 20 else tf.constant(21), lambda: tf.constant(depth)
        )

    y = build(0)
    assert [session.run(y, {x: n}) for n in (0, 1, 9, 20, 50)] == [0, 1, 9, 20, 21]


def test_branches_of_different_shapes_give_an_unknown_shape(session: tf.Session) -> None:
    pred = flag()
    y = tf.cond(pred, lambda: tf.zeros([2, 3]), lambda: tf.ones([2, 4]))
    assert y.shape.as_list() == [2, None]
    assert [v.shape for v in both(session, y, pred)] == [(2, 3), (2, 4)]


def test_a_fed_value_in_a_branch_is_used(session: tf.Session) -> None:
    pred, made = flag(), []

    def branch() -> Any:
        made.append(tf.constant(1.0) + 1.0)
        return made[0] * 3.0

    y = tf.cond(pred, branch, lambda: 0.0)
    assert both(session, y, pred, {made[0]: 5}) == [15, 0]


# --- structures -----------------------------------------------------------------------------------------


def test_the_result_has_the_structure_of_the_branches(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(1.0)
    as_list = tf.cond(pred, lambda: [x, 2], lambda: [-x, 3])
    assert isinstance(as_list, list)
    assert both(session, as_list, pred) == [[1, 2], [-1, 3]]
    as_tuple = tf.cond(pred, lambda: (x, 2), lambda: (-x, 3))
    assert isinstance(as_tuple, tuple)
    as_pair = tf.cond(pred, lambda: Pair(x, [2, x]), lambda: Pair(-x, [3, x]))
    assert isinstance(as_pair, Pair)
    assert both(session, [as_pair.a, *as_pair.b], pred) == [[1, 2, 1], [-1, 3, 1]]
    as_dict = tf.cond(pred, lambda: {"b": x, "a": (2, x)}, lambda: {"a": (3, x), "b": -x})
    assert set(as_dict) == {"a", "b"}
    assert both(session, [as_dict["b"], *as_dict["a"]], pred) == [[1, 2, 1], [-1, 3, 1]]


def test_a_list_of_one_comes_as_a_tensor_unless_strict(session: tf.Session) -> None:
    pred = flag()
    for make in (lambda: [1], lambda: (1,)):
        loose = tf.cond(pred, make, make)
        assert isinstance(loose, tf.Tensor)
        strict = tf.cond(pred, make, make, strict=True)
        assert type(strict) is type(make())
        assert both(session, [loose, strict[0]], pred) == [[1, 1]] * 2


def test_a_list_of_one_in_a_list_keeps_its_place(session: tf.Session) -> None:
    pred = flag()
    found = tf.cond(pred, lambda: [[1], 2], lambda: [[3], 4])
    assert isinstance(found[0], list)
    assert both(session, [found[0][0], found[1]], pred) == [[1, 2], [3, 4]]


@BOTH_KINDS
def test_an_operation_that_a_branch_gives_is_the_predicate_as_a_tensor(session: tf.Session, use_resource: bool) -> None:
    pred, v = flag(), tf.Variable(0.0, use_resource=use_resource)
    done = tf.cond(pred, lambda: tf.group(v.assign_add(1.0)), lambda: tf.no_op())
    assert (done.name, done.dtype, done.shape) == ("cond/Merge:0", tf.bool, [])
    session.run(v.initializer)
    for value, total in [(True, 1), (False, 1), (True, 2)]:
        assert session.run(done, {pred: value}) == value
        assert session.run(v) == total


def test_a_branch_may_give_an_operation_where_the_other_gives_a_bool(session: tf.Session) -> None:
    pred = flag()
    assert both(session, tf.cond(pred, lambda: [tf.constant(False)], tf.no_op), pred) == [False, False]
    assert both(session, tf.cond(pred, tf.no_op, lambda: tf.constant(True)), pred) == [True, True]
    found = tf.cond(pred, lambda: {"a": 1, "b": tf.no_op()}, lambda: {"b": tf.no_op(), "a": 4})
    assert both(session, found, pred) == [{"a": 1, "b": True}, {"a": 4, "b": False}]
    chosen = tf.case([(pred, lambda: tf.constant(False)), (pred, tf.no_op)], default=tf.no_op)
    assert both(session, chosen, pred) == [False, False]


def test_conditionals_make_as_many_nodes_as_tensorflow() -> None:
    """TensorFlow 1.15.5's counts, of which seeds are made."""
    x, pred = tf.placeholder(tf.float32, [3]), flag()
    cases: list[tuple[Any, int]] = [
        (lambda: tf.cond(pred, lambda: x * 2, lambda: x), 9),
        (lambda: tf.cond(pred, lambda: tf.no_op(), lambda: tf.group(tf.constant(1))), 10),
        (lambda: tf.cond(pred, lambda: tf.cond(pred, lambda: x, lambda: x + 1), lambda: x * x), 18),
    ]
    for build, nodes in cases:
        before = seed_count()
        build()
        assert seed_count() - before == nodes


def test_indexed_slices_are_chosen_as_such(session: tf.Session) -> None:
    pred = flag()

    def slices(scale: float, shape: Any) -> Any:
        return lambda: tf.IndexedSlices(tf.ones([2, 3]) * scale, tf.constant([0, 4]), shape)

    found = tf.cond(pred, slices(1.0, tf.constant([5, 3])), slices(2.0, tf.constant([5, 3])))
    assert isinstance(found, tf.IndexedSlices)
    values = both(session, [found.values, found.indices, found.dense_shape], pred)
    assert [v[0].tolist() for v in values] == [np.full([2, 3], s).tolist() for s in (1, 2)]
    assert [v[1].tolist() for v in values] == [[0, 4]] * 2
    assert values[0][2].tolist() == [5, 3]
    bare = tf.cond(pred, slices(1.0, None), slices(2.0, None))
    assert bare.dense_shape is None
    assert both(session, bare.values, pred)[1].tolist() == [[2] * 3] * 2


def test_sparse_tensors_are_chosen_as_such(session: tf.Session) -> None:
    pred = flag()
    outside = tf.SparseTensor([[0, 1]], [9.0], [2, 2])
    found = tf.cond(pred, lambda: tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3]), lambda: outside)
    assert isinstance(found, tf.SparseTensor)
    a, b = both(session, found, pred)
    assert (a.indices.tolist(), a.values.tolist(), a.dense_shape.tolist()) == ([[0, 0], [1, 2]], [1, 2], [2, 3])
    assert (b.indices.tolist(), b.values.tolist(), b.dense_shape.tolist()) == ([[0, 1]], [9], [2, 2])


def test_a_tensor_array_is_written_in_a_branch(session: tf.Session) -> None:
    pred = flag()
    array = tf.TensorArray(tf.float32, 2).write(0, 1.0)
    found = tf.cond(pred, lambda: array.write(1, 2.0), lambda: array.write(1, 3.0))
    assert [v.tolist() for v in both(session, found.stack(), pred)] == [[1, 2], [1, 3]]


# --- effects --------------------------------------------------------------------------------------------


@BOTH_KINDS
def test_only_the_branch_taken_runs(session: tf.Session, use_resource: bool) -> None:
    a, b = (tf.Variable(0.0, use_resource=use_resource) for _ in range(2))
    pred = flag()
    y = tf.cond(pred, lambda: a.assign_add(1.0) + 0.0, lambda: b.assign_add(10.0) + 0.0)
    session.run(tf.global_variables_initializer())
    assert both(session, y, pred) == [1, 10]
    assert session.run(y, {pred: True}) == 2
    assert session.run([a, b]) == [2, 10]


@BOTH_KINDS
def test_an_update_outside_the_branches_runs_in_any_case(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(0.0, use_resource=use_resource), flag()
    updated = v.assign_add(1.0)
    y = tf.cond(pred, lambda: updated + 0.0, lambda: 0.0)
    session.run(v.initializer)
    both(session, y, pred)
    assert session.run(v) == 2


@BOTH_KINDS
def test_a_variable_is_read_and_written_in_branches(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable([1.0, 2.0], use_resource=use_resource), flag()

    def changed() -> Any:
        with tf.control_dependencies([v.assign(v * 3.0)]):
            return v.read_value() + 0.5

    y = tf.cond(pred, changed, lambda: v - 1.0)
    session.run(v.initializer)
    assert session.run(y, {pred: False}).tolist() == [0, 1]
    assert session.run(y, {pred: True}).tolist() == [3.5, 6.5]
    assert session.run(y, {pred: False}).tolist() == [2, 5]


@BOTH_KINDS
def test_a_variable_itself_can_be_what_a_branch_gives(session: tf.Session, use_resource: bool) -> None:
    v, w, pred = tf.Variable(1.0, use_resource=use_resource), tf.Variable(2.0, use_resource=use_resource), flag()
    y = tf.cond(pred, lambda: v, lambda: w)
    session.run(tf.global_variables_initializer())
    assert both(session, y, pred) == [1, 2]


@BOTH_KINDS
def test_a_variable_made_in_a_branch_is_initialised_outside(session: tf.Session, use_resource: bool) -> None:
    pred = flag()
    y = tf.cond(pred, lambda: tf.Variable(4.0, use_resource=use_resource) * 2.0, lambda: 0.0)
    session.run(tf.global_variables_initializer())
    assert both(session, y, pred) == [8, 0]


def test_an_assertion_in_the_branch_not_taken_does_not_fire(session: tf.Session) -> None:
    pred, x = flag(), tf.placeholder(tf.float32, [])

    def checked() -> Any:
        with tf.control_dependencies([tf.Assert(x > 0.0, ["x must be positive:", x])]):
            return tf.identity(x)

    y = tf.cond(pred, checked, lambda: -x)
    assert session.run(y, {pred: False, x: -1}) == 1
    assert session.run(y, {pred: True, x: 1}) == 1
    with pytest.raises(errors.InvalidArgumentError, match="x must be positive"):
        session.run(y, {pred: True, x: -1})
    assert session.run(y, {pred: False, x: -1}) == 1


def test_an_error_in_a_branch_names_its_node(session: tf.Session) -> None:
    pred, x = flag(), tf.placeholder(tf.int32, [])
    y = tf.cond(pred, lambda: tf.gather([1, 2], x, name="look_up"), lambda: x)
    assert session.run(y, {pred: False, x: 7}) == 7
    with pytest.raises(errors.InvalidArgumentError, match=r"node \S*look_up(.|\n)*test_cond.py"):
        session.run(y, {pred: True, x: 7})


# --- control dependencies -------------------------------------------------------------------------------


@BOTH_KINDS
def test_a_conditional_under_a_control_dependency_waits_for_it(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(0.0, use_resource=use_resource), flag()
    with tf.control_dependencies([v.assign(5.0)]):
        y = tf.cond(pred, lambda: v.read_value(), lambda: v.read_value() * 10.0)
    session.run(v.initializer)
    assert both(session, y, pred) == [5, 50]


@BOTH_KINDS
def test_a_branch_waits_for_an_operation_outside(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(0.0, use_resource=use_resource), flag()
    session.run(v.initializer)
    update = v.assign_add(1.0)

    def branch() -> Any:
        with tf.control_dependencies([update]):
            return v.read_value()

    y = tf.cond(pred, branch, lambda: -1.0)
    assert both(session, y, pred) == [1, -1]
    assert session.run(v) == 2  # what is outside runs in any case


@BOTH_KINDS
def test_an_operation_after_a_conditional_sees_what_it_did(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(0.0, use_resource=use_resource), flag()
    done = tf.cond(pred, lambda: tf.group(v.assign(1.0)), lambda: tf.group(v.assign(2.0)))
    with tf.control_dependencies([done]):
        y = v.read_value()
    session.run(v.initializer)
    assert both(session, y, pred) == [1, 2]


@BOTH_KINDS
def test_control_dependencies_order_what_is_in_a_branch(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(1.0, use_resource=use_resource), flag()
    session.run(v.initializer)

    def branch() -> Any:
        before = v.read_value() + 0.0
        with tf.control_dependencies([before]):
            double = v.assign(v * 2.0)
        with tf.control_dependencies([double]):
            more = v.assign_add(3.0)
        with tf.control_dependencies([more]):
            return [before, v.read_value() + 0.0]

    y = tf.cond(pred, branch, lambda: [0.0, 0.0])
    assert [both(session, y, pred) for _ in range(2)] == [[[1, 5], [0, 0]], [[5, 13], [0, 0]]]


def test_a_branch_gives_values_in_order_whatever_is_fetched(session: tf.Session) -> None:
    pred = flag()
    a, b = tf.cond(pred, lambda: (1.0, 2.0), lambda: (3.0, 4.0))
    assert [both(session, f, pred) for f in (a, b, [b, a])] == [[1, 3], [2, 4], [[2, 1], [4, 3]]]


# --- fetches --------------------------------------------------------------------------------------------


def test_fetching_what_lies_in_the_branch_not_taken_is_an_error(session: tf.Session) -> None:
    pred = flag()
    when_false, when_true = tf.raw_ops.Switch(data=tf.constant(2.0), pred=pred)
    made = when_true * 5.0
    y = tf.raw_ops.Merge(inputs=[when_false, made + 1.0])[0]
    assert session.run([made, y], {pred: True}) == [10, 11]
    for fetches in (made, [y, made]):
        with pytest.raises(errors.InvalidArgumentError, match="does not have value"):
            session.run(fetches, {pred: False})
    assert session.run(y, {pred: False}) == 2


def test_running_an_operation_of_the_branch_not_taken_does_nothing(session: tf.Session) -> None:
    v, pred = tf.Variable(0.0), flag()
    with tf.control_dependencies([tf.identity(tf.raw_ops.Switch(data=pred, pred=pred)[1])]):
        add = v.assign_add(1.0).op
    session.run(v.initializer)
    session.run(add, {pred: False})
    assert session.run(v) == 0
    session.run(add, {pred: True})
    assert session.run(v) == 1


# --- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("if_true", "if_false", "kind", "match"),
    [
        (lambda: 1, lambda: 2.0, (TypeError, ValueError), "must have the same type: int32, float32"),
        (lambda: [1, 2], lambda: [1], (TypeError, ValueError), "Incompatible return"),
        (lambda: 1, lambda: None, ValueError, "false_fn must have a return value"),
        (lambda: None, lambda: None, ValueError, "true_fn must have a return value"),
        (lambda: 1.0, tf.no_op, ValueError, "must have the same type: float32, bool"),
        (list, list, ValueError, "at least one result"),
        (lambda: [1, [2, 3]], lambda: [[1, 2], 3], (TypeError, ValueError), "structure"),
        (lambda: {"a": 1}, lambda: {"b": 1}, (TypeError, ValueError), "keys"),
        (lambda: {"a": 1}, lambda: [1], (TypeError, ValueError), "structure"),
        (lambda: [1, None], lambda: [1, 2], ValueError, "None"),
        (
            lambda: tf.IndexedSlices(tf.ones([1]), tf.constant([0])),
            lambda: [1.0],
            (TypeError, ValueError),
            "IndexedSlices|structure",
        ),
    ],
    ids=["dtype", "count", "none", "nones", "operation", "empty", "nesting", "keys", "kinds", "leaf", "composite"],
)
def test_branches_that_do_not_match_are_refused(if_true: Any, if_false: Any, kind: Any, match: str) -> None:
    with pytest.raises(kind, match=match):
        tf.cond(flag(), if_true, if_false)


def test_dense_and_sparse_results_do_not_mix() -> None:
    with pytest.raises((TypeError, ValueError), match="Incompatible return types of true_fn and false_fn"):
        tf.cond(flag(), lambda: tf.IndexedSlices(tf.ones([1]), tf.constant([0])), lambda: tf.ones([1]))


def test_branches_must_be_functions() -> None:
    with pytest.raises(TypeError, match="true_fn must be callable"):
        tf.cond(flag(), tf.constant(1), lambda: 1)
    with pytest.raises(TypeError, match="false_fn must be callable"):
        tf.cond(flag(), lambda: 1, 3)
    with pytest.raises(TypeError, match="false_fn must be callable"):
        tf.cond(flag(), lambda: 1)


@pytest.mark.parametrize("value", [True, False])
def test_a_python_bool_is_no_predicate(value: bool) -> None:
    with pytest.raises(TypeError, match="pred must not be a Python bool"):
        tf.cond(value, lambda: 1, lambda: 2)


def test_a_predicate_is_a_scalar_bool(session: tf.Session) -> None:
    with pytest.raises(ValueError, match="scalar"):
        tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2)
    with pytest.raises((TypeError, ValueError), match="bool"):
        tf.cond(tf.constant(1.0), lambda: 1, lambda: 2)
    pred = tf.placeholder(tf.bool, None)
    y = tf.cond(pred, lambda: 1, lambda: 2)
    assert both(session, y, pred) == [1, 2]
    with pytest.raises(errors.InvalidArgumentError):
        session.run(y, {pred: [True, False]})


def test_a_graph_is_usable_after_a_branch_raised(session: tf.Session) -> None:
    def broken() -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.cond(flag(), broken, lambda: 1)
    pred = flag()
    outside = tf.constant(2.0) * 3.0
    assert session.run(outside) == 6
    assert both(session, tf.cond(pred, lambda: outside, lambda: 0.0), pred) == [6, 0]


def test_names_of_old_arguments_work(session: tf.Session) -> None:
    pred = flag()
    assert both(session, tf.cond(pred, fn1=lambda: 1, fn2=lambda: 2), pred) == [1, 2]
    with pytest.raises(TypeError):
        tf.cond(pred, lambda: 1, lambda: 2, fn1=lambda: 3)


# --- case -----------------------------------------------------------------------------------------------


def test_case_takes_the_first_true_predicate(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    pairs = [(x > 10, lambda: tf.constant("ten")), (x > 5, lambda: tf.constant("five"))]
    y = tf.case(pairs, default=lambda: tf.constant("none"))
    assert [session.run(y, {x: n}) for n in (11, 6, 1)] == [b"ten", b"five", b"none"]


def test_case_runs_one_branch_only(session: tf.Session) -> None:
    x, v = tf.placeholder(tf.int32, []), tf.Variable(0)
    y = tf.case([(x > n, lambda n=n: v.assign_add(n) + 0) for n in (100, 10, 1)], default=lambda: tf.constant(-1))
    session.run(v.initializer)
    assert [session.run(y, {x: n}) for n in (500, 50, 5, 0)] == [100, 110, 111, -1]


def test_an_exclusive_case_refuses_two_true_predicates(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    y = tf.case({x > 10: lambda: 1, x < 20: lambda: 2}, default=lambda: 3, exclusive=True)
    assert [session.run(y, {x: n}) for n in (25, 5)] == [1, 2]
    with pytest.raises(errors.InvalidArgumentError, match=r"[Mm]ore than one condition"):
        session.run(y, {x: 15})


def test_a_case_without_default_needs_a_true_predicate(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x > 10, lambda: 1), (x > 5, lambda: 2)])
    assert [session.run(y, {x: n}) for n in (25, 6)] == [1, 2]
    with pytest.raises(errors.InvalidArgumentError, match=r"[Nn]one of"):
        session.run(y, {x: 1})


def test_a_case_of_one_pair_checks_it_too(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x > 10, lambda: tf.constant(1))])
    assert session.run(y, {x: 11}) == 1
    with pytest.raises(errors.InvalidArgumentError, match=r"[Nn]one of"):
        session.run(y, {x: 1})


def test_case_refuses_what_are_no_pairs() -> None:
    with pytest.raises(TypeError, match="pairs"):
        tf.case([tf.constant(True)], default=lambda: 1)
    with pytest.raises(TypeError, match="callable"):
        tf.case([(tf.constant(True), 3)], default=lambda: 1)
    with pytest.raises(TypeError, match="default must be callable"):
        tf.case([(tf.constant(True), lambda: 1)], default=3)


def test_case_gives_structures(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32, [])
    y = tf.case([(x > 1, lambda: Pair(1, [x]))], default=lambda: Pair(2, [x + 1]), strict=True)
    assert isinstance(y, Pair)
    assert [session.run([y.a, y.b[0]], {x: n}) for n in (5, 0)] == [[1, 5], [2, 1]]


def test_switch_case_takes_the_branch_of_the_index(session: tf.Session) -> None:
    i = tf.placeholder(tf.int32, [])
    y = tf.switch_case(i, [lambda: 10, lambda: 11, lambda: 12])
    assert [session.run(y, {i: n}) for n in (0, 1, 2, 3, -1)] == [10, 11, 12, 12, 12]
    z = tf.switch_case(i, {3: lambda: 30, 5: lambda: 50}, default=lambda: -1)
    assert [session.run(z, {i: n}) for n in (3, 5, 4)] == [30, 50, -1]


# --- gradients ------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_branch_taken(session: tf.Session) -> None:
    pred, x = flag(), tf.placeholder(tf.float32, [2])
    y = tf.cond(pred, lambda: x * x, lambda: tf.sin(x))
    (grad,) = tf.gradients(y, x)
    a, b = both(session, grad, pred, {x: [2, 3]})
    np.testing.assert_allclose(a, [4, 6])
    np.testing.assert_allclose(b, np.cos([2, 3]), rtol=1e-6)


def test_what_one_branch_only_uses_has_no_gradient_in_the_other(session: tf.Session) -> None:
    pred, x, w = flag(), tf.constant([1.0, 2.0]), tf.constant([5.0, 7.0])
    y = tf.cond(pred, lambda: x * w, lambda: x * 3.0)
    x_grad, w_grad = both(session, tf.gradients(y, [x, w]), pred)
    np.testing.assert_allclose(x_grad, [[5, 7], [1, 2]])
    np.testing.assert_allclose(w_grad, [[3, 3], [0, 0]])


def test_a_tensor_used_twice_in_a_branch_gets_both_gradients(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(3.0)
    y = tf.cond(pred, lambda: x * x * x + x, lambda: x + x) * x
    assert both(session, tf.gradients(y, x), pred) == [[4 * 27 + 2 * 3], [4 * 3]]


def test_a_branch_that_passes_a_tensor_on_passes_its_gradient(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(3.0)
    y = tf.cond(pred, lambda: x, lambda: tf.constant(1.0)) * 2.0
    assert both(session, tf.gradients(y, x), pred) == [[2], [0]]


def test_gradients_go_through_nested_conditionals(session: tf.Session) -> None:
    p, q = flag(), tf.placeholder(tf.bool, [])
    x, w = tf.constant(2.0), tf.constant(3.0)
    y = tf.cond(
        p, lambda: tf.cond(q, lambda: x * w, lambda: x * x) * w, lambda: tf.cond(q, lambda: w * w, lambda: x + w)
    )
    grads = tf.gradients(y, [x, w])
    found = {(a, b): session.run(grads, {p: a, q: b}) for a in (True, False) for b in (True, False)}
    assert found == {(True, True): [9, 12], (True, False): [12, 4], (False, True): [0, 6], (False, False): [1, 1]}


def test_second_derivatives_go_through_a_conditional(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(2.0)
    y = tf.cond(pred, lambda: x * x * x, lambda: tf.exp(x) * x)
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    found = both(session, [first, second], pred)
    np.testing.assert_allclose(found, [[12, 12], [3 * np.exp(2), 4 * np.exp(2)]], rtol=1e-6)


def test_the_gradient_of_one_of_several_outputs(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(2.0)
    a, b = tf.cond(pred, lambda: (x * x, x * 5.0), lambda: (x * 7.0, tf.constant(1.0)))
    assert both(session, tf.gradients(a, x), pred) == [[4], [7]]
    assert both(session, tf.gradients(b, x), pred) == [[5], [0]]
    assert both(session, tf.gradients([a, b], x), pred) == [[9], [7]]


def test_a_path_around_a_conditional_adds_to_the_one_through_it(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(2.0)
    y = tf.cond(pred, lambda: x * x, lambda: x) + x * 10.0
    assert both(session, tf.gradients(y, x), pred) == [[14], [11]]


@BOTH_KINDS
def test_variables_used_in_branches_have_gradients(session: tf.Session, use_resource: bool) -> None:
    v, w = (tf.Variable(value, use_resource=use_resource) for value in ([2.0, 3.0], [5.0, 7.0]))
    pred = flag()
    y = tf.cond(pred, lambda: v * v + w, lambda: v * 10.0)
    grads = tf.gradients(y, [v, w])
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(both(session, grads, pred), [[[4, 6], [1, 1]], [[10, 10], [0, 0]]])


@BOTH_KINDS
def test_training_through_a_conditional_moves_what_the_branch_used(session: tf.Session, use_resource: bool) -> None:
    v, w = (tf.Variable(1.0, use_resource=use_resource) for _ in range(2))
    pred = flag()
    step = tf.train.GradientDescentOptimizer(0.25).minimize(tf.cond(pred, lambda: v * 2.0, lambda: w * 4.0))
    session.run(tf.global_variables_initializer())
    session.run(step, {pred: True})
    assert session.run([v, w]) == [0.5, 1]
    session.run(step, {pred: False})
    assert session.run([v, w]) == [0.5, 0]


@BOTH_KINDS
def test_a_gather_in_a_branch_has_a_gradient(session: tf.Session, use_resource: bool) -> None:
    v, pred = tf.Variable(np.ones([4, 2], np.float32), use_resource=use_resource), flag()
    y = tf.cond(pred, lambda: tf.gather(v, [1, 3, 1]), lambda: tf.zeros([3, 2]))
    grad = tf.convert_to_tensor(tf.gradients(y, v)[0])
    session.run(v.initializer)
    taken, other = both(session, grad, pred)
    assert taken.tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]
    assert other.tolist() == np.zeros([4, 2]).tolist()


def test_a_gather_of_a_tensor_in_a_branch_has_a_gradient(session: tf.Session) -> None:
    x, pred = tf.constant([1.0, 2.0, 3.0]), flag()
    y = tf.cond(pred, lambda: tf.gather(x, [2, 2]), lambda: x[:2])
    grad = tf.convert_to_tensor(tf.gradients(y, x)[0])
    assert [v.tolist() for v in both(session, grad, pred)] == [[0, 0, 2], [1, 1, 0]]


def test_gradients_taken_inside_a_branch(session: tf.Session) -> None:
    pred, x = flag(), tf.constant(3.0)
    y = tf.cond(pred, lambda: tf.gradients(x * x, x)[0], lambda: tf.constant(0.0))
    z = tf.constant(5.0) * x
    w = tf.cond(pred, lambda: tf.gradients(z * z, x)[0], lambda: x)
    assert both(session, [y, w], pred) == [[6, 150], [0, 3]]


def test_the_predicate_has_no_gradient(session: tf.Session) -> None:
    x, w = tf.constant(2.0), tf.constant(3.0)
    y = tf.cond(w > 1.0, lambda: x * x, lambda: x)
    assert tf.gradients(y, w) == [None]
    assert session.run(tf.gradients(y, x)) == [4]


def test_gradients_of_shapes_that_only_the_step_knows(session: tf.Session) -> None:
    pred, x = flag(), tf.placeholder(tf.float32, None)
    y = tf.reduce_sum(tf.cond(pred, lambda: tf.matmul(x, x), lambda: tf.zeros_like(x)))
    (grad,) = tf.gradients(y, x)
    value = np.array([[1, 2], [3, 4]], np.float32)
    taken, other = both(session, grad, pred, {x: value})
    np.testing.assert_allclose(taken, value.sum(1)[None, :] + value.sum(0)[:, None])
    assert other.tolist() == [[0, 0], [0, 0]]


def test_a_branch_may_give_one_tensor_alone_where_the_other_gives_it_in_a_list(session: tf.Session) -> None:
    x, p = tf.constant(3.0), tf.placeholder(tf.bool, [])
    out = tf.cond(p, lambda: [x + 1], lambda: x)
    assert [session.run(out, {p: value}) for value in (True, False)] == [4, 3]
    with pytest.raises((TypeError, ValueError)):
        tf.cond(p, lambda: [x + 1], lambda: x, strict=True)


def test_all_that_a_graph_calls_fetchable_has_a_value_whichever_branch_runs(session: tf.Session) -> None:
    p = tf.placeholder_with_default(True, [])
    tf.cond(p, lambda: tf.constant(2.0) * 3, lambda: tf.square(tf.constant(4.0)), name="both")
    graph = tf.get_default_graph()
    fetches = [t for op in graph.get_operations() for t in op.outputs if graph.is_fetchable(t)]
    assert {"both/Merge:0", "both/Merge:1"} < {t.name for t in fetches}
    for value in (True, False):
        assert len(session.run(fetches, {p: value})) == len(fetches)


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_rows_that_a_branch_looks_up_are_the_gradient_of_the_table(use_resource: bool) -> None:
    """As in TensorFlow 2.21: rows where they are looked up, none where they are not."""
    start = np.arange(12, dtype=np.float32).reshape(4, 3)
    table = tf.get_variable("table", initializer=tf.constant(start), use_resource=use_resource)
    flag = tf.placeholder(tf.bool, [])

    def looked_up(*rows: int, dtype: Any = np.int32) -> Any:
        return tf.reduce_sum(tf.square(tf.gather(table, np.array(rows, dtype))))

    one = tf.gradients(tf.cond(flag, lambda: looked_up(1, 1), lambda: 0.0), table)[0]
    two = tf.gradients(tf.cond(flag, lambda: looked_up(1, 1), lambda: looked_up(2, dtype=np.int64)), table)[0]
    loop = tf.while_loop(
        lambda i, _: i < 4,
        lambda i, t: (i + 1, t + tf.cond(tf.equal(i, 2), lambda: looked_up(3), lambda: looked_up(0, 1))),
        (0, 0.0),
    )[1]
    looped = tf.gradients(loop, table)[0]
    assert all(isinstance(grad, tf.IndexedSlices) for grad in (one, two, looped))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for fed, of_one, of_two in [(True, [1, 1], [1, 1]), (False, [], [2])]:
            found = session.run([one, two], {flag: fed})
            for grad, rows in zip(found, (of_one, of_two), strict=True):
                assert grad.indices.tolist() == rows and grad.dense_shape.tolist() == [4, 3]
                np.testing.assert_array_equal(grad.values, 2 * start[rows].reshape(-1, 3))
        times = np.array([3, 3, 0, 1])[:, None]
        np.testing.assert_allclose(session.run(tf.convert_to_tensor(looped)), 2 * times * start)


def test_cases_of_a_dict_are_tried_by_the_names_of_their_predicates() -> None:
    """As in TensorFlow 1.15, where dicts had no order; those of an OrderedDict as they are."""
    for kind, wanted in ((dict, 2.0), (collections.OrderedDict, 1.0)):
        with tf.Graph().as_default(), tf.Session() as session:
            b, a = (tf.placeholder_with_default(True, [], name=name) for name in "ba")
            branches = kind([(b, lambda: tf.constant(1.0)), (a, lambda: tf.constant(2.0))])
            assert session.run(tf.case(branches, default=lambda: tf.constant(3.0))) == wanted


def test_a_graph_tells_the_branch_being_built_and_may_be_taken_out_of_it(session: tf.Session) -> None:
    graph, found, outside = tf.get_default_graph(), [], []

    def true_fn() -> Any:
        context = graph._get_control_flow_context()
        found.append(context)
        graph._set_control_flow_context(None)
        outside.append(tf.constant(2.0) * 3.0)
        graph._set_control_flow_context(context)
        return outside[0] + 1.0

    chosen = tf.cond(flag(), true_fn, lambda: 0.0)
    assert graph._get_control_flow_context() is None and found[0].IsCondContext()
    assert outside[0].op._get_control_flow_context() is None
    assert session.run(outside[0]) == 6.0  # whichever branch runs
    assert session.run(chosen, {"flag:0": True}) == 7.0
    with pytest.raises(TypeError, match="object is no context of a cond or while_loop"):
        graph._set_control_flow_context(object())
