"""Flags, tf.app.run, logging, raw ops: what TF 1.x programs are wrapped in."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.flags import _FlagValues

PROGRAM = """
import penstock as tf
tf.app.flags.DEFINE_integer("steps", 10, "How many: 100% of them.")
tf.app.flags.DEFINE_string("where", "here", "")
tf.app.flags.DEFINE_boolean("fast", True, "")
FLAGS = tf.flags.FLAGS
def main(argv):
    print(argv[1:], FLAGS.steps, FLAGS.where, FLAGS.fast, sorted(FLAGS.__flags))
    return 3
if __name__ == "__main__":
    tf.app.run()
"""


def test_app_run_parses_flags_and_exits_with_what_main_returns() -> None:
    args = ["--steps=20", "--where", "there", "--nofast", "file.txt"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True)
    assert done.stdout == "['file.txt'] 20 there False ['fast', 'steps', 'where']\n", done.stderr
    assert done.returncode == 3


def flags_of(*argv: str) -> _FlagValues:
    flags = _FlagValues()
    flags._define("rate", 0.5, "", type=float)
    flags(["program", *argv])
    return flags


def test_a_flag_has_its_default_until_it_is_given_or_set() -> None:
    assert flags_of().rate == 0.5
    flags = flags_of("--rate=2")
    assert flags.rate == 2
    flags.rate = 3.0
    assert flags.rate == 3


def test_an_unknown_flag_is_an_error_that_names_the_known() -> None:
    with pytest.raises(ValueError, match=r"--speed=1.*rate"):
        flags_of("--speed=1")
    with pytest.raises(AttributeError, match=r"'speed'.*rate"):
        _ = flags_of().speed


def test_a_flag_is_defined_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        flags_of()._define("rate", 1, "")


def test_logging_drops_what_is_below_the_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.INFO)
        logging.getLogger("penstock").propagate = True
        tf.logging.debug("not this")
        tf.logging.info("step %d", 7)
        for step in range(4):
            tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, step)
            tf.logging.log_first_n(tf.logging.WARN, "first %d", 1, step)
    finally:
        tf.logging.set_verbosity(before)
    assert [r.getMessage() for r in caplog.records] == ["step 7", "every 0", "first 0", "every 2"]


def test_raw_ops_take_keywords_of_the_op_def() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.raw_ops.MatMul(a=[[1.0, 2.0]], b=[[3.0, 4.0]], transpose_b=True, name="product")
        assert y.op.name == "product"
        np.testing.assert_array_equal(session.run(y), [[11]])
    assert "MatMul" in dir(tf.raw_ops)


def test_a_raw_op_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="MatMul"):
        _ = tf.raw_ops.MatMull
