"""tf.test.Benchmark: a line of JSON for each measurement."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as tf


class Products(tf.test.Benchmark):
    """Is run by its name only."""

    def benchmark_square(self) -> None:
        x = tf.placeholder(tf.float32, [30, 30])
        with tf.Session() as session:
            ones = np.ones((30, 30), "f")
            found = self.run_op_benchmark(session, [tf.matmul(x, x)], {x: ones}, min_iters=3, mbs=2, extras={"n": 30})
            assert found["throughput"] == pytest.approx(2 / found["wall_time"])
            assert self.evaluate_twice(session) == [2.0, 2.0]

    def evaluate_twice(self, session: tf.Session) -> list[float]:
        with session.as_default():
            return [self.evaluate(tf.constant(2.0)), self.evaluate(tf.constant(2.0))]

    def benchmark_nothing(self) -> None:
        self.report_benchmark(iters=1, wall_time=0.5, name="by hand")


def test_main_runs_the_benchmarks_that_match_and_prints_what_they_report(capsys: pytest.CaptureFixture[str]) -> None:
    tf.test.main(["program", "--benchmarks=Products.*square"])
    tf.test.main(["program", "--benchmarks=Products.benchmark_nothing"])
    square, nothing = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (square["name"], square["iters"], square["extras"]) == ("Products.benchmark_square", 3, {"n": 30})
    assert square["wall_time"] > 0
    assert nothing == {"name": "by hand", "iters": 1, "wall_time": 0.5}
