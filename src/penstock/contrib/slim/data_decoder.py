"""What makes tensors of the records of a data set (TF: tf.contrib.slim.data_decoder)."""

from __future__ import annotations

import abc
from typing import Any


class DataDecoder(abc.ABC):
    """Gives the named items of an encoded record."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Any) -> list[Any]:
        """A tensor for each of `items`, from one record."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of all items that there are."""
