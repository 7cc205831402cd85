"""2,000 elements of a Python generator by tf.data's `from_generator`: [8] floats and a label, batches of 50."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np

from bench.workloads.training import Step

ELEMENTS, WIDTH, BATCH = 2000, 8, 50


def build(tf: ModuleType) -> Step:
    rows = np.random.RandomState(0).randint(0, 100, (ELEMENTS, WIDTH)).astype(np.float32)

    def generate() -> Iterator[tuple[np.ndarray, int]]:
        for i in range(ELEMENTS):
            yield rows[i], i % 10

    data = tf.data.Dataset.from_generator(generate, (tf.float32, tf.int32), ([WIDTH], [])).batch(BATCH).repeat()
    image, label = tf.data.make_one_shot_iterator(data.prefetch(2)).get_next()
    total = tf.reduce_sum(image) + tf.cast(tf.reduce_sum(label), tf.float32)
    session = tf.Session()
    return lambda: float(sum(session.run(total) for _ in range(ELEMENTS // BATCH)))
