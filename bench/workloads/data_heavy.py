"""64 JPEGs of 256x256 by tf.data: decode, resize to 128x128, scale, in parallel; shuffle, batches of 16, prefetch."""

from __future__ import annotations

import io
from types import ModuleType
from typing import Any

import numpy as np

from bench.workloads.record_files import jpegs, pictures
from bench.workloads.training import Step

IMAGES, SIZE, BATCH, RESIZED = 64, 256, 16, 128
TOLERANCE = 0.01  # decoders round differently, and torch's peer resizes with Pillow


def build(tf: ModuleType) -> Step:
    def decode(contents: Any) -> Any:
        picture = tf.image.decode_jpeg(contents, channels=3)
        picture.set_shape([SIZE, SIZE, 3])
        return tf.image.resize_images(picture, [RESIZED, RESIZED]) / 255.0

    data = tf.data.Dataset.from_tensor_slices(jpegs(tf, IMAGES, SIZE))
    data = data.map(decode, num_parallel_calls=2).shuffle(32).batch(BATCH).repeat().prefetch(2)
    mean = tf.reduce_mean(tf.data.make_one_shot_iterator(data).get_next())
    session = tf.Session()
    return lambda: float(sum(session.run(mean) for _ in range(IMAGES // BATCH)))


def torch_eager(torch: ModuleType) -> Step:
    from PIL import Image  # which TensorFlow's interpreter need not have

    files = []
    for each in pictures(IMAGES, SIZE):
        buffer = io.BytesIO()
        Image.fromarray(each).save(buffer, "JPEG", quality=90)
        files.append(buffer.getvalue())

    class Decoded(torch.utils.data.Dataset):  # type: ignore[name-defined]
        def __len__(self) -> int:
            return IMAGES

        def __getitem__(self, index: int) -> object:
            picture = Image.open(io.BytesIO(files[index])).resize((RESIZED, RESIZED), Image.Resampling.BILINEAR)
            return torch.from_numpy(np.array(picture)).float() / 255.0

    loader = torch.utils.data.DataLoader(Decoded(), BATCH, shuffle=True)
    return lambda: float(sum(float(batch.mean()) for batch in loader))
