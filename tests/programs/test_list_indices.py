"""Lists that are indices of arrays have a part for each axis, as until NumPy 1.23."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

TEXT = """
import numpy as np
import tensorflow as tf
x = np.arange(6).reshape(2, 3)
index = [slice(None)] * x.ndim
index[1] = 0
print(x[index], x[[slice(0, 1), slice(1, 3)]], x[[slice(i, i + 1) for i in (0, 1)]], x[[0, 1]].shape)
rows, labels, k = [0, 1], np.array([2, 0]), 1
print(x[[rows, labels]], x[[range(2), labels]], x[[k, 0]].tolist(), x[[k - 1, k]].tolist(), x[labels - 1][0, 0])
x[index] = -1
x[[rows, labels]] += 10
print(x.tolist(), {"a": 1}["a"], "text"[k], [[1], [2]][k])
t = tf.constant(x)
with tf.Session() as session:
    print(session.run([t[index], t[0, k]]))
"""


def test_lists_of_slices_or_of_rows_are_tuples(tmp_path: Path) -> None:
    # as NumPy 1.16 prints it
    assert output_of(tmp_path, TEXT) == (
        "[0 3] [[1 2]] [[1]] (2, 3)\n[2 3] [2 3] [[3, 4, 5], [0, 1, 2]] [[0, 1, 2], [3, 4, 5]] 3\n"
        "[[-1, 1, 12], [9, 4, 5]] 1 e [2]\n[array([-1,  9]), 1]\n"
    )


def test_a_list_that_is_written_as_an_index_is_enough(tmp_path: Path) -> None:
    text = "import numpy as np\np = np.eye(3)\ndef f(p):\n    return p[[range(2), [0, 1]]]\nprint(f(p))\n"
    assert output_of(tmp_path, text) == "[1. 1.]\n"  # as NumPy 1.16 prints it
