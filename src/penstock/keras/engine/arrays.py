"""The arrays that programs give for inputs and targets, as a model takes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays_of(
    data: Any, names: list[str], shapes: list[Any], what: str, of_classes: list[bool] | None = None
) -> list[np.ndarray]:
    """Arrays for inputs or targets with these names and shapes: `data` is one, a list, or a dict by name.

    Vectors become columns where those are expected, and arrays `of_classes` get a last dimension of 1. Raises
    ValueError, in Keras' words, if their number or shapes do not fit.
    """
    if not names:
        return []
    if data is None:
        raise ValueError(f"Error when checking model {what}: there is no data for {', '.join(names)}.")
    if isinstance(data, dict):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        values = [data[name] for name in names]
    elif isinstance(data, list | tuple) and not (len(names) == 1 and isinstance(data[0], int | float | str | list)):
        values = list(data)
    else:
        values = [data]
    if len(values) != len(names):
        raise ValueError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the "
            f"size the model expected. Expected to see {len(names)} array(s), but instead got {len(values)}."
        )
    arrays = [_column(value, shape) for value, shape in zip(values, shapes, strict=True)]
    for i, shape in enumerate(shapes):
        if of_classes and of_classes[i] and arrays[i].ndim == len(shape) - 1:
            arrays[i] = np.expand_dims(arrays[i], -1)
    for name, array, shape in zip(names, arrays, shapes, strict=True):
        _check_shape(array, shape, f"Error when checking {what}: expected {name} to have")
    return arrays


def _column(value: Any, shape: Any) -> Any:
    if hasattr(value, "tocsr"):  # a sparse matrix of SciPy, which sparse inputs take
        return value.tocsr()
    array = np.asarray(value.values if type(value).__module__.startswith("pandas.") else value)
    return np.expand_dims(array, 1) if array.ndim == 1 and (shape is None or len(shape) != 1) else array


class DenseRows:
    """A sparse matrix of SciPy for what takes arrays: rows become one when they are taken."""

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self._matrix, self.shape = matrix, matrix.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> np.ndarray:
        found: np.ndarray = self._matrix[rows].toarray()
        return found

    def part(self, rows: slice) -> DenseRows:
        """Some of the rows."""
        return DenseRows(self._matrix[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._matrix.toarray(), dtype)


def dense_rows(array: Any) -> Any:
    """`array`, whose rows are arrays."""
    return DenseRows(array) if hasattr(array, "tocoo") else array


def _check_shape(array: np.ndarray, shape: Any, expected: str) -> None:
    if shape is None:
        return
    if array.ndim != len(shape):
        raise ValueError(f"{expected} {len(shape)} dimensions, but got array with shape {array.shape}")
    if any(want is not None and want != size for want, size in zip(shape[1:], array.shape[1:], strict=True)):
        raise ValueError(f"{expected} shape {tuple(shape[1:])} but got array with shape {array.shape[1:]}")
