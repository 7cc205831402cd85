"""What a step frees is there for the next one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STEPS = """
import resource
import numpy as np
import penstock as tf

x = tf.placeholder(tf.float32, [1 << 20])
y = tf.reduce_sum(tf.sin(x)) + tf.reduce_sum(tf.cos(x)) + tf.reduce_sum(tf.exp(x))
with tf.Session() as sess:
    fed = {x: np.zeros(1 << 20, np.float32)}
    for _ in range(5):
        sess.run(y, fed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        sess.run(y, fed)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = (1 << 20) * 4 // 4096


def faults(**environment: str) -> int:
    """Page faults of ten steps, each of which makes three tensors of 4 MB."""
    found = subprocess.run(
        [sys.executable, "-c", STEPS],
        env={**os.environ, "PENSTOCK_COMPILE": "off", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(found.stdout.split()[-1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc")
def test_steps_do_not_fault_in_their_memory_anew() -> None:
    assert faults() < 3 * PAGES


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's malloc")
def test_what_the_environment_tells_malloc_stands() -> None:
    assert faults(MALLOC_MMAP_THRESHOLD_="131072") >= 10 * PAGES
