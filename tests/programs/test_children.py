"""Programs that a program starts as processes are run as it is; other processes are left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.programs.children import in_shell, words_of
from tests.programs.running import output_of

PYTHON = sys.executable
RUN = ["-m", "penstock", "run"]


def test_a_program_starts_others_in_all_ways(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import sys\nimport tensorflow as tf\nprint(tf.__version__, sys.argv[1:])\n")
    text = """
import os, subprocess, sys
print(subprocess.check_output([sys.executable, "-u", "other.py", "--a", "1"]).decode().strip())
print(subprocess.check_output("python other.py b && echo c", shell=True).decode().split())
sys.stdout.flush()
print(os.system("X=1 python3 other.py d > out.txt"), open("out.txt").read().strip())
print(subprocess.call([sys.executable, "-c", "import penstock.programs"]))
"""
    assert output_of(tmp_path, text).splitlines()[:4] == [
        "1.15.0 ['--a', '1']",
        "['1.15.0', \"['b']\", 'c']",
        "0 1.15.0 ['d']",
        "0",
    ]


@pytest.mark.parametrize(
    "words, expected",
    [
        (["python3", "a.py", "x"], [PYTHON, *RUN, "a.py", "x"]),
        (["mpirun", "-np", "2", PYTHON, "a.py"], ["mpirun", "-np", "2", PYTHON, *RUN, "a.py"]),
        (["python", "-m", "a"], None),
        (["python", "missing.py"], None),
        (["echo", "python", "a.py"], None),
        ([PYTHON, "-c", "pass"], None),
        ([], None),
    ],
)
def test_words(tmp_path: Path, words: list[str], expected: list[str] | None) -> None:
    (tmp_path / "a.py").write_text("")
    assert words_of(words, tmp_path) == expected


@pytest.mark.parametrize(
    "command, expected",
    [
        ("cd x; python -u a.py 1 | tee b", f"cd x; {PYTHON} -u -m penstock run a.py 1 | tee b"),
        ("(python2.7 a.py)", f"({PYTHON} -m penstock run a.py)"),
        ("grep python a.py", None),
        ("python -c 'import a' b.py", None),
        ("echo a.py", None),
    ],
)
def test_commands_of_shells(tmp_path: Path, command: str, expected: str | None) -> None:
    (tmp_path / "a.py").write_text("")
    assert in_shell(command, tmp_path) == expected
