"""Record files for the workloads that read: made of NumPy constants, the same bytes for every framework."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import numpy as np


class Folder:
    """A temporary folder, which lives as long as this object."""

    def __init__(self) -> None:
        self._held = tempfile.TemporaryDirectory(prefix="penstock-bench-")

    def write(self, tf: ModuleType, name: str, records: Iterable[bytes]) -> str:
        """The path of a new TFRecord file."""
        path = str(Path(self._held.name) / name)
        with tf.python_io.TFRecordWriter(path) as writer:
            for record in records:
                writer.write(record)
        return path


def serialized(tf: ModuleType, images: np.ndarray, labels: np.ndarray, words: Iterable[int]) -> list[bytes]:
    """tf.train.Examples: `image` (the row's floats), `label` (one int), `words` (as many ints as `words` says)."""
    made = []
    for row, label, count in zip(images, labels, words, strict=True):
        feature = {
            "image": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            "words": tf.train.Feature(int64_list=tf.train.Int64List(value=range(count))),
        }
        made.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return made


def pictures(count: int, size: int) -> list[np.ndarray]:
    """Smooth coloured pictures, [size, size, 3] uint8."""
    weights = np.linspace(0, 1, size)
    made = []
    for i in range(count):
        corners = np.random.RandomState(i).randint(0, 256, (2, 2, 3))
        down = corners[0] * (1 - weights[:, None, None]) + corners[1] * weights[:, None, None]
        across = down[:, :1] * (1 - weights[:, None]) + down[:, 1:] * weights[:, None]
        noise = np.random.RandomState(i).randint(-8, 9, (size, size, 3))
        made.append(np.clip(across + noise, 0, 255).astype(np.uint8))
    return made


def jpegs(tf: ModuleType, count: int, size: int) -> np.ndarray:
    """JPEG files of `pictures`, [count] bytes."""
    with tf.Graph().as_default(), tf.Session() as session:
        picture = tf.placeholder(tf.uint8, [size, size, 3])
        encoded = tf.image.encode_jpeg(picture, quality=90)
        return np.array([session.run(encoded, {picture: each}) for each in pictures(count, size)], np.object_)
