"""Data sets of arrays, from Keras' cache or where they are published (TF: tf.keras.datasets).

CIFAR is fetched in its binary version; the version for Python, which Keras fetched, is read where it is in the cache.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np

from penstock.export import export
from penstock.keras.backend.settings import image_data_format
from penstock.keras.datasets import houses
from penstock.keras.datasets.python_batches import load_batch
from penstock.keras.utils.files import cached, get_file, unpack

_KERAS = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"
Pair = tuple[np.ndarray, np.ndarray]


@export("keras.datasets.mnist.load_data")
def mnist(path: str = "mnist.npz") -> tuple[Pair, Pair]:
    """Handwritten digits: (60000 images [28, 28] uint8, labels), (10000 of them)."""
    found = get_file(path, _KERAS + "mnist.npz", file_hash="8a61469f7ea1b51cbae51d4f78837e45")
    with np.load(found, allow_pickle=False) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


@export("keras.datasets.fashion_mnist.load_data")
def fashion_mnist() -> tuple[Pair, Pair]:
    """Pieces of clothing, in the format of MNIST."""
    folder = os.path.join("datasets", "fashion-mnist")

    def read(name: str, header: int) -> np.ndarray:
        path = get_file(name, _KERAS + name, cache_subdir=folder)
        with gzip.open(path) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    def pair(part: str) -> Pair:
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
        return read(f"{part}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28), labels

    return pair("train"), pair("t10k")


@export("keras.datasets.cifar10.load_data")
def cifar10() -> tuple[Pair, Pair]:
    """Photographs of ten kinds: (50000 images [32, 32, 3] uint8, labels [n, 1]), (10000 of them)."""
    names = [f"data_batch_{i}" for i in range(1, 6)]
    pickled = _of_python("cifar-10-batches-py")
    if pickled is not None:
        return _in_layout(_joined(pickled, names)), _in_layout(_joined(pickled, ["test_batch"]))
    folder = _unpacked("cifar-10-binary.tar.gz", "cifar-10-batches-bin")
    parts = [_cifar(folder / f"{name}.bin", 1, 0) for name in names]
    train = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    return _in_layout(train), _in_layout(_cifar(folder / "test_batch.bin", 1, 0))


@export("keras.datasets.cifar100.load_data")
def cifar100(label_mode: str = "fine") -> tuple[Pair, Pair]:
    """Photographs of 100 kinds ("fine") in 20 groups ("coarse"), in the format of CIFAR-10."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError("`label_mode` must be one of `fine`, `coarse`.")
    pickled = _of_python("cifar-100-python")
    if pickled is not None:
        return tuple(_in_layout(_joined(pickled, [part], f"{label_mode}_labels")) for part in ("train", "test"))  # type: ignore[return-value]
    folder = _unpacked("cifar-100-binary.tar.gz", "cifar-100-binary")
    which = 1 if label_mode == "fine" else 0
    return tuple(_in_layout(_cifar(folder / f"{part}.bin", 2, which)) for part in ("train", "test"))  # type: ignore[return-value]


def _unpacked(archive: str, folder: str) -> Path:
    return Path(get_file(archive, _CIFAR + archive, extract=True)).parent / folder


def _of_python(name: str) -> Path | None:
    """The folder of the version for Python in Keras' cache, if it or its archive is there."""
    folder = cached(name)
    archive = folder.with_name(f"{name}.tar.gz")
    if not folder.is_dir() and archive.is_file():
        unpack(archive, folder.parent)
    return folder if folder.is_dir() else None


def _joined(folder: Path, names: list[str], label_key: str = "labels") -> Pair:
    parts = [load_batch(folder / name, label_key) for name in names]
    labels = np.concatenate([np.asarray(y, np.uint8) for _, y in parts])
    return np.concatenate([x for x, _ in parts]), labels.reshape(-1, 1)


def _cifar(path: Path, labels: int, which: int) -> Pair:
    """Images [n, 3, 32, 32] and labels [n, 1] of a file of records: label bytes, then an image."""
    records = np.fromfile(path, np.uint8).reshape(-1, labels + 3 * 32 * 32)
    return records[:, labels:].reshape(-1, 3, 32, 32), records[:, which : which + 1]


def _in_layout(pair: Pair) -> Pair:
    images, labels = pair
    return (images.transpose(0, 2, 3, 1) if image_data_format() == "channels_last" else images), labels


@export("keras.datasets.boston_housing.load_data")
def boston_housing(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> tuple[Pair, Pair]:
    """Prices of houses in the suburbs of Boston, 1978: (404 rows of 13 numbers, prices), (102 of them).

    They come with Penstock, in the order of Keras' file: nothing is fetched.
    """
    x, y = houses.houses()
    order = np.random.RandomState(seed).permutation(len(x))
    x, y = x[order], y[order]
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])
