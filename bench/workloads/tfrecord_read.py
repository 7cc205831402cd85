"""8 MB of TFRecords, 2,000 of 4 KB, read in the graph by a TFRecordReader, 500 at a time."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.record_files import Folder
from bench.workloads.training import Step

RECORDS, BYTES, AT_ONCE = 2000, 4096, 500


def build(tf: ModuleType) -> Step:
    folder = Folder()
    contents = np.random.RandomState(0).bytes(BYTES)
    path = folder.write(tf, "some.tfrecord", [contents] * RECORDS)
    files = tf.FIFOQueue(10, [tf.string], [[]])
    enqueue = files.enqueue(path)
    _, records = tf.TFRecordReader().read_up_to(files, AT_ONCE)
    total = tf.reduce_sum(tf.strings.length(records))
    session = tf.Session()

    def step() -> float:
        assert folder is not None  # which removes the file when it is no longer referenced
        session.run(enqueue)
        return float(sum(session.run(total) for _ in range(RECORDS // AT_ONCE)))

    return step
