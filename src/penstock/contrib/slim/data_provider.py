"""What programs take the items of a data set from (TF: tf.contrib.slim.data_provider)."""

from __future__ import annotations

import abc
from typing import Any


class DataProvider(abc.ABC):  # noqa: B024 (as in TensorFlow: a base class, none of whose methods must be written)
    """Tensors by the names of their items."""

    def __init__(self, items_to_tensors: dict[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: list[str] | tuple[str, ...]) -> list[Any]:
        """The tensor of each item. ValueError for unknown ones, and for what is neither a list nor a tuple."""
        if not isinstance(items, list | tuple):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        return list(self._items_to_tensors)

    def num_samples(self) -> int:
        """How many records the data set has."""
        return self._num_samples
