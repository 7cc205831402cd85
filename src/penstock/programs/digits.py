"""`--digits`: scikit-learn's scans of digits where a program reads MNIST, which nothing here downloads."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib.learn import mnist
from penstock.programs import children
from penstock.programs.report import REPORT
from penstock.tensor.dtypes import float32

TEST_SHARE = 5
"""Every fifth scan is for testing, and of the others at most every fifth for validation."""
_SIDE, _MARGIN = 20, 4


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images [1437, 28, 28] uint8 and labels uint8, and 360 for testing: 20x20 pixels in the middle, as MNIST
    has them. Raises ModuleNotFoundError without scikit-learn."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--digits takes the digits of scikit-learn: pip install scikit-learn") from error
    from PIL import Image

    scans = load_digits()
    images = np.zeros([len(scans.images), 28, 28], np.uint8)
    inner = slice(_MARGIN, _MARGIN + _SIDE)
    for image, scan in zip(images, scans.images, strict=True):
        small = Image.fromarray((scan * (255 / 16)).astype(np.uint8))
        image[inner, inner] = small.resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
    order = np.random.RandomState(0).permutation(len(images))
    train, test = np.delete(order, np.s_[::TEST_SHARE]), order[::TEST_SHARE]
    labels = scans.target.astype(np.uint8)
    REPORT.note("1,797 scans of 8x8 pixels taken for MNIST")
    return images[train], labels[train], images[test], labels[test]


def read_data_sets(
    train_dir: Any,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
) -> mnist.Datasets:
    """As tf.examples.tutorials.mnist.input_data.read_data_sets, with fewer digits; no file is read."""
    images, labels, test_images, test_labels = load()
    n = min(validation_size, len(images) // TEST_SHARE)

    def made(images: np.ndarray, labels: np.ndarray) -> mnist.DataSet:
        targets = np.eye(10)[labels] if one_hot else labels
        return mnist.DataSet(images[..., None], targets, dtype=dtype, reshape=reshape, seed=seed)

    return mnist.Datasets(made(images[n:], labels[n:]), made(images[:n], labels[:n]), made(test_images, test_labels))


def keras_load_data(path: str = "mnist.npz") -> tuple[Any, Any]:
    """As tf.keras.datasets.mnist.load_data."""
    images, labels, test_images, test_labels = load()
    return (images, labels), (test_images, test_labels)


def rows() -> tuple[np.ndarray, np.ndarray]:
    """As mldata.org had them: all images [1797, 784], in the order of their labels, which are floats."""
    images, labels, test_images, test_labels = load()
    data, target = np.concatenate([images, test_images]).reshape(-1, 784), np.concatenate([labels, test_labels])
    order = np.argsort(target, kind="stable")
    return data[order], target[order].astype(np.float64)


def install() -> None:
    """For the rest of the process."""
    from penstock.keras.datasets import loading
    from penstock.programs.removed import sklearn

    mnist.instead = read_data_sets
    loading.mnist = keras_load_data
    sklearn.mnist = rows
    children.OPTIONS.append("--digits")
