"""64 JPEGs of 256x256 by queues: four runner threads decode and resize to 128x128, `tf.train.batch` of 16."""

from __future__ import annotations

from types import ModuleType

from bench.workloads.record_files import jpegs
from bench.workloads.training import Step

IMAGES, SIZE, BATCH, RESIZED, THREADS = 64, 256, 16, 128, 4
TOLERANCE = 0.01  # decoders round differently, and batches are those of the moment


def build(tf: ModuleType) -> Step:
    contents = tf.train.string_input_producer(list(jpegs(tf, 1, SIZE)) * IMAGES, shuffle=False).dequeue()
    picture = tf.image.decode_jpeg(contents, channels=3)
    picture.set_shape([SIZE, SIZE, 3])
    picture = tf.image.resize_images(picture, [RESIZED, RESIZED]) / 255.0
    mean = tf.reduce_mean(tf.train.batch([picture], BATCH, num_threads=THREADS, capacity=4 * BATCH))
    session = tf.Session()
    tf.train.start_queue_runners(session)
    return lambda: float(sum(session.run(mean) for _ in range(IMAGES // BATCH)))
