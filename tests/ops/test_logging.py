"""Print, PrintV2 and Assert: what is shown, when, and in which form."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op
from penstock.ops.logging import Assert, Print
from penstock.ops.value_text import summarize_value


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session(graph: tf.Graph) -> Iterator[tf.Session]:
    with tf.Session() as session:
        yield session


# --- values as text: what TensorFlow 2.21 prints --------------------------------------------------------

CUBE = np.arange(24).reshape(2, 3, 4)

TEXTS: list[tuple[Any, int, str]] = [
    (np.float32([1, 2.5, 3.25, 4, 5]), 3, "1 2.5 3.25..."),
    (np.int32([[1, 2], [3, 4]]), 3, "[1 2][3...]..."),
    (CUBE, 3, "[[0 1 2...]]..."),
    (CUBE, 5, "[[0 1 2 3][4...]]..."),
    (CUBE, 2, "[[0 1...]]..."),
    (CUBE, -1, "[[0 1 2 3][4 5 6 7][8 9 10 11]][[12 13 14 15][16 17 18 19][20 21 22 23]]"),
    (CUBE[0], 8, "[0 1 2 3][4 5 6 7]..."),
    (np.int32([[1, 2], [3, 4]]), 0, "..."),
    (np.array([b"a", b"b\n", b"c'"], object), 3, r"a b\n c\'"),
    (np.array(True), 3, "1"),
    (np.float32(1e-9), 3, "1e-09"),
    (np.float32(123456789), 3, "123456792"),
    (np.float32(1) / np.float32(3), 3, "0.333333343"),
    (np.float64(1) / 3, 3, "0.33333333333333331"),
    (np.float32(0.1), 3, "0.1"),
    (np.float32(-0.0), 3, "-0"),
    (np.float32([np.nan, np.inf, -np.inf]), 3, "nan inf -inf"),
    (np.float32([1e20, 1e6, 1234567]), 3, "1e+20 1e+06 1234567"),
    (np.float16(1.5), 3, "1.5"),
    (np.array(1.5, ml_dtypes.bfloat16), 3, "1.5"),
    (np.zeros((2, 0)), 3, ""),
]


@pytest.mark.parametrize(("value", "limit", "text"), TEXTS, ids=lambda v: None if isinstance(v, np.ndarray) else str(v))
def test_values_are_summarised_as_tensorflow_does(value: Any, limit: int, text: str) -> None:
    assert summarize_value(np.asarray(value), limit) == text


# --- Print ----------------------------------------------------------------------------------------------


def test_print_passes_its_input_on_and_writes_one_line(session: tf.Session, capfd: pytest.CaptureFixture[str]) -> None:
    x = tf.constant([1.0, 2.0])
    shown = Print(x, [x, tf.constant("text"), tf.constant([[1, 2], [3, 4]])], "values: ", summarize=4)
    np.testing.assert_array_equal(session.run(shown), [1.0, 2.0])
    assert capfd.readouterr().err == "values: [1 2][text][[1 2][3 4]]\n"


def test_print_stops_after_first_n_steps_whatever_else_they_fetch(
    session: tf.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = Print(tf.constant(1.0), [tf.constant(7)], first_n=2)
    for fetches in (shown, [shown], [shown, shown + 1.0], shown):
        session.run(fetches)
    assert capfd.readouterr().err == "[7]\n[7]\n"


def test_gradients_pass_print(session: tf.Session) -> None:
    x = tf.constant(3.0)
    (grad,) = tf.gradients(Print(x, [x]) * x, [x])
    assert session.run(grad) == 6.0


@pytest.mark.parametrize("stream", ["stdout", "stderr", "log(info)", "log(warning)", "log(error)"])
def test_print_v2_writes_to_the_stream_asked_for(
    stream: str, session: tf.Session, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        session.run(get_op("PrintV2")("hello", output_stream=stream, end="!\n"))
    captured = capsys.readouterr()
    found = {"stdout": captured.out, "stderr": captured.err}.get(stream) or caplog.messages[0]
    assert found == "hello!\n"


def test_print_v2_appends_to_a_file_and_refuses_other_streams(tmp_path: Path, session: tf.Session) -> None:
    write = get_op("PrintV2")("line", output_stream=f"file://{tmp_path}/log")
    session.run(write)
    session.run(write)
    assert (tmp_path / "log").read_text() == "line\nline\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown output stream: nowhere"):
        session.run(get_op("PrintV2")("x", output_stream="nowhere"))


# --- Assert ---------------------------------------------------------------------------------------------


def test_assert_shows_its_data_and_names_node_and_line(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32)
    check = Assert(tf.reduce_all(x > 0), ["x must be positive:", x], summarize=2)
    assert check.name == "Assert/Assert"
    assert session.run(check, {x: [1.0]}) is None
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"(?s)assertion failed: \[x must be positive:\] \[-1 2\.\.\.\].*Assert/Assert.*test_logging\.py",
    ):
        session.run(check, {x: [-1.0, 2.0, 3.0]})


def test_a_failing_assertion_stops_what_depends_on_it(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [])
    w = tf.Variable(1.0)
    with tf.control_dependencies([Assert(x > 0, [x])]):
        update = w.assign(x)
    session.run(w.initializer)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(update, {x: -1.0})
    assert session.run(w) == 1.0


def test_a_condition_that_is_no_scalar_is_refused(session: tf.Session) -> None:
    condition = tf.placeholder(tf.bool)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"should be a scalar, got shape \[1\]"):
        session.run(Assert(condition, [1]), {condition: [True]})
