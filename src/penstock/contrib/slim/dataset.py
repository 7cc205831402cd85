"""What a data set consists of (TF: tf.contrib.slim.dataset)."""

from __future__ import annotations

from typing import Any


class Dataset:
    """The files of a data set, and what is needed to read them; anything else is an attribute, too."""

    def __init__(
        self, data_sources: Any, reader: Any, decoder: Any, num_samples: int, items_to_descriptions: Any, **kwargs: Any
    ) -> None:
        """`reader`: a class such as tf.TFRecordReader. `decoder`: a `DataDecoder`, whose items are described by
        `items_to_descriptions`."""
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        vars(self).update(kwargs)

    def __getattr__(self, name: str) -> Any:  # so that type checkers accept the other attributes
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
