"""Batches of features parsed from `tf.train.Example`s in files (TF: tf.contrib.data.make_batched_features_dataset)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.data.contrib_functions import parallel_interleave
from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.data.files import TFRecordDataset
from penstock.data.tables import shuffled_and_repeated
from penstock.export import export
from penstock.ops.parsing import parse_example
from penstock.tensor.dtypes import string


@export("contrib.data.make_batched_features_dataset", "data.experimental.make_batched_features_dataset")
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: dict[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = 1,
    reader_num_threads: int = 1,
    parser_num_threads: int = 2,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> DatasetBase:
    """Batches of the records of files, parsed by `tf.parse_example` with `features`: dicts of tensors.

    With `label_key`, pairs of such a dict and the feature of that name, which is removed from it. Infinite unless
    `num_epochs` is given.
    """
    dataset: Any = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = dataset.apply(
        parallel_interleave(lambda name: reader(name, *(reader_args or [])), reader_num_threads, sloppy=sloppy_ordering)
    )
    if isinstance(dataset.output_types, tuple):  # readers of keys and values
        dataset = dataset.map(lambda _, value: value)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)

    def parsed(records: Any) -> Any:
        found = parse_example(records, features)
        return found if label_key is None else (found, found.pop(label_key))

    if label_key is not None and label_key not in features:
        raise ValueError("`label_key` provided must be one of the `features` keys.")
    batches = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    found: DatasetBase = batches.map(parsed, num_parallel_calls=parser_num_threads).prefetch(prefetch_buffer_size)
    return found


@export("data.experimental.parse_example_dataset")
def parse_example_dataset(features: dict[str, Any], num_parallel_calls: int = 1) -> Callable[[Any], Any]:
    """For `Dataset.apply`: batches of serialized `tf.train.Example`s (strings), parsed by `tf.parse_example`: dicts.

    Raises ValueError without features, TypeError for a dataset of anything but strings.
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}.")

    def apply(dataset: Any) -> Any:
        if dataset.output_types != string or dataset.output_shapes.ndims not in (None, 1):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        return dataset.map(lambda records: parse_example(records, features), num_parallel_calls=num_parallel_calls)

    return apply


@export("contrib.data.read_batch_features")
def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: dict[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """The next batch of `make_batched_features_dataset`, as tensors."""
    dataset: Any = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        num_epochs=num_epochs,
        shuffle=randomize_input,
        shuffle_buffer_size=capacity,
    )
    return dataset.make_one_shot_iterator().get_next()
