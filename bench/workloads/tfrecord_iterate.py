"""8 MB of TFRecords, 2,000 of 4 KB, read by the client with `tf.python_io.tf_record_iterator`."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.record_files import Folder
from bench.workloads.training import Step

RECORDS, BYTES = 2000, 4096


def build(tf: ModuleType) -> Step:
    folder = Folder()
    contents = np.random.RandomState(0).bytes(BYTES)
    path = folder.write(tf, "some.tfrecord", [contents] * RECORDS)

    def step() -> float:
        assert folder is not None  # which removes the file when it is no longer referenced
        return float(sum(len(record) for record in tf.python_io.tf_record_iterator(path)))

    return step
