"""Train on TFRecords read by tf.data. The same training with queue runners is in digits_by_queues.py."""

from __future__ import annotations

import time
from pathlib import Path

from digit_records import BATCH, arguments, distort, parse, test_accuracy, training, write

import penstock as tf

READERS = 2


def inputs(files: list[str], epochs: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Batches of shuffled, distorted images and labels, for `epochs` passes over the files."""

    def example(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        image, label = parse(record)
        return distort(image), label

    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    data = data.interleave(tf.data.TFRecordDataset, cycle_length=READERS, block_length=16).repeat(epochs)
    data = data.map(example, num_parallel_calls=READERS).shuffle(1000).batch(BATCH).prefetch(2)
    images, labels = data.make_one_shot_iterator().get_next()
    return images, labels


def main(folder: Path, epochs: int) -> float:
    """Returns the accuracy on scans that training did not see."""
    train_files, test_file = write(folder)
    tf.set_random_seed(1)
    with tf.Graph().as_default():
        loss, train = training(*inputs(train_files, epochs))
        accuracy = test_accuracy(test_file)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            started, steps, value = time.time(), 0, float("nan")
            while True:
                try:
                    value, _ = session.run([loss, train])
                    steps += 1
                except tf.errors.OutOfRangeError:
                    break
            print(f"{epochs} epochs are {steps} steps; {time.time() - started:.1f} s, the last loss {value:.4f}")
            found = accuracy(session)
    print(f"Test accuracy {found:.2%}")
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__)
    main(chosen.dir, chosen.epochs)
