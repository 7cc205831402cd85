"""10,000 elements of tf.data: slices, map of x * 2 + 1, shuffle, batches of 100, prefetch."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bench.workloads.training import Step

ELEMENTS, WIDTH, BATCH = 10_000, 8, 100


def build(tf: ModuleType) -> Step:
    values = np.random.RandomState(0).randint(0, 100, (ELEMENTS, WIDTH)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(values).map(lambda x: x * 2 + 1)
    data = data.shuffle(1000).batch(BATCH).repeat().prefetch(2)
    total = tf.reduce_sum(tf.data.make_one_shot_iterator(data).get_next())
    session = tf.Session()
    return lambda: float(sum(session.run(total) for _ in range(ELEMENTS // BATCH)))


def torch_eager(torch: ModuleType) -> Step:
    values = np.random.RandomState(0).randint(0, 100, (ELEMENTS, WIDTH)).astype(np.float32)

    class Mapped(torch.utils.data.Dataset):  # type: ignore[name-defined]
        def __init__(self) -> None:
            self.rows = torch.from_numpy(values)

        def __len__(self) -> int:
            return ELEMENTS

        def __getitem__(self, index: int) -> object:
            return self.rows[index] * 2 + 1

    loader = torch.utils.data.DataLoader(Mapped(), BATCH, shuffle=True)
    return lambda: float(sum(float(batch.sum()) for batch in loader))
