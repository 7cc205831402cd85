"""Which nodes become one region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tensorboard.compat.proto.config_pb2 import ConfigProto

import penstock as tf
from penstock.graph.primitives import PRIMITIVES
from penstock.ops.resource_variables import READ_VARIABLE_OP
from tests.codegen.regions.steps import loop, ops_of, regions_of, session_with, started

pytestmark = pytest.mark.usefixtures("quick_compiler")


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def test_small_nodes_that_follow_each_other_are_one_region_though_their_shapes_differ() -> None:
    x = tf.placeholder(tf.float32, [3, 4])
    y = tf.reduce_sum(tf.matmul(x, tf.transpose(x)), axis=0) + tf.exp(x[:, 0])
    with session_with() as session:
        (region,) = regions_of(session, [y], [x])
        assert {"MatMul", "Sum", "Exp"} <= set(ops_of(region))
        value = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
        np.testing.assert_allclose(session.run(y, {x: value}), (value @ value.T).sum(0) + np.exp(value[:, 0]), 1e-5)


def test_a_node_between_two_that_cannot_be_written_dividesregions_of() -> None:
    x = tf.placeholder(tf.float32, [4])
    before = tf.exp(x) * tf.tanh(x)
    between = tf.py_func(lambda v: v + np.float32(1), [before], tf.float32)
    between.set_shape([4])
    after = tf.sqrt(tf.abs(between)) + before
    with session_with() as session:
        assert len(regions_of(session, [after], [x])) == 2
        value = np.array([0, 1, -1, 2], np.float32)
        first = np.exp(value) * np.tanh(value)
        np.testing.assert_allclose(session.run(after, {x: value}), np.sqrt(abs(first + 1)) + first, 1e-5)


def test_a_loop_is_in_a_region_whole() -> None:
    x = tf.placeholder(tf.float32, [2])
    with session_with() as session:
        (region,) = regions_of(session, [loop(x, 5)], [x])
        assert {"Enter", "Merge", "Switch", "NextIteration", "Exit", "LoopCond", "Tanh"} <= set(ops_of(region))


def test_a_loop_that_writes_a_variable_stays() -> None:
    total = tf.Variable(np.float32(0), use_resource=True)

    def body(i: Any) -> Any:
        with tf.control_dependencies([total.assign_add(tf.exp(tf.cast(i, tf.float32)))]):
            return i + 1

    done = tf.while_loop(lambda i: i < 4, body, [0])
    with started() as session:
        assert not any(PRIMITIVES & set(ops_of(region)) for region in regions_of(session, [done]))
        assert session.run(done) == 4
        np.testing.assert_allclose(session.run(total), np.exp(np.arange(4)).sum(), 1e-6)


def test_nodes_on_several_devices_stay() -> None:
    x = tf.placeholder(tf.float32, [4])
    with tf.device("/cpu:0"):
        a = tf.exp(x) * tf.tanh(x)
    with tf.device("/cpu:1"):
        b = tf.sin(a) * tf.cos(a)
    with session_with(config=ConfigProto(device_count={"CPU": 2})) as session:
        assert not regions_of(session, [b], [x])
        assert session.run(b, {x: np.zeros(4)}).tolist() == [0] * 4


@pytest.mark.parametrize("outside", [False, True])
def test_an_array_is_written_with_all_its_users_or_not_at_all(outside: bool) -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    array = tf.TensorArray(tf.float32, 3, element_shape=[2]).unstack(tf.exp(x) * 2)
    first = array.read(0)
    index = tf.constant(1)
    if outside:  # it comes from the array, by way of a node that is in no region
        index = tf.py_func(lambda row: np.int32(len(row) - 1), [first], tf.int32)
        index.set_shape([])
    y = tf.tanh(array.read(index)) * 2
    with session_with() as session:
        inside = [op for region in regions_of(session, [y], [x]) for op in ops_of(region) if "TensorArray" in op]
        assert inside == ([] if outside else ["TensorArrayV3", "TensorArrayScatterV3", "TensorArrayReadV3"])
        value = np.arange(6, dtype=np.float32).reshape(3, 2) / 10
        np.testing.assert_allclose(session.run(y, {x: value}), np.tanh(np.exp(value[1]) * 2) * 2, 1e-6)


def test_two_rows_of_a_variable_can_be_looked_up_in_one_region() -> None:
    for use_resource in (False, True):
        table = tf.Variable(np.arange(12, dtype=np.float32).reshape(6, 2), use_resource=use_resource)
        i, j = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.int32, [2])
        y = tf.exp(tf.gather(table, i)) - tf.exp(tf.gather(table, j))
        with started() as session:
            assert len(regions_of(session, [y], [i, j])) == 1
            assert session.run(y, {i: [1, 2], j: [1, 2]}).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("waits", [False, True])
def test_regions_may_know_a_variable_by_another_name(waits: bool) -> None:
    variable = tf.Variable(np.ones(3, np.float32), use_resource=True)
    added = variable.assign_add(np.ones(3, np.float32))
    with tf.control_dependencies([added] if waits else []):
        handle = tf.identity(variable.handle)  # type: ignore[attr-defined]
    first = tf.exp(READ_VARIABLE_OP(handle, dtype=tf.float32)) * 2
    between = tf.py_func(lambda v: v + np.float32(1), [first], tf.float32)
    between.set_shape([3])
    with tf.control_dependencies([between]):
        second = tf.tanh(READ_VARIABLE_OP(handle, dtype=tf.float32)) * between
    with started() as session:
        assert len(regions_of(session, [second])) >= 2
        value = 2 if waits else 1
        expected = np.tanh(value) * (2 * np.exp(value) + 1)
        np.testing.assert_allclose(session.run(second), np.full(3, expected), 1e-6)


def test_loops_in_branches_stay_since_not_all_of_them_run() -> None:
    x, pred = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.bool, [])
    y = tf.cond(pred, lambda: loop(x, 2), lambda: loop(x * 2, 3)) + tf.exp(x) * 2
    with started() as session:
        assert not any(PRIMITIVES & set(ops_of(region)) for region in regions_of(session, [y], [x, pred]))
        for taken in (True, False):
            value = np.full(2, 0.25)
            expected = value if taken else value * 2
            for _ in range(2 if taken else 3):
                expected = np.tanh(expected) * 1.5
            np.testing.assert_allclose(session.run(y, {x: value, pred: taken}), expected + np.exp(value) * 2, 1e-5)


@pytest.mark.parametrize(
    ("part", "op"),
    [
        (lambda table, ids: tf.gather_nd(table, tf.expand_dims(ids, 1)), "GatherNd"),
        (lambda table, ids: tf.gather(table, ids), "GatherV2"),
        (lambda table, ids: table[10:15] * tf.cast(ids[0] + 1, tf.float32), "StridedSlice"),
    ],
)
def test_what_takes_a_part_of_a_large_variable_is_in_a_region(part: Any, op: str) -> None:
    values = np.arange(160_000, dtype=np.float32).reshape(4000, 40) / 160_000
    ids = tf.placeholder(tf.int32, [5], name="ids")
    y = tf.exp(part(tf.Variable(values), ids)) * 2.0
    with started() as session:
        (region,) = regions_of(session, [y], [ids])
        assert op in ops_of(region)
        expected = np.exp(values[10:15] if op == "StridedSlice" else values[[0, 3999, 7, 7, 1]] * 1.0)
        for _ in range(4):
            found = session.run(y, {ids: [0, 3999, 7, 7, 1]})
            np.testing.assert_allclose(found, expected * 2, rtol=1e-5)


def test_a_large_variable_that_others_read_is_no_result_of_a_region() -> None:
    """A region would give a copy: rows are gathered in it, and what is outside reads the variable itself."""
    table = tf.Variable(np.ones((4000, 40), np.float32))
    rows = tf.gather(table, tf.placeholder(tf.int32, [5], name="ids"))
    small, large = tf.exp(rows) * 2.0, table.read_value() * 2.0
    with started() as session:
        fetches = [small, large, table.value() - 1.0]
        (region,) = regions_of(session, fetches, [session.graph.get_tensor_by_name("ids:0")])
        assert "GatherV2" in ops_of(region)
        assert [shape.num_elements() for shape in region.shapes] == [200]
        found = session.run(fetches, {"ids:0": np.zeros(5, np.int32)})
        np.testing.assert_allclose(found[0], np.full((5, 40), 2 * np.e), rtol=1e-6)
        assert found[1].sum() == 320_000
        assert not found[2].any()
