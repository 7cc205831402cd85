"""Staging areas. What is expected of them is what TensorFlow 2.21 does, recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import penstock as tf
from penstock.client.staging_areas import MapStagingArea
from tests.data_flow.later import Later

StagingArea = tf.contrib.staging.StagingArea


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def key(number: int) -> tf.Tensor:
    return tf.constant(number, tf.int64)


# --- areas that keep the order --------------------------------------------------------------------------


def test_elements_come_out_in_the_order_in_which_they_went_in() -> None:
    area = StagingArea([tf.float32, tf.string], shapes=[[2], []])
    x, s = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [])
    put, get, peek, size = area.put([x, s]), area.get(), area.peek(1), area.size()
    assert [t.shape.as_list() for t in get] == [[2], []]
    with tf.Session() as sess:
        for number, text in ((1, "a"), (2, "b"), (3, "c")):
            sess.run(put, {x: [number, number], s: text})
        assert sess.run(size) == 3
        assert [value.tolist() for value in sess.run(peek)[:1]] == [[2, 2]]
        first = sess.run(get)
        assert first[0].tolist() == [1, 1]
        assert first[1] == b"a"
        sess.run(area.clear())
        assert sess.run(size) == 0


def test_staged_values_do_not_change_with_what_was_fed_or_what_was_returned() -> None:
    area = StagingArea([tf.float32], shapes=[[2]])
    x = tf.placeholder(tf.float32, [2])
    put, get, peek = area.put(x), area.get(), area.peek(0)
    fed = np.array([1, 2], np.float32)
    with tf.Session() as sess:
        sess.run(put, {x: fed})
        fed[:] = 0
        sess.run(peek)[0][:] = 9
        assert sess.run(get)[0].tolist() == [1, 2]


def test_what_is_staged_of_a_variable_is_its_value_of_that_moment() -> None:
    area = StagingArea([tf.float32])
    v = tf.Variable([1.0, 2.0])
    put, add, get = area.put(v.value()), tf.assign_add(v, [1.0, 1.0]), area.get()
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(put)
        sess.run(add)
        assert sess.run(get)[0].tolist() == [1, 2]


def test_a_step_may_take_one_element_and_put_the_next() -> None:
    area = StagingArea([tf.int32], shapes=[[]])
    x = tf.placeholder(tf.int32, [])
    (taken,) = area.get()
    put = area.put(x)
    with tf.Session() as sess:
        sess.run(put, {x: 0})
        assert [sess.run([taken, put], {x: i})[0] for i in range(1, 6)] == [0, 1, 2, 3, 4]
        assert sess.run(area.size()) == 1


def test_a_full_area_lets_who_puts_wait_and_an_empty_one_who_gets() -> None:
    area = StagingArea([tf.int32], shapes=[[]], capacity=2)
    x = tf.placeholder(tf.int32, [])
    put, (get,), (peek,) = area.put(x), area.get(), area.peek(1)
    with tf.Session() as sess:
        taken, seen = Later(sess.run, get), Later(sess.run, peek)
        assert taken.waits()
        sess.run(put, {x: 1})
        assert taken.result() == 1
        sess.run(put, {x: 2})
        assert seen.waits()
        sess.run(put, {x: 3})
        assert seen.result() == 3
        third = Later(sess.run, put, {x: 4})
        assert third.waits()
        assert sess.run(get) == 2
        third.result()
        assert [sess.run(get), sess.run(get)] == [3, 4]


def test_clearing_makes_room_for_who_waits() -> None:
    area = StagingArea([tf.int32], capacity=1)
    x = tf.placeholder(tf.int32, [])
    put, clear, (get,) = area.put(x), area.clear(), area.get()
    with tf.Session() as sess:
        sess.run(put, {x: 1})
        waiting = Later(sess.run, put, {x: 2})
        assert waiting.waits()
        sess.run(clear)
        waiting.result()
        assert sess.run(get) == 2


def test_memory_is_limited() -> None:
    area = StagingArea([tf.float32], memory_limit=100)
    n = tf.placeholder(tf.int32, [])
    put, (get,) = area.put(tf.zeros([n])), area.get()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="'400' bytes into Staging Area with a memory limit"):
            sess.run(put, {n: 100})
        sess.run(put, {n: 20})
        waiting = Later(sess.run, put, {n: 10})
        assert waiting.waits()
        assert len(sess.run(get)) == 20
        waiting.result()
        assert len(sess.run(get)) == 10


def test_named_elements_are_dictionaries() -> None:
    area = StagingArea([tf.float32, tf.int32], names=["a", "b"])
    put, get = area.put({"b": tf.constant(2), "a": tf.constant(1.0)}), area.get()
    with tf.Session() as sess:
        sess.run(put)
        assert sess.run(get) == {"a": 1.0, "b": 2}
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        area.put([tf.constant(1.0), tf.constant(2)])
    with pytest.raises(ValueError, match="do not match names"):
        area.put({"x": tf.constant(1.0)})


def test_what_does_not_fit_is_refused_where_it_is_built() -> None:
    area = StagingArea([tf.float32], shapes=[[]])
    for wrong, message in (
        (tf.constant(1), "Datatypes do not match"),
        (tf.zeros([2]), "incompatible|not compatible"),
        ([tf.constant(1.0)] * 2, "Unexpected number of inputs 2 vs 1"),
        ({"a": tf.constant(1.0)}, "must have names"),
    ):
        with pytest.raises(ValueError, match=message):
            area.put(wrong)
    with pytest.raises(ValueError, match="shapes must be the same length"):
        StagingArea([tf.float32], shapes=[[], []])
    with pytest.raises(ValueError, match="shared_name must be a string"):
        StagingArea([tf.float32], shared_name=3)


def test_areas_are_known_by_their_names() -> None:
    first, second = StagingArea([tf.int32]), StagingArea([tf.int32])
    shared, again = (StagingArea([tf.int32], shared_name="shared") for _ in range(2))
    assert [area.name for area in (first, second, shared)] == ["StagingArea", "StagingArea_1", "shared"]
    assert first.put(tf.constant(1)).name == "StagingArea_put"
    with tf.Session("inproc://staging") as one, tf.Session("inproc://staging") as other:
        one.run(shared.put(tf.constant(5)))
        assert other.run(again.get()) == [5]
        tf.Session.reset("inproc://staging")


def test_an_element_of_another_number_of_values_stays() -> None:
    one = StagingArea([tf.int32], shared_name="mixed")
    two = StagingArea([tf.int32, tf.int32], shared_name="mixed")
    with tf.Session() as sess:
        sess.run(one.put(tf.constant(1)))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Mismatch stage/unstage: 1 vs. 2"):
            sess.run(two.get())
        assert sess.run(one.get()) == [1]


def test_elements_are_neither_lost_nor_doubled_between_threads() -> None:
    area = StagingArea([tf.int32], shapes=[[]], capacity=3)
    x = tf.placeholder(tf.int32, [])
    put, (get,) = area.put(x), area.get()
    with tf.Session() as sess:
        puts = [Later(lambda i=i: [sess.run(put, {x: 100 * i + j}) for j in range(50)]) for i in range(4)]
        gets = [Later(lambda: [int(sess.run(get)) for _ in range(50)]) for _ in range(4)]
        for each in puts:
            each.result()
        taken = [number for each in gets for number in each.result()]
    assert sorted(taken) == sorted(100 * i + j for i in range(4) for j in range(50))


def test_who_waits_holds_no_thread() -> None:
    areas = [StagingArea([tf.int32], shapes=[[]], shared_name=f"area_{i}") for i in range(300)]
    total = tf.add_n([area.get()[0] for area in areas])
    put = tf.group(*(area.put(tf.constant(i)) for i, area in enumerate(areas)))
    with tf.Session() as sess:
        before = threading.active_count()
        waiting = Later(sess.run, total)
        assert waiting.waits(0.5)
        assert threading.active_count() <= before + 4
        sess.run(put)
        assert waiting.result() == sum(range(300))


def test_closing_the_session_ends_waiting() -> None:
    (get,) = StagingArea([tf.int32]).get()
    sess = tf.Session()
    waiting = Later(sess.run, get)
    assert waiting.waits()
    sess.close()
    with pytest.raises(tf.errors.CancelledError):
        waiting.result()


def test_a_step_that_runs_out_of_time_takes_nothing() -> None:
    area = StagingArea([tf.int32], shapes=[[]])
    put, (get,) = area.put(tf.constant(7)), area.get()
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(get, options=tf.RunOptions(timeout_in_ms=100))
        sess.run(put)
        assert sess.run(area.size()) == 1
        assert sess.run(get, options=tf.RunOptions(timeout_in_ms=30000)) == 7


# --- areas with keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
def test_elements_are_found_by_their_keys(ordered: bool) -> None:
    area = MapStagingArea([tf.float32, tf.int32], shapes=[[], []], ordered=ordered)
    k, x = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [])
    put = area.put(k, [x, tf.constant(1)], [0, 1])
    get, peek, size = area.get(k)[1], area.peek(k), area.size()
    with tf.Session() as sess:
        for number in (3, 1, 2):
            sess.run(put, {k: number, x: number})
        sess.run(put, {k: 3, x: 99})  # a key that is there keeps its element
        assert sess.run(size) == 3
        assert sess.run(peek, {k: 3}) == [3, 1]
        assert sess.run(get, {k: 3}) == [3, 1]
        waiting = Later(sess.run, get, {k: 7})
        assert waiting.waits()
        sess.run(put, {k: 8, x: 8})
        sess.run(put, {k: 7, x: 7})
        assert waiting.result() == [7, 1]
        keys = [int(sess.run(area.get()[0])) for _ in range(3)]
        assert keys == [1, 2, 8] if ordered else sorted(keys) == [1, 2, 8]
        sess.run(put, {k: 1, x: 1})
        sess.run(area.clear())
        assert sess.run(size) == 0


@pytest.mark.parametrize("ordered", [False, True])
def test_elements_come_and_go_in_parts(ordered: bool) -> None:
    area = MapStagingArea([tf.float32, tf.int32], names=["x", "y"], ordered=ordered, capacity=1)
    half = area.put(key(1), {"x": tf.constant(5.0)})
    other = area.put(key(1), {"y": tf.constant(6)})
    sizes = [area.incomplete_size(), area.size()]
    y, x = area.get(key(1), ["y"])[1], area.get(key(1), ["x"])[1]
    with tf.Session() as sess:
        waiting = Later(sess.run, y)
        sess.run(half)
        assert waiting.waits()
        assert sess.run(sizes) == [1, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="index '0' for key '1' was already initialized"):
            sess.run(half)
        sess.run(other)
        assert waiting.result() == {"y": 6}
        for use in (y, area.peek(key(1), ["y"]), area.get(indices=["y"])[1]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="index '1' for key '1' has already been removed"):
                sess.run(use)
        assert sess.run(sizes) == [0, 1]
        assert sess.run(x) == {"x": 5}
        assert sess.run(sizes) == [0, 0]


def test_maps_have_limits_too() -> None:
    area = MapStagingArea([tf.float32], capacity=1, memory_limit=100)
    k, n = tf.placeholder(tf.int64, []), tf.placeholder(tf.int32, [])
    put, get = area.put(k, [tf.zeros([n])], [0]), area.get(k)[1]
    with tf.Session() as sess:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="memory limit"):
            sess.run(put, {k: 1, n: 100})
        sess.run(put, {k: 1, n: 1})
        waiting = Later(sess.run, put, {k: 2, n: 1})
        assert waiting.waits()
        sess.run(get, {k: 1})
        waiting.result()
        assert len(sess.run(get, {k: 2})[0]) == 1


def test_indices_of_maps_are_checked() -> None:
    area = MapStagingArea([tf.float32, tf.int32])
    one, two = tf.constant(1.0), tf.constant(2)
    op = tf.raw_ops.MapStage
    kwargs = {"dtypes": [tf.float32, tf.int32], "shared_name": area.name}
    with tf.Session() as sess:
        for indices, values, message in (
            ([1, 0], [two, one], "Indices are not strictly ordered"),
            ([5], [one], "Index '5' for key '1' was out of bounds '2'"),
            ([0], [one, two], "1 indices for 2 values"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                sess.run(op(key=key(1), indices=indices, values=values, **kwargs))
        with pytest.raises(tf.errors.InvalidArgumentError, match="one element tensor for the key"):
            sess.run(op(key=tf.constant([1, 2], tf.int64), indices=[0], values=[one], **kwargs))
    with pytest.raises(ValueError, match="Indices must be supplied"):
        area.put(key(1), [one, two])
    with pytest.raises(ValueError, match="doesn't match number of values"):
        area.put(key(1), [one, two], [0])
    with pytest.raises(ValueError, match="Empty indices"):
        area.get(key(1), [])
    with pytest.raises(TypeError, match="Invalid indices type"):
        area.get(key(1), 1)
    with pytest.raises(TypeError, match="Mixed types"):
        area.get(key(1), [0, "a"])
    with pytest.raises(ValueError, match="not created with names"):
        area.get(key(1), ["a"])


def test_steps_that_run_out_of_time_neither_lose_nor_double_elements() -> None:
    area = StagingArea([tf.int32], shapes=[[]], capacity=2)
    x = tf.placeholder(tf.int32, [])
    put, (get,) = area.put(x), area.get()
    hurried = tf.RunOptions(timeout_in_ms=1)

    def puts(first: int) -> list[int]:
        done = []
        for number in range(first, first + 60):
            try:
                sess.run(put, {x: number}, options=hurried if number % 3 else None)
            except tf.errors.DeadlineExceededError:
                continue
            done.append(number)
        return done

    def gets() -> list[int]:
        found = []
        while len(found) < 12:
            try:
                found.append(int(sess.run(get, options=hurried)))
            except tf.errors.DeadlineExceededError:
                continue
        return found

    with tf.Session() as sess:
        takers = [Later(gets), Later(gets)]
        givers = [Later(puts, 0), Later(puts, 1000)]
        late = Later(lambda: [int(sess.run(get)) for _ in range(12)])
        taken = takers[0].result() + takers[1].result() + late.result()
        # What is put and not taken yet is in the area, or waits before it.
        rest: list[int] = []
        while any(giver.waits(0.01) for giver in givers) or sess.run(area.size()):
            try:
                rest.append(int(sess.run(get, options=tf.RunOptions(timeout_in_ms=50))))
            except tf.errors.DeadlineExceededError:
                continue
        given = givers[0].result() + givers[1].result()
    assert sorted(taken + rest) == sorted(given)
