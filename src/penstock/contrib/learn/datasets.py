"""Small data sets, and tables in CSV files (TF: tf.contrib.learn.datasets)."""

from __future__ import annotations

import csv
import os
from typing import Any, NamedTuple

import numpy as np

from penstock import gfile
from penstock.contrib.learn import iris
from penstock.contrib.learn.mnist import Datasets as Datasets, load_mnist
from penstock.keras.datasets import houses

_ELSEWHERE = (
    "The data set {name!r} does not come with Penstock, and nothing is downloaded: only 'iris' and 'boston' do, "
    "and 'mnist' is read from files. Read others with tf.contrib.learn.datasets.base.load_csv_with_header."
)


class Dataset(NamedTuple):
    data: Any
    target: Any


def load_csv_with_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """A CSV file whose first line begins with the numbers of its rows and of its features.

    `target_column` is the label. Raises ValueError if there are other rows than that line says.
    """
    with gfile.GFile(filename) as file:
        header, *rows = csv.reader(file.read().splitlines())
    count, width = int(header[0]), int(header[1])
    found = _dataset(rows, target_dtype, features_dtype, target_column)
    if found.data.shape != (count, width):
        shape = " of ".join(map(str, found.data.shape))
        raise ValueError(f"{filename}: its first line says {count} rows of {width} features, but it has {shape}")
    return found


def load_csv_without_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """A CSV file without a header; `target_column` is the label."""
    with gfile.GFile(filename) as file:
        return _dataset(list(csv.reader(file.read().splitlines())), target_dtype, features_dtype, target_column)


def _dataset(rows: list[list[str]], target_dtype: Any, features_dtype: Any, target_column: int) -> Dataset:
    target = np.array([row.pop(target_column) for row in rows]).astype(target_dtype)
    return Dataset(np.array(rows).astype(features_dtype), target)


def load_iris(data_path: Any = None) -> Dataset:
    """Fisher's irises: four lengths of 150 flowers, and their species (0, 1, 2); or a file like it."""
    return Dataset(*iris.measurements()) if data_path is None else load_csv_with_header(data_path, int, float)


def load_boston(data_path: Any = None) -> Dataset:
    """Prices of houses in 506 districts of Boston, and 13 numbers of each; or a file like it."""
    return Dataset(*houses.houses()) if data_path is None else load_csv_with_header(data_path, float, float)


DATASETS = {"iris": load_iris, "boston": load_boston, "mnist": load_mnist}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """The data set with a name: "iris", "boston" or "mnist"; ValueError for others."""
    if name not in DATASETS:
        raise ValueError(_ELSEWHERE.format(name=name))
    return DATASETS[name]()


def maybe_download(filename: str, work_directory: Any, source_url: str) -> str:
    """The path of a file that is already in a directory; FileNotFoundError otherwise: nothing is downloaded."""
    path = os.path.join(os.fspath(work_directory), filename)
    if not gfile.Exists(path):
        raise FileNotFoundError(f"{path} does not exist. Penstock downloads nothing: put there what is at {source_url}")
    return path
