"""`Iterator`: batches that a program makes of the numbers of samples (TF: tf.keras.preprocessing.image.Iterator)."""

from __future__ import annotations

import threading
from collections.abc import Iterator as Numbers
from typing import Any

import numpy as np

from penstock.export import export
from penstock.keras.utils.arrays import Sequence


@export("keras.preprocessing.image.Iterator")
class Iterator(Sequence):
    """Batches without end, and by number; subclasses define `_get_batches_of_transformed_samples(index_array)`.

    With a `seed`, NumPy's random numbers begin anew at seed + the number of batches so far, before each.
    """

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n, self.batch_size, self.shuffle, self.seed = n, batch_size, shuffle, seed
        self.batch_index = self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        """The batch of the samples with these numbers."""
        raise NotImplementedError

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def __getitem__(self, idx: int) -> Any:
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        rows = self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(rows)

    def on_epoch_end(self) -> None:
        self._set_index_array()

    def reset(self) -> None:
        """Begin an epoch."""
        self.batch_index = 0

    def _flow_index(self) -> Numbers[Any]:
        self.reset()
        while True:
            if self.seed is not None:
                np.random.seed(self.seed + self.total_batches_seen)
            if self.batch_index == 0:
                self._set_index_array()
            at = (self.batch_index * self.batch_size) % self.n
            self.batch_index = self.batch_index + 1 if self.n > at + self.batch_size else 0
            self.total_batches_seen += 1
            yield self.index_array[at : at + self.batch_size]

    def __iter__(self) -> Any:
        return self

    def __next__(self, *args: Any, **kwargs: Any) -> Any:
        return self.next(*args, **kwargs)

    def next(self) -> Any:
        """The next batch."""
        with self.lock:
            rows = next(self.index_generator)
        return self._get_batches_of_transformed_samples(rows)
