"""What Numba compiles is the program's own text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of, penstock_run

# Numba here: what is compiled must not mention anything but its arguments and Python's functions.
NUMBA = """
import builtins
class _Jit:
    def __call__(self, *args, **options):
        if len(args) == 1 and callable(args[0]) and not options:
            unknown = set(args[0].__code__.co_names) - set(vars(builtins)) - {"np", "shape", "zeros"}
            assert not unknown, unknown
            return args[0]
        return self
jit = njit = _Jit()
class cuda: jit = jit
"""
PROGRAM = """
import numpy as np
import numba
from numba import jit, njit as compiled
def plain(x):
    values = np.zeros(2)
    values[0] = x
    return int(x), values[0]
@jit(nopython=True)
def walk(x, n):
    found = np.zeros(n)
    for i in range(n):
        found[i] = int(x[i]) + float(i)
    return found
class Holder:
    @staticmethod
    @compiled
    def half(x):
        return int(x / 2)
    @numba.cuda.jit("f(f)")
    def third(x):
        return int(x / 3)
print(plain(np.array([3.0])), walk(np.array([1.5, 2.5]), 2), Holder.half(5), Holder.third(10))
"""


def test_in_python_2_too_and_quotients_are_told(tmp_path: Path) -> None:
    (tmp_path / "numba.py").write_text(NUMBA)
    (tmp_path / "program.py").write_text(
        "from numba import jit\n@jit(nopython=True)\ndef half(n):\n    for i in xrange(n):\n        n = n + i / 2.0\n"
        "    return n\nprint half(3), 7 / 2\n"
    )
    found = penstock_run(tmp_path, "program.py")
    assert found.stdout == "4.5 3\n", found.stderr
    assert "`/` in functions of Numba is not rounded down" in found.stderr


@pytest.mark.parametrize("own", [True, False], ids=["stand-in", "Numba"])
def test_functions_that_numba_compiles_stay_as_they_are(own: bool, tmp_path: Path) -> None:
    text = PROGRAM
    if own:
        (tmp_path / "numba.py").write_text(NUMBA)
    else:
        pytest.importorskip("numba")
        text = PROGRAM.replace('@numba.cuda.jit("f(f)")', "@staticmethod\n    @numba.njit")
    assert output_of(tmp_path, text) == "(3, 3.0) [1. 3.] 2 3\n"


FALLS_BACK = """
import numpy as np, tensorflow as tf, numba
from numba import autojit, int32, jit
@jit
def mean(values: list, n: int):
    total = 0
    for each in range(n):
        total += values[each]
    total, _ = np.array([total, 0.5]) / n
    return "%.1f" % total
@jit(nopython=False)
def add(x, y=2):
    return x + y
@jit(int32(int32))
def twice(x):
    return x * 2
@jit("int32(int32)")
def pair(x):
    return [x, "one"]
@jit
def calls(x):
    return mean([x, 2], 2)
@autojit
def mixed(x):
    return [x, "x"]
@jit(nopython=True)
def strict(x):
    return x + "one"
print(mean([1, 2, 6], n=3), mean([4], 1), calls(4))
print(add(2), add(2.5, y=1), len(add.signatures), twice(4), pair(3), mixed(2))
try:
    strict(1)
except numba.core.errors.TypingError:
    print("strict")
"""


def test_what_numba_cannot_compile_runs_as_python_until_it_says_nopython(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    assert output_of(tmp_path, FALLS_BACK).splitlines() == [
        "3.0 4.0 3.0",
        "4 3.5 2 8 [3, 'one'] [2, 'x']",
        "strict",
    ]
