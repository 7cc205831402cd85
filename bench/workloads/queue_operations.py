"""Queue operations from any number of threads: the text of `queue_1` and `queue_4`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

OPERATIONS = 200  # of each kind, over all threads


def build(tf: ModuleType, threads: int) -> Callable[[], float]:
    """A step that enqueues and dequeues OPERATIONS scalars, and returns their sum."""
    queue = tf.FIFOQueue(100, [tf.float32], [[]])
    x = tf.placeholder(tf.float32, [])
    enqueue, dequeue = queue.enqueue(x), queue.dequeue()
    session = tf.Session()
    pool = ThreadPoolExecutor(threads)

    def client(number: int) -> float:
        total = 0.0
        for _ in range(OPERATIONS // threads):
            session.run(enqueue, {x: 1.0})
            total += float(session.run(dequeue))
        return total

    if threads == 1:
        return lambda: client(0)
    return lambda: sum(pool.map(client, range(threads)))
