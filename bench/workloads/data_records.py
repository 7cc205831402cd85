"""2,000 Examples of TFRecords by tf.data: parse_single_example in parallel, shuffle, batches of 50, prefetch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.record_files import Folder, serialized
from bench.workloads.training import Step

EXAMPLES, FLOATS, BATCH = 2000, 64, 50


def build(tf: ModuleType) -> Step:
    folder = Folder()
    rng = np.random.RandomState(0)
    images, labels = rng.randint(0, 256, (EXAMPLES, FLOATS)).astype(np.float32), rng.randint(0, 10, EXAMPLES)
    path = folder.write(tf, "some.tfrecord", serialized(tf, images, labels, [0] * EXAMPLES))
    features = {"image": tf.FixedLenFeature([FLOATS], tf.float32), "label": tf.FixedLenFeature([], tf.int64)}

    def parse(record: Any) -> Any:
        found = tf.parse_single_example(record, features)
        return found["image"] * 2.0, tf.cast(found["label"], tf.int32)

    data = tf.data.TFRecordDataset([path]).map(parse, num_parallel_calls=2)
    data = data.shuffle(500).batch(BATCH).repeat().prefetch(2)
    image, label = tf.data.make_one_shot_iterator(data).get_next()
    total = tf.reduce_sum(image) + tf.cast(tf.reduce_sum(label), tf.float32)
    session = tf.Session()

    def step() -> float:
        assert folder is not None  # which removes the file when it is no longer referenced
        return float(sum(session.run(total) for _ in range(EXAMPLES // BATCH)))

    return step
