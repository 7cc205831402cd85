"""Scanned digits as TFRecord files, and the network that two examples train on them.

`digits_by_queues.py` reads the files with queue runners, as in TensorFlow's CIFAR-10 tutorial; `digits_by_data.py` with
tf.data. The data are scikit-learn's 1,797 scans of 8x8 pixels, bundled with it. Run by itself, this module only writes
the files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import penstock as tf

SHARDS = 4  # files for training
BATCH = 64
TEST_SHARE = 5  # every fifth scan is kept for testing

FEATURES = {
    "image/encoded": tf.FixedLenFeature([], tf.string),
    "image/class/label": tf.FixedLenFeature([], tf.int64),
}


def write(folder: Path) -> tuple[list[str], str]:
    """Write the scans as PNGs in tf.train.Examples. Returns the files for training, and the one for testing."""
    folder.mkdir(parents=True, exist_ok=True)
    train = [str(folder / f"train-{i:05}-of-{SHARDS:05}.tfrecord") for i in range(SHARDS)]
    test = str(folder / "test.tfrecord")
    writers = {path: tf.python_io.TFRecordWriter(path) for path in [*train, test]}
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [8, 8, 1])
        encoded = tf.image.encode_png(pixels)
        for place, i in enumerate(order):
            scan = (digits.images[i] * 15.9375).astype(np.uint8)[..., None]
            path = test if place % TEST_SHARE == 0 else train[place % SHARDS]
            writers[path].write(_example(session.run(encoded, {pixels: scan}), digits.target[i]))
    for writer in writers.values():
        writer.close()
    return train, test


def _example(png: bytes, label: int) -> bytes:
    features = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
        "image/class/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    contents: bytes = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    return contents


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The image [8, 8, 1] float32 in 0..1 and the label, int64, of one record."""
    found = tf.parse_single_example(record, FEATURES)
    image = tf.image.decode_png(found["image/encoded"], channels=1)
    image.set_shape([8, 8, 1])
    return tf.image.convert_image_dtype(image, tf.float32), found["image/class/label"]


def distort(image: tf.Tensor) -> tf.Tensor:
    """The image moved by up to one pixel each way: scans are not centred alike."""
    return tf.random_crop(tf.pad(image, [[1, 1], [1, 1], [0, 0]]), [8, 8, 1])


def logits_of(images: tf.Tensor) -> tf.Tensor:
    """[n, 8, 8, 1] to [n, 10]: two convolutions, a pool, two dense layers. Variables are shared between calls."""
    with tf.variable_scope("network", reuse=tf.AUTO_REUSE):
        x = tf.layers.conv2d(images, 32, 3, padding="same", activation=tf.nn.relu, name="conv1")
        x = tf.layers.conv2d(x, 64, 3, padding="same", activation=tf.nn.relu, name="conv2")
        x = tf.layers.flatten(tf.layers.max_pooling2d(x, 2, 2))
        x = tf.layers.dense(x, 128, activation=tf.nn.relu, name="dense1")
        return tf.layers.dense(x, 10, name="dense2")


def training(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Operation]:
    """The loss on a batch, and the training operation."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits_of(images))
    loss = tf.reduce_mean(losses, name="loss")
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(2e-3, step, 200, 0.7)
    return loss, tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)


def test_accuracy(test_file: str) -> Callable[[tf.Session], float]:
    """A function of a session: the fraction of the scans in `test_file` that the network classifies correctly."""
    record = tf.placeholder(tf.string, [])
    image, label = parse(record)
    images = tf.placeholder(tf.float32, [None, 8, 8, 1])
    predictions = tf.argmax(logits_of(images), 1)

    def measure(session: tf.Session) -> float:
        records: Iterator[bytes] = tf.python_io.tf_record_iterator(test_file)
        pairs = [session.run([image, label], {record: each}) for each in records]
        found = session.run(predictions, {images: np.stack([pixels for pixels, _ in pairs])})
        return float(np.mean(found == [truth for _, truth in pairs]))

    return measure


def arguments(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--dir", type=Path, default=Path("digits-records"), help="where the records are written")
    parser.add_argument("--epochs", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    train_files, test_path = write(arguments(__doc__).dir)
    print("\n".join([*train_files, test_path]))
