"""Assignments computed in the variable's own memory: where that is done, and that nobody sees a difference."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.analysis.assigned import Assigned
from penstock.engine.pipeline import BEFORE_PLACING

V = np.random.default_rng(0).uniform(0.5, 1.5, (96, 96)).astype(np.float32)
X = np.random.default_rng(1).uniform(0.5, 1.5, (96, 96)).astype(np.float32)
PLAIN = frozenset(BEFORE_PLACING)
CLUSTERS = PLAIN | {"compile_at_once"}
REGIONS = CLUSTERS | {"form_regions_at_once"}


@pytest.fixture(autouse=True)
def _own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _session(passes: frozenset[str] = PLAIN, devices: int = 1) -> tf.Session:
    session = tf.Session(config=tf.ConfigProto(device_count={"CPU": devices}))
    session._options = dataclasses.replace(session._options, passes=passes)
    session.run(tf.global_variables_initializer())
    return session


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kernel", ["mul", "sub", "sqrt"])
def test_a_variable_is_decayed_where_it_lies(kernel: str, use_resource: bool) -> None:
    v = tf.Variable(V, use_resource=use_resource)
    new = {"mul": lambda: 0.5 * v, "sub": lambda: v - X, "sqrt": lambda: tf.sqrt(v)}[kernel]()
    update = v.assign(new, read_value=False)
    expected = {"mul": 0.5 * V, "sub": V - X, "sqrt": np.sqrt(V)}[kernel]
    with _session() as session:
        session.run(update)
        assert f"{kernel}_into_" in session.explain(update)
        np.testing.assert_allclose(session.run(v), expected, rtol=1e-6)


def _fetched(v: Any, x: Any) -> Any:
    new = v * 2.0
    return v.assign(new, read_value=False), new


def _old_value_needed(v: Any, x: Any) -> Any:
    old = v.read_value() if hasattr(v, "handle") else v + 0.0
    with tf.control_dependencies([old]):
        update = v.assign(v * 2.0, read_value=False)
    with tf.control_dependencies([update]):
        return old * x


def _two_reads(v: Any, x: Any) -> Any:
    both = v.value() * x, v.value() * 2.0
    return v.assign(both[1], read_value=False), both[0]


def _turned(v: Any, x: Any) -> Any:
    return v.assign(tf.transpose(v) * 2.0, read_value=False)


def _with_itself_turned(v: Any, x: Any) -> Any:
    return v.assign(v.value() * tf.transpose(v), read_value=False)


def _squared(v: Any, x: Any) -> Any:
    return v.assign(v.value() * v.value(), read_value=False)


def _twice(v: Any, x: Any) -> Any:
    with tf.control_dependencies([v.assign(v * 0.5, read_value=False)]):
        second = v.assign(v.read_value() - x, read_value=False)
    with tf.control_dependencies([second]):
        return v.read_value() * 1.0


def _chain(v: Any, x: Any) -> Any:
    return v.assign(tf.tanh(v * 0.9 + x * 0.1) * 2.0, read_value=False)


def _a_row(v: Any, x: Any) -> Any:
    return v.assign(v * x[0], read_value=False)


_CASES: dict[Callable[[Any, Any], Any], tuple[Any, Any]] = {
    _fetched: (2 * V, 2 * V),
    _old_value_needed: (V * X, 2 * V),
    _two_reads: (V * X, 2 * V),
    _turned: (None, 2 * V.T),
    _with_itself_turned: (None, V * V.T),
    _squared: (None, V * V),
    _twice: (V / 2 - X, V / 2 - X),
    _chain: (None, np.tanh(V * 0.9 + X * 0.1) * 2),
    _a_row: (None, V * X[0]),
}
"""What is fetched last, and what the variable holds then."""


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(("passes", "devices"), [(PLAIN, 1), (PLAIN, 2), (CLUSTERS, 1), (CLUSTERS, 2), (REGIONS, 1)])
@pytest.mark.parametrize("build", _CASES, ids=lambda build: build.__name__)
def test_nobody_sees_a_difference(build: Any, passes: frozenset[str], devices: int, use_resource: bool) -> None:
    x = tf.placeholder(tf.float32, [96, 96])
    with tf.device(f"/cpu:{devices - 1}"):
        v = tf.Variable(V, use_resource=use_resource)
    fetches = build(v, x)
    value, held = _CASES[build]
    with _session(passes, devices) as session:
        for _ in range(5):  # the first three of a compiled function are only looked at
            session.run(v.initializer)
            found = session.run(fetches, {x: X})
            if value is not None:
                np.testing.assert_allclose(found[-1] if isinstance(found, (list, tuple)) else found, value, rtol=1e-5)
            np.testing.assert_allclose(session.run(v), held, rtol=1e-5)


def test_what_was_fetched_before_stays_as_it_was() -> None:
    v = tf.Variable(V)
    update = v.assign(v * 0.5, read_value=False)
    with _session() as session:
        before = session.run(v)
        session.run(update)
        np.testing.assert_array_equal(before, V)


def test_a_value_of_another_shape_is_refused_and_the_variable_is_as_it_was() -> None:
    v, x = tf.Variable(np.ones(3, np.float32)), tf.placeholder(tf.float32)
    update = v.assign(v * x, read_value=False)
    with _session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="shapes of both tensors to match"):
            session.run(update, {x: np.ones((2, 3))})
        np.testing.assert_array_equal(session.run(v), np.ones(3))


def test_an_assignment_that_takes_the_variables_lock_computes_under_it() -> None:
    lock = threading.RLock()
    held: list[bool] = []

    def kernel(value: torch.Tensor) -> torch.Tensor:
        held.append(lock._is_owned())  # type: ignore[attr-defined]
        return value

    Assigned((0,), lock).guarding(kernel)(torch.ones(1))
    Assigned((0,), None).guarding(kernel)(torch.ones(1))
    assert held == [True, False]
