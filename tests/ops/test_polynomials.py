"""tf.math.polyval, tf.math.reciprocal_no_nan, and what ops tell of the machine through functions."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf


def test_polynomials_have_numpys_values() -> None:
    coefficients = [np.float32(2), np.array([1.0, -1.0], np.float32), np.float32(-3)]
    x = np.array([0.5, 2.0], np.float32)
    with tf.Session() as session:
        found, nothing = session.run([tf.math.polyval(coefficients, x), tf.math.polyval([], x)])
    np.testing.assert_allclose(found, [np.polyval([2, 1, -3], 0.5), np.polyval([2, -1, -3], 2.0)])
    np.testing.assert_array_equal(nothing, [0, 0])
    with pytest.raises(ValueError, match="must be list"):
        tf.math.polyval(3.0, x)  # type: ignore[arg-type]


def test_the_reciprocal_of_nothing_is_nothing() -> None:
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.math.reciprocal_no_nan([2.0, 0.0, -0.5])), [0.5, 0.0, -2.0])


def test_each_step_has_a_time_of_its_own() -> None:
    now = tf.timestamp()
    with tf.Session() as session:
        before = time.time()
        first, second = session.run(now), session.run(now)
        assert before <= first < second <= time.time()


def test_the_most_memory_that_a_process_took_is_counted() -> None:
    used = tf.contrib.memory_stats.MaxBytesInUse()
    with tf.Session() as session:
        peak = session.run(used)
        more = peak - _resident() + 2**26  # earlier tests may have taken, and given back, any amount
        session.run(tf.reduce_sum(tf.random_uniform([more // 4])))
        assert session.run(used) > peak


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
