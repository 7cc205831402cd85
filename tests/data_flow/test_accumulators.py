"""Conditional accumulators. What is expected of them is what TensorFlow 2.21 does, recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from tests.data_flow.later import Later

LIMIT = tf.RunOptions(timeout_in_ms=30000)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def session(graph: None) -> Iterator[tf.Session]:
    with tf.Session() as session:
        yield session


def test_the_mean_of_the_gradients_of_a_step_is_taken_when_there_are_enough(session: tf.Session) -> None:
    accumulator = tf.ConditionalAccumulator(tf.float32, name="Q", shape=[2])
    grad, step = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [])
    apply, take, count = accumulator.apply_grad(grad, step), accumulator.take_grad(2), accumulator.num_accumulated()
    assert (accumulator.name, accumulator.dtype) == ("Q", tf.float32)
    assert isinstance(accumulator, tf.ConditionalAccumulatorBase)
    assert take.shape.as_list() == [2]
    session.run(apply, {grad: [1, 2], step: 0})
    mean = Later(session.run, take)
    assert mean.waits()
    session.run(apply, {grad: [3, 5], step: 0})
    assert mean.result().tolist() == [2, 3.5]
    session.run(apply, {grad: [1, 2], step: 0})  # too late
    assert session.run(count) == 0
    for local_step in (1, 7):
        session.run(apply, {grad: [local_step, 0], step: local_step})
    assert session.run(count) == 2
    assert session.run(take).tolist() == [4, 0]


def test_the_step_can_be_set(session: tf.Session) -> None:
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
    step = tf.placeholder(tf.int32, [])
    apply, set_step = accumulator.apply_grad(1.0, step), accumulator.set_global_step(step)
    counts = []
    for op, at in ((set_step, 5), (apply, 4), (apply, 5), (set_step, 3), (apply, 4), (apply, 2)):
        session.run(op, {step: at})
        counts.append(int(session.run(accumulator.num_accumulated())))
    assert counts == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_gradients_are_summed_if_that_is_asked_for(session: tf.Session, dtype: tf.DType) -> None:
    accumulator = tf.ConditionalAccumulator(dtype, reduction_type="SUM")
    for grad in (3, 4):
        session.run(accumulator.apply_grad(np.array(grad, dtype.as_numpy_dtype)))
    found = session.run(accumulator.take_grad(1))
    assert found == 7
    assert found.dtype == dtype.as_numpy_dtype
    with pytest.raises(ValueError, match="'reduction_type'"):
        tf.ConditionalAccumulator(dtype, reduction_type="MIN")


def test_gradients_of_other_shapes_are_refused(session: tf.Session) -> None:
    known, unknown = tf.ConditionalAccumulator(tf.float32, shape=[2]), tf.ConditionalAccumulator(tf.float32)
    grad = tf.placeholder(tf.float32)
    with pytest.raises(ValueError):
        known.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[2\], got \[3\]"):
        session.run(known.apply_grad(grad), {grad: [1, 2, 3]})
    apply = unknown.apply_grad(grad, 9)
    session.run(apply, {grad: [1, 2, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[3\], got \[2\]"):
        session.run(apply, {grad: [1, 2]})
    assert session.run(unknown.take_grad(1)).tolist() == [1, 2, 3]
    session.run(apply, {grad: [1, 2]})
    assert session.run(known.num_accumulated()) == 0


def test_no_number_of_gradients_below_one_can_be_asked_for(session: tf.Session) -> None:
    for accumulator in (tf.ConditionalAccumulator(tf.float32), tf.SparseConditionalAccumulator(tf.float32)):
        for number in (0, -1):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"num_required must be positive, but was {number}"
            ):
                session.run(accumulator.take_grad(number))


def test_accumulated_gradients_do_not_change_with_what_was_fed(session: tf.Session) -> None:
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2])
    grad = tf.placeholder(tf.float32, [2])
    fed = np.array([1, 2], np.float32)
    session.run(accumulator.apply_grad(grad), {grad: fed})
    fed[:] = 9
    session.run(accumulator.apply_grad(grad), {grad: [3, 4]})
    assert fed.tolist() == [9, 9]
    assert session.run(accumulator.take_grad(2)).tolist() == [2, 3]


def test_a_step_may_take_before_it_applies(session: tf.Session) -> None:
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[])
    take = accumulator.take_grad(2)
    applied = [accumulator.apply_grad(grad) for grad in (1.0, 5.0)]
    assert session.run([take, applied], options=LIMIT)[0] == 3


def test_accumulators_of_one_name_are_one_accumulator() -> None:
    first, second = (tf.ConditionalAccumulator(tf.float32, shape=[], shared_name="shared") for _ in range(2))
    with tf.Session("inproc://accumulators") as one, tf.Session("inproc://accumulators") as other:
        one.run(first.apply_grad(2.0))
        assert other.run(second.take_grad(1), options=LIMIT) == 2
        tf.Session.reset("inproc://accumulators")


def test_the_ops_with_references_do_the_same(session: tf.Session) -> None:
    handle = get_op("ConditionalAccumulator")(dtype=tf.float32, shape=[])
    step = tf.constant(0, tf.int64)
    apply = get_op("AccumulatorApplyGradient")(handle, step, 3.0)
    take = get_op("AccumulatorTakeGradient")(handle, 1, dtype=tf.float32)
    count = get_op("AccumulatorNumAccumulated")(handle)
    session.run(apply)
    session.run(apply)
    assert session.run(count) == 2
    assert session.run(take, options=LIMIT) == 3
    session.run(get_op("AccumulatorSetGlobalStep")(handle, step))
    session.run(apply)
    assert session.run(count) == 1
    wrong = get_op("AccumulatorApplyGradient")(handle, step, tf.constant(1.0, tf.float64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="accumulates float32, not float64"):
        session.run(wrong)


# --- sparse ---------------------------------------------------------------------------------------------


def rows(accumulator: Any, session: tf.Session, required: int = 1) -> tuple[list[Any], list[Any], list[int]]:
    found = session.run(accumulator.take_indexed_slices_grad(required), options=LIMIT)
    return found.indices.tolist(), found.values.tolist(), found.dense_shape.tolist()


def test_rows_are_summed_by_their_index_and_divided_by_how_many_there_are(session: tf.Session) -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32)
    for indices, values in (([0, 2], [[1, 1], [3, 3]]), ([0, 1], [[10, 10], [20, 20]])):
        session.run(accumulator.apply_grad(indices, np.array(values, np.float32), [3, 2]))
    assert session.run(accumulator.num_accumulated()) == 2
    assert rows(accumulator, session) == ([0, 1, 2], [[5.5, 5.5], [20, 20], [3, 3]], [-1, 2])
    session.run(accumulator.apply_grad([0], [[1.0, 1.0]]))  # too late
    assert session.run(accumulator.num_accumulated()) == 0
    session.run(accumulator.set_global_step(5))
    session.run(accumulator.apply_grad([0], [[1.0, 1.0]], local_step=4))
    assert session.run(accumulator.num_accumulated()) == 0


def test_rows_may_be_in_any_order(session: tf.Session) -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32)
    repeated = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([2, 0, 2]))
    session.run(accumulator.apply_indexed_slices_grad(repeated))
    assert rows(accumulator, session) == ([2, 0, 2], [[1], [2], [3]], [-1, 1])
    for indices, values in (([2, 0], [[1], [2]]), ([1, 0], [[5], [6]])):
        session.run(accumulator.apply_grad(indices, np.array(values, np.float32), local_step=1))
    assert rows(accumulator, session) == ([1, 0, 2, 0], [[5], [6], [1], [2]], [-1, 1])


def test_rows_can_be_summed_only(session: tf.Session) -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 1], reduction_type="SUM")
    session.run(accumulator.apply_grad([0, 2], [[1.0], [2.0]]))
    session.run(accumulator.apply_grad([2], [[5.0]]))
    assert rows(accumulator, session, 2) == ([0, 2], [[1], [7]], [3, 1])


def test_many_random_sparse_gradients_have_the_mean_that_numpy_finds(session: tf.Session) -> None:
    rng = np.random.default_rng(0)
    accumulator = tf.SparseConditionalAccumulator(tf.float64)
    i, v = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float64, [None, 3])
    apply = accumulator.apply_grad(i, v)
    total, counts = np.zeros((50, 3)), np.zeros((50, 1))
    for _ in range(20):
        indices = np.sort(rng.choice(50, rng.integers(0, 10), replace=False))
        values = rng.normal(size=(len(indices), 3))
        session.run(apply, {i: indices, v: values})
        total[indices] += values
        counts[indices] += 1
    found, values, _ = session.run(accumulator.take_grad(20), options=LIMIT)
    assert found.tolist() == np.flatnonzero(counts).tolist()
    np.testing.assert_allclose(values, total[found] / counts[found])


@pytest.mark.parametrize(
    ("indices", "values", "shape", "message"),
    [
        ([0], [[1, 1, 1]], None, "expected values dim 1 to be 2, got 3"),
        ([0], [[1, 1]], [2, 2], "expected shape dim 0 to be 3, got 2"),
        ([3], [[1, 1]], None, "index of slice 0 exceeded limits of shape; index is 3 exceeded 3"),
        ([0], [1], None, "expected values rank at least 2, got 1"),
        ([0], 3, None, "Values cannot be 0-dimensional"),
        ([0, 1], [[1, 1]], None, "Expected 2 non-empty input values, got 1"),
        ([[0]], [[1, 1]], None, "Input indices should be vector but received shape: [1,1]"),
    ],
)
def test_sparse_gradients_that_do_not_fit_are_refused(
    session: tf.Session, indices: Any, values: Any, shape: Any, message: str
) -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 2])
    apply = accumulator.apply_grad(indices, np.array(values, np.float32), shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        session.run(apply)
    assert session.run(accumulator.num_accumulated()) == 0


def test_gradients_of_one_step_have_one_width(session: tf.Session) -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32)
    session.run(accumulator.apply_grad([0], [[1.0, 1.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected values dim 1 to be 2, got 1"):
        session.run(accumulator.apply_grad([0], [[1.0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected values rank 2, got 1"):
        session.run(accumulator.apply_grad([0], [1.0]))
