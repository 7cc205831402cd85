"""Random programs of conditionals and loops: values and gradients, against NumPy and the reference interpreter.

PENSTOCK_EXAMPLES is the number of programs for each test, other ones in each run; without it they are few, and
always the same. Failures that were found stay as examples.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import penstock as tf
from tests.control_flow.programs import Built, Program, build, evaluate, inputs, programs
from tests.control_flow.reference import run_reference

_EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "40"))
_many = settings(
    max_examples=_EXAMPLES,
    derandomize="PENSTOCK_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
EXECUTORS = pytest.mark.parametrize("executor", ["structured", "dataflow"])
_STEP = 1e-4
_SECONDS = 2
_FLOAT_INPUTS = ("v0", "v1", "s0")


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    """Makes a step that does not end an error: hypothesis cannot stop one."""

    def ring(*_: Any) -> None:
        raise TimeoutError("the step does not end")

    old = signal.signal(signal.SIGALRM, ring)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def _run(session: tf.Session, fetches: list[Any], feeds: dict[Any, Any], executor: str) -> list[Any]:
    os.environ["PENSTOCK_EXECUTOR"] = executor
    signal.alarm(_SECONDS)
    try:
        return session.run(fetches, feeds)
    finally:
        signal.alarm(0)
        del os.environ["PENSTOCK_EXECUTOR"]


def _close(found: list[Any], expected: list[Any], tolerance: float) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        assert np.shape(a) == np.shape(b)


def _set_up(built: Built, session: tf.Session, feeds: dict[Any, Any]) -> None:
    session.run(tf.global_variables_initializer())
    session.run(built.setup, feeds)


@EXECUTORS
@_many
@given(programs(), inputs())
def test_a_session_computes_what_the_program_means(executor: str, program: Program, values: dict[str, Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        built = build(program, tf)
        feeds = built.feeds(values)
        _set_up(built, session, feeds)
        _close(_run(session, built.results, feeds, executor), evaluate(program, values), 1e-12)


@EXECUTORS
@_many
@given(programs(), inputs())
def test_the_reference_interpreter_and_the_session_agree(executor: str, program: Program, values: dict[str, Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        built = build(program, tf)
        feeds = built.feeds(values)
        _set_up(built, session, feeds)
        reference = run_reference(session, built.results, feeds)
        _close(reference, evaluate(program, values), 1e-12)
        _close(_run(session, built.results, feeds, executor), reference, 0)


def _finite_differences(program: Program, values: dict[str, Any]) -> list[np.ndarray]:
    """The derivatives of the sum of all float results by the float inputs."""
    floats = [i for i, name in enumerate(program.block.results) if name[0] in "vs"]

    def total(name: str, index: int, step: float) -> float:
        moved = np.array(values[name], np.float64)
        moved.reshape(-1)[index] += step
        found = evaluate(program, {**values, name: moved[()]})
        return sum(float(np.sum(found[i])) for i in floats)

    return [
        np.array(
            [(total(name, i, _STEP) - total(name, i, -_STEP)) / (2 * _STEP) for i in range(np.size(values[name]))]
        ).reshape(np.shape(values[name]))
        for name in _FLOAT_INPUTS
    ]


@EXECUTORS
@_many
@given(programs(), inputs())
def test_gradients_are_those_of_finite_differences(executor: str, program: Program, values: dict[str, Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        built = build(program, tf)
        feeds = built.feeds(values)
        _set_up(built, session, feeds)
        ys = [tf.convert_to_tensor(r) for r in built.results if r.dtype.base_dtype == tf.float64]
        if not ys:
            return
        xs = [built.by(name) for name in _FLOAT_INPUTS]
        found = tf.gradients(ys, xs)
        expected = _finite_differences(program, values)
        for grad, x in zip(found, expected, strict=True):
            if grad is None:
                np.testing.assert_allclose(x, 0, atol=1e-7)
        kept = [(g, x) for g, x in zip(found, expected, strict=True) if g is not None]
        grads = [g for g, _ in kept]
        values_found = _run(session, grads, feeds, executor)
        _close(values_found, [x for _, x in kept], 1e-4)
        _close(values_found, run_reference(session, grads, feeds), 1e-12)
