"""Plans for the shapes that are fed: what runs for which shapes, and that results and errors do not depend on it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig

import penstock as tf
from penstock.engine import pipeline
from penstock.engine.specialised import MORE_AFTER, MOST_PLANS, STEPS_BEFORE
from penstock.session import session as session_module


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[int, ...]]]:
    """The shapes that plans are made for, in order; [] for any."""
    made: list[list[tuple[int, ...]]] = []

    def prepare(feeds: Any, fetches: Any, targets: Any, options: Any, fed: Any = (), placement: Any = None) -> Any:
        made.append(list(fed))
        return pipeline.prepare(feeds, fetches, targets, options, fed, placement)

    monkeypatch.setattr(session_module, "prepare", prepare)
    return made


def _general() -> Any:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.shape_optimization = RewriterConfig.OFF
    return config


def _model() -> tuple[Any, Any, list[Any]]:
    x, y = tf.placeholder(tf.float32, [None, 3], "x"), tf.placeholder(tf.float32, [None], "y")
    w = tf.Variable(np.array([[0.5], [-1.0], [0.25]], np.float32))
    error = tf.reshape(tf.tanh(tf.matmul(x, w)), [-1]) - y
    loss = tf.reduce_mean(tf.square(error))
    return x, y, [loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss), tf.shape(error), error]


def _batch(rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(rows)
    return random.randn(rows, 3).astype(np.float32), random.randn(rows).astype(np.float32)


def test_steps_give_the_same_whatever_the_batch_sizes(planned: list[Any]) -> None:
    x, y, fetches = _model()
    start = tf.global_variables_initializer()
    with tf.Session() as ours, tf.Session(config=_general()) as general:
        for session in (ours, general):
            session.run(start)
        planned.clear()
        for rows in [8] * 5 + [3] + [8, 2, 1, 5] * (STEPS_BEFORE + 3) + [3, 0]:
            feeds = dict(zip((x, y), _batch(rows), strict=True))
            found, expected = ours.run(fetches, feeds), general.run(fetches, feeds)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
            np.testing.assert_array_equal(found[2], [rows])
            np.testing.assert_allclose(found[3], expected[3], rtol=1e-5, atol=1e-6)
    assert planned.count([]) == 2  # each session's general plan
    assert [shapes[1] for shapes in planned if shapes] == [(8,), (2,), (1,), (5,)]


def test_the_first_shapes_have_a_plan_and_one_that_is_general_serves_a_last_smaller_batch(planned: list[Any]) -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.reduce_sum(x * 2.0, 1)
    with tf.Session() as session:
        for _ in range(3):
            for rows in (4, 4, 4, 1):
                assert session.run(y, {x: np.ones((rows, 2))}).tolist() == [4.0] * rows
    assert planned == [[(4, 2)], []]


def test_shapes_that_change_all_the_time_make_few_plans(planned: list[Any]) -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.size(x) + tf.cast(tf.reduce_sum(x), tf.int32)
    with tf.Session() as session:
        for _ in range(STEPS_BEFORE * MOST_PLANS // MORE_AFTER + 3):
            for rows in range(MOST_PLANS + 8):
                assert session.run(y, {x: np.ones(rows)}) == 2 * rows
    assert len(planned) == MOST_PLANS + 1 and planned.count([]) == 1


def test_known_shapes_have_one_plan_and_so_has_everything_when_it_is_switched_off(planned: list[Any]) -> None:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [None])
    twice_x, twice_y = x * 2.0, y * 2.0
    with tf.Session() as session:
        session.run(twice_x, {x: [1.0, 2.0]})
    with tf.Session(config=_general()) as session:
        for rows in (1, 2):
            session.run(twice_y, {y: np.ones(rows)})
    assert planned == [[], []]


@pytest.mark.parametrize(
    "value",
    [
        [[1.0, 2.0, 3.0]], ((1.0, 2.0, 3.0),), np.array([[1.0, 2.0, 3.0]]), torch.tensor([[1.0, 2.0, 3.0]]),
        np.array([[1, 2, 3]], np.int8), np.array([[3.0, 2.0, 1.0]])[:, ::-1],
    ],
    ids=["list", "tuple", "array", "torch", "ints", "backwards"],
)  # fmt: skip
def test_anything_that_can_be_fed_can_be_fed(value: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.Session() as session:
        for _ in range(2):
            assert session.run([x * 2.0, tf.shape(x)], {x: value})[0].tolist() == [[2.0, 4.0, 6.0]]
            assert session.run(x * 2.0, {x: np.ones((2, 3))}).shape == (2, 3)


def test_numbers_beside_a_batch_do_not_stand_in_the_way(planned: list[Any]) -> None:
    x, rate, flag = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32), tf.placeholder(tf.bool, [])
    y = tf.where(tf.fill(tf.shape(x), flag), x * rate, x)
    with tf.Session() as session:
        for _ in range(3):
            assert session.run(y, {x: np.ones(2, np.float32), rate: 0.5, flag: True}).tolist() == [0.5, 0.5]
        assert session.run(y, {x: np.ones(2), rate: np.array([1.0, 3.0]), flag: True}).tolist() == [1.0, 3.0]
    assert planned == [[(2,), (), ()], []]


def test_a_list_has_the_plan_of_the_array_that_it_stands_for(planned: list[Any]) -> None:
    x, i = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    y = tf.gather(x * 2.0, i)
    with tf.Session() as session:
        assert session.run(y, {x: [[1.0, 2.0], [3.0, 4.0]], i: [1]}).tolist() == [[6.0, 8.0]]
        assert session.run(y, {x: np.ones((2, 2)), i: (0,)}).tolist() == [[2.0, 2.0]]
        assert session.run(y, {x: [np.ones(2), np.zeros(2)], i: np.array([1])}).tolist() == [[0.0, 0.0]]
        with pytest.raises(TypeError, match=r"Cannot feed \[1j\] for"):
            session.run(y, {x: [[1.0, 2.0]], i: [1j]})
    assert planned[0] == [(2, 2), (1,)]
    assert planned[1:] in ([], [[]])


class _NoHash:
    shape = [2]  # noqa: RUF012

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([1.0, 2.0], np.float32)


@pytest.mark.parametrize(
    "value",
    [
        np.ones((2, 4)), np.ones(3), [[1.0, 2.0]], "text", np.array([["a", "b", "c"]]), None, {}, object(), _NoHash(),
        [[1j, 1j, 1j]], np.full((2, 3), {}, object), [[1.0, 2.0], [3.0]], 5.0, torch.ones(2, 2),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("first", [False, True])
def test_what_cannot_be_fed_is_the_same_error_word_for_word(value: Any, first: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 3], "x")
    y = tf.reduce_sum(x)
    raised = []
    for config in (None, _general()):
        with tf.Session(config=config) as session:
            if not first:
                session.run(y, {x: np.ones((2, 3))})
            for _ in range(STEPS_BEFORE + 2):
                with pytest.raises((TypeError, ValueError)) as error:
                    session.run(y, {x: value})
            raised.append((error.type, str(error.value)))
            assert session.run(y, {x: np.ones((2, 3))}) == 6.0
    assert raised[0] == raised[1]


def test_a_symbolic_value_is_refused() -> None:
    x = tf.placeholder(tf.float32, [None])
    with tf.Session() as session, pytest.raises(TypeError, match=r"cannot be a tf\.Tensor object"):
        session.run(x * 2.0, {x: tf.ones([3])})


@pytest.mark.parametrize("resource", [False, True])
def test_values_that_do_not_fit_each_other_are_the_same_error_of_the_same_node(resource: bool) -> None:
    x, z = tf.placeholder(tf.float32, [None, None], "x"), tf.placeholder(tf.float32, [None], "z")
    w = tf.Variable(np.ones((3, 2), np.float32), use_resource=resource)
    added, product, given = x[0] + z, tf.matmul(x, w), tf.reshape(x, [tf.shape(z)[0], 2])
    one_hot = tf.gather(z, tf.shape(x)[0] + 1)
    assigned = tf.assign(tf.Variable(np.ones((2, 2), np.float32), name="kept"), x)
    fits = {x: np.ones((2, 3)), z: np.ones(3)}
    start = tf.global_variables_initializer()
    for fetch, shapes in (
        (added, [(1, 3), (4,)]), (product, [(2, 4), (3,)]), (given, [(2, 3), (4,)]), (one_hot, [(5, 3), (3,)]),
        (assigned, [(2, 3), (3,)]), ([added, tf.exp(added), tf.shape(added)], [(1, 3), (4,)]),
    ):  # fmt: skip
        raised = []
        for config in (None, _general()):
            for first in (True, False):
                with tf.Session(config=config) as session:
                    session.run(start)
                    if not first:
                        session.run([x, z], fits)
                        if fetch is added:
                            session.run(fetch, fits)
                    with pytest.raises(tf.errors.OpError) as error:
                        session.run(fetch, dict(zip((x, z), map(np.ones, shapes), strict=True)))
                    raised.append((error.type, str(error.value)))
                    assert session.run(product, fits).tolist() == [[3.0, 3.0]] * 2
        assert raised[0][0] is tf.errors.InvalidArgumentError and "built at" in raised[0][1]
        assert len(set(raised)) == 1


def test_loops_and_conditionals_of_changing_lengths_give_what_numpy_gives() -> None:
    x = tf.placeholder(tf.float32, [None, None])
    by_row = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)

    def body(i: Any, total: Any) -> list[Any]:
        row = by_row.read(i)
        return [
            i + 1,
            total * 0.5 + tf.cond(tf.reduce_sum(row) > 0.0, lambda: tf.tanh(row), lambda: row * tf.ones(tf.shape(row))),
        ]

    _, total = tf.while_loop(
        lambda i, _: i < tf.shape(x)[0], body, [0, tf.zeros(tf.shape(x)[1:])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )  # fmt: skip
    (grad,) = tf.gradients(tf.reduce_sum(total), x)
    with tf.Session() as session:
        for shape in [(3, 2), (3, 2), (1, 4), (5, 2)] * (STEPS_BEFORE + 2):
            value = np.random.RandomState(shape[0]).randn(*shape).astype(np.float32)
            expected, slopes = np.zeros(shape[1], np.float32), np.zeros(shape, np.float32)
            for i, row in enumerate(value):
                positive = row.sum() > 0
                expected = expected * 0.5 + (np.tanh(row) if positive else row)
                slopes[i] = (1 - np.tanh(row) ** 2 if positive else 1.0) * 0.5 ** (shape[0] - 1 - i)
            found = session.run([total, grad], {x: value})
            np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found[1], slopes, rtol=1e-5, atol=1e-6)


def test_threads_with_other_batch_sizes_share_a_plan_for_each(planned: list[Any]) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(tf.reshape(x, [tf.shape(x)[0] * 3])) + tf.cast(tf.shape(x)[0], tf.float32)
    start = threading.Barrier(4)
    with tf.Session() as session:

        def many(number: int) -> None:
            start.wait()
            for i in range(200):
                rows = 1 + (i + number) % 4
                assert session.run(y, {x: np.ones((rows, 3))}) == 4 * rows

        session.run(y, {x: np.ones((1, 3))})
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(many, range(4)))
    assert sorted(shapes for shapes in planned if shapes) == [[(rows, 3)] for rows in (1, 2, 3, 4)]
    assert planned.count([]) == 1


def test_explain_shows_the_plan_that_ran_last_or_that_would_run() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.reduce_sum(tf.reshape(x * 3.0, tf.stack([tf.shape(x)[1], tf.shape(x)[0]])))
    with tf.Session() as session:
        assert " shape(" in session.explain(y, [x])  # for any shapes, before the first step
        session.run(y, {x: np.ones((4, 2))})
        last = session.explain(y, [x])
        assert " shape(" not in last and "fold_constants" in last
        assert session.explain(y, {x: np.zeros((4, 2))}) == last
        assert " shape(" in session.explain(y, {x: np.zeros((5, 2))})
        assert session.explain(y, [x]) == session.explain(y, {x: np.zeros((6, 2))}) != last


def test_a_callable_and_traces_take_changing_shapes() -> None:
    x = tf.placeholder(tf.float32, [None], "x")
    y = tf.identity(tf.reduce_sum(x * 2.0), "y")
    with tf.Session() as session:
        call = session.make_callable(y, [x], accept_options=True)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        names = []
        for rows in (3, 3, 2, 5):
            assert call(np.ones(rows, np.float32)) == 2.0 * rows
            metadata = tf.RunMetadata()
            assert call(np.ones(rows, np.float32), options=options, run_metadata=metadata) == 2.0 * rows
            names.append({stats.node_name for stats in metadata.step_stats.dev_stats[0].node_stats})
        assert all(found & {"mul", "mul/region", "Sum/region"} for found in names)


def test_sparse_feeds_and_several_devices_take_changing_shapes() -> None:
    sparse, x = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.float32, [None, 2])
    with tf.device("/cpu:1"):
        dense = tf.sparse_tensor_to_dense(sparse)
    y = tf.reduce_sum(dense) + tf.reduce_sum(x) * tf.cast(tf.shape(x)[0], tf.float32)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        for count, rows in [(1, 2), (1, 2), (3, 4), (2, 2)]:
            entries = tf.SparseTensorValue([[i, 0] for i in range(count)], [1.0] * count, [count, 2])
            assert session.run(y, {sparse: entries, x: np.ones((rows, 2))}) == count + 2 * rows * rows
            assert "cpu:1" in session.explain(y, [sparse, x]).lower()


def test_chance_goes_on_where_it_was_whichever_plan_draws() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x) * 0.0 + tf.random_uniform([], seed=5)
    drawn = []
    for config in (None, _general()):
        with tf.Session(config=config) as session:
            drawn.append([session.run(y, {x: np.ones(1 + i % 3)}) for i in range(6)])
    assert drawn[0] == drawn[1] and len(set(drawn[0])) == 6


def test_a_session_that_nobody_holds_is_freed_at_once() -> None:
    x = tf.placeholder(tf.float32, [None])
    y = x * 2.0
    session = tf.Session()
    session.run(y, {x: np.ones(2)})
    held = weakref.ref(session)
    del session
    assert held() is None
