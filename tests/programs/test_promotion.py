"""Arithmetic of NumPy's arrays and numbers has results of the types that it had until NumPy 2."""

from __future__ import annotations

from pathlib import Path

from tests.programs.running import output_of

TEXT = """
import numpy as np
scale = np.sqrt(0.25)
x = np.ones([2]).astype(np.float32)
print((np.sqrt(4.0) * x).dtype, (x / np.prod([2, 3])).dtype, (x - scale).dtype, -scale + x)
print((np.ones(2) * x).dtype, (np.float64(2) * np.arange(2)).dtype, (scale * scale).dtype, scale * "a".count("a"))
"""


def test_numbers_beside_arrays_of_float32_give_float32(tmp_path: Path) -> None:
    assert output_of(tmp_path, TEXT) == ("float32 float32 float32 [0.5 0.5]\nfloat64 float64 float64 0.5\n")


NARROW = """
import numpy as np
pixels = np.array([1, 200], np.uint8)
label, n, total = pixels[1], 300, 0
for each in pixels:
    total += each
for found in (pixels * -1, 1000 - pixels, pixels * n, pixels - 2, np.int8([1]) + 200):
    print(found.dtype, found.tolist(), end="; ")
print()
for found in (pixels[0] - 2, label * 2, 2 * label, label << 8, label**2, label + pixels[0], total, np.int32(5) * 2):
    print(found.dtype, found, end="; ")
print()
seen = rows = [1]
rows += [2]
pixels += 1
print(seen, "a" + "b", label / 2, pixels)
"""


def test_narrow_integers_become_wide_enough_beside_whole_numbers(tmp_path: Path) -> None:
    # as NumPy 1.16 prints it
    assert output_of(tmp_path, NARROW) == (
        "int16 [-1, -200]; uint16 [999, 800]; uint16 [300, 60000]; uint8 [255, 198]; int16 [201]; \n"
        "int64 -1; int64 400; int64 400; int64 51200; int64 40000; uint8 201; int64 201; int64 10; \n"
        "[1, 2] ab 100.0 [  2 201]\n"
    )


TOO_LARGE = """
import numpy as np
print(np.array([200, -1], np.int8), np.array([[300]], dtype="uint8"), np.asarray([-1], np.uint32))
print(np.full([1], -1, "u1"), np.uint8(300), np.uint32(-1), np.int32(2**31), np.uint8("7"), np.uint8([1, 2]))
"""


def test_whole_numbers_that_are_too_large_for_a_dtype_wrap_around(tmp_path: Path) -> None:
    assert output_of(tmp_path, TOO_LARGE) == (
        "[-56  -1] [[44]] [4294967295]\n[255] 44 4294967295 -2147483648 7 [1 2]\n"
    )


ASSIGNED = """
import numpy as np
labels, at = np.zeros([2, 3], np.uint8), {}
labels[labels[:, 0] > 0] = 7
labels[0, 1:] = -1
labels[1] = [300, -2, 5]
at["a"], at["b"] = -1, 2
at["c"] = -3
labels[..., 0] += 1
rows = [1, 2, 3]
rows[:2] = (-5,)
print(labels.tolist(), at, rows)
try:
    labels[0, 0] = "a"
except ValueError:
    print("no number")
"""


def test_whole_numbers_that_are_put_into_an_array_wrap_around(tmp_path: Path) -> None:
    assert output_of(tmp_path, ASSIGNED) == (
        "[[1, 255, 255], [45, 254, 5]] {'a': -1, 'b': 2, 'c': -3} [-5, 3]\nno number\n"
    )
