"""Programs as trials: their flags, where their values are found, and what is left when they are interrupted."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

import penstock as tf
from penstock import errors

QUIET: dict[str, Any] = {"sampler": "random", "seed": 0, "progress": False}
RATE = {"rate": {"type": "float", "low": 1e-3, "high": 0.4, "log": True}}

DESCENT = """
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_float("rate", 0.1, "")
flags.DEFINE_string("model_dir", "/proc/nowhere", "")
flags.DEFINE_integer("steps", 10, "")
FLAGS = flags.FLAGS


def main(argv):
    x = tf.Variable(3.0)
    loss = tf.square(x - 1)
    tf.summary.scalar("loss", loss)
    tf.summary.scalar("other", -loss)
    descend = tf.train.GradientDescentOptimizer(FLAGS.rate).minimize(loss)
    merged = tf.summary.merge_all()
    writer = tf.summary.FileWriter(FLAGS.model_dir)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(FLAGS.steps):
            value, summary, _ = session.run([loss, merged, descend])
            writer.add_summary(summary, step)
            print("loss = %g, step = %d" % (value, step))
    writer.close()


if __name__ == "__main__":
    tf.app.run()
"""


def _program(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def _descended(rate: float, steps: int) -> float:
    """(x - 1)^2 from x = 3 before the last of so many steps, each of which multiplies x - 1 by 1 - 2 rate."""
    return float((2 * (1 - 2 * rate) ** (steps - 1)) ** 2)


@pytest.mark.parametrize("where", [{"metric": "loss"}, {"pattern": r"loss = (\S+), step = (?P<step>\d+)"}])
def test_a_program_written_for_tensorflow_is_searched_as_it_is(tmp_path: Path, where: dict[str, str]) -> None:
    words = [_program(tmp_path, DESCENT), "--steps=5"]
    study = tf.tune.run(words, RATE, 3, 2, folder=tmp_path / "tune", **where, **QUIET)
    for trial in study.trials:
        assert trial.value == pytest.approx(_descended(trial.params["rate"], 5), rel=1e-4)
        assert len(trial.intermediate_values) == 5


def test_an_unchanged_program_is_pruned_by_what_it_writes(tmp_path: Path) -> None:
    wait = "writer.flush(); __import__('time').sleep(100 if step == 3 else 0)"
    waits = DESCENT.replace("summary, step)\n", f"summary, step); {wait}\n")
    pruner = optuna.pruners.ThresholdPruner(lower=-1.0, upper=0.0, n_warmup_steps=2)
    study = tf.tune.run([_program(tmp_path, waits)], RATE, 1, on="processes", metric="loss", pruner=pruner, **QUIET)
    assert study.trials[0].state == TrialState.PRUNED
    assert study.trials[0].duration is not None and study.trials[0].duration.total_seconds() < 100


REPORTS = """
import argparse
import penstock.tune

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int)
parser.add_argument("--logdir", default="/proc/nowhere")
args = parser.parse_args()
with open(args.logdir + "/made", "w") as made:
    made.write("by this trial")
penstock.tune.report(args.size, step=1)
penstock.tune.report(args.size + 0.5, step=2)
"""


def test_a_program_reports_its_value_and_writes_to_a_folder_of_its_own(tmp_path: Path) -> None:
    space = {"size": {"type": "int", "low": 1, "high": 9}}
    study = tf.tune.run([_program(tmp_path, REPORTS)], space, 2, on="processes", folder=tmp_path / "here", **QUIET)
    assert [trial.value for trial in study.trials] == [trial.params["size"] + 0.5 for trial in study.trials]
    assert all((tmp_path / "here" / "trials" / f"000{number}" / "made").exists() for number in (0, 1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DESCENT, "has no flag --rats, which is in the space. Did you mean --rate?"),
        (REPORTS, "has no flag --rats, which is in the space. Its flags: --h, --help, --logdir, --size"),
        ("print(1)", "has no flag --rats, which is in the space. Its flags: none at all"),
    ],
)
def test_a_flag_that_the_program_does_not_have_ends_the_search_at_once(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(errors.FailedPreconditionError) as caught:
        tf.tune.run([_program(tmp_path, text)], {"rats": [1, 2]}, 9, **QUIET)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({}, "ended without a value: call penstock.tune.report"),
        ({"metric": "accuracy"}, "no scalar 'accuracy' is in event files below .*, but there are loss, other"),
        ({"pattern": "accuracy (.*)"}, "it printed nothing that matches 'accuracy"),
        ({"pattern": "(loss) = "}, "found 'loss', which is not a number"),
        ({"pattern": "(loss"}, "is not a pattern"),
    ],
)
def test_a_program_without_values_is_told_what_to_do(tmp_path: Path, where: dict[str, str], said: str) -> None:
    with pytest.raises(errors.OpError) as caught:
        tf.tune.run([_program(tmp_path, DESCENT)], RATE, 5, 3, **where, **QUIET)
    assert re.search(said, caught.value.message)


ENDLESS = """
import argparse, os, subprocess, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--wait", type=float)
args = parser.parse_args()
child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
with open("pids", "a") as pids:
    pids.write(f"{os.getpid()} {child.pid} ")
print("value", args.x, flush=True)
time.sleep(args.wait)
child.kill()
"""


def _command(folder: Path, wait: float, *options: str) -> list[str]:
    (folder / "space.yaml").write_text("x: {type: float, low: 0, high: 1}\n")
    program = _program(folder, ENDLESS)
    words = [sys.executable, "-m", "penstock", "tune", program, "--space", "space.yaml", "--trials", "2", "--sampler"]
    return [*words, "random", "--pattern", r"value (\S+)", *options, "--", f"--wait={wait}"]


def _within(seconds: float, holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _run(pids: list[str]) -> list[str]:
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if ") Z " not in Path(f"/proc/{pid}/stat").read_text():
                found.append(pid)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_runs_on_after_a_search_is_stopped_and_the_same_command_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    def pids() -> list[str]:
        path = tmp_path / "pids"
        return path.read_text().split() if path.exists() else []

    with subprocess.Popen(_command(tmp_path, 1000, "--parallel", "2"), cwd=tmp_path, stderr=subprocess.PIPE) as search:
        assert _within(120, lambda: len(pids()) == 4)
        time.sleep(0.5)
        os.kill(search.pid, number)
        assert search.stderr is not None
        said = search.stderr.read().decode()
        assert search.wait() == (130 if number == signal.SIGINT else -number), said
    assert _within(10, lambda: not _run(pids()))
    if number == signal.SIGINT:
        assert "interrupted. The same command goes on" in said
    again = subprocess.run(_command(tmp_path, 0), cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    study = optuna.load_study(study_name="program", storage=f"sqlite:///{tmp_path}/tune/program/study.db")
    lost, repeated = study.trials[:2], study.trials[2:]
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 2 + [TrialState.COMPLETE] * 2
    assert [trial.params for trial in repeated] == [trial.params for trial in lost]
    assert all("interrupted" in t.user_attrs["error"] or "killed" in t.user_attrs["error"] for t in lost)
    assert re.search(rf"best value {study.best_value:.6g}, of trial {study.best_trial.number}:\n  --x=", again.stdout)


def test_a_trial_that_is_lost_twice_is_not_repeated_again(tmp_path: Path) -> None:
    from optuna.trial import Trial

    from penstock.tune.trials import counts, give_up

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(2):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        give_up(study, Trial(study, trial._trial_id), "was lost")
    assert [trial.state for trial in study.trials] == [TrialState.FAIL] * 2
    assert list(map(counts, study.trials)) == [False, True]
    assert study.trials[0].params == study.trials[1].params


@pytest.mark.slow
def test_the_example_finds_what_recognises_most_digits(tmp_path: Path) -> None:
    examples = Path(__file__).parents[2] / "examples"
    space = examples / "tune_digits.yaml"
    study = tf.tune.run([str(examples / "tune_digits.py")], space, 4, on="processes", folder=tmp_path, **QUIET)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 4
    assert study.best_value < 0.5  # by chance 0.9
