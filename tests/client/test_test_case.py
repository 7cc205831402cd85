"""tf.test.TestCase: what passes passes, and what should fail fails."""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import numpy as np

import penstock as tf


class Example(tf.test.TestCase):
    __test__ = False  # run by the tests below: some of it must fail

    def test_passes(self) -> None:
        with self.test_session() as session:
            x = tf.constant([1.0, 2.0])
            self.assertAllClose(x, [1.0, 2.0 + 1e-7])
            self.assertAllEqual(session.run(x), np.array([1.0, 2.0], np.float32))
            self.assertAllEqual(x.eval(), self.evaluate(x))
            self.assertAllClose({"a": [1.0]}, {"a": np.array([1.0])})
            self.assertAllCloseAccordingToType(np.float16([1.0]), np.float16([1.0005]))
            self.assertShapeEqual(np.zeros(2), x)
            self.assertArrayNear([1.0, 2.0], x.eval(), 1e-6)
            with self.assertRaisesOpError("feed a value"):
                raise tf.errors.InvalidArgumentError(None, None, "You must feed a value")
        self.assertProtoEquals("size: 3", tf.TensorShape([3]).as_proto().dim[0])
        Path(self.get_temp_dir(), "file").write_text("x")

    def test_starts_with_an_empty_graph(self) -> None:
        self.assertEqual(tf.get_default_graph().get_operations(), [])

    def test_sessions_of_a_test_are_one_session_unless_they_are_asked_for_anew(self) -> None:
        v = tf.Variable(1.0)
        with self.test_session() as first:
            first.run(v.initializer)
        with self.cached_session() as again:
            self.assertIs(again, first)
            self.assertEqual(v.eval(), 1.0)
        self.assertEqual(self.evaluate(v), 1.0)
        with self.test_session(graph=tf.get_default_graph()) as other, self.assertRaisesOpError("uninitialized"):
            other.run(v)
        with tf.Graph().as_default(), self.test_session() as session:
            self.assertEqual(session.run(tf.constant(2)), 2)

    def test_fails_by_shape(self) -> None:
        self.assertAllEqual([1, 1], 1)

    def test_fails_by_value(self) -> None:
        self.assertAllClose([1.0], [1.1])

    def test_fails_by_distance(self) -> None:
        self.assertNear(1.0, 2.0, 0.5)

    def test_fails_by_message(self) -> None:
        with self.assertRaisesOpError("one thing"):
            raise tf.errors.NotFoundError(None, None, "another")


def test_each_comparison_tells_right_from_wrong() -> None:
    for name in unittest.TestLoader().getTestCaseNames(Example):
        result: Any = unittest.TestResult()
        Example(name).run(result)
        assert not result.errors, result.errors
        assert bool(result.failures) == name.startswith("test_fails"), (name, result.failures)


def test_sessions_of_a_test_end_with_it() -> None:
    case = Example("test_sessions_of_a_test_are_one_session_unless_they_are_asked_for_anew")
    case.run(unittest.TestResult())
    assert len(case._cached) == 2
    assert all(session._closed for session in case._cached.values())


def test_a_temporary_directory_is_gone_after_its_test() -> None:
    case = Example("test_passes")
    case.run(unittest.TestResult())
    assert not Path(case._temp_dir).exists()
