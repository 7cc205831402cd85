"""Prices of houses in the suburbs of Boston (D. Harrison, D. L. Rubinfeld 1978, from the StatLib archive).

Old versions of TensorFlow (contrib.learn) and of scikit-learn brought this table with them, and Keras fetches it, so
many programs have it as their data. It is kept as it was published; what its column B assumes of people is why
scikit-learn dropped it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

_TABLE = Path(__file__).with_name("houses.csv")


def houses() -> tuple[np.ndarray, np.ndarray]:
    """13 numbers of each of 506 districts, [506, 13], and the median price there in thousands of dollars, [506]."""
    rows = np.loadtxt(_TABLE, delimiter=",", skiprows=1)
    return rows[:, :-1], rows[:, -1]


def columns() -> list[str]:
    """The names of the 13 numbers: CRIM, ZN, …, LSTAT."""
    with _TABLE.open(encoding="utf-8") as file:
        return file.readline().strip().split(",")[:-1]
