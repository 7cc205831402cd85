"""What tests of datasets share."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf


def elements(dataset: Any, limit: int | None = None) -> list[Any]:
    """The elements, up to `limit`, as Python has them: arrays as lists."""
    iterator = dataset.make_initializable_iterator()
    found: list[Any] = []
    take = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        while limit is None or len(found) < limit:
            try:
                found.append(plain(session.run(take)))
            except tf.errors.OutOfRangeError:
                break
    return found


def plain(value: Any) -> Any:
    """A fetched element with lists and Python's numbers in place of arrays."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = [plain(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
