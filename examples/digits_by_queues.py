"""Train on TFRecords read by queue runners, as TF 1.x programs do: files, reader, examples and batches are queues.

The same training with tf.data is in digits_by_data.py.
"""

from __future__ import annotations

import time
from pathlib import Path

from digit_records import BATCH, arguments, distort, parse, test_accuracy, training, write

import penstock as tf

READERS = 2


def inputs(files: list[str], epochs: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Batches of shuffled, distorted images and labels, for `epochs` passes over the files."""
    names = tf.train.string_input_producer(files, num_epochs=epochs, shuffle=True)
    examples = []
    for _ in range(READERS):
        _, record = tf.TFRecordReader().read(names)
        image, label = parse(record)
        examples.append((distort(image), label))
    images, labels = tf.train.shuffle_batch_join(
        examples, BATCH, capacity=1000 + 3 * BATCH, min_after_dequeue=1000, allow_smaller_final_batch=True
    )
    return images, labels


def main(folder: Path, epochs: int) -> float:
    """Returns the accuracy on scans that training did not see."""
    train_files, test_file = write(folder)
    tf.set_random_seed(1)
    with tf.Graph().as_default():
        loss, train = training(*inputs(train_files, epochs))
        accuracy = test_accuracy(test_file)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            started, steps, value = time.time(), 0, float("nan")
            try:
                while not coordinator.should_stop():
                    value, _ = session.run([loss, train])
                    steps += 1
            except tf.errors.OutOfRangeError:
                print(f"{epochs} epochs are {steps} steps; {time.time() - started:.1f} s, the last loss {value:.4f}")
            finally:
                coordinator.request_stop()
            coordinator.join(threads)
            found = accuracy(session)
    print(f"Test accuracy {found:.2%}")
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__)
    main(chosen.dir, chosen.epochs)
