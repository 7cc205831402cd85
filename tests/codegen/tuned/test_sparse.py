"""Sparse kernels in C: lookups of categories, their sums and gradients, and updates of rows.

They give what the ops' own kernels give, which other tests compare with TensorFlow's, errors included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.codegen.c import trials
from penstock.codegen.compile_nodes import compile_nodes
from penstock.codegen.tuned import sparse_updates
from penstock.engine.plan import Plan, make_plan
from penstock.ops.farmhash import fingerprint64
from penstock.passes.prune import prune
from penstock.runtime.kernels import SessionState
from tests.codegen import steps


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _plan(state: SessionState, fetches: Any, feeds: Any = (), mode: str = "off") -> Plan:
    targets = [fetch for fetch in fetches if isinstance(fetch, tf.Operation)]
    tensors = [tf.convert_to_tensor(fetch) for fetch in fetches if fetch not in targets]
    return make_plan(compile_nodes(prune(list(feeds), tensors, targets), mode), state, steps.CPU)


def _plans(fetches: list[Any], feeds: Any, state: SessionState | None = None) -> list[Plan]:
    """The ops' own kernels, and those in C."""
    return [_plan(state or steps.new_state(), fetches, feeds, mode) for mode in ("off", "on")]


def _result(plan: Plan, values: list[Any]) -> Any:
    try:
        found = [np.asarray(value) for value in plan.run(values)]
    except errors.InvalidArgumentError as error:
        return str(error)
    return [(f.dtype, f.shape, f.tolist() if f.dtype == object else f.tobytes()) for f in found]


def _same(plans: list[Plan], *values: Any) -> Any:
    own, in_c = (_result(plan, list(values)) for plan in plans)
    assert in_c == own
    return own


def _ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


# --- segments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sum", "mean", "sqrt_n"])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_segments_and_their_gradients_have_the_bits_of_torchs_kernels(kind: str, counted: bool, dtype: str) -> None:
    data, ids = tf.placeholder(dtype, [None, None]), tf.placeholder(tf.int64, [None])
    which = tf.placeholder(tf.int32, [None])
    reduce = getattr(tf, f"sparse_segment_{kind}")
    found = reduce(data, which, ids, num_segments=9 if counted else None)
    fetches = [found, tf.gradients(found * found, data)[0]]
    rng = np.random.default_rng(0)

    def values(count: int) -> list[Any]:
        chosen = np.sort(rng.integers(0, 8, count))
        return [rng.normal(size=(7, 3)).astype(dtype), rng.integers(0, 7, count).astype(np.int32), chosen]

    plans = _plans(fetches, [data, which, ids])
    for count in (20, 1, 0, 100):
        assert not isinstance(_same(plans, *values(count)), str)
    good = rng.normal(size=(7, 3)).astype(dtype)
    for rows, segments in [([7], [0]), ([-1], [0]), ([1, 2], [1, 0]), ([1], [-1]), ([1, 2], [1])]:
        assert isinstance(_same(plans, good, np.array(rows, np.int32), _ints(*segments)), str)
    if counted:
        assert "num_segments" in _same(plans, good, np.array([1], np.int32), _ints(9))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("out", ["int32", "int64"])
def test_distinct_elements_are_in_the_order_of_their_first_appearance(dtype: str, out: str) -> None:
    x = tf.placeholder(dtype, [None])
    rng = np.random.default_rng(0)
    plans = _plans(list(tf.unique(x, out_idx=getattr(tf, out))), [x])
    for count, limit in [(0, 1), (1, 5), (17, 3), (1000, 900), (5000, 2**31 - 1)]:
        assert _same(plans, rng.integers(-limit, limit, count).astype(dtype))
    _same(plans, np.arange(0, 2**16 * 900, 2**16).astype(dtype))


# --- categories -----------------------------------------------------------------------------------------


def test_strings_of_all_lengths_have_farmhashs_fingerprints() -> None:
    """Compared with the published values' own test, in tests/ops: `fingerprint64`."""
    rng = np.random.default_rng(0)
    texts = [rng.bytes(n) for n in [*range(200), 255, 256, 257, 1000, 4096]]
    x = tf.placeholder(tf.string, [None])
    buckets = 2**62 + 11
    plans = _plans([tf.string_to_hash_bucket_fast(x, buckets)], [x])
    _same(plans, np.array(texts, object))
    (found,) = plans[1].run([np.array(texts, object)])
    assert found.tolist() == [fingerprint64(text) % buckets for text in texts]


def test_words_are_looked_up_in_tables_of_both_kinds() -> None:
    words = tf.placeholder(tf.string, None)
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    insert = table.insert(tf.constant(["a", "b"]), tf.constant([5, 2**62], tf.int64))
    state = steps.new_state()
    _plan(state, [insert]).run([])
    plans = _plans([table.lookup(words)], [words], state)
    for value in ([b"a", b"c", b"b"], [], [[b"a", b"b"], [b"", b"c"]], b"b"):
        _same(plans, np.array(value, object))


def _columns(rng: np.random.Generator, height: int, most: int, text: bool) -> list[Any]:
    counts = rng.integers(0, most + 1, height)
    rows = [(row, i) for row, count in enumerate(counts) for i in range(count)]
    numbers = rng.integers(-5, 5, len(rows))
    values = np.array([str(n).encode() for n in numbers] + [None], object)[:-1] if text else numbers
    return [np.array(rows, np.int64).reshape(-1, 2), values, _ints(height, most)]


@pytest.mark.parametrize("buckets", [0, 100])
def test_crosses_of_any_columns_are_those_of_the_ops_own_kernel(buckets: int) -> None:
    kinds = [True, False, True]
    columns = [
        tf.SparseTensor(
            tf.placeholder(tf.int64, [None, 2]),
            tf.placeholder(tf.string if text else tf.int64),
            tf.placeholder(tf.int64),
        )
        for text in kinds
    ]
    crossed = tf.sparse.cross_hashed(columns, buckets)
    feeds = [part for column in columns for part in (column.indices, column.values, column.dense_shape)]
    rng = np.random.default_rng(0)

    def values(height: int, most: int) -> list[Any]:
        return [part for text in kinds for part in _columns(rng, height, most, text)]

    plans = _plans([crossed.indices, crossed.values, crossed.dense_shape], feeds)
    for height, most in [(5, 2), (1, 1), (0, 0), (4, 0), (30, 4)]:
        assert not isinstance(_same(plans, *values(height, most)), str)
    for at, wrong in [(0, np.array([[1, 0], [0, 0]])), (0, np.array([[5, 0], [5, 1]])), (2, _ints(4, 2))]:
        bad = [np.array([[0, 0], [1, 0]]), np.array([b"x", b"y"], object), _ints(5, 2), *values(5, 2)[3:]]
        bad[at] = wrong
        assert isinstance(_same(plans, *bad), str)


def test_crosses_of_dense_columns_are_those_of_the_ops_own_kernel() -> None:
    sparse = tf.SparseTensor(tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.string), tf.placeholder(tf.int64))
    words, numbers = tf.placeholder(tf.string, [None, None]), tf.placeholder(tf.int64, [None, None])
    rng = np.random.default_rng(0)
    feeds = [sparse.indices, sparse.values, sparse.dense_shape, words, numbers]
    for columns, used in [([sparse, words, numbers], slice(0, 5)), ([numbers, words], slice(3, 5))]:
        crossed = tf.sparse.cross_hashed(columns, 1000)
        plans = _plans([crossed.indices, crossed.values, crossed.dense_shape], feeds[used])
        for height, width in [(5, 2), (1, 1), (0, 3), (4, 0)]:
            text = np.array([b"w%d" % i for i in range(height * width)] + [None], object)[:-1].reshape(height, width)
            values = [*_columns(rng, height, 2, True), text, rng.integers(0, 9, (height, 3))]
            assert not isinstance(_same(plans, *values[used]), str)
        assert isinstance(_same(plans, *values[used][:-1], rng.integers(0, 9, (6, 1))), str)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_sparse_values_become_dense_ones(dtype: str) -> None:
    indices, shape = tf.placeholder(tf.int64, None), tf.placeholder(tf.int64, [None])
    values, default = tf.placeholder(dtype, None), tf.placeholder(dtype, None)
    dense = tf.sparse_to_dense(indices, shape, values, default)
    plans = _plans([dense], [indices, shape, values, default])
    one, none = np.array(1, dtype), np.array(0, dtype)
    several = np.array([1, 0, 1], dtype)
    good = [
        (_ints(1), _ints(3), one),
        (_ints(0, 2, 4), _ints(5), several),
        (np.array([[0, 1], [1, 0], [1, 2]]), _ints(2, 3), several),
        (np.array([[0, 1], [1, 0], [1, 2]]), _ints(2, 3), one),
        (np.array(2), _ints(3), one),
        (np.zeros((0, 2), np.int64), _ints(2, 0), several[:0]),
    ]
    for case in good:
        assert not isinstance(_same(plans, *case, none), str)
    for case in [
        (_ints(3), _ints(3), one),
        (_ints(-1), _ints(3), one),
        (_ints(2, 1), _ints(3), several[:2]),
        (_ints(1, 1), _ints(3), several[:2]),
        (_ints(1), _ints(3, 3), one),
        (_ints(1), _ints(-3), one),
        (_ints(1), _ints(3), several),
    ]:
        assert isinstance(_same(plans, *case, none), str)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "string"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_elements_and_slices_are_gathered(dtype: str, index: str) -> None:
    params, indices = tf.placeholder(dtype), tf.placeholder(index)
    plans = _plans([tf.gather_nd(params, indices)], [params, indices])
    value = np.arange(24).reshape(4, 3, 2)
    numbers = value.astype(str).astype("S").astype(object) if dtype == "string" else value.astype(dtype)
    for at in ([[1, 2], [0, 0], [3, 1]], [[3], [0]], [1, 2, 1], [[[1, 0, 1]], [[2, 2, 0]]], np.zeros((0, 2)), [[], []]):
        assert not isinstance(_same(plans, numbers, np.array(at, index)), str)
    assert not isinstance(_same(plans, numbers.transpose(2, 0, 1), np.array([[1, 3], [0, 2]], index)), str)
    for wrong in ([[4, 0]], [[0, 0], [0, -1]], [[0, 0, 0, 0]]):
        assert isinstance(_same(plans, numbers, np.array(wrong, index)), str)


# --- updates --------------------------------------------------------------------------------------------

_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "rms": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered rms": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.02),
    "shrinking ftrl": lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.3),
}


@pytest.mark.parametrize("name", list(_OPTIMIZERS))
@pytest.mark.parametrize("resource", [False, True])
def test_rows_are_updated_as_by_torchs_kernels(name: str, resource: bool) -> None:
    table = tf.get_variable("table", [50, 3], initializer=tf.zeros_initializer(), use_resource=resource)
    ids = tf.placeholder(tf.int64, [None])
    loss = tf.reduce_sum(
        tf.nn.embedding_lookup(table, ids) * [[1.0, -2.0, 0.1]] + 3.0 * tf.nn.embedding_lookup(table, ids) ** 2
    )
    train = _OPTIMIZERS[name]().minimize(loss)
    start, every = tf.global_variables_initializer(), tf.global_variables()
    rng = np.random.default_rng(0)
    batches = [rng.integers(0, 50, 12) for _ in range(8)] + [np.zeros(0, np.int64)]
    found = []
    for mode in ("off", "on"):
        state = steps.new_state()
        _plan(state, [start]).run([])
        update = _plan(state, [train], [ids], mode)
        for batch in batches:
            update.run([batch])
        found.append(_plan(state, every).run([]))
    for own, in_c in zip(*found, strict=True):
        np.testing.assert_allclose(in_c, own, rtol=2e-5, atol=1e-7)


def test_duplicate_rows_are_updated_in_turn_and_wrong_ones_change_nothing() -> None:
    var, slot = (tf.get_variable(name, [4, 2], initializer=tf.ones_initializer()) for name in ("var", "slot"))
    rows, grad = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 2])
    update = tf.raw_ops.SparseApplyAdagrad(
        var=var._ref(), accum=slot._ref(), lr=tf.constant(0.5), grad=grad, indices=rows, use_locking=False
    )
    feeds = [rows, grad]
    found = []
    for mode in ("off", "on"):
        state = steps.new_state()
        _plan(state, [tf.global_variables_initializer()]).run([])
        plan = _plan(state, [update], feeds, mode)
        for _ in range(6):
            plan.run([np.array([2, 0, 2], np.int32), np.ones((3, 2), np.float32)])
        with pytest.raises(errors.InvalidArgumentError, match="4 is not in"):
            plan.run([np.array([1, 4], np.int32), np.ones((2, 2), np.float32)])
        found.append(_plan(state, [var, slot]).run([]))
    for own, in_c in zip(*found, strict=True):
        np.testing.assert_allclose(in_c, own, rtol=1e-6)
    np.testing.assert_array_equal(found[1][0][1], [1.0, 1.0])


def test_an_update_that_computes_something_else_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "RUNS", 3)
    monkeypatch.setattr(sparse_updates, "formula_of", lambda node: ("", "var -= 2 * lr * grad; accum += 0;"))
    table = tf.get_variable("table", [5, 2], initializer=tf.zeros_initializer())
    ids = tf.placeholder(tf.int64, [None])
    train = tf.train.MomentumOptimizer(1.0, 0.0).minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, ids)))
    state = steps.new_state()
    _plan(state, [tf.global_variables_initializer()]).run([])
    update = _plan(state, [train], [ids], "on")
    for _ in range(5):
        update.run([_ints(1)])
    (found,) = _plan(state, [table]).run([])
    np.testing.assert_array_equal(found[1], [-5.0, -5.0])
