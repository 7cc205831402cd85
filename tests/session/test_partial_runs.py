"""Steps that are run in parts: parts wait for no feeds but their own, in any kind of graph and on any devices."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock import errors


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_part_waits_for_no_feeds_but_its_own(session: tf.Session) -> None:
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    r1 = a + b
    r2 = r1 * c
    for last in (17, 18):
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        first = session.partial_run(handle, r1, {a: 1, b: 2})
        assert first == 3
        assert session.partial_run(handle, r2, {c: first * last}) == 9 * last


def test_partial_runs_of_one_graph_go_on_side_by_side(session: tf.Session) -> None:
    a, b, c = (tf.placeholder(tf.float32, [], name=n) for n in "abc")
    r1 = a + b
    r2 = r1 * c
    one, two = session.partial_run_setup([r1], [a, b, c]), session.partial_run_setup([r1, r2], [a, b, c])
    assert session.partial_run(one, r1, {a: 1, b: 2}) == 3
    assert session.partial_run(two, r1, {a: 57, b: 9}) == 66
    assert session.partial_run(two, r2, {c: 7}) == 462


def test_many_parts_in_many_threads(session: tf.Session) -> None:
    feeds, fetches, product = [], [], tf.constant(2.0)
    for _ in range(30):
        feeds.append(tf.placeholder(tf.float32, []))
        product = product * feeds[-1]
        fetches.append(product)
    found: list[float] = []

    def run(factor: float) -> None:
        handle = session.partial_run_setup(fetches, feeds)
        for feed, fetch in zip(feeds, fetches, strict=True):
            last = session.partial_run(handle, fetch, {feed: factor})
        found.append(last)

    threads = [threading.Thread(target=run, args=(factor,)) for factor in (1.0, -1.0, 0.5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [2 * 0.5**30, 2.0, 2.0]


def test_what_is_fed_without_a_fetch_is_there_later(session: tf.Session) -> None:
    a = tf.placeholder(tf.float32)
    b = a * 2.0
    handle = session.partial_run_setup([b], [a])
    assert session.partial_run(handle, [], {a: 3.0}) == []
    assert session.partial_run(handle, [b]) == [6.0]
    with pytest.raises(errors.InvalidArgumentError, match="at least one target to fetch or execute"):
        session.partial_run_setup([], [a])


@pytest.mark.parametrize("taken", [True, False])
def test_conditionals_and_loops_run_in_parts(session: tf.Session, taken: bool) -> None:
    p, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    chosen = tf.cond(p, lambda: x * 2.0, lambda: x - 1.0)
    (slope,) = tf.gradients(chosen, x)
    _, grown = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * y), [0, chosen])
    (through,) = tf.gradients(grown, y)
    handle = session.partial_run_setup([chosen, slope, grown, through], [p, n, x, y])
    first = 6.0 if taken else 2.0
    assert session.partial_run(handle, chosen, {p: taken, x: 3.0}) == first
    assert session.partial_run(handle, slope) == (2.0 if taken else 1.0)
    assert session.partial_run(handle, [grown, through], {n: 3, y: 2.0}) == [first * 8, first * 12]


def test_a_loop_whose_body_waits_for_a_later_feed(session: tf.Session) -> None:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    early, late = tf.while_loop(lambda a, b: a < 10.0, lambda a, b: (a + x, b + y), [x, 0.0])
    handle = session.partial_run_setup([x + 1.0, early, late], [x, y])
    with pytest.raises(errors.InvalidArgumentError, match="Must feed"):
        session.partial_run(handle, late, {x: 4.0})
    assert session.partial_run(handle, early, {x: 4.0}) == 12.0
    assert session.partial_run(handle, late, {y: 0.5}) == 1.0


def test_a_part_that_updates_a_variable_does_so_once(session: tf.Session) -> None:
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    session.run(v.initializer)
    updated = tf.assign_add(v, x)
    with tf.control_dependencies([updated]):
        scaled = v.read_value() * y
    handle = session.partial_run_setup([updated.op, scaled], [x, y])
    assert session.partial_run(handle, updated.op, {x: 2.0}) is None
    assert session.run(v) == 3.0
    assert session.partial_run(handle, scaled, {y: 10.0}) == 30.0
    assert session.run(v) == 3.0


def test_an_update_that_is_built_first_does_not_hold_up_a_part_that_does_not_wait_for_it(session: tf.Session) -> None:
    x, v = tf.placeholder(tf.float32, []), tf.Variable(1.0)
    session.run(v.initializer)
    updated = tf.assign(v, x)
    read = v + 0.5
    handle = session.partial_run_setup([read, updated], [x])
    assert session.partial_run(handle, read) == 1.5
    assert session.partial_run(handle, updated, {x: 4.0}) == 4.0


def test_what_fails_ends_the_partial_run(session: tf.Session) -> None:
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    total = x + y
    handle = session.partial_run_setup([total, x * 2.0], [x, y])
    with pytest.raises(errors.InvalidArgumentError, match="built at"):
        session.partial_run(handle, total, {x: [1, 2], y: [1, 2, 3]})
    with pytest.raises(errors.InvalidArgumentError, match="partial_run_setup"):
        session.partial_run(handle, total)


def test_parts_run_on_several_devices() -> None:
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        a, b, c = (tf.placeholder(tf.float32, [2], name=n) for n in "abc")
        with tf.device("/cpu:0"):
            v = tf.Variable([1.0, 2.0])
            r1 = (a + b) * v
        with tf.device("/cpu:1"):
            w = tf.Variable([5.0, 5.0])
            r2 = r1 * c + w
        session.run(tf.global_variables_initializer())
        handle = session.partial_run_setup([r1, r2], [a, b, c])
        first = session.partial_run(handle, r1, {a: [1, 1], b: [2, 3]})
        np.testing.assert_array_equal(first, [3, 8])
        np.testing.assert_array_equal(session.partial_run(handle, r2, {c: first}), [14, 69])
