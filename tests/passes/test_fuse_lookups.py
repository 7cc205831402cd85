"""Valid ids, their rows and the distinct ones as one node: when they are, and that lookups stay what they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.passes.fuse_lookups import fuse_lookups
from penstock.passes.prune import prune
from tests.codegen import steps

_CHAIN = ("GreaterEqual", "Where", "Unique")


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _ops(fetches: list[Any], feeds: list[Any]) -> Counter[str]:
    return Counter(node.op.name for node in fuse_lookups(prune(feeds, fetches, [])).nodes)


def _ids(dtype: Any = tf.int64) -> tf.SparseTensor:
    return tf.SparseTensor(
        tf.placeholder(tf.int64, [None, 2]), tf.placeholder(dtype, [None]), tf.placeholder(tf.int64, [2])
    )


_TABLE = np.arange(20, dtype=np.float32).reshape(10, 2) ** 2


def _summed(rows: list[list[int]]) -> np.ndarray:
    return np.array([_TABLE[[i for i in row if i >= 0]].sum(0) for row in rows])


def _fed(sparse: tf.SparseTensor, rows: list[list[int]]) -> dict[Any, Any]:
    indices = [(r, i) for r, row in enumerate(rows) for i in range(len(row))]
    values = [i for row in rows for i in row]
    return {
        sparse.indices: np.array(indices, np.int64).reshape(-1, 2),
        sparse.values: np.array(values, sparse.dtype.as_numpy_dtype),
        sparse.dense_shape: np.array([len(rows), 9], np.int64),
    }


_ROWS = [[[3, 3, 1], [], [-1, 3], [9]], [[-1]], [[], []], [[0]], [[i % 10 for i in range(90)], [-1] * 50]]


@pytest.mark.parametrize("dtype", [tf.int64, tf.int32])
def test_lookups_of_sparse_ids_have_one_node_for_their_ids(dtype: Any) -> None:
    sparse = _ids(dtype)
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(_TABLE), sparse, combiner="sum")
    ops = _ops([found], [*_fed(sparse, [])])
    assert ops["_ValidIds"] == 1 and not any(ops[op] for op in _CHAIN)
    with tf.Session() as session:
        for rows in _ROWS:
            np.testing.assert_allclose(session.run(found, _fed(sparse, rows)), _summed(rows))


@pytest.mark.parametrize("dtype", [tf.int64, tf.int32])
def test_the_kernel_in_c_gives_the_same(dtype: Any) -> None:
    from penstock.codegen.compile_nodes import compile_nodes
    from penstock.engine.plan import make_plan

    sparse = _ids(dtype)
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(_TABLE), sparse, combiner="sum")
    feeds = [*_fed(sparse, [])]
    graph = fuse_lookups(prune(feeds, [found], []))
    plan = make_plan(compile_nodes(graph, "on"), steps.new_state(), steps.CPU)
    for rows in _ROWS:
        np.testing.assert_allclose(plan.run([*_fed(sparse, rows).values()])[0], _summed(rows))


def test_values_between_the_nodes_can_be_fetched() -> None:
    sparse = _ids()
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(_TABLE), sparse, combiner="sum")
    graph = tf.get_default_graph()
    valid = next(op for op in graph.get_operations() if op.type == "GreaterEqual").outputs[0]
    distinct = next(op for op in graph.get_operations() if op.type == "Unique").outputs[0]
    with tf.Session() as session:
        summed, valid_ones, ids = session.run([found, valid, distinct], _fed(sparse, _ROWS[0]))
    np.testing.assert_allclose(summed, _summed(_ROWS[0]))
    np.testing.assert_array_equal(valid_ones, [True, True, True, False, True, True])
    np.testing.assert_array_equal(ids, [3, 1, 9])


def test_gradients_and_several_lookups_of_the_same_ids_share_the_node() -> None:
    sparse = _ids()
    tables = [tf.get_variable(f"t{i}", initializer=_TABLE) for i in range(2)]
    found = [tf.nn.safe_embedding_lookup_sparse(t, sparse, combiner="sum") for t in tables]
    grads = tf.gradients(tf.add_n([tf.reduce_sum(f) for f in found]), tables)
    fetches = [*found, *[tf.convert_to_tensor(g) for g in grads]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        text = session.explain(fetches, _fed(sparse, _ROWS[0]))
        assert "_validids" in text and " unique(" not in text
        first, _, grad, _ = session.run(fetches, _fed(sparse, _ROWS[0]))
    np.testing.assert_allclose(first, _summed(_ROWS[0]))
    wanted = np.zeros((10, 2))
    wanted[[1, 9]], wanted[3] = 1, 3
    np.testing.assert_array_equal(grad, wanted)


@pytest.mark.parametrize(("threshold", "fused"), [(0, 1), (1, 0)])
def test_rows_may_be_any_vector_but_valid_ids_are_not_negative(threshold: int, fused: int) -> None:
    ids, rows = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None, 2])
    kept = tf.reshape(tf.where(ids >= threshold), [-1])
    distinct, which = tf.unique(tf.gather(ids, kept))
    fetches = [distinct, which, tf.gather(rows[:, 1], kept)]
    assert _ops(fetches, [ids, rows])["_ValidIds"] == fused
    with tf.Session() as session:
        found = session.run(fetches, {ids: [5, -1, 0, 5], rows: [[0, 1], [0, 2], [0, 3], [0, 4]]})
    wanted = [[5, 0], [0, 1, 0], [1, 3, 4]] if fused else [[5], [0, 0], [1, 4]]
    assert [f.tolist() for f in found] == wanted


def test_dense_ids_whose_indices_are_known_have_the_node_too() -> None:
    column = tf.feature_column.bucketized_column(tf.feature_column.numeric_column("age"), [1.0, 2.0, 3.0])
    age = tf.placeholder(tf.float32, [None, 1])
    found = tf.feature_column.linear_model({"age": age}, [column])
    (weights,) = [v for v in tf.trainable_variables() if v.op.name.endswith("weights") and v.shape == (4, 1)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(weights.assign([[1.0], [2.0], [4.0], [8.0]]))
        ages = np.array([[0.5], [9.0], [2.0], [0.0]], np.float32)
        assert "_validids" in session.explain(found, {age: ages})
        np.testing.assert_array_equal(session.run(found, {age: ages}), [[1], [8], [4], [1]])


def test_indices_that_do_not_belong_to_the_ids_are_an_error() -> None:
    sparse = _ids()
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(_TABLE), sparse, combiner="sum")
    feeds = _fed(sparse, _ROWS[0])
    feeds[sparse.indices] = feeds[sparse.indices][:2]
    with tf.Session() as session, pytest.raises(errors.InvalidArgumentError):
        session.run(found, feeds)
