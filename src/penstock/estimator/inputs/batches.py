"""Batches of rows of arrays, as tensors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.data.dataset import Dataset
from penstock.graph.scopes import get_seed
from penstock.tensor.dtypes import as_dtype, string

_AHEAD = 2
"""How many batches are made before they are asked for."""


def batches(arrays: dict[str, Any], batch_size: int, shuffle: bool, num_epochs: int | None) -> dict[str, Any]:
    """Tensors of the next `batch_size` rows of each array, which have equally many.

    Epochs follow each other without a break, so only the last batch may be smaller; with `num_epochs` None there is no
    last one. Shuffled, each epoch has an order of its own, which the graph's seed decides if it has one.
    """
    columns = {name: _column(array) for name, array in arrays.items()}
    rows = min(len(column) for column in columns.values())
    seeds = get_seed(None)
    seed = None if seeds[0] is None else [abs(part or 0) for part in seeds]

    def generate() -> Iterator[dict[str, Any]]:
        for chosen in _choices(rows, batch_size, shuffle, num_epochs, seed):
            yield {name: column[chosen] for name, column in columns.items()}

    first = batch_size if num_epochs is None else None
    types = {name: string if column.dtype == object else as_dtype(column.dtype) for name, column in columns.items()}
    shapes = {name: [first, *column.shape[1:]] for name, column in columns.items()}
    dataset = Dataset.from_generator(generate, types, shapes).prefetch(_AHEAD)
    following: dict[str, Any] = dataset.make_one_shot_iterator().get_next()
    return following


def _column(array: Any) -> Any:
    """The array as rows of what tensors can hold."""
    column = np.asarray(array)
    if column.dtype.kind == "U":
        return np.char.encode(column, "utf-8").astype(object)
    return column.astype(object) if column.dtype.kind == "S" else column


def _choices(rows: int, batch_size: int, shuffle: bool, num_epochs: int | None, seed: Any) -> Iterator[Any]:
    """The numbers of each batch's rows."""
    random = np.random.default_rng(seed)
    left = np.empty(0, np.int64)
    for _ in itertools.count() if num_epochs is None else range(num_epochs):
        if not rows:
            return
        left = np.concatenate([left, random.permutation(rows) if shuffle else np.arange(rows)])
        whole = len(left) - len(left) % batch_size
        yield from left[:whole].reshape(-1, batch_size)
        left = left[whole:]
    if len(left):
        yield left
