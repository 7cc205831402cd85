"""tf.assert_equal and its kin: failing at once where values are known, in the step where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.ops import checks, shape_checks


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: tf.Graph) -> Iterator[tf.Session]:
    with tf.Session() as session:
        yield session


COMPARISONS: list[tuple[Callable[..., Any], str, Any, Any]] = [
    (checks.assert_equal, "==", [1, 2], [1, 3]),
    (checks.assert_none_equal, "!=", [1, 2], [3, 2]),
    (checks.assert_less, "<", [1, 2], [2, 2]),
    (checks.assert_less_equal, "<=", [1, 3], [1, 2]),
    (checks.assert_greater, ">", [3, 2], [2, 2]),
    (checks.assert_greater_equal, ">=", [1, 1], [1, 2]),
]


@pytest.mark.parametrize(("check", "sign", "x", "y"), COMPARISONS, ids=lambda v: getattr(v, "__name__", None))
def test_comparisons_fail_at_once_or_in_the_step(
    check: Callable[..., Any], sign: str, x: Any, y: Any, session: tf.Session
) -> None:
    text = f"Condition x {sign} y did not hold element-wise:"
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"(?s)said\n{text}\nx \(.*\) = \n{np.array(x)}".replace("[", r"\[")
    ):
        check(x, y, message="said")
    fed = tf.placeholder(tf.int32, name="fed")
    node = check(fed, y, message="said")
    assert node.type == "Assert"
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"assertion failed: \[said\] \[{text}\] \[x \(fed:0\) = \]"
    ):
        session.run(node, {fed: x})


def test_comparisons_that_hold_are_operations_that_do_nothing(session: tf.Session) -> None:
    known = checks.assert_equal([1, 2], [1, 2])
    assert known.type == "NoOp"
    x = tf.placeholder(tf.float32, name="x")
    with tf.control_dependencies([known, checks.assert_less(x, 2.0)]):
        y = tf.identity(x)
    np.testing.assert_array_equal(session.run(y, {x: [[1.0, 0.0]]}), [[1.0, 0.0]])
    assert session.run(y, {x: np.zeros((0, 2))}).shape == (0, 2)


@pytest.mark.parametrize(
    ("check", "good", "bad", "sign"),
    [
        (checks.assert_positive, [1, 2], [1, 0], ">"),
        (checks.assert_negative, [-1, -2], [-1, 0], "<"),
        (checks.assert_non_negative, [0, 2], [1, -1], ">="),
        (checks.assert_non_positive, [0, -2], [-1, 1], "<="),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_signs(check: Callable[..., Any], good: Any, bad: Any, sign: str, session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    node = check(x)
    session.run(node, {x: good})
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Condition x {sign} 0 did not hold"):
        session.run(node, {x: bad})
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Condition x {sign} 0 did not hold"):
        check(bad)


def test_near_takes_both_tolerances(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    session.run(checks.assert_near(x, [1.0, 100.0]), {x: [1.0, 100.0001]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to tolerance"):
        session.run(checks.assert_near(x, [1.0, 100.0]), {x: [1.0, 101.0]})
    session.run(checks.assert_near(x, [1.0, 100.0], rtol=0.01), {x: [1.0, 101.0]})
    session.run(checks.assert_near(x, [0.0, 100.0], rtol=0.0, atol=1.0), {x: [1.0, 101.0]})


RANKS: list[tuple[Callable[..., Any], Any, Any, Any]] = [
    (shape_checks.assert_rank, 1, [1.0], [[1.0]]),
    (shape_checks.assert_rank_at_least, 1, [[1.0]], 1.0),
    (shape_checks.assert_rank_in, (0, 2), [[1.0]], [1.0]),
]


@pytest.mark.parametrize(("check", "ranks", "good", "bad"), RANKS, ids=lambda v: getattr(v, "__name__", None))
def test_ranks(check: Callable[..., Any], ranks: Any, good: Any, bad: Any, session: tf.Session) -> None:
    assert check(tf.constant(good), ranks).type == "NoOp"
    with pytest.raises(ValueError, match=r"said\.  Tensor .* must have rank .*Received rank"):
        check(tf.constant(bad), ranks, message="said")
    x = tf.placeholder(tf.float32)
    node = check(x, ranks)
    session.run(node, {x: good})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank"):
        session.run(node, {x: bad})


def test_static_questions() -> None:
    one = tf.constant(1.0)
    assert shape_checks.assert_scalar(one) is one
    with pytest.raises(ValueError, match="Expected scalar shape"):
        shape_checks.assert_scalar(tf.constant([1.0]))
    shape_checks.assert_integer(tf.constant(1))
    with pytest.raises(TypeError, match="integer type"):
        shape_checks.assert_integer(one)
    shape_checks.assert_type(one, tf.float32)
    with pytest.raises(TypeError, match="must be of type"):
        shape_checks.assert_type(one, tf.int32)
    with pytest.raises(ValueError, match=r"Rank must be a scalar\."):
        shape_checks.assert_rank(one, [0])
    assert shape_checks.assert_same_float_dtype([one, one]) == tf.float32
    with pytest.raises(ValueError, match="float64"):
        shape_checks.assert_same_float_dtype([one, tf.constant(1.0, tf.float64)])
    shape_checks.assert_proper_iterable([1])
    for strange in (one, "text", np.zeros(2), 3):
        with pytest.raises(TypeError, match="to be iterable" if isinstance(strange, int) else "proper"):
            shape_checks.assert_proper_iterable(strange)
    assert shape_checks.is_numeric_tensor(one)
    assert not shape_checks.is_numeric_tensor(tf.constant("a"))


def test_order(session: tf.Session) -> None:
    x = tf.placeholder(tf.int32)
    increasing, rising = shape_checks.is_non_decreasing(x), shape_checks.is_strictly_increasing(x)
    for value, expected in [
        ([1, 2, 2], [True, False]),
        ([[1, 2], [3, 4]], [True, True]),
        ([2, 1], [False, False]),
        ([], [True, True]),
    ]:
        assert session.run([increasing, rising], {x: value}) == expected


def test_finite(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2])
    checked = tf.verify_tensor_all_finite(x, "not finite")
    np.testing.assert_array_equal(session.run(checked, {x: [1.0, 2.0]}), [1.0, 2.0])
    for bad in (np.nan, np.inf):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
            session.run(checked, {x: [1.0, bad]})
