"""Queues: what comes out, when, and in which order; errors are TensorFlow's (2.21, recorded)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_a_fifo_queue_gives_elements_in_the_order_in_which_they_came() -> None:
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []])
    x, s = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.string, [])
    one, many = queue.enqueue([x, s]), queue.enqueue_many([[[3, 4], [5, 6], [7, 8]], ["b", "c", "d"]])
    take, take_2, size = queue.dequeue(), queue.dequeue_many(2), queue.size()
    with tf.Session() as sess:
        sess.run(one, {x: [1, 2], s: "a"})
        sess.run(many)
        assert sess.run(size) == 4
        first = sess.run(take)
        assert first[0].tolist() == [1, 2] and first[1] == b"a"
        numbers, texts = sess.run(take_2)
        assert numbers.tolist() == [[3, 4], [5, 6]] and texts.tolist() == [b"b", b"c"]
        assert sess.run(take)[1] == b"d"
    assert [t.shape.as_list() for t in take] == [[2], []]
    assert [t.shape.as_list() for t in take_2] == [[2, 2], [2]]


def test_what_was_enqueued_keeps_its_value_whatever_becomes_of_the_array_that_was_fed() -> None:
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[2]])
    x = tf.placeholder(tf.float32, [None, 2])
    put, put_one, take = queue.enqueue_many(x), queue.enqueue(x[0]), queue.dequeue()
    fed = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.Session() as sess:
        sess.run(put, {x: fed})
        sess.run(put_one, {x: fed})
        fed[:] = 0
        first = sess.run(take)
        first[:] = 9
        assert sess.run(take).tolist() == [3, 4]
        assert sess.run(take).tolist() == [1, 2]


def test_batches_and_single_elements_come_out_together() -> None:
    queue = tf.FIFOQueue(100, tf.int64, shapes=[[]])
    n = tf.placeholder(tf.int64, [None])
    many, one, take = queue.enqueue_many(n), queue.enqueue(n[0]), tf.placeholder(tf.int32, [])
    batch = queue.dequeue_many(take)
    with tf.Session() as sess:
        sess.run(many, {n: [0, 1, 2]})
        sess.run(one, {n: [3]})
        sess.run(one, {n: [4]})
        sess.run(many, {n: [5, 6, 7, 8]})
        sizes = [2, 4, 0, 3]
        found = [sess.run(batch, {take: size}).tolist() for size in sizes]
    assert found == [[0, 1], [2, 3, 4, 5], [], [6, 7, 8]]


def test_elements_without_shapes_may_differ_and_cannot_be_batched() -> None:
    queue = tf.FIFOQueue(10, tf.int32)
    x = tf.placeholder(tf.int32)
    put, take, batch = queue.enqueue(x), queue.dequeue(), queue.dequeue_many(1)
    with tf.Session() as sess:
        for value in (1, [1, 2], [[3]]):
            sess.run(put, {x: value})
        assert [sess.run(take).tolist() for _ in range(3)] == [1, [1, 2], [[3]]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="DequeueMany and DequeueUpTo require the components"):
            sess.run(batch)


def test_a_closed_queue_gives_what_it_has_and_then_says_that_it_is_closed() -> None:
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]], shared_name="q")
    put, close, closed = queue.enqueue_many([[1, 2, 3]]), queue.close(), queue.is_closed()
    take, up_to, many = queue.dequeue(), queue.dequeue_up_to(5), queue.dequeue_many(5)
    with tf.Session() as sess:
        sess.run(put)
        assert not sess.run(closed)
        sess.run(close)
        assert sess.run(closed)
        with pytest.raises(tf.errors.CancelledError, match=r"FIFOQueue 'q' is closed\."):
            sess.run(put)
        with pytest.raises(tf.errors.CancelledError, match=r"Queue 'q' is already closed\."):
            sess.run(close)
        assert sess.run(take) == 1
        with pytest.raises(tf.errors.OutOfRangeError, match=r"elements \(requested 5, current size 2\)"):
            sess.run(many)
        assert sess.run(up_to).tolist() == [2, 3]
        expected = r"FIFOQueue 'q' is closed and has insufficient elements \(requested 1, current size 0\)"
        with pytest.raises(tf.errors.OutOfRangeError, match=expected) as raised:
            sess.run(take)
        assert "the queue was built at" in raised.value.message and "test_queues.py" in raised.value.message
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(up_to)


def test_a_shuffling_queue_gives_each_element_once_with_the_same_chance() -> None:
    for shape in ([], [5000]):  # drawn from one block, and one by one
        with tf.Graph().as_default():
            queue = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[shape], seed=1)
            put = queue.enqueue_many(
                tf.zeros([100, *shape], tf.int32) + tf.reshape(tf.range(100), [100] + [1] * len(shape))
            )
            batch, one = queue.dequeue_many(30), queue.dequeue()
            with tf.Session() as sess:
                firsts = np.zeros(100)
                for _ in range(60 if shape else 600):
                    sess.run(put)
                    found = [sess.run(batch) for _ in range(3)] + [np.array([sess.run(one)]) for _ in range(10)]
                    order = np.concatenate(found).reshape(100, -1)[:, 0]
                    assert sorted(order) == list(range(100))
                    firsts[order[:30]] += 1
        assert firsts.sum() / 100 == firsts.mean()
        if not shape:  # 180 each, standard deviation 11
            assert firsts.min() > 130 and firsts.max() < 230


def test_shuffling_is_repeatable_with_a_seed() -> None:
    def order() -> list[int]:
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(3)
            queue = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]], seed=5)
            sess.run(queue.enqueue_many(tf.range(20)))
            return sess.run(queue.dequeue_many(20)).tolist()

    assert order() == order() != list(range(20))


def test_a_padding_queue_pads_to_the_largest_element_of_a_batch() -> None:
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string, tf.float32], shapes=[[None, 2], [None], []])
    x, s = tf.placeholder(tf.int32, [None, 2]), tf.placeholder(tf.string, [None])
    put, many, batch = (
        queue.enqueue([x, s, 1.5]),
        queue.enqueue_many([[[[9, 9]]], [["z"]], [2.5]]),
        queue.dequeue_many(3),
    )
    with tf.Session() as sess:
        sess.run(put, {x: [[1, 2], [3, 4]], s: []})
        sess.run(many)
        sess.run(put, {x: np.zeros((0, 2)), s: ["a", "b"]})
        numbers, texts, plain = sess.run(batch)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"component 0. Expected \[\?,2\], got \[1,3\]"):
            sess.run(tf.raw_ops.QueueEnqueueV2(handle=queue.queue_ref, components=[[[1, 2, 3]], ["a"], 1.0]))
    assert numbers.tolist() == [[[1, 2], [3, 4]], [[9, 9], [0, 0]], [[0, 0], [0, 0]]]
    assert texts.tolist() == [[b"", b""], [b"z", b""], [b"a", b"b"]]
    assert plain.tolist() == [1.5, 2.5, 1.5]
    assert [t.shape.as_list() for t in batch] == [[3, None, 2], [3, None], [3]]


def test_a_priority_queue_gives_the_least_first_and_of_equals_the_oldest() -> None:
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    put, batch, one = queue.enqueue_many([[3, 1, 2, 1], ["a", "b", "c", "d"]]), queue.dequeue_many(2), queue.dequeue()
    assert queue.dtypes == [tf.int64, tf.string]
    with tf.Session() as sess:
        sess.run(put)
        assert [part.tolist() for part in sess.run(batch)] == [[1, 1], [b"b", b"d"]]
        sess.run(queue.enqueue((tf.constant(0, tf.int64), "first")))
        assert [sess.run(one)[1] for _ in range(3)] == [b"first", b"c", b"a"]


def test_elements_with_names_are_dictionaries() -> None:
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[[], []], names=["i", "x"])
    put, take = queue.enqueue({"x": 0.5, "i": 1}), queue.dequeue()
    with tf.Session() as sess:
        sess.run(put)
        assert sess.run(take) == {"i": 1, "x": 0.5}
    with pytest.raises(ValueError, match="Keys in dictionary to enqueue do not match names of Queue"):
        queue.enqueue({"i": 1})
    with pytest.raises(ValueError, match="You must enqueue a dictionary"):
        queue.enqueue([1, 2.0])
    with pytest.raises(ValueError, match="Queue must have names"):
        tf.FIFOQueue(10, tf.int32).enqueue({"i": 1})


def test_what_does_not_fit_is_refused_with_types_or_shapes_and_leaves_the_queue_as_it_is() -> None:
    queue = tf.FIFOQueue(5, [tf.int32, tf.float32], shapes=[[2], []])
    x = tf.placeholder(tf.int32)
    put, many, size = queue.enqueue([x, 1.0]), queue.enqueue_many([x, [1.0, 2.0]]), queue.size()
    wrong = tf.raw_ops.QueueEnqueueV2(handle=queue.queue_ref, components=[1.0, 1.0])
    with tf.Session() as sess:
        for op, value, says in (
            (put, [1, 2, 3], r"Shape mismatch in tuple component 0. Expected \[2\], got \[3\]"),
            (many, [[1, 2, 3], [4, 5, 6]], r"Shape mismatch in tuple component 0. Expected \[2,2\], got \[2,3\]"),
            (many, [[1, 2]], r"Shape mismatch in tuple component 1. Expected \[1\], got \[2\]"),
            (many, 3, r"Shape mismatch in tuple component 0. Expected \[\?,2\], got \[\]"),
            (
                wrong,
                None,
                "Signature mismatch, have: resource, float32, float32-> expected: resource, int32, float32->",
            ),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=says):
                sess.run(op, {} if value is None else {x: value})
        assert sess.run(size) == 0
    with pytest.raises(ValueError, match="incompatible"):
        queue.enqueue([[1, 2, 3], 1.0])
    with pytest.raises(ValueError, match="must be >= 0, but is -1"):
        queue.dequeue_many(-1)


def test_queues_of_one_name_are_one_queue_if_they_ask_for_the_same() -> None:
    queue = tf.RandomShuffleQueue(5, 1, [tf.int32], shapes=[[]], seed=3, shared_name="s")
    same = tf.RandomShuffleQueue(5, 1, [tf.int32], shapes=[[]], seed=3, shared_name="s")
    seedless = tf.RandomShuffleQueue(5, 1, [tf.int32], shapes=[[]], shared_name="s")
    others = [
        (tf.RandomShuffleQueue(6, 1, [tf.int32], shapes=[[]], seed=3, shared_name="s"), "capacity 5 but requested cap"),
        (tf.RandomShuffleQueue(5, 2, [tf.int32], shapes=[[]], seed=3, shared_name="s"), "min_after_dequeue 1 but"),
        (tf.RandomShuffleQueue(5, 1, [tf.int64], shapes=[[]], seed=3, shared_name="s"), "component types int32 but"),
        (tf.RandomShuffleQueue(5, 1, [tf.int32], seed=3, shared_name="s"), "component shapes"),
        (tf.RandomShuffleQueue(5, 1, [tf.int32], shapes=[[]], seed=4, shared_name="s"), "random seeds"),
        (tf.FIFOQueue(5, [tf.int32], shapes=[[]], shared_name="s"), "Expected RandomShuffleQueue, found FIFOQueueV2"),
    ]
    with tf.Session() as sess:
        sess.run(queue.enqueue(1))
        assert sess.run([same.size(), seedless.size()]) == [1, 1]
        for other, says in others:
            with pytest.raises(tf.errors.InvalidArgumentError, match=says):
                sess.run(other.size())
    for least in (5, -1):
        with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue"):
            sess.run(tf.RandomShuffleQueue(5, least, [tf.int32]).size())


def test_a_reset_of_containers_empties_and_reopens_queues() -> None:
    target = "inproc://queues-reset"
    with tf.container("feeding"):
        queue = tf.FIFOQueue(5, [tf.int32], shared_name="s")
    put, size, close = queue.enqueue(1), queue.size(), queue.close()
    with tf.Session(target) as a, tf.Session(target) as b:
        a.run(put)
        assert b.run(size) == 1
        a.run(close)
        tf.Session.reset(target, ["feeding"])
        a.run(put)
        assert b.run(size) == 1


def test_a_queue_of_a_list_is_chosen_in_each_step() -> None:
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[[]]) for _ in range(3)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    put, sizes, take = chosen.enqueue(7), [q.size() for q in queues], chosen.dequeue()
    assert chosen.dtypes == [tf.int32] and chosen.shapes[0].as_list() == []
    with tf.Session() as sess:
        for i in (0, 2, 2):
            sess.run(put, {index: i})
        assert sess.run(sizes) == [1, 0, 2]
        assert sess.run(take, {index: 2}) == 7
    with pytest.raises(TypeError, match="A list of queues expected"):
        tf.QueueBase.from_list(0, [])


def test_early_versions_of_the_ops_use_references() -> None:
    graph = tf.get_default_graph()
    for kind, first in (
        ("FIFOQueue", []),
        ("RandomShuffleQueue", []),
        ("PaddingFIFOQueue", []),
        ("PriorityQueue", [tf.constant(1, tf.int64)]),
    ):
        attrs: dict[str, Any] = {"component_types": [tf.int32], "shapes": [tf.TensorShape([])]}
        handle = graph.create_op(kind, [], attrs=attrs).outputs[0]
        queue = tf.QueueBase([t.dtype for t in first] + [tf.int32], [[]] * (1 + len(first)), None, handle)
        rows = [tf.expand_dims(x, 0) for x in first]
        put, many = queue.enqueue([*first, 3]), queue.enqueue_many([*rows, [4]])
        takes = [queue.dequeue(), queue.dequeue_many(1), queue.dequeue_up_to(2)]
        with tf.Session() as sess:
            for op in (put, many, put):
                sess.run(op)
            assert sess.run(queue.size()) == 3
            sess.run(queue.close())
            assert sess.run(queue.is_closed())
            found = [np.ravel(sess.run(take)[-1] if first else sess.run(take)).tolist() for take in takes]
            assert sorted(x for part in found for x in part) == [3, 3, 4]


def test_elements_of_every_kind_of_type_come_out_as_they_went_in() -> None:
    for dtype in (tf.bool, tf.uint8, tf.int64, tf.float16, tf.bfloat16, tf.float64, tf.complex64, tf.string, tf.uint16):
        value = (
            np.array([[0, 1], [2, 3]]).astype(dtype.as_numpy_dtype) if dtype != tf.string else np.array([["a", "b"]])
        )
        for kind in (tf.FIFOQueue, lambda *a, **k: tf.RandomShuffleQueue(a[0], 0, *a[1:], **k)):
            with tf.Graph().as_default(), tf.Session() as sess:
                queue = kind(10, [dtype], shapes=[[2]])
                x = tf.placeholder(dtype, [None, 2])
                sess.run(queue.enqueue_many([x]), {x: value})
                sess.run(queue.enqueue([x[0]]), {x: value})
                found = [*sess.run(queue.dequeue_many(len(value))).tolist(), sess.run(queue.dequeue()).tolist()]
                expected = sess.run(x, {x: value}).tolist()
                assert sorted(map(str, found)) == sorted(map(str, [*expected, expected[0]])), dtype
