"""Second derivatives through conditionals and loops, against finite differences of the first ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def check(session: tf.Session, program: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> None:
    """d²y/dx² and d²y/dxdw of `program(x, w)`, at a point."""
    x, w = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
    (first,) = tf.gradients(program(x, w), x)
    second = tf.gradients(first, [x, w])

    def slope(at_x: float, at_w: float) -> float:
        return session.run(first, {x: at_x, w: at_w})

    a, b, eps = 0.3, 0.7, 1e-6
    expected = [
        (slope(a + eps, b) - slope(a - eps, b)) / (2 * eps),
        (slope(a, b + eps) - slope(a, b - eps)) / (2 * eps),
    ]
    np.testing.assert_allclose(session.run(second, {x: a, w: b}), expected, rtol=1e-6)


def test_through_a_conditional(session: tf.Session) -> None:
    check(session, lambda x, w: tf.cond(x < w, lambda: x * x * x * w, lambda: x))
    check(session, lambda x, w: tf.cond(x > w, lambda: x, lambda: tf.sin(x * w) * x))


def test_through_a_loop(session: tf.Session) -> None:
    check(
        session, lambda x, w: tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.sin(a * w) + x * a), [0, x])[1]
    )


def test_through_a_conditional_in_a_loop(session: tf.Session) -> None:
    def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * a * w0[0], lambda: tf.sin(a) * x0[0])

    x0: list[tf.Tensor] = []
    w0: list[tf.Tensor] = []

    def program(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        x0.append(x)
        w0.append(w)
        return tf.while_loop(lambda i, a: i < 4, body, [0, x * w + 1.0])[1]

    check(session, program)


def test_two_gradients_of_one_loop_do_not_disturb_each_other(session: tf.Session) -> None:
    x = tf.constant(1.5)
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * a), [0, x])
    (first,) = tf.gradients(y, x)
    (again,) = tf.gradients(y * 2.0, x)
    assert session.run([first, again]) == pytest.approx([8 * 1.5**7, 16 * 1.5**7])


def test_through_nested_loops_it_is_refused(session: tf.Session) -> None:
    x = tf.constant(0.5)

    def body(i: tf.Tensor, a: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.sin(b) * b), [0, a])[1]

    _, y = tf.while_loop(lambda i, a: i < 2, body, [0, x])
    (first,) = tf.gradients(y, x)
    assert np.isfinite(session.run(first))
    with pytest.raises(LookupError, match="nested loops"):
        tf.gradients(first, x)
