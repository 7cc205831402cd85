"""Constant folding and common subexpressions: what is left of a step, and that it gives the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.graph.opdef import get_op
from penstock.passes.common_subexpressions import merge_common_subexpressions
from penstock.passes.fold_constants import MOST_BYTES, fold_constants
from penstock.passes.prune import prune


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _step(fetches: list[Any], *feeds: Any) -> Any:
    return prune(list(feeds), [tf.convert_to_tensor(f) for f in fetches], [])


def _ops(graph: Any) -> Counter[str]:
    return Counter(node.op.name for node in graph.nodes)


def test_what_depends_on_constants_alone_is_computed_once() -> None:
    x = tf.placeholder(tf.float32, [2, 3])
    scale = tf.sqrt(tf.constant(4.0)) * tf.reduce_sum(tf.range(3, dtype=tf.float32))
    y = x * scale + tf.cast(tf.size(x), tf.float32)
    graph = fold_constants(_step([y], x))
    assert _ops(graph) == {"_Feed": 1, "Const": 2, "Mul": 1, "AddV2": 1}
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: np.ones((2, 3))}), np.full((2, 3), 12.0))


@pytest.mark.parametrize("dynamic_size", [False, True])
def test_the_size_of_an_array_that_cannot_grow_is_known(dynamic_size: bool) -> None:
    """TensorFlow's `TensorArray.stack` asks for it; a program of Penstock has it."""
    x = tf.placeholder(tf.float32, [2])
    array = tf.TensorArray(tf.float32, 3, dynamic_size=dynamic_size)
    _, array = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x * tf.to_float(i))), [0, array])
    size = get_op("TensorArraySizeV3")(array.handle, array.flow)
    rows = array.gather(tf.range(size))
    graph = fold_constants(_step([rows, tf.gradients(rows, x)[0]], x))
    assert _ops(graph)["TensorArraySizeV3"] == dynamic_size
    assert graph.fetches[0].node.shapes[0].is_compatible_with([5, 2]) == dynamic_size
    with tf.Session() as session:
        found = session.run([rows, tf.gradients(rows, x)[0]], {x: [1.0, 10.0]})
    assert [each.tolist() for each in found] == [[[0, 0], [1, 10], [2, 20]], [3, 3]]


def test_folding_leaves_state_chance_and_failures_to_the_step() -> None:
    drawn = tf.random_uniform([2]) + tf.constant(1.0)
    bad = tf.constant(1) // tf.constant(0)
    graph = fold_constants(_step([drawn, bad]))
    assert _ops(graph)["RandomUniform"] == 1 and _ops(graph)["FloorDiv"] == 1
    with tf.Session() as session:
        assert not np.array_equal(session.run(drawn), session.run(drawn))
        with pytest.raises(errors.InvalidArgumentError, match=r"(?s)zero.*test_optimise.py"):
            session.run(bad)


def test_a_large_constant_is_computed_from_one_as_large_but_not_from_a_small_one() -> None:
    large = tf.constant(np.ones((4 << 20,), np.float32))
    assert large.shape.num_elements() * 4 > MOST_BYTES
    x = tf.placeholder(tf.float32, [4 << 20])
    graph = fold_constants(_step([x * tf.identity(large), x * tf.fill([4 << 20], 2.0)], x))
    assert _ops(graph) == {"_Feed": 1, "Const": 3, "Mul": 2, "Fill": 1}


def test_a_check_that_always_succeeds_delays_nothing() -> None:
    image = tf.placeholder(tf.float32, [10, 10, 1])
    crop = tf.random_crop(image, [8, 8, 1])
    ops = _ops(fold_constants(_step([crop], image)))
    assert not {"Assert", "Sub", "AddV2", "GreaterEqual", "Identity"} & ops.keys()
    with tf.Session() as session:
        assert session.run(crop, {image: np.ones((10, 10, 1))}).shape == (8, 8, 1)


def test_a_check_that_fails_or_may_fail_is_made() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(tf.constant(False), [x])]):
        never = tf.identity(x)
    with tf.control_dependencies([tf.Assert(tf.constant([True]), [x])]):
        odd = tf.identity(x)
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        sometimes = tf.identity(x)
    with tf.Session() as session:
        for fetch in (never, odd):
            with pytest.raises(errors.InvalidArgumentError):
                session.run(fetch, {x: 1.0})
        assert session.run(tf.Assert(tf.constant(True), [x]), {x: 1.0}) is None
        assert session.run(sometimes, {x: 1.0}) == 1.0
        with pytest.raises(errors.InvalidArgumentError, match="assertion failed"):
            session.run(sometimes, {x: -1.0})


@pytest.mark.parametrize("taken", [True, False])
def test_what_waits_for_a_removed_check_runs_only_in_its_branch(taken: bool) -> None:
    count = tf.get_variable("count", [], tf.int32, tf.zeros_initializer())
    pred = tf.placeholder(tf.bool, [])

    def checked() -> tf.Tensor:
        with tf.control_dependencies([tf.Assert(tf.constant(True), [tf.identity(pred)])]):
            return tf.assign_add(count, 1)

    found = tf.cond(pred, checked, lambda: tf.constant(-1))
    counted = tf.while_loop(lambda i: i < 3, lambda i: _after(tf.Assert(tf.constant(True), [i]), i + 1), [0])
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run([found, counted], {pred: taken}) == [1 if taken else -1, 3]
        assert session.run(count) == int(taken)


def _after(check: tf.Operation, value: tf.Tensor) -> tf.Tensor:
    with tf.control_dependencies([check]):
        return tf.identity(value)


def test_a_fetched_or_fed_constant_stays_ones_own() -> None:
    two = tf.constant(1.0) + tf.constant([1.0, 1.0])
    with tf.Session() as session:
        first = session.run(two)
        first[:] = 7
        np.testing.assert_array_equal(session.run(two), [2.0, 2.0])
        assert session.run(two * 3.0, {two: [1.0, 5.0]}).tolist() == [3.0, 15.0]


def test_equal_nodes_become_one_and_unequal_ones_do_not() -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.exp(x) + tf.exp(x) * tf.exp(x * 2.0) + tf.exp(x * 2.0)
    kept = tf.one_hot(tf.cast(x, tf.int32), 3) + tf.one_hot(tf.cast(x, tf.int32), 3, axis=0)[0, 0]
    graph = merge_common_subexpressions(_step([y, kept], x))
    assert _ops(graph)["Exp"] == 2 and _ops(graph)["OneHot"] == 2 and _ops(graph)["Cast"] == 1
    value = np.array([0.0, 1.0, 2.0, 0.5], np.float32)
    with tf.Session() as session:
        found = session.run(y, {x: value})
        np.testing.assert_allclose(found, np.exp(value) + np.exp(3 * value) + np.exp(2 * value), rtol=1e-5)
        same = session.run([tf.exp(x), tf.exp(x)], {x: value})
        same[0][:] = 0  # two fetches of one value are two arrays
        np.testing.assert_allclose(same[1], np.exp(value), rtol=1e-6)


def test_reads_of_a_variable_at_different_moments_stay_apart() -> None:
    v = tf.Variable(1.0)
    before = tf.identity(v._ref()) + 0.0
    with tf.control_dependencies([before]):
        update = v.assign_add(1.0)
    with tf.control_dependencies([update]):
        after = tf.identity(v._ref()) + 0.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([before, after]) == [1.0, 2.0]


def test_both_passes_can_be_switched_off() -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.exp(x) + tf.exp(x) + tf.sqrt(tf.constant(4.0))
    config = tf.ConfigProto()
    with tf.Session(config=config) as session:
        shorter = session.explain(y, [x]).source.lower()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=config) as session:
        longer = session.explain(y, [x]).source.lower()
        assert session.run(y, {x: 0.0}) == 4.0
    assert (shorter.count("exp("), longer.count("exp(")) == (1, 2)
    assert (shorter.count("sqrt("), longer.count("sqrt(")) == (0, 1)
