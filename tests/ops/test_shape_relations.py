"""tf.debugging.assert_shapes: what is wrong is found when the graph is built if sizes are known, else in the step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    "shapes",
    [
        [(zeros(3, 2), ("N", "Q")), (zeros(3, 4), ("N", "D")), (zeros(2), ("Q",)), (zeros(), ())],
        [(zeros(3, 2), (3, "2")), (zeros(1), ()), (zeros(), (1,))],
        [(zeros(5, 3, 2), ("*", "N", "Q")), (zeros(2), (..., "Q")), (zeros(4), (".",)), (zeros(4, 4), (None, 4))],
        [(zeros(3, 2), "NQ"), (zeros(2, 3), "QN"), (zeros(7), None)],
    ],
)
def test_shapes_that_fit_are_a_node_that_does_nothing(shapes: Any) -> None:
    checked = tf.debugging.assert_shapes(shapes)
    assert checked.type == "NoOp"
    with tf.Session() as session:
        session.run(checked)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(zeros(3, 2), ("N", "N"))], "dimension 1 must have size 3.*Received size 2"),
        ([(zeros(3, 2), ("N", "Q")), (zeros(3), ("Q",))], "Specified by tensor .* dimension 1.*must have size 2"),
        ([(zeros(3), (4,))], "Specified explicitly.*must have size 4"),
        ([(zeros(3), ("N", "Q"))], "must have rank 2"),
        ([(zeros(3, 2), ("N",))], "must have rank in"),
        ([(zeros(3), ("*", "N", "Q"))], "must have rank at least 2"),
        ([(zeros(3, 2), ("N", "*"))], "only allowed as the first entry"),
        ([(zeros(3), 3)], "must be an iterable"),
    ],
)
def test_shapes_that_are_known_and_wrong_are_refused(shapes: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tf.debugging.assert_shapes(shapes)


def test_sizes_that_are_not_known_are_compared_in_the_step() -> None:
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)
    checked = tf.debugging.assert_shapes({x: ("N", "Q"), y: ("N", 3)}, message="shapes differ")
    with tf.Session() as session:
        session.run(checked, {x: zeros(4, 2), y: zeros(4, 3)})
        for wrong in (zeros(5, 3), zeros(4, 4), zeros(4), zeros()):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(checked, {x: zeros(4, 2), y: wrong})
