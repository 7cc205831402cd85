"""A compiled function runs for the first time in a process of its own: one that crashes there crashes no user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.codegen.c import first_run
from penstock.codegen.c.first_run import Block, Call, crashing
from penstock.codegen.c.source import shared_text
from penstock.codegen.c.toolchain import find_toolchain

FUNCTION = """
static void *call_NAME(void *self, void *const *given, i64 count) {
  volatile float *const x = (volatile float *)(intptr_t)PyLong_AsLongLong(given[0]);
  void *const *const table = (void *const *)(intptr_t)PyLong_AsLongLong(given[1]);
  STATEMENTS
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}
struct method NAME = {"NAME", call_NAME, METH_FASTCALL, 0};
"""
FOUR = b"\0\0\x80?" * 4
CALL: tuple[Block, list[Block]] = ((16, FOUR), [(16, FOUR), (400, b"\1")])

PROGRAM = """
import sys, time
from dataclasses import replace
import numpy as np
import penstock as tf
from penstock.codegen.c import compiler
from penstock.codegen.clusters import cluster_kernel
from penstock.codegen.regions import region_kernel

what, before, statement = sys.argv[1:]
module, name = {"region": (region_kernel, "region_source"), "cluster": (cluster_kernel, "c_source")}[what]
make = getattr(module, name)

def changed(*given):
    found = make(*given)
    before_that = before.replace("NAME", found.name)
    assert before_that in found.text
    return replace(found, text=found.text.replace(before_that, statement + before_that))

setattr(module, name, changed)
x = tf.placeholder(tf.float32, [None])
fed = np.ones(3 if what == "region" else 200_000)
v = tf.Variable(np.zeros(3, np.float32))
fetches = tf.assign_add(v, tf.cumsum(x)).op if what == "region" else tf.exp(x) * 2.0 + x
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for count in range(1, 1001):
        found = sess.run(fetches, {x: fed})
        time.sleep(0.0005)
        if count % 500 == 0:
            assert compiler.wait(60)
    if what == "region":
        assert sess.run(v).tolist() == [1000, 2000, 3000]
    else:
        np.testing.assert_allclose(found, fed + 2 * np.e, rtol=1e-6)
"""
PLACES = {"region": "const int found = NAME_run", "cluster": "struct NAME_job job ="}
CRASHES = {"region": "(void)((volatile float *)x[0])[3]; ", "cluster": "*(volatile int *)8 = 1; "}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


def _made(folder: Path, statements: list[str]) -> Path:
    texts = [FUNCTION.replace("NAME", f"f{i}").replace("STATEMENTS", text) for i, text in enumerate(statements)]
    find_toolchain().compile(shared_text() + "".join(texts), folder / "made.so")
    return folder / "made.so"


def _crashing(folder: Path, statements: list[str]) -> list[str]:
    """Which of some functions, by their numbers, crash."""
    made = _made(folder, statements)
    return crashing(made, {f"f{i}": Call(CALL, "something") for i in range(len(statements))})


def test_functions_that_crash_are_told_from_others_of_the_same_object(tmp_path: Path) -> None:
    fine = "x[3] = x[0] + ((float *)table[0])[3] + ((char *)table[1])[399];"
    crash = "*(volatile int *)8 = 1;"
    assert _crashing(tmp_path, [fine, crash, fine, crash, "__builtin_trap();", fine]) == ["f1", "f3", "f4"]


@pytest.mark.parametrize("access", ["x[4] = 1;", "(void)x[4];", "(void)*((volatile char *)table[1] + 400);"])
def test_what_lies_behind_a_block_of_memory_cannot_be_touched(tmp_path: Path, access: str) -> None:
    assert _crashing(tmp_path, [access]) == ["f0"]


def test_functions_get_the_bytes_that_they_are_to_be_called_with(tmp_path: Path) -> None:
    same = (
        "if (x[3] != 1 || ((float *)table[0])[3] != 1 || ((char *)table[1])[0] != 1 || ((char *)table[1])[1]) abort();"
    )
    assert _crashing(tmp_path, [f"extern void abort(void); {same}", "extern void abort(void); abort();"]) == ["f1"]


def test_of_a_run_that_does_not_end_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_run, "TIMEOUT", 0.5)
    assert _crashing(tmp_path, ["for (;;) x[0] = 1;"]) == []


def test_where_no_process_can_be_started_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _made(tmp_path, ["__builtin_trap();"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    assert crashing(made, {"f0": Call(CALL, "something")}) == []


@pytest.mark.parametrize(
    ("what", "crash"),
    [pytest.param(what, crash, marks=[pytest.mark.slow] * (what != "region")) for what, crash in CRASHES.items()],
)
def test_a_program_goes_on_whose_compiled_code_crashes(tmp_path: Path, what: str, crash: str) -> None:
    first = _run(tmp_path, what, crash)
    assert first.returncode == 0, first.stderr
    assert "ended the process in which it was tried" in first.stderr and len(first.stderr.splitlines()) == 1
    assert ("Cumsum, AssignAdd" if what == "region" else "Exp, Mul") in first.stderr
    second = _run(tmp_path, what, crash)
    assert (second.returncode, second.stderr) == (0, "")


@pytest.mark.parametrize("what", ["region", pytest.param("cluster", marks=pytest.mark.slow)])
def test_code_that_does_not_crash_is_used(tmp_path: Path, what: str) -> None:
    done = _run(tmp_path, what, "")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("compiled/*.so")) and not list(tmp_path.glob("compiled/*.bad"))


def _run(folder: Path, what: str, statement: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PENSTOCK_CACHE": str(folder), "PENSTOCK_COMPILE": "auto"}
    command = [sys.executable, "-c", PROGRAM, what, PLACES[what], statement]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
