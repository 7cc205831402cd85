"""Reads a `Dataset`'s files and decodes their records (TF: tf.contrib.slim.dataset_data_provider)."""

from __future__ import annotations

from typing import Any

from penstock.contrib.slim.data_provider import DataProvider
from penstock.contrib.slim.dataset import Dataset
from penstock.contrib.slim.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """The items of the next record of a data set, and as the item `record_key` where that came from."""

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Any = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        """With `num_epochs` there is a local variable to initialise. For the rest see `parallel_read`."""
        key, data = parallel_read(
            dataset.data_sources,
            dataset.reader,
            num_epochs,
            num_readers,
            reader_kwargs,
            shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        if record_key in tensors:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
