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

    def test_starts_outside_graphs_in_which_another_test_failed(self) -> None:
        tf.Graph().as_default().__enter__()
        self.setUp()
        self.assertEqual(tf.get_default_graph().get_operations(), [])
        tf.reset_default_graph()

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

    def test_compares_each_element(self) -> None:
        x = tf.constant([[1, 2], [3, 4]])
        self.assertAllGreater(x, 0)
        self.assertAllGreaterEqual(x, 1)
        self.assertAllLess(x, 5)
        self.assertAllLessEqual(x, 4)
        self.assertAllInRange(x, 1, 4)
        self.assertAllInSet(x, {1, 2, 3, 4, 5})
        self.assertNotAllClose(x, [[1, 2], [3, 5]])
        self.assertNotAllEqual(x, [[1, 2], [3, 5]])
        self.assertNDArrayNear(np.zeros(2), np.array([0.0, 0.1]), 0.2)

    def test_compares_structures(self) -> None:
        self.assertAllClose([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]])
        self.assertAllClose([(1.0, {"a": 2.0})], [(1.0, {"a": np.float32(2.0)})])
        self.assertAllEqual([tf.constant(1), 2], [1, 2])
        with self.assertRaisesRegex(ValueError, "Mismatched length"):
            self.assertAllClose([[1.0], [2.0, 3.0]], [[1.0]])
        with self.assertRaisesRegex(ValueError, "Can't compare dict to non-dict"):
            self.assertAllClose({"a": 1.0}, [1.0])

    def test_compares_dtypes_devices_and_graphs(self) -> None:
        self.assertDTypeEqual([np.zeros(1), tf.constant(1.0, tf.float64)], np.float64)
        self.assertDeviceEqual("/CPU:0", tf.DeviceSpec(device_type="cpu", device_index=0))
        self.assertDeviceEqual("", None)
        self.assertProtoEqualsVersion("", tf.Graph().as_graph_def(), producer=tf.GRAPH_DEF_VERSION)

    def test_has_the_comparisons_of_absl(self) -> None:
        self.assertLen([1, 2], 2)
        self.assertItemsEqual([1, 2], [2, 1])
        self.assertStartsWith("ab", "a")
        self.assertBetween(2, 1, 3)

    def test_starts_with_the_seeds_of_tensorflow(self) -> None:
        self.assertEqual(tf.get_default_graph().seed, 87654321)
        self.assertEqual(np.random.randint(1000), np.random.RandomState(87654321).randint(1000))

    def test_joins_threads_and_reads_what_is_written(self) -> None:
        found: list[int] = []
        thread = self.checkedThread(found.append, (3,))
        thread.start()
        thread.join()
        self.assertEqual(found, [3])
        with open(Path(self.get_temp_dir(), "written"), "w") as stream:
            with self.captureWritesToStream(stream) as written:
                stream.write("a line")
            self.assertEqual(written.contents(), "a line")

    def test_fails_by_an_error_in_a_thread(self) -> None:
        thread = self.checkedThread(lambda: 1 / 0)
        thread.start()
        thread.join()

    def test_fails_by_a_thread_that_is_not_joined(self) -> None:
        self.checkedThread(lambda: None).start()

    def test_fails_by_an_element_that_is_too_large(self) -> None:
        self.assertAllLess(tf.constant([1, 7]), 7)

    def test_fails_by_an_element_outside_a_range(self) -> None:
        self.assertAllInRange([1.0, 2.0], 1.0, 2.0, open_upper_bound=True)

    def test_fails_by_a_number_that_is_none(self) -> None:
        self.assertAllInRange([1.0, float("nan")], 0.0, 2.0)

    def test_fails_by_an_element_outside_a_set(self) -> None:
        self.assertAllInSet([1, 2], {1, 3})

    def test_fails_by_equality(self) -> None:
        self.assertNotAllEqual([1, 2], [1, 2])

    def test_fails_by_closeness(self) -> None:
        self.assertNotAllClose([1.0], [1.0])

    def test_fails_by_device(self) -> None:
        self.assertDeviceEqual("/cpu:0", "/cpu:1")

    def test_fails_by_dtype(self) -> None:
        self.assertDTypeEqual(np.zeros(1), np.float32)

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
