"""`HDF5Matrix`: a data set in a file as an array (TF: tf.keras.utils.HDF5Matrix)."""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np

from penstock.export import export


@export("keras.utils.HDF5Matrix")
class HDF5Matrix:
    """The rows from `start` to `end` of the data set `dataset` in the HDF5 file `datapath`.

    Rows are read when they are asked for, by number, slice or list, and given to `normalizer`. A model that trains on
    one reads all of it. Raises IndexError for rows that are not among them, ImportError without h5py.
    """

    refs: ClassVar[dict[str, Any]] = {}
    """The files that are open."""

    def __init__(
        self, datapath: Any, dataset: str, start: int = 0, end: int | None = None, normalizer: Any = None
    ) -> None:
        import h5py

        path = str(datapath)
        if path not in self.refs or not self.refs[path]:
            self.refs[path] = h5py.File(path, "r")
        self.data = self.refs[path][dataset]
        self.start, self.normalizer = start, normalizer
        self.end = self.data.shape[0] if end is None else end

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        found = self.data[self._rows(key)]
        return found if self.normalizer is None else self.normalizer(found)

    def _rows(self, key: Any) -> Any:
        """`key` as numbers of rows of the whole data set."""
        if isinstance(key, slice):
            first, last = key.start or 0, len(self) if key.stop is None else key.stop
            if last > len(self):
                raise IndexError(f"rows up to {last} of {len(self)}")
            return slice(first + self.start, last + self.start)
        one = hasattr(key, "__index__") and np.ndim(key) == 0
        rows = [operator.index(row) for row in ([key] if one else key)]
        if max(rows) >= len(self):
            raise IndexError(f"row {max(rows)} of {len(self)}")
        return rows[0] + self.start if one else [row + self.start for row in rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))
