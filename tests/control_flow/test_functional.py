"""map_fn, foldl, foldr, scan against loops in Python; their gradients against finite differences."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.ops.control_flow.cond import cond
from penstock.ops.control_flow.functional import foldl, foldr, map_fn, scan

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], np.float32)
Pair = collections.namedtuple("Pair", ["a", "b"])


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def rows(known: bool = True) -> Any:
    return tf.constant(X) if known else tf.placeholder_with_default(X, [None, 2])


# --- map_fn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_map_fn_stacks_what_the_function_gives(session: tf.Session, known: bool) -> None:
    y = map_fn(lambda row: tf.reduce_sum(row) * 2.0, rows(known))
    assert y.shape.as_list() == [3 if known else None]
    assert session.run(y).tolist() == [6, 14, 24]


def test_map_fn_takes_and_gives_nests(session: tf.Session) -> None:
    ids = tf.constant([1, 2, 3])
    y = map_fn(lambda e: e["x"] * tf.to_float(e["i"]), {"x": rows(), "i": ids}, dtype=tf.float32)
    np.testing.assert_allclose(session.run(y), X * [[1], [2], [3]])
    found = map_fn(
        lambda e: Pair(e[0] + 1.0, (e[1], e[1] * 2)),
        (rows(), ids),
        dtype=Pair(tf.float32, (tf.int32, tf.int32)),
    )
    assert isinstance(found, Pair)
    a, (i, double) = session.run([found.a, found.b])
    np.testing.assert_allclose(a, X + 1)
    assert (i.tolist(), double.tolist()) == ([1, 2, 3], [2, 4, 6])


def test_map_fn_gives_the_dtype_that_was_asked_for(session: tf.Session) -> None:
    y = map_fn(lambda i: tf.to_float(i) / 2.0, tf.constant([1, 2]), dtype=tf.float32)
    assert session.run(y).tolist() == [0.5, 1]
    with pytest.raises((TypeError, ValueError), match="int32"):
        map_fn(lambda i: tf.to_float(i), tf.constant([1, 2]))
    assert session.run(map_fn(lambda s: s, tf.constant(["a", "b"]))).tolist() == [b"a", b"b"]


def test_map_fn_over_nothing_gives_nothing(session: tf.Session) -> None:
    assert session.run(map_fn(lambda row: row, tf.zeros([0, 2]))).shape == (0, 2)
    x = tf.placeholder(tf.float32, [None, 2])
    assert session.run(map_fn(lambda row: row * 2.0, x), {x: np.zeros([0, 2])}).shape == (0, 2)


def test_without_infer_shape_nothing_is_assumed(session: tf.Session) -> None:
    y = map_fn(lambda n: tf.ones(tf.reshape(n, [1])), tf.constant([2, 2]), dtype=tf.float32, infer_shape=False)
    assert y.shape.ndims is None
    assert session.run(y).tolist() == [[1, 1], [1, 1]]
    ragged = map_fn(lambda n: tf.ones(tf.reshape(n, [1])), tf.constant([2, 3]), dtype=tf.float32)
    with pytest.raises(errors.InvalidArgumentError, match=r"the value shape is \[3\]"):
        session.run(ragged)


def test_map_fn_refuses_what_does_not_fit() -> None:
    with pytest.raises(TypeError, match="callable"):
        map_fn(3, rows())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least rank 1"):
        map_fn(lambda e: e, tf.constant(1.0))
    with pytest.raises(ValueError, match="structure"):
        map_fn(lambda e: (e, e), rows())
    with pytest.raises(ValueError, match="3"):
        map_fn(lambda e: e[0], (rows(), tf.zeros([4])), dtype=tf.float32)


def test_map_fn_nests_and_branches(session: tf.Session) -> None:
    y = map_fn(lambda row: map_fn(lambda e: cond(e > 2.0, lambda: e, lambda: -e), row), rows())
    np.testing.assert_allclose(session.run(y), np.where(X > 2, X, -X))


# --- folds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_folds_go_from_either_end(session: tf.Session, known: bool) -> None:
    def fn(a: Any, e: Any) -> Any:
        return a * 2.0 - e

    x, start = rows(known), np.array([10.0, 20.0], np.float32)
    found = session.run([foldl(fn, x), foldr(fn, x), foldl(fn, x, start), foldr(fn, x, start)])
    expected = [
        functools.reduce(fn, X), functools.reduce(fn, X[::-1]), functools.reduce(fn, X, start),
        functools.reduce(fn, X[::-1], start),
    ]  # fmt: skip
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e)


def test_folds_take_nests(session: tf.Session) -> None:
    elems = (tf.constant([1, 2, 3]), tf.constant([4, 5, 6]))
    total, dot = foldl(lambda a, e: (a[0] + e[0], a[1] + e[0] * e[1]), elems, (0, 0))
    assert session.run([total, dot]) == [6, 32]
    left, right = foldr(lambda a, e: (a[0] * 10 + e[0], a[1] * 10 + e[1]), elems)
    assert session.run([left, right]) == [321, 654]
    assert session.run(foldl(lambda a, e: a + e, tf.zeros([0]), 7.0)) == 7


def test_an_accumulator_must_keep_its_structure_and_shape() -> None:
    with pytest.raises(ValueError, match="structure"):
        foldl(lambda a, e: (a, e), rows())
    with pytest.raises(ValueError, match="invariant"):
        foldl(lambda a, e: tf.concat([a, e], 0), rows())
    with pytest.raises(TypeError, match="callable"):
        foldr(None, rows())  # type: ignore[arg-type]


# --- scan -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_scan_gives_all_accumulators(session: tf.Session, known: bool, reverse: bool) -> None:
    y = scan(lambda a, e: a + e, rows(known), reverse=reverse)
    assert y.shape.as_list() == [3 if known else None, 2]
    flip = slice(None, None, -1 if reverse else 1)
    np.testing.assert_allclose(session.run(y), np.cumsum(X[flip], 0)[flip])
    z = scan(lambda a, e: a * 2.0 + tf.reduce_sum(e), rows(known), initializer=1.0, reverse=reverse)
    expected, a = [], 1.0
    for row in X[flip]:
        a = a * 2 + row.sum()
        expected.append(a)
    assert session.run(z).tolist() == expected[flip]


def test_scan_has_accumulators_of_another_structure_than_elements(session: tf.Session) -> None:
    a, b = scan(lambda a, _: (a[1], a[0] + a[1]), tf.zeros([6]), initializer=(0, 1))
    assert session.run(a).tolist() == [1, 1, 2, 3, 5, 8]
    assert session.run(b).tolist() == [1, 2, 3, 5, 8, 13]
    sums = scan(lambda a, e: {"s": a["s"] + e[0] * e[1]}, (tf.constant([1, 2]), tf.constant([3, 4])), {"s": 0})
    assert session.run(sums["s"]).tolist() == [3, 11]


# --- gradients ------------------------------------------------------------------------------------------


def check_gradient(session: tf.Session, build: Callable[[Any], Any], value: Any) -> None:
    """The gradient of the sum of what `build` makes, against central differences in float64."""
    x = tf.placeholder(tf.float64, np.shape(value))
    y = tf.reduce_sum(build(x))
    (grad,) = tf.gradients(y, x)
    value = np.asarray(value, np.float64)
    expected = np.zeros_like(value)
    for i in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[i] = 1e-6
        expected[i] = (session.run(y, {x: value + step}) - session.run(y, {x: value - step})) / 2e-6
    np.testing.assert_allclose(session.run(grad, {x: value}), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: map_fn(lambda row: tf.tanh(row) * row, x),
        lambda x: map_fn(lambda e: e[0] * e[1], (x, x * 2.0), dtype=tf.float64),
        lambda x: map_fn(lambda row: map_fn(tf.sin, row), x),
        lambda x: foldl(lambda a, e: tf.sin(a) * e, x),
        lambda x: foldr(lambda a, e: tf.sin(a) * e, x),
        lambda x: foldl(lambda a, e: tf.sin(a) * e + x[0], x, tf.ones([2], tf.float64)),
        lambda x: scan(lambda a, e: a * e, x) ** 2,
        lambda x: scan(lambda a, e: a * tf.sin(e), x, reverse=True) ** 2,
        lambda x: scan(lambda a, e: (tf.cos(a[1]), a[0] + tf.reduce_sum(e)), x, (x[0, 0], x[1, 1]))[0],
        lambda x: map_fn(lambda row: cond(row[0] > 2.0, lambda: row * row, lambda: tf.exp(row)), x),
    ],
    ids=["map", "pairs", "nested", "foldl", "foldr", "captured", "scan", "reverse", "states", "branches"],
)
def test_gradients_agree_with_finite_differences(session: tf.Session, build: Any) -> None:
    check_gradient(session, build, X / 3)
