"""tf.parse_example of 256 Examples: 64 floats, a label, and up to 20 integers as a SparseTensor."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.record_files import serialized
from bench.workloads.training import Step

EXAMPLES, FLOATS, WORDS = 256, 64, 20


def build(tf: ModuleType) -> Step:
    rng = np.random.RandomState(0)
    images, labels = rng.rand(EXAMPLES, FLOATS).astype(np.float32), rng.randint(0, 10, EXAMPLES)
    contents = np.array(serialized(tf, images, labels, rng.randint(0, WORDS, EXAMPLES)), np.object_)
    batch = tf.placeholder(tf.string, [None])
    features = {
        "image": tf.FixedLenFeature([FLOATS], tf.float32),
        "label": tf.FixedLenFeature([], tf.int64),
        "words": tf.VarLenFeature(tf.int64),
    }
    parsed = tf.parse_example(batch, features)
    words = tf.cast(tf.reduce_sum(parsed["words"].values), tf.float32)
    total = tf.reduce_sum(parsed["image"]) + tf.cast(tf.reduce_sum(parsed["label"]), tf.float32) + words
    session = tf.Session()
    return lambda: float(session.run(total, {batch: contents}))
