"""Flags, tf.app.run, logging, raw ops: what TF 1.x programs are wrapped in."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import flags
from penstock.flags import _FlagValues

PROGRAM = '''"""Counts."""
import penstock as tf
from absl import flags
flags.DEFINE_integer("start", 0, "Where to begin.")
tf.flags.DEFINE_string("log_dir", "logs", "Many programs have this.")
tf.app.flags.DEFINE_integer("steps", 10, "How many: 100% of them.")
tf.app.flags.DEFINE_string("where", default_value="here", docstring="Place.")
tf.app.flags.DEFINE_boolean("fast", True, "Quickly.")
FLAGS = tf.flags.FLAGS
def main(argv):
    print(argv[1:], flags.FLAGS.start, FLAGS.steps, FLAGS.where, FLAGS.fast, FLAGS.log_dir, FLAGS["steps"].value)
    return 3
if __name__ == "__main__":
    tf.app.run()
'''


def run_program(path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    (path / "program.py").write_text(PROGRAM)
    return subprocess.run([sys.executable, path / "program.py", *args], capture_output=True, text=True)


def test_app_run_parses_flags_and_exits_with_what_main_returns(tmp_path: Path) -> None:
    """What TensorFlow prints as well, but that it cannot have a flag named log_dir beside a newer absl."""
    done = run_program(tmp_path, "--steps=20", "--where", "there", "--nofast", "--unknown=1", "file.txt", "--start=5")
    assert done.stdout == "['--unknown=1', 'file.txt'] 5 20 there False logs 20\n", done.stderr
    assert done.returncode == 3


def test_help_shows_what_the_program_defines(tmp_path: Path) -> None:
    done = run_program(tmp_path, "--help")
    assert done.returncode == 1
    assert done.stdout.startswith("Counts.\nflags:\n")
    assert "--steps: How many: 100% of them.\n    (default: '10')" in done.stdout
    assert "--[no]fast: Quickly." in done.stdout


def flags_of(monkeypatch: pytest.MonkeyPatch, *argv: str) -> _FlagValues:
    """Flags of a program that was started with `argv`, not parsed yet."""
    monkeypatch.setattr(sys, "argv", ["program", *argv])
    values = _FlagValues(flags.FlagValues())
    flags.DEFINE_float("rate", default_value=0.5, docstring="", flag_values=values)
    flags.DEFINE_bool("fast", False, "", flag_values=values)
    return values


def test_programs_may_set_flags_that_they_have_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """As TensorFlow allowed until 1.4."""
    values = flags_of(monkeypatch)
    values.words = 4000
    assert values.words == 4000
    assert "words" in values
    with pytest.raises(AttributeError):
        values.sentences  # noqa: B018


def test_defaults_may_be_numbers_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they might with the flags of TensorFlow before 1.5, and with all of them in Python 2."""
    values = flags_of(monkeypatch)
    flags.DEFINE_integer("batch", default_value=np.power(2, 9), docstring="", flag_values=values)
    flags.DEFINE_float("decay", np.float64(0.9), "", flag_values=values)
    assert (values.batch, values.decay) == (512, 0.9)


def test_defaults_of_another_type_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they did until TF 1.4; what the command line says is of the flag's type."""
    values = flags_of(monkeypatch, "--size=2")
    for name in ("steps", "size"):
        flags.DEFINE_integer(name, 1e6, "", flag_values=values)
    flags.DEFINE_integer("most", float("inf"), "", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError):
        flags.DEFINE_integer("least", "few", "", flag_values=values)
    assert (values.steps, values.size, values.most) == (1000000.0, 2, float("inf"))


def test_the_first_look_at_a_flag_parses_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    values = flags_of(monkeypatch, "--rate=2", "--fast")
    assert "rate" in values and len(values) == 2 and not values.is_parsed()
    assert values.rate == 2 and values.fast
    assert values.is_parsed()
    values.rate = 3.0
    assert values.rate == values["rate"].value == 3
    assert values.flag_values_dict() == {"rate": 3.0, "fast": True}


def test_an_unknown_flag_is_an_error_at_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(flags.UnrecognizedFlagError, match="speed"):
        _ = flags_of(monkeypatch, "--speed=1").rate
    with pytest.raises(AttributeError, match="speed"):
        _ = flags_of(monkeypatch).speed


def test_programs_older_than_1_5_parse_flags_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    values = flags_of(monkeypatch, "--rate=2", "--speed=1")
    assert values._parse_flags() == ["--speed=1"]
    assert values.rate == 2


def test_flags_in_flags_are_values_as_until_1_4_unless_they_are_used_as_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = flags_of(monkeypatch, "--rate=2")
    values.made = "later"
    assert dict(sorted(vars_of(values).items())) == {"fast": False, "made": "later", "rate": 2}
    found = getattr(values, "__flags")
    assert found["rate"].value == 2 and found["rate"].default == 0.5


def vars_of(values: Any) -> Any:
    return getattr(values, "__flags")


def test_a_flag_is_defined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(flags.DuplicateFlagError, match="twice"):
        flags.DEFINE_float("rate", 1, "", flag_values=flags_of(monkeypatch))


def test_log_records_name_the_line_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("penstock").propagate = True
    tf.logging.warning("a")
    tf.logging.log(tf.logging.WARN, "b")
    tf.logging.log_if(tf.logging.WARN, "c", True)
    tf.logging.log_every_n(tf.logging.WARN, "d", 2)
    tf.logging.log_first_n(tf.logging.WARN, "e", 1)
    tf.logging.vlog(tf.logging.WARN, "%s", "f")
    tf.logging.vlog(1, "too small a level to be seen")
    assert [record.pathname for record in caplog.records] == [__file__] * 6
    assert caplog.messages[-1] == "f"


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
