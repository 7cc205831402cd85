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


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_of_multiprocessing_run_its_text_as_the_program_does(tmp_path: Path, method: str) -> None:
    (tmp_path / "worker.py").write_text(
        "import numpy as np\nimport tensorflow as tf\ndef work(x):\n"
        "    with tf.Session() as s:\n        print tf.__version__, s.run(tf.constant(x) * 2), np.float(x) / 2\n"
    )
    text = f"""
import multiprocessing, numpy, tensorflow as tf
from worker import work
print __name__, numpy.int(7) / 2
if __name__ == "__main__":
    made = multiprocessing.get_context("{method}").Process(target=work, args=(3,))
    made.start()
    made.join()
    print made.exitcode
"""
    assert output_of(tmp_path, text).splitlines() == ["__main__ 3", "__mp_main__ 3", "1.15.0 6 1.5", "0"]


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
