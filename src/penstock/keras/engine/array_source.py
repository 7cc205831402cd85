"""`Arrays`: batches that are rows of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.keras import backend as K
from penstock.keras.engine.arrays import DenseRows
from penstock.keras.engine.batches import Batch, Source


class Arrays(Source):
    """Arrays, by slices, which are drawn anew for each epoch if shuffled ("batch": only the order of batches).

    `shuffle` is "validation" for what `fit` evaluates: tf.keras of TensorFlow 1.15 shuffles that, too.
    """

    by_steps = False

    def __init__(self, batch: Batch, batch_size: int | None, steps: int | None, shuffle: Any) -> None:
        self._all, self._shuffle = batch, shuffle
        self.batch_size = batch_size or 32
        self.samples = batch.size
        self.steps = steps

    @property
    def told(self) -> int | None:
        return self._all.rows

    @property
    def arrays(self) -> list[Any]:
        """Inputs, targets, and weights of samples for each target."""
        weights = self._all.weights or [np.ones(self._all.size, K.floatx()) for _ in self._all.targets]
        return [*self._all.inputs, *self._all.targets, *weights]

    def epoch(self) -> Iterator[Batch]:
        n, size = self._all.size, self.batch_size or 32
        order = self._order(n, size)
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n)) if order is None else order[start : start + size]
            yield take(self._all, rows, min(size, n - start))

    def _order(self, n: int, size: int) -> np.ndarray | None:
        """The rows of an epoch, None if they are as given: so is one batch of all, though numbers are drawn for it."""
        order = shuffled(np.arange(n), size, self._shuffle) if self._shuffle else None
        return order if n > size else None


def shuffled(order: np.ndarray, size: int, shuffle: Any) -> np.ndarray:
    """`order` shuffled in place by NumPy's generator; with "batch", a copy in which whole batches change places."""
    if shuffle != "batch":
        np.random.shuffle(order)
        return order
    whole = len(order) // size * size
    batches = order[:whole].reshape(-1, size)
    np.random.shuffle(batches)
    return np.append(batches.ravel(), order[whole:])


class Repeated(Arrays):
    """All of the arrays in each of `steps` steps, as where an epoch's steps are given; no arrays, if the model's inputs
    and targets are tensors."""

    by_steps = True

    def __init__(self, batch: Batch, steps: int | None) -> None:
        super().__init__(batch, None, steps, False)
        self.samples = self.batch_size = None

    def epoch(self) -> Iterator[Batch]:
        step = replace(self._all, size=1)
        return itertools.repeat(step, self.steps or 0)


def take(batch: Batch, rows: Any, size: int) -> Batch:
    """Some rows of all arrays."""
    weights = None if batch.weights is None else [x[rows] for x in batch.weights]
    return Batch([x[rows] for x in batch.inputs], [y[rows] for y in batch.targets], weights, int(size))


def part(batch: Batch, rows: slice, size: int) -> Batch:
    """Some rows of all arrays, of sparse matrices as such."""
    inputs, targets = (
        [x.part(rows) if isinstance(x, DenseRows) else x[rows] for x in of] for of in (batch.inputs, batch.targets)
    )
    return Batch(inputs, targets, None if batch.weights is None else [x[rows] for x in batch.weights], size)
