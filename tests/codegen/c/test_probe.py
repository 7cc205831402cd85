"""Compilers that make wrong code are found out in a process of their own, before any of it runs in the user's."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.codegen.c import toolchain

RECURRENT = """
import numpy as np, penstock as tf
x = tf.placeholder(tf.int32, [10, 5])
cell = tf.contrib.rnn.BasicRNNCell(4)
fetches = tf.nn.dynamic_rnn(cell, tf.one_hot(x, 2), initial_state=tf.zeros([10, 4]))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(4):
        sess.run(fetches, {x: np.ones([10, 5], np.int32)})
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("command", ["cc", "clang"])
def test_a_recurrent_network_runs_in_code_of_every_compiler(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"no {command} here")
    environment = os.environ | {"PENSTOCK_COMPILE": "on", "CC": command}
    done = subprocess.run([sys.executable, "-c", RECURRENT], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def _compiler(path: Path, change: str, unless: str) -> str:
    """A C compiler that changes with `sed` what it is given, unless it has a flag."""
    path.write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f'case "$*" in *--version*|*{unless}*) ;; *) sed -i \'{change}\' "$last";; esac\n'
        'exec cc "$@"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


WRONG_NUMBERS = "0,/{1, 2, 3, 4/s//{1, 9, 3, 4/"
CRASHES = "s/int probe(void) {/&__builtin_trap();/"


@pytest.mark.parametrize("change", [WRONG_NUMBERS, CRASHES])
def test_a_compiler_whose_vector_code_is_wrong_gets_safer_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "wrong-cc", change, "-fno-tree-slp-vectorize"))
    found = toolchain.find_toolchain()
    assert "-fno-tree-slp-vectorize" in found.command and "-fno-tree-vectorize" not in found.command


@pytest.mark.parametrize(
    ("change", "message"),
    [(WRONG_NUMBERS, "computed wrong numbers"), (CRASHES, f"killed by signal {int(signal.SIGILL)}")],
)
def test_a_compiler_that_is_always_wrong_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "wrong-cc", change, "no-such-flag"))
    with pytest.raises(toolchain.NoCompiler, match=f"cannot be relied on: .*{message}"):
        toolchain.find_toolchain()


def test_what_a_probe_found_is_kept_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "wrong-cc", WRONG_NUMBERS, "-fno-tree-slp-vectorize"))
    found = toolchain.find_toolchain()
    monkeypatch.setattr(toolchain.Toolchain, "compile", None)
    assert toolchain.find_toolchain() == found


def test_a_cache_folder_that_cannot_be_written_does_not_stop_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file"))
    assert toolchain.find_toolchain().command
