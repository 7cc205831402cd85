"""Eight threads at one queue at full speed: each element comes out once, whatever is cancelled or late meanwhile."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import Any

import pytest

import penstock as tf
from penstock import errors
from tests.anywhere import alarm as alarm


@pytest.mark.parametrize("kind", ["fifo", "shuffle", "priority"])
def test_no_element_is_lost_or_comes_twice(kind: str) -> None:
    with tf.Graph().as_default():
        if kind == "fifo":
            queue: tf.QueueBase = tf.FIFOQueue(7, tf.int64, shapes=[[]])
        elif kind == "shuffle":
            queue = tf.RandomShuffleQueue(7, 2, tf.int64, shapes=[[]])
        else:
            queue = tf.PriorityQueue(7, tf.int64, shapes=[[]])
        x, n = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int32, [])
        one = queue.enqueue([x[0]] * len(queue.dtypes))
        takes = [queue.dequeue_many(n), queue.dequeue_up_to(n)]
        close = queue.close()
        given: Counter[int] = Counter()
        taken: Counter[int] = Counter()
        lock = threading.Lock()
        with tf.Session() as sess:

            def produce(seed: int) -> None:
                rng = random.Random(seed)
                for i in range(150):
                    late = rng.choice([0, 0, 1])
                    options = tf.RunOptions(timeout_in_ms=late) if late else None
                    try:
                        sess.run(one, {x: [seed * 1000 + i]}, options=options)
                    except errors.DeadlineExceededError:
                        continue
                    with lock:
                        given[seed * 1000 + i] += 1

            def consume(seed: int) -> None:
                rng = random.Random(seed)
                while True:
                    late = rng.choice([0, 0, 1])
                    options = tf.RunOptions(timeout_in_ms=late) if late else None
                    fetch, count = (
                        (takes[0], rng.randint(1, 4)) if rng.random() < 0.5 else (takes[1], rng.randint(1, 4))
                    )
                    try:
                        found: Any = sess.run(fetch, {n: count}, options=options)
                    except errors.DeadlineExceededError:
                        continue
                    except errors.OutOfRangeError:
                        return
                    with lock:
                        taken.update((found[-1] if kind == "priority" else found).tolist())

            producers = [threading.Thread(target=produce, args=(i,)) for i in range(4)]
            consumers = [threading.Thread(target=consume, args=(10 + i,)) for i in range(4)]
            for thread in [*producers, *consumers]:
                thread.start()
            for thread in producers:
                thread.join()
            sess.run(close)
            for thread in consumers:
                thread.join()
            left = sess.run(queue.dequeue_up_to(7)) if sess.run(queue.size()) else []
            taken.update(left[-1] if kind == "priority" and len(left) else left)
    assert len(given) > 300
    assert taken == given
    assert max(taken.values()) == 1
