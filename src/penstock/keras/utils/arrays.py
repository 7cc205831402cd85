"""Arrays of labels and samples (TF: tf.keras.utils)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.export import export


@export("keras.utils.to_categorical")
def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> np.ndarray:
    """Class numbers [...] or [..., 1] as rows of zeros with a one: [..., num_classes]."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    flat = y.ravel()
    rows = np.zeros((flat.size, num_classes or int(flat.max()) + 1), dtype=dtype)
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape(*shape, rows.shape[1])


@export("keras.utils.normalize")
def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """`x` divided by its norm along `axis`."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return np.asarray(x / np.expand_dims(norms, axis))


@export("keras.utils.Sequence")
class Sequence:
    """Batches by number: subclasses define `__getitem__(index)` and `__len__`, and may define `on_epoch_end`."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None:
        """Called after each epoch."""

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]
