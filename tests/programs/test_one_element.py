"""Arrays of one element are numbers where NumPy took them for numbers until 2.3."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.programs.one_element import call, format_
from tests.programs.running import output_of, penstock_run

PROGRAM = """
import math
import numpy as np
import tensorflow as tf

w = tf.constant([2.25])
with tf.Session() as sess:
    found = sess.run(w)
    print("w %.3f" % found, "%d%%" % found, "%(a)g" % {"a": found}, "%s %r %5.1f" % (found, found, found))
    print(float(found), int(sess.run(tf.reshape(w, [1, 1]))), math.sqrt(found), math.pow(found, 2))
    print("all %s" % found, int("10", 2), int(x) if (x := 3.7) else 0)
"""


def test_a_program_formats_and_converts_what_a_session_gives(tmp_path: Path) -> None:
    """Values of Python 3.6 with NumPy 1.13."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = penstock_run(tmp_path, "program.py")
    assert done.stdout.splitlines()[:3] == [
        "w 2.250 2% 2.25 [2.25] array([2.25], dtype=float32)   2.2",
        "2.25 2 1.5 5.0625",
        "all [2.25] 2 3",
    ], done.stderr
    assert "float of an array of one element" in done.stdout + done.stderr


def test_python_2_and_modules_beside_a_program_do_it_too(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text('def show(x):\n    return "%f" % x\n')
    text = "import numpy as np\nfrom beside import show\nprint '%d' % np.array([[3]]), show(np.array([1.5]))\n"
    assert output_of(tmp_path, text).splitlines()[0] == "3 1.500000"


@pytest.mark.parametrize("text, values", [("%f", np.zeros(2)), ("%f", "a"), ("%d", None)])
def test_what_is_wrong_otherwise_is_pythons_error(text: str, values: object) -> None:
    with pytest.raises(TypeError) as expected:
        text % values
    with pytest.raises(TypeError) as found:
        format_(text, values)
    assert str(found.value) == str(expected.value)


def test_a_function_of_the_programs_own_is_called_once() -> None:
    calls = []

    def mine(x: object) -> float:
        calls.append(x)
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        call(mine, np.zeros(1))
    assert len(calls) == 1
    with pytest.raises(TypeError):
        call(float, np.zeros(3))


def test_elements_are_given_arrays_of_one_element(tmp_path: Path) -> None:
    """Values of Python 3.7 with NumPy 1.18."""
    text = """
import numpy as np
def walk(n):
    total[0] += 0 if n == 0 else np.array([n]) + walk(n - 1)
    return 1
values, total, names = np.zeros(4), np.zeros(1), {}
for i in range(2):
    values[i] = np.array([i + 0.5])
values[2], names["a"] = np.array([[7]]), np.array([3])
values[3] += np.array([2.0])
values[1:3] -= np.array([1.0])
walk(3)
print(values, total, names)
kinds = np.zeros((2, 2), np.int64)
kinds[1, 0] = np.array([2.75])
print(kinds.tolist())
try:
    values[0] = np.zeros(2)
except ValueError as error:
    print(error)
"""
    assert output_of(tmp_path, text).splitlines()[:4] == [
        "[0.5 0.5 6.  2. ] [4.] {'a': array([3])}",
        "[[0, 0], [2, 0]]",
        "setting an array element with a sequence.",
    ], text


def test_elements_of_narrow_arrays_are_given_arrays_of_one_element_too(tmp_path: Path) -> None:
    text = "import numpy as np\nx = np.zeros(2, np.uint8)\nx[0] = np.array([7])\nx[1] = -1\nprint(x)\n"
    assert output_of(tmp_path, text).splitlines()[0] == "[  7 255]"


SIZES = """
import struct
import numpy
open("images", "wb").write(struct.pack(">II", 2, 3) + bytes(range(6)))
def read_number(stream):
    return numpy.frombuffer(stream.read(4), dtype=numpy.dtype(numpy.uint32).newbyteorder(">"))
with open("images", "rb") as stream:
    count, width = read_number(stream), read_number(stream)
    data = numpy.frombuffer(stream.read(count * width), dtype=numpy.uint8)
print(data.reshape(count, width, 1).shape, numpy.reshape(data, (3, 2)).sum(), data.reshape(2, 3).tolist())
"""


def test_numbers_that_are_read_from_bytes_as_arrays_are_sizes(tmp_path: Path) -> None:
    """As until NumPy 1.12: the first loaders of MNIST read the number of images so."""
    assert output_of(tmp_path, SIZES) == "(2, 3, 1) 15 [[0, 1, 2], [3, 4, 5]]\n"


def test_logs_are_formatted_so_too(tmp_path: Path) -> None:
    text = (
        "import logging\nimport numpy as np\nx = np.array([1.5])\n"
        'logging.basicConfig(format="%(message)s")\nlogging.warning("v %f %s", x, x)\nlogging.warning("no %s")\n'
        'logging.warning("%(a)d", {"a": x})\n'
    )
    (tmp_path / "program.py").write_text(text)
    done = penstock_run(tmp_path, "program.py")
    assert done.stderr.splitlines()[:3] == ["v 1.500000 [1.5]", "no %s", "1"], done.stderr
