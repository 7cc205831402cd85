"""tf.py_func (ops PyFunc and PyFuncStateless): values, types, errors, and what a saved graph does without it."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_it_gets_arrays_and_gives_tensors_of_the_types_named() -> None:
    x = tf.placeholder(tf.float32, [None])
    total, count, text = tf.py_func(lambda v: (v.sum(), v.size, f"{v.size}"), [x], [tf.float32, tf.int64, tf.string])
    assert (total.dtype, count.dtype, total.shape.ndims) == (tf.float32, tf.int64, None)
    assert run([total, count, text], {x: [1.0, 2.5]}) == [3.5, 2, b"2"]


@pytest.mark.parametrize("stateful", [True, False])
def test_a_single_type_gives_a_single_tensor(stateful: bool) -> None:
    y = tf.py_func(np.square, [tf.constant([2.0, 3.0])], tf.float32, stateful=stateful)
    assert y.op.type == ("PyFunc" if stateful else "PyFuncStateless")
    np.testing.assert_array_equal(run(y), [4, 9])


def test_it_runs_in_every_step_and_without_outputs_too() -> None:
    calls: list[int] = []
    op = tf.py_func(lambda: calls.append(1), [], [])
    with tf.Session() as session:
        for _ in range(3):
            session.run(op)
    assert len(calls) == 3


def test_a_stateless_function_of_constants_runs_once_as_in_tensorflow() -> None:
    calls = itertools.count()
    of_nothing = tf.py_func(lambda: np.int64(next(calls)), [], tf.int64, stateful=False)
    of_a_constant = tf.py_func(lambda x: x + next(calls), [tf.constant(10, tf.int64)], tf.int64, stateful=False)
    stateful = tf.py_func(lambda: np.int64(next(calls)), [], tf.int64)
    with tf.Session() as session:
        assert [session.run(of_nothing) for _ in range(3)] == [0, 0, 0]
        assert [session.run(of_a_constant) for _ in range(3)] == [11, 11, 11]
        assert [session.run(stateful) for _ in range(3)] == [2, 3, 4]


def test_stateless_functions_are_not_taken_for_each_other() -> None:
    x = tf.placeholder(tf.float32)
    twice, same = (tf.py_func(lambda v, f=f: v * f, [x], tf.float32, stateful=False) for f in (2, 1))
    with tf.Session() as session:
        assert session.run([twice, same], {x: 3.0}) == [6, 3]


def test_scalars_arrive_as_scalars() -> None:
    """As in TensorFlow, whose py_func gives them so."""
    given: list[object] = []

    def keep(*values: object) -> np.int32:
        given.extend(values)
        return np.int32(0)

    with tf.Session() as session:
        session.run(tf.py_func(keep, [b"path", ["a"], 1, True, [1.5]], tf.int32))
    assert given[0] == b"path"
    assert [type(v) for v in given] == [bytes, np.ndarray, np.int32, np.bool_, np.ndarray]


def test_the_function_may_change_and_keep_its_arguments() -> None:
    kept: list[np.ndarray] = []

    def spoil(v: np.ndarray) -> np.ndarray:
        kept.append(v)
        v += 1
        return v

    v = tf.Variable([1.0, 2.0])
    y = tf.py_func(spoil, [v], tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(y), [2, 3])
        np.testing.assert_array_equal(session.run(v), [1, 2])
    np.testing.assert_array_equal(kept[0], [2, 3])


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError("bad value"), tf.errors.InvalidArgumentError),
        (TypeError("bad type"), tf.errors.InvalidArgumentError),
        (StopIteration("the end"), tf.errors.OutOfRangeError),
        (NotImplementedError("not yet"), tf.errors.UnimplementedError),
        (KeyError("key"), tf.errors.UnknownError),
        (tf.errors.NotFoundError(None, None, "no file"), tf.errors.NotFoundError),
    ],
)
def test_an_exception_ends_the_step_and_leaves_the_session_usable(raised: Exception, expected: Any) -> None:
    def fail() -> None:
        raise raised

    y = tf.py_func(fail, [], tf.float32)
    with tf.Session() as session:
        with pytest.raises(expected, match=str(raised.args[-1]).strip("'")):
            session.run(y)
        assert session.run(tf.constant(1)) == 1


def test_a_result_of_another_type_or_number_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"float64.*float32"):
        run(tf.py_func(lambda: np.zeros(2), [], tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 values"):
        run(tf.py_func(lambda: (1, 2, 3), [], [tf.int64, tf.int64]))


def test_a_gradient_can_be_given_through_the_graph() -> None:
    @tf.RegisterGradient("PyFuncTestGradient")
    def gradient(op: Any, grad: Any) -> Any:
        return grad * 10.0

    x = tf.constant(3.0)
    with tf.get_default_graph().gradient_override_map({"PyFunc": "PyFuncTestGradient"}):
        y = tf.py_func(np.square, [x], tf.float32)
    assert run(tf.gradients(y, x)[0]) == 10


def test_a_loaded_graph_says_that_the_function_is_missing() -> None:
    tf.py_func(lambda: np.float32(1), [], tf.float32, name="call")
    proto = tf.get_default_graph().as_graph_def()
    proto.node[0].attr["token"].s = b"of another process"
    with tf.Graph().as_default():
        tf.import_graph_def(proto, name="")
        with pytest.raises(tf.errors.FailedPreconditionError, match="of another process"):
            run("call:0")


def test_a_list_or_tuple_is_as_many_values() -> None:
    for given, types in (
        ([1.0, 2.0], tf.float64),
        ((1.0, 2.0), [tf.float64]),
        ([(1, 2), (3, 4)], tf.int64),
        ((1.0,), [tf.float64] * 2),
        (1.0, [tf.float64] * 2),
        (3, []),
    ):
        y = tf.py_func(lambda given=given: given, [], types)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"returns \d values?, and Tout names \d"):
            run(y)
    assert run(tf.py_func(lambda: [1.0, 2.0], [], [tf.float64] * 2)) == [1, 2]
    assert run(tf.py_func(lambda: [[b"a", b"b"]], [], [tf.string]))[0].tolist() == [b"a", b"b"]
    assert run(tf.py_func(lambda: (7,), [], tf.int64)) == 7


def test_what_is_no_tensor_is_said() -> None:
    for given, kind in ((None, "object type NoneType"), ({"a": 1}, "object type dict")):
        with pytest.raises(tf.errors.InternalError, match=f"Unsupported {kind}"):
            run(tf.py_func(lambda given=given: given, [], tf.float32))
    with pytest.raises(tf.errors.InternalError, match="Unsupported numpy data type"):
        run(tf.py_func(lambda: np.zeros(2, [("foo", np.float32)]), [], tf.float32))


def test_a_stateless_function_without_values_has_nothing_to_run() -> None:
    assert tf.py_func(lambda: None, [], [], stateful=False) == []


def test_functions_that_wait_for_each_other_run_side_by_side() -> None:
    box: queue.Queue[int] = queue.Queue(1)

    def put(v: np.ndarray) -> np.int64:
        box.put(int(v))
        box.join()
        return np.int64(v)

    def get() -> np.int64:
        found = box.get(timeout=30)
        box.task_done()
        return np.int64(found + 1)

    v = tf.Variable(41, dtype=tf.int64)
    x, y = tf.py_func(put, [v], tf.int64), tf.py_func(get, [], tf.int64)
    with tf.control_dependencies([x, y]):
        later = tf.assign_add(v, 1)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([x, y, later]) == [41, 42, 42]
        assert session.run([x + y, later]) == [85, 43]


class _Together:
    """Functions that note how many run at once; they wait until `expected` do."""

    def __init__(self, expected: int) -> None:
        self.most = 0
        self._now, self._expected, self._changed = 0, expected, threading.Condition()

    def __call__(self, value: np.ndarray) -> np.ndarray:
        with self._changed:
            self._now += 1
            self.most = max(self.most, self._now)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._expected, 20)
            self._now -= 1
        return value + np.float32(1)

    def sum_of(self, x: tf.Tensor) -> tf.Tensor:
        found = tf.add_n([tf.py_func(self, [x * float(i)], tf.float32) for i in range(4)])
        found.set_shape([])
        return found


@pytest.mark.parametrize("where", ["branch", "loop", "two devices"])
def test_functions_run_side_by_side_wherever_they_are(where: str) -> None:
    together = _Together(4)
    x = tf.placeholder(tf.float32, [])
    if where == "branch":
        y = tf.cond(x > 0, lambda: together.sum_of(x), lambda: together.sum_of(-x))
    elif where == "loop":
        y = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, together.sum_of(y)), [0, x])[1]
    else:
        with tf.device("/cpu:1"):
            y = together.sum_of(x * 2.0)
        with tf.device("/cpu:0"):
            y = y + 1.0
    expected = {"branch": 6 + 4, "loop": 6 * 10 + 4, "two devices": 12 + 4 + 1}[where]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(y, {x: 1.0}) == expected
    assert together.most == 4


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_session_says_how_many_functions_run_at_once(threads: int, own: bool) -> None:
    together = _Together(threads)
    x = tf.placeholder(tf.float32, [])
    y = together.sum_of(x)
    config = tf.ConfigProto(inter_op_parallelism_threads=threads, use_per_session_threads=own)
    with tf.Session(config=config) as session:
        assert [session.run(y, {x: float(i)}) for i in range(3)] == [4, 10, 16]
    assert together.most == threads


def test_the_exception_of_one_of_several_functions_names_its_node() -> None:
    x, y = tf.py_func(lambda: 1.0, [], tf.float64), tf.py_func(lambda: 1 / 0, [], tf.float64, name="divides")
    with pytest.raises(tf.errors.UnknownError, match=r"ZeroDivisionError(.|\n)*node divides"):
        run([x, y])


def test_values_of_py_function_have_numpy_and_those_of_numpy_function_are_numpys() -> None:
    def read(path: Any, times: Any) -> Any:
        assert isinstance(path.numpy(), bytes) and times.shape == () and (times + 1).numpy() == 4
        return np.full(times.numpy(), len(path.numpy().decode()), np.float32)

    with tf.Graph().as_default(), tf.Session() as session:
        read_there = tf.py_function(read, [tf.constant("abc"), 3], tf.float32)
        doubled = tf.numpy_function(lambda x: x * 2, [read_there], Tout=tf.float32)
        assert session.run(doubled).tolist() == [6.0, 6.0, 6.0]
        of_rows = tf.data.Dataset.range(3).map(lambda i: tf.py_function(lambda x: x.numpy() ** 2, [i], tf.int64))
        assert [session.run(row) for row in [of_rows.make_one_shot_iterator().get_next()] * 3] == [0, 1, 4]


def test_a_reversed_axis_of_one_element_comes_from_a_function() -> None:
    """NumPy takes such arrays for contiguous, though a stride is negative."""
    found = tf.py_func(lambda: np.flip(np.ones([1, 2], np.float32), 0), [], tf.float32)
    with tf.Session() as session:
        assert session.run(found).tolist() == [[1, 1]]
