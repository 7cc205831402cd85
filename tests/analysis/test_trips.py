"""How often loops go round, as far as the graph says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as tf
from penstock.analysis.frames import find_frames
from penstock.analysis.trips import Trips
from penstock.passes.prune import prune


def trips(fetch: Any, feeds: Any = ()) -> list[int | None]:
    """Of the outermost loops of a step, in their order."""
    graph = prune(list(feeds), [fetch], [])
    root, frames = find_frames(graph)
    found = Trips(frames)
    return [found.of(frame) for frame in root.children]


LOOPS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "less": (lambda i: i < 7, 2, 3),
    "at most": (lambda i: i <= 8, 2, 3),
    "greater": (lambda i: i > 3, 10, -2),
    "at least": (lambda i: i >= 4, 10, -2),
    "not at all": (lambda i: i < 0, 2, 1),
    "both": (lambda i: tf.logical_and(i < 9, i < 5), 0, 1),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_counts_to_a_constant_goes_round_as_often_as_it_does_in_a_step(name: str) -> None:
    goes_on, start, step = LOOPS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        _, count = tf.while_loop(lambda i, n: goes_on(i), lambda i, n: (i + step, n + 1), [start, 0])
        assert trips(count) == [session.run(count)]


def test_where_a_limit_is_fed_or_a_condition_is_no_comparison_it_is_not_known() -> None:
    with tf.Graph().as_default():
        limit = tf.placeholder(tf.int32, [])
        assert trips(tf.while_loop(lambda i: i < limit, lambda i: i + 1, [0]), [limit]) == [None]
        assert trips(tf.while_loop(lambda i: tf.logical_and(i < 9, limit > 0), lambda i: i + 1, [0]), [limit]) == [None]
        assert trips(tf.while_loop(lambda i: i < 100, lambda i: i * 2, [1])) == [None]


def test_the_loop_of_a_gradient_goes_round_as_often_as_the_loop() -> None:
    with tf.Graph().as_default():
        x = tf.constant(2.0)
        _, y = tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, tf.sin(y) * x), [0, x])
        assert trips(tf.gradients(y, x)[0]) == [5, 5]


def test_a_loop_in_a_loop_runs_as_often_as_both_say() -> None:
    with tf.Graph().as_default():

        def outer(i: Any, n: Any) -> Any:
            return i + 1, tf.while_loop(lambda j, n: j < 3, lambda j, n: (j + 1, n + 1), [0, n])[1]

        _, n = tf.while_loop(lambda i, n: i < 4, outer, [0, 0])
        root, frames = find_frames(prune([], [n], []))
        (outside,) = root.children
        (inside,) = outside.children
        found = Trips(frames)
        assert found.in_all(inside) == 12
        assert found.in_all(inside, outside) == 3
