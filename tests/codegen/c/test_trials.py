"""No compiled function is believed before its results agreed with those of the nodes that it stands for."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.codegen.c import agreement, compiler as compiler_module, trials
from penstock.codegen.c.compiler import Compiler
from penstock.codegen.c.source import Source
from penstock.codegen.c.trials import Trial
from penstock.codegen.clusters import cluster_kernel as cluster_kernel
from penstock.codegen.regions import region_kernel as region_kernel

PROGRAM = """
import sys
import penstock as tf
from penstock.codegen.regions import region_kernel
make = region_kernel.region_source

def changed(written):
    found = make(written)
    text = found.text.replace("const int found =", sys.argv[1] + "const int found =")
    return type(found)(found.name, text, found.support)

region_kernel.region_source = changed
x = tf.placeholder(tf.float32, [3])
v = tf.Variable([1., 1., 1.])
update = tf.assign_add(v, tf.cumsum(x))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(5):
        sess.run(update.op, {x: [1, 2, 3]})
    print(sess.run(v).tolist())
"""
CRASH = "*(volatile int *)8 = 1; "


@pytest.fixture(autouse=True)
def _believing_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setenv("PENSTOCK_COMPILE", "on")
    monkeypatch.setattr(trials, "RUNS", 3)
    monkeypatch.setattr(compiler_module, "_compiler", Compiler())
    with tf.Graph().as_default():
        yield


@pytest.fixture
def wrong_regions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled regions of one input add one to the first element of their output."""
    make = region_kernel.region_source

    def wrong(written):  # type: ignore[no-untyped-def]
        found = make(written)
        text = found.text.replace("if (found == 2)", "((float *)x[1])[0] += 1;\n  if (found == 2)")
        return Source.named_after_itself(text.replace(found.name, "NAME"), support=found.support)

    monkeypatch.setattr(region_kernel, "region_source", wrong)


def _session() -> tf.Session:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "Compiled code" in record.getMessage()]


def test_a_region_that_computes_something_else_is_dropped_and_named(
    wrong_regions: None, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.tanh(tf.cumsum(x))
    with caplog.at_level(logging.WARNING, "penstock"), _session() as sess:
        for _ in range(6):
            np.testing.assert_allclose(sess.run(y, {x: [1, 1, 1, 1]}), np.tanh([1, 2, 3, 4]), rtol=1e-6)
    (message,) = _warnings(caplog)
    assert "Cumsum, Tanh" in message and "test_trials.py" in message and "tf.tanh(tf.cumsum(x))" in message
    assert len(list(tmp_path.glob("compiled/*.bad"))) == 1


def test_a_region_that_was_dropped_is_not_tried_by_the_next_process(
    wrong_regions: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.tanh(tf.cumsum(x))
    for _ in range(2):
        caplog.clear()
        monkeypatch.setattr(compiler_module, "_compiler", Compiler())
        with _session() as sess:
            np.testing.assert_allclose(sess.run(y, {x: [1, 1, 1, 1]}), np.tanh([1, 2, 3, 4]), rtol=1e-6)
    assert not _warnings(caplog)


def test_a_cluster_that_computes_something_else_is_dropped_and_named(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = cluster_kernel.c_source

    def wrong(*given):  # type: ignore[no-untyped-def]
        found = make(*given)
        return Source.named_after_itself(re.sub(r"(\] = t_\d+);", r"\1 + 1;", found.text).replace(found.name, "NAME"))

    monkeypatch.setattr(cluster_kernel, "c_source", wrong)
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.exp(x) * 2.0 + x
    ones = np.ones([5, 3], np.float32)
    with caplog.at_level(logging.WARNING, "penstock"), _session() as sess:
        for _ in range(6):
            np.testing.assert_allclose(sess.run(y, {x: ones}), np.exp(ones) * 2 + 1, rtol=1e-6)
            np.testing.assert_allclose(sess.run(y, {x: ones[:2]}), np.exp(ones[:2]) * 2 + 1, rtol=1e-6)
    (message,) = _warnings(caplog)
    assert "Exp" in message and "test_trials.py" in message


def test_steps_on_trial_change_variables_once() -> None:
    counter, total = tf.Variable([0.0]), tf.Variable([1.0, 2.0])
    x = tf.placeholder(tf.float32, [2])
    y = tf.tanh(tf.cumsum(x) + total)
    updates = [tf.assign_add(counter, [1.0]).op, tf.assign_add(total, tf.cumsum(x)).op]
    with _session() as sess:
        assert "_region(" in sess.explain([y, *updates], [x])
        for i in range(7):
            found = sess.run([y, *updates], {x: [1, 1]})[0]
            np.testing.assert_allclose(found, np.tanh([1.0 + i + 1, 2.0 + 2 * i + 2]), rtol=1e-6)
            assert sess.run(counter) == i + 1


def test_results_that_rounding_decides_are_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    row = rng.normal(size=[40]).astype(np.float32)
    x = tf.placeholder(tf.float32, [6, 40])
    w = tf.Variable(np.tile(row[:, None], [1, 8]))
    sums = tf.matmul(x, w)
    cancelled = tf.reduce_sum(x * row, 1) - tf.reduce_sum(tf.reverse(x * row, [1]), 1)
    fetches = [tf.argmax(sums * tf.range(8.0) / tf.range(8.0), 1), cancelled * 1e6, sums - sums[:, ::-1] > 0]
    with caplog.at_level(logging.WARNING, "penstock"), _session() as sess:
        for _ in range(6):
            sess.run(fetches, {x: rng.normal(size=[6, 40])})
    assert not _warnings(caplog)


def test_other_threads_that_change_a_variable_meanwhile_put_nothing_in_doubt(caplog: pytest.LogCaptureFixture) -> None:
    v = tf.Variable(np.zeros(2000, np.float32))
    step = tf.assign_add(v, tf.cumsum(tf.ones([2000])))
    with caplog.at_level(logging.WARNING, "penstock"), _session() as sess:
        threads = [threading.Thread(target=lambda: [sess.run(step.op) for _ in range(30)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not _warnings(caplog)


def _run(change: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PENSTOCK_CACHE": str(folder), "PENSTOCK_COMPILE": "on"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, change], env=environment, capture_output=True, text=True, timeout=120
    )


RIGHT = "[6.0, 16.0, 31.0]\n"


def test_a_region_that_crashes_a_process_crashes_no_other(tmp_path: Path) -> None:
    assert _run(CRASH, tmp_path).returncode == -signal.SIGSEGV
    second = _run(CRASH, tmp_path)
    assert (second.returncode, second.stdout) == (0, RIGHT)
    assert "ended the process in which it ran" in second.stderr and "Cumsum, AssignAdd" in second.stderr
    third = _run(CRASH, tmp_path)
    assert (third.returncode, third.stdout, third.stderr) == (0, RIGHT, "")


def test_a_process_that_dies_of_something_else_puts_nothing_out_of_use(tmp_path: Path) -> None:
    assert _run("", tmp_path).stdout == RIGHT
    (region,) = tmp_path.glob("compiled/*.so")
    region.with_suffix(".running").write_text(f"{2**22 + 1} 0\nsomething\n")
    done = _run("", tmp_path)
    assert (done.stdout, done.stderr) == (RIGHT, "")
    assert not list(tmp_path.glob("compiled/*.bad")) and not list(tmp_path.glob("compiled/*.running"))


def test_a_marker_of_a_process_that_runs_is_left_alone(tmp_path: Path) -> None:
    assert _run("", tmp_path).stdout == RIGHT
    (region,) = tmp_path.glob("compiled/*.so")
    start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    marker = region.with_suffix(".running")
    marker.write_text(f"{os.getpid()} {start}\nsomething\n")
    assert _run("", tmp_path).stdout == RIGHT
    assert marker.exists()


def _noise(size: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=size).astype(np.float32))


def _never() -> Iterator[list[torch.Tensor]]:
    raise AssertionError("no second look is needed")
    yield []


@pytest.mark.parametrize(
    ("change", "varied", "right"),
    [
        (lambda x: x * (1 + 1e-6), 0.0, True),
        (lambda x: x + 1e-2, 0.0, False),
        (lambda x: x + 1e-2, 1e-2, True),
        (lambda x: x.clone().index_fill_(0, torch.tensor([3]), float("nan")), 1e-2, False),
        (lambda x: x.clone().index_fill_(0, torch.tensor([3]), float("inf")), 0.0, False),
        (lambda x: x[:50], 0.0, False),
        (lambda x: x.double(), 0.0, False),
    ],
)
def test_what_agrees_is_what_differs_no_more_than_rounding_makes_it(
    change: Callable[[torch.Tensor], torch.Tensor], varied: float, right: bool
) -> None:
    x = _noise(100)
    assert (not agreement.agree([change(x)], [x], [x], lambda: iter([[x + varied], [x]]))) == right


def test_numbers_that_are_not_agree_where_both_are_not() -> None:
    x = torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), 0.0])
    assert not agreement.agree([x.clone()], [x], [], _never)
    assert agreement.agree([-x], [x], [], lambda: iter([]))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
def test_integers_agree_when_they_are_equal(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 1], dtype=dtype)
    assert not agreement.agree([x.clone()], [x], [], _never)
    assert agreement.agree([1 - x.int()], [x.int()], [], lambda: iter([[x.int()]]))


@pytest.mark.parametrize(("enough", "compared"), [(math.inf, 3), (0.0, 1)])
def test_one_long_run_of_the_nodes_is_evidence_enough(
    monkeypatch: pytest.MonkeyPatch, enough: float, compared: int
) -> None:
    monkeypatch.setattr(trials, "ENOUGH_S", enough)
    before, runs = Trial.believed, 0
    trial = Trial(lambda x: x, _Keeper())
    x = torch.ones(3)
    while not trial.passed:
        assert trial.run(trials.Pure(lambda x: x, torch.clone), [], [x]) is not x
        runs += 1
    assert runs == compared
    assert Trial.believed == before + 1


class _Keeper:
    def watch(self, name: str, about: str) -> contextlib.AbstractContextManager[bool]:
        return contextlib.nullcontext(False)

    def condemn(self, name: str, about: str) -> None:
        raise AssertionError(about)
